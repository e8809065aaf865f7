"""Methods watched while they are trained, and what is true of the labels they assume absent.

What the analyses of this folder share. Truth is joined here; no method ever sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import nn

from simkit.errors import BadInput, unknown
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Method, Outputs, Task, make
from simkit.learn.methods.base import Around
from simkit.learn.train import Watcher, train_stack
from simkit.study.analysis.asked import listed
from simkit.study.analysis.labelling.revealed import check_same

W = TypeVar("W", bound=Watcher)

KINDS = ("true positive", "true negative", "false negative")
# Not with a checkpoint: a watcher would miss the epochs before it.
_TRAINING = ("settings", "seed", "draw", "validation", "backbone", "device", "compile")


def watched(
    task: Task, methods: Sequence[str], new: Callable[[Method], W], **training: Any
) -> dict[str, W]:
    """Train every method on the task, with a watcher of its own; the watchers by method.

    methods: as `simkit list methods` spells them, also one text with commas. new: makes the
    watcher of a method. training: settings, seed, draw, validation, backbone, device and compile,
    as `simkit.learn.train.train_stack` takes them. Heads on features learn together, and a backbone
    with one method after the other. Raises BadInput where no method is named, and for anything
    else about training.
    """
    specs = list(dict.fromkeys(listed(methods)))
    if not specs:
        raise BadInput("no method is named; name one, such as an")
    for name in training:
        if name not in _TRAINING:
            raise unknown("setting of a watched training", name, _TRAINING)
    made = [make(spec) for spec in specs]
    watchers = {spec: new(method) for spec, method in zip(specs, made, strict=True)}
    ready = prepare(task, *made, **training)
    runs = [(ready, method) for method in made]
    together = training.get("backbone") is None
    groups = [range(len(runs))] if together else [range(n, n + 1) for n in range(len(runs))]
    for group in groups:
        shown = {place: (watchers[specs[n]],) for place, n in enumerate(group)}
        train_stack([runs[n] for n in group], watch=shown, **training)
    return watchers


def kinds(labels: PartialLabels, truth: Truth) -> NDArray[np.int8]:
    """(N, L) what each label is, once unknown ones are taken for absent: a place in KINDS.

    -1: of an image that was not asked about, or not known to the truth itself. Known labels that
    say "absent" are negatives like the assumed ones: true, unless somebody erred.
    Raises BadInput for a truth about other images or classes.
    """
    check_same(truth, labels, "task")
    every = np.arange(labels.shape[0])
    present = truth.rows(every)
    found = np.where(present, KINDS.index("false negative"), KINDS.index("true negative"))
    found[labels.rows(every) == PRESENT] = KINDS.index("true positive")
    if truth.known is not None:
        found[~truth.known.toarray()] = -1
    found[~labels.asked] = -1
    return found.astype(np.int8)


def innermost(method: Method, out: Outputs, state: nn.Module) -> tuple[Method, Outputs, nn.Module]:
    """The method inside all wrappers, with the outputs and the state that it sees in training."""
    while isinstance(method, Around):
        out = method.changed(out, state, training=True)
        method, state = method.inner, state.inner  # type: ignore[assignment]
    return method, out, state
