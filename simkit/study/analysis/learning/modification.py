"""Modification: how many of the labels that a method rejects or corrects are false negatives?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import nn

from simkit.labels.partial import UNKNOWN
from simkit.labels.truth import Truth
from simkit.learn.methods import Batch, Method, Outputs, Task
from simkit.learn.methods.base import Around
from simkit.learn.methods.pieces.remembered import Remembering
from simkit.study.analysis.learning.watched import KINDS, kinds, watched

_TEXT, _WHOLE, _NUMBER = pa.string(), pa.int64(), pa.float64()
MODIFICATION = pa.schema(
    [
        ("method", _TEXT),
        ("lasting", pa.bool_()),
        ("epoch", _WHOLE),
        *((name, _WHOLE) for name in ("modified", "right")),
        *((name, _NUMBER) for name in ("precision", "found", "chance", "again")),
    ]
)


def modification(task: Task, truth: Truth, methods: Sequence[str], **training: Any) -> pa.Table:
    """Train, and count in every epoch which unknown labels each method modifies.

    Modified is what a method's `selected` names: LL-R rejects it, LL-Ct corrects it for the step,
    LL-Cp for good, CSL ignores it. What is corrected for good (lasting) is counted over all epochs
    so far, as in the paper. training: as for `memorisation`. Takes a bit for each image, class and
    epoch, and some bytes for each image and class.

    Columns: method, lasting, epoch from 1, modified: labels; right: those of them that are present
    in truth, so that taking them for absent was a false negative; precision: right / modified, null
    where nothing was modified; found: right divided by all false negatives of the task; chance: the
    precision of modifying unknown labels at random; again: the share of the labels modified in the
    epoch before that are modified in this one, null where there were none.

    Raises BadInput for a truth about other images or classes, and as training does.
    Source: precision, Kim et al., CVPR 2022, Fig. 4; rejected false negatives per epoch, Kim et
    al., CVPR 2023 (BoostLU), Fig. 5.
    """
    which = kinds(task.labels, truth)
    wrong = which == KINDS.index("false negative")
    every = np.arange(len(which))
    open = (task.labels.rows(every) == UNKNOWN) & (which >= 0)
    missed = int((wrong & open).sum())
    rows = []
    for name, seen in selections(task, methods, **training).items():
        before = np.zeros_like(open)
        for epoch, chosen in enumerate(seen.of_epochs(), start=1):
            modified = chosen & open
            count, right = int(modified.sum()), int((modified & wrong).sum())
            again = (modified & before).sum() / before.sum() if before.any() else None
            before = modified
            rows.append(
                {
                    "method": name,
                    "lasting": seen.lasting,
                    "epoch": epoch,
                    "modified": count,
                    "right": right,
                    "precision": right / count if count else None,
                    "found": right / missed if missed else None,
                    "chance": missed / int(open.sum()) if open.any() else None,
                    "again": again,
                }
            )
    return pa.Table.from_pylist(rows, schema=MODIFICATION)


def selections(task: Task, methods: Sequence[str], **training: Any) -> dict[str, Selections]:
    """Train, and keep by method what each has selected; `training` as for `memorisation`."""
    shape = task.labels.shape
    return watched(task, methods, lambda method: Selections(method, shape), **training)


class Selections:
    """A watcher: which labels a method selected in every epoch, a bit each.

    lasting: whether a selection stays, as with LL-Cp.
    """

    def __init__(self, method: Method, shape: tuple[int, int]) -> None:
        self.method, self.shape = method, shape
        self.lasting = isinstance(_inside(method), Remembering)
        self._now = np.zeros(shape, bool)
        self._kept: list[NDArray[np.uint8]] = []

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None:
        with torch.no_grad():
            chosen = self.method.selected(batch, out, state)
        rows = batch.index.cpu().numpy()
        now = chosen.cpu().numpy()
        self._now[rows] = now | self._now[rows] if self.lasting else now

    def after_epoch(self, epoch: int, model: nn.Module, state: nn.Module) -> None:
        self._kept.append(np.packbits(self._now, axis=1))

    def of_epochs(self) -> list[NDArray[np.bool_]]:
        """(N, L) bool for every epoch: what it selected, or all so far where selections last."""
        L = self.shape[1]
        return [np.unpackbits(bits, axis=1, count=L).astype(bool) for bits in self._kept]


def _inside(method: Method) -> Method:
    while isinstance(method, Around):
        method = method.inner
    return method
