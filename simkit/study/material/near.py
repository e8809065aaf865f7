"""What is near what, told by cached features, for backbones that learn from pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simkit.embed.label_means import LabelMeans
from simkit.embed.medians import LabelMedians
from simkit.embed.nearby.neighbours import Neighbours
from simkit.learn.aids import aids
from simkit.learn.methods import Method, Task
from simkit.study.material.material import Material

_NEAR = (Neighbours, LabelMedians, LabelMeans)  # aids made of features


def wants_near(method: Method) -> bool:
    """Whether the method needs an aid that is made of features."""
    return any(kind in _NEAR for kind in method.needs.aids)


def with_near(task: Task, method: Method, features: Callable[[], Material]) -> Task:
    """The task on pictures with those aids that are made of features, where the method needs any.

    features: opens what holds pooled ones of train; pictures without features take no part. The
    aids do not say of which features they are: those of a backbone that learns are always others.
    """
    if not wants_near(method):
        return task
    cached = features()
    task = replace(task, labels=cached.readable(task.labels, "train"))
    seen = replace(task, inputs=cached.inputs("train", "pooled"))
    kinds = (kind for kind in method.needs.aids if kind in _NEAR)
    found = (aids.built(kind, seen, method.needs) for kind in kinds)
    return task.with_aids(*(replace(aid, inputs="") for aid in found))
