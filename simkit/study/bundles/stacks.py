"""Which runs of a bundle are trained together: those that share pictures, up to a memory bound."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from simkit.learn import methods
from simkit.learn.catalogue import training_bytes
from simkit.learn.methods import Method, Sizes, Task
from simkit.learn.validation import Validation
from simkit.study.bundles.bundle import Purchase, kind_of
from simkit.study.bundles.buying import Bought

Runs = Sequence["Run"]
# Measured with 50 to 250 runs of 80 classes: what losses and scores need for a moment, and what the
# allocator keeps, took 8 to 36 % more than what is held.
_MORE = 1.4


@dataclass(frozen=True, eq=False)
class Run:
    """One method on the labels of one purchase; task: with the aids the method needs.

    notes: what was warned about while the labels were bought and the aids were made.
    """

    purchase: Purchase
    spec: str
    bought: Bought
    task: Task
    validation: Validation | None
    notes: list[str]

    @property
    def kind(self) -> str:
        """Of the features: "pooled" or "maps"."""
        return kind_of(self.purchase.spelled(self.spec))

    @property
    def method(self) -> Method:
        """As it is trained."""
        return methods.make(self.purchase.spelled(self.spec))

    @property
    def lr(self) -> float | None:
        """The rate that a sweep tries or chose; None: that of the grid."""
        found = self.purchase.setting(self.spec)
        return None if found is None else found.lr

    def bytes(self, scored: int) -> int:
        """What it takes in a stack: head, gradient and two moments, labels, state, and the scores
        of so many images."""
        how = {"width": self.task.inputs.width, "rows": len(self.task.rows), "scored": scored}
        return run_bytes(self.method, self.task.sizes, **how)


def run_bytes(method: Method, sizes: Sizes, *, width: int, rows: int, scored: int) -> int:
    """What one run takes in a stack: see `Run.bytes`."""
    head = 16 * sizes.classes * width
    held = head + sizes.classes * (rows + 4 * scored) + training_bytes(method, sizes)
    return round(_MORE * held)


def stacks(runs: Iterable[Run], *, scored: int, memory: float) -> Iterator[list[Run]]:
    """Runs that share features, asked images and validation labels, in order, cut so that none
    takes more than `memory` GB; a run that takes more is alone.

    scored: images that are scored for each run.
    """
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        groups.setdefault(_shared(run), []).append(run)
    for group in groups.values():
        stack: list[Run] = []
        taken = 0
        for run in group:
            needs = run.bytes(scored)
            if stack and taken + needs > memory * 1e9:
                yield stack
                stack, taken = [], 0
            stack.append(run)
            taken += needs
        yield stack


def _shared(run: Run) -> tuple[str, str, str | None]:
    asked = hashlib.sha256(run.task.rows.tobytes()).hexdigest()
    return run.kind, asked, None if run.validation is None else run.validation.id
