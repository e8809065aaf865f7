"""Pooled features of unit length, from which distances of images and classes are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput

_BLOCK = 1 << 22  # features read at a time
_HELD = 1 << 30  # bytes of rows held in memory; larger ones are read again
_ROUNDING = 1e-6  # of a length in float32

Floats = NDArray[np.float64]


class UnitFeatures:
    """(n, D) float32 rows of length one, read from inputs on demand.

    inputs: features, pooled or maps, which are pooled first;  places (n,): their selected rows.
    Rows of unit length, up to the rounding of float32, stay unchanged, and so do rows of zeros.
    Reading raises BadInput, naming what they are `wanted_for`, for values that are not finite.
    """

    def __init__(self, inputs: Any, places: NDArray[np.int64], wanted_for: str) -> None:
        self._inputs, self._places, self._wanted_for = inputs, places, wanted_for
        self.shape: tuple[int, ...] = (len(places), inputs.width)

    def __getitem__(self, index: Any) -> NDArray[np.float32]:
        """The rows of a slice or of an array of places."""
        pooled = self._inputs.batch(self._places[index]).numpy().astype(np.float64)
        if pooled.ndim != 2:
            pooled = pooled.reshape(*pooled.shape[:2], -1).mean(-1)
        if not np.isfinite(pooled).all():
            raise BadInput(
                f"{self._wanted_for} come from features, and some are not finite; clean them first"
            )
        length = np.sqrt((pooled**2).sum(-1, keepdims=True))
        # Another division would change the last bit of rows that have unit length already.
        done = (length == 0) | (np.abs(length - 1) < _ROUNDING)
        return (pooled / np.where(done, 1.0, length)).astype(np.float32)

    def block(self, rows: NDArray[np.integer], columns: slice) -> NDArray[np.float32]:
        """Some columns of some rows, an array of which no more is in memory."""
        values = np.empty((len(rows), len(range(self.shape[1])[columns])), np.float32)
        # By the size of what is read: maps take many times the memory of the pooled rows.
        size = np.prod(self._inputs.batch(self._places[:1]).shape) if len(rows) else 1
        step = max(1, _BLOCK // int(size))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            values[part] = self[rows[part]][:, columns]
        return values


Rows = NDArray[np.float32] | UnitFeatures  # (n, D)


def unit_rows(task: Any, wanted_for: str) -> Rows:
    """(n, D) float32, one row for each asked image of the task, every row of length one.

    An array of at most 1 GB; larger ones stay on disk with the task's features. Raises BadInput,
    naming what the features are `wanted_for`, if the task has none or if they are not finite.
    """
    inputs, places = task.inputs, np.flatnonzero(task.labels.asked)
    if inputs is None or inputs.kind == "images":
        has = "no inputs" if inputs is None else "images as its inputs"
        raise BadInput(
            f"{wanted_for} come from features, and this task has {has}; give it features "
            "(FeatureInputs), or the aid itself with task.with_aids(...)"
        )
    rows = UnitFeatures(inputs, places, wanted_for)
    if 4 * len(places) * inputs.width > _HELD:
        return rows
    return rows.block(np.arange(len(places)), slice(None))


def same_features(inputs: str, task: Any) -> bool:
    """Whether side information from features of this id, "" if unknown, may belong to the task.

    Ids of images and of maps are not compared: side information may come from other features.
    """
    features = task.inputs
    if not inputs or features is None or features.kind != "pooled":
        return True
    return bool(inputs == features.id)
