"""Are the unknown labels that a model finds most likely really present?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit
from torch import nn

from simkit.errors import BadInput
from simkit.labels.partial import UNKNOWN
from simkit.labels.truth import Truth
from simkit.learn.methods import Batch, Outputs, Task
from simkit.study.analysis import asked
from simkit.study.analysis.learning import kinds, watched

_TEXT, _WHOLE, _NUMBER = pa.string(), pa.int64(), pa.float64()
LIKELIHOOD = pa.schema(
    [
        ("method", _TEXT),
        ("epoch", _WHOLE),
        ("rank", _WHOLE),
        ("images", _WHOLE),
        ("present", _NUMBER),
        ("chance", _NUMBER),
    ]
)
LIKELY = pa.schema(
    [
        ("method", _TEXT),
        ("row", _WHOLE),
        ("image", _TEXT),
        ("class", _TEXT),
        ("rank", _WHOLE),
        ("probability", _NUMBER),
        ("present", pa.bool_()),
    ]
)


def likelihood(
    task: Task, truth: Truth, methods: Sequence[str], *, ranks: int = 20, **training: Any
) -> pa.Table:
    """Train, and count in every epoch how often the k-th likeliest unknown label is present.

    ranks: the largest k. training: as for `readings`. Keeps 5 bytes for each image and class.

    Columns: method; epoch from 1; rank k from 1, among the unknown labels of an image, by the
    scores that training met in this epoch; images that have so many; present: the share of these
    in which the label is present in truth; chance: the share of all unknown labels.

    Raises BadInput for a truth about other images or classes, and as training does.
    Source: Ben-Baruch et al., CVPR 2022, eq. 4-5 and figure 4.
    """
    asked.count(ranks, "likelihood: ranks")
    open, there = _open(task, truth)
    chance = float((open & there).sum() / max(open.sum(), 1))
    seen = watched(task, methods, lambda method: _Ranked(open, there, ranks), **training)
    rows = [
        {"method": name, "epoch": epoch, **counted, "chance": chance}
        for name, ranked in seen.items()
        for epoch, some in enumerate(ranked.epochs, start=1)
        for counted in some
    ]
    return pa.Table.from_pylist(rows, schema=LIKELIHOOD)


def likely_labels(
    task: Task,
    truth: Truth,
    method: str = "csl",
    *,
    images: Sequence[int],
    top: int = 10,
    **training: Any,
) -> pa.Table:
    """Train, and list the likeliest unknown labels of a few images, as the last epoch met them.

    images: rows of the task; top: labels of each. training: as for `readings`.

    Columns: method; row of the task; image, its id; class; rank from 1, probability by the model;
    present: in truth. Raises BadInput for images that were not asked about, for a truth about
    others, for several methods, and as training does.
    Source: Ben-Baruch et al., CVPR 2022, figure 4.
    """
    method = asked.one_method(method, "likely labels: method")
    asked.count(top, "likely labels: top")
    images = asked.rows(images, task.labels.shape[0], "likely labels")
    for row in images:
        if row not in task.rows:
            raise BadInput(f"likely labels: image {row} was not asked about; choose of task.rows")
    open, there = _open(task, truth)
    seen = watched(task, [method], lambda _: _Ranked(open, there, top), **training)
    scores = seen[method].scores
    rows = []
    for row in images:
        order = np.argsort(np.where(open[row], -scores[row], np.inf), kind="stable")
        for rank, c in enumerate(order[: min(top, int(open[row].sum()))], start=1):
            cell = {"method": method, "row": row, "image": str(task.labels.images[row])}
            cell |= {"class": truth.classes[c], "rank": rank, "present": bool(there[row, c])}
            rows.append(cell | {"probability": float(expit(scores[row, c]))})
    return pa.Table.from_pylist(rows, schema=LIKELY)


class _Ranked:
    """A watcher: the scores of an epoch, and how often its k-th likeliest label is present."""

    def __init__(self, open: NDArray[np.bool_], there: NDArray[np.bool_], ranks: int) -> None:
        self.scores = np.full(open.shape, -np.inf, np.float32)
        self.epochs: list[list[dict[str, Any]]] = []
        self._open, self._there, self._ranks = open, there, ranks

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None:
        self.scores[batch.index.cpu().numpy()] = out.logits.detach().float().cpu().numpy()

    def after_epoch(self, epoch: int, model: nn.Module, state: nn.Module) -> None:
        below = np.where(self._open, -self.scores, np.inf)
        order = np.argsort(below, axis=1, kind="stable")[:, : self._ranks]
        open, there = (np.take_along_axis(a, order, 1) for a in (self._open, self._there))
        images, right = open.sum(0), (open & there).sum(0)
        self.epochs.append(
            [
                {"rank": k + 1, "images": int(images[k]), "present": float(right[k] / images[k])}
                for k in np.flatnonzero(images).tolist()
            ]
        )


def _open(task: Task, truth: Truth) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(N, L) which labels are unknown though the truth is known, and which are present."""
    every = np.arange(task.labels.shape[0])
    fine = kinds(task.labels, truth) >= 0
    return (task.labels.rows(every) == UNKNOWN) & fine, truth.rows(every)
