"""Memorisation: when does the loss of each kind of label reach its highest?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from simkit.errors import BadInput
from simkit.labels.partial import PRESENT
from simkit.labels.truth import Truth
from simkit.learn.methods import Batch, Method, Outputs, Task
from simkit.study.analysis.asked import check_result
from simkit.study.analysis.learning.watched import KINDS, innermost, kinds, watched

_TEXT, _WHOLE, _NUMBER = pa.string(), pa.int64(), pa.float64()
MEMORISATION = pa.schema(
    [
        ("method", _TEXT),
        ("kind", _TEXT),
        ("epoch", _WHOLE),
        ("labels", _WHOLE),
        ("highest", _WHOLE),
        ("share", _NUMBER),
        *((name, _NUMBER) for name in ("mean", "low", "median", "high")),
    ]
)


def memorisation(
    task: Task, truth: Truth, methods: Sequence[str] = ("an",), **training: Any
) -> pa.Table:
    """Train, and follow the loss of every label, all unknown ones assumed absent.

    Whatever a method makes of an unknown label, the loss is the cross-entropy that AN has for it,
    as the model was when the image came up. training: settings, seed, backbone and so on, as
    `watched.watched` takes them. Takes ten bytes for each image and class.

    Columns: method; kind of label, one of `watched.KINDS`; epoch from 1; labels: how many are of
    the kind; highest: how many of them have their highest loss in this epoch, the first of equal
    ones, and share, the same divided by labels; mean loss in this epoch, and the quartiles low,
    median and high. A kind without labels has no rows.

    Raises BadInput for a truth about other images or classes, and as training does.
    Source: Kim et al., CVPR 2022, section 3.2: Table 1 (share in epoch 1), Fig. 1 (one label each).
    """
    which = kinds(task.labels, truth)
    seen = watched(task, methods, lambda method: _Losses(method, which), **training)
    rows = [row for name, losses in seen.items() for row in losses.rows(name)]
    return pa.Table.from_pylist(rows, schema=MEMORISATION)


def early(table: pa.Table, method: str, kind: str) -> float:
    """The share of labels of this kind with their highest loss in the first epoch (Table 1).

    Raises BadInput where the table has no such labels of this method, and for another table.
    """
    check_result(table, MEMORISATION, asker="early", made_by="memorisation")
    wanted = {"method": method, "kind": kind, "epoch": 1}
    for row in table.to_pylist():
        if wanted.items() <= row.items():
            return float(row["share"])
    raise BadInput(
        f"early: the table has no labels of the kind {kind!r} under {method!r}; give one that "
        "memorisation returns"
    )


class _Losses:
    """The highest loss of every label so far with its epoch, and this epoch's."""

    def __init__(self, method: Method, which: NDArray[np.int8]) -> None:
        self.method, self.which = method, which
        self.now = np.zeros(which.shape, np.float32)
        self.most = np.full(which.shape, -np.inf, np.float32)
        self.when = np.zeros(which.shape, np.int16)
        self.courses: list[dict[str, list[float]]] = []  # of each epoch, by kind

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None:
        with torch.no_grad():
            logits = innermost(self.method, out, state)[1].logits.float()
            target = (batch.labels == PRESENT).float()
            losses = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        self.now[batch.index.cpu().numpy()] = losses.cpu().numpy()

    def after_epoch(self, epoch: int, model: nn.Module, state: nn.Module) -> None:
        higher = self.now > self.most
        self.most[higher] = self.now[higher]
        self.when[higher] = epoch
        told = {}
        for place, kind in enumerate(KINDS):
            losses = self.now[self.which == place]
            if len(losses):
                quartiles = np.quantile(losses, (0.25, 0.5, 0.75))
                told[kind] = [float(losses.mean(dtype=np.float64)), *map(float, quartiles)]
        self.courses.append(told)

    def rows(self, method: str) -> list[dict[str, Any]]:
        found = []
        for place, kind in enumerate(KINDS):
            when = self.when[self.which == place]
            for epoch, course in enumerate(self.courses if len(when) else [], start=1):
                highest = int((when == epoch).sum())
                about = {"method": method, "kind": kind, "epoch": epoch, "labels": len(when)}
                counted = {"highest": highest, "share": highest / len(when)}
                names = ("mean", "low", "median", "high")
                found.append(about | counted | dict(zip(names, course[kind], strict=True)))
        return found
