"""Building the aids that a method needs and a task lacks."""

from __future__ import annotations

from functools import partial, reduce
from operator import or_
from typing import Any

from simkit.learn.aids import aids
from simkit.learn.methods.base import Method, Task
from simkit.learn.methods.task import Needs
from simkit.learn.train import train


def prepare(task: Task, *methods: Method, **training: Any) -> Task:
    """The task with every aid that any of `methods` needs; those it already carries are kept.

    One aid serves them all: it holds as many neighbours as the one that wants most.  training:
    settings, seed, draw and so on for an aid that trains a temporary model, as `train` takes them.
    """
    needs = reduce(or_, (method.needs for method in methods), Needs())
    for kind in aids.missing(needs.aids, task.aids):
        task = task.with_aids(aids.built(kind, task, needs, train=partial(train, **training)))
    return task
