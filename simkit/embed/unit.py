"""Pooled features of unit length, from which distances of images and classes are computed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput

_BLOCK = 1 << 22  # features read at a time
_HELD = 1 << 30  # bytes of rows held in memory; larger ones are read again
_ROUNDING = 1e-6  # of a length in float32

Floats = NDArray[np.float64]


class UnitRows:
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
        pooled = self._pooled(self._places[index])
        length = np.sqrt((pooled**2).sum(-1, keepdims=True))
        done = (length == 0) | (np.abs(length - 1) < _ROUNDING)
        return (pooled / np.where(done, 1.0, length)).astype(np.float32)

    @cached_property
    def step(self) -> int:
        """The number of rows to read at a time."""
        if not len(self._places):
            return 1
        return max(1, _BLOCK // int(np.prod(self._inputs.batch(self._places[:1]).shape)))

    def held(self) -> NDArray[np.float32]:
        """All rows as an array of n * D * 4 bytes."""
        return self.block(np.arange(len(self._places)), slice(None))

    def block(self, rows: NDArray[np.integer], columns: slice) -> NDArray[np.float32]:
        """Some columns of some rows, an array of which no more is in memory."""
        values = np.empty((len(rows), len(range(self.shape[1])[columns])), np.float32)
        for start in range(0, len(rows), self.step):
            part = slice(start, start + self.step)
            values[part] = self[rows[part]][:, columns]
        return values

    def _pooled(self, places: NDArray[np.int64]) -> Floats:
        values = self._inputs.batch(places).numpy().astype(np.float64)
        if values.ndim != 2:
            values = values.reshape(*values.shape[:2], -1).mean(-1)
        if not np.isfinite(values).all():
            raise BadInput(
                f"{self._wanted_for} come from features, and some are not finite; clean them first"
            )
        return values


Rows = NDArray[np.float32] | UnitRows  # (n, D)


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
    rows = UnitRows(inputs, places, wanted_for)
    return rows if 4 * len(places) * inputs.width > _HELD else rows.held()


def same_features(inputs: str, task: Any) -> bool:
    """Whether side information from features of this id, "" if unknown, may belong to the task.

    Ids of images and of maps are not compared: side information may come from other features.
    """
    features = task.inputs
    if not inputs or features is None or features.kind != "pooled":
        return True
    return bool(inputs == features.id)
