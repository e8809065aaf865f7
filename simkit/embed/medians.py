"""What a class looks like: the median of the features of its images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from simkit.embed.label_places import LabelPlaces
from simkit.embed.unit import Rows, UnitRows, unit_rows

_COLUMNS = 128  # features whose medians are taken at a time
_HELD = 1 << 28  # values of such columns that are held: 1 GB
_VALUES = 1 << 23  # values that are sorted at a time: 32 MB
_SORTED = 512  # of fewer values than this all are sorted, which is faster than to find the middle


@dataclass(frozen=True, eq=False)
class LabelMedians(LabelPlaces):
    """psi (L, D) float64: the median of each feature over the images in which a class is known
    to be present, nan for a class without such an image.

    The features have unit length; the medians are not brought to it again. Source: Soft Exposure,
    section 3 (a mean did worse there).
    """

    name: ClassVar[str] = "label-medians"
    key: ClassVar[str] = "psi"

    @classmethod
    def build(cls, task: Any, *, train: Callable[..., Any] | None = None) -> LabelMedians:
        """From the features and labels of the task. Raises BadInput where it has no features.

        Features of up to 1 GB are held in float32, of larger ones 1 GB of columns at a time.
        """
        features = unit_rows(task, "label medians")
        codes = task.labels.codes[np.flatnonzero(task.labels.asked)]
        present = csc_array(codes == 1)
        return cls.of(medians(features, present), task)


def medians(features: Rows, present: csc_array) -> NDArray[np.float64]:
    """(L, D) float64 medians of features (n, D) over the rows present (n, L) of each class.

    Of rows on disk 1 GB of columns is held at a time, and about 100 MB to sort. Mapped files come
    on top (1 GB at most of `Shards`), which the system takes back when it wants to.
    """
    n, width = features.shape
    psi = np.empty((present.shape[1], width))
    at_once = width
    if isinstance(features, UnitRows):
        at_once = min(width, max(1, _HELD // max(1, n)))
    for first in range(0, width, at_once):
        last = min(first + at_once, width)
        psi[:, first:last] = _of_columns(features, present, first, last)
    return psi


def _of_columns(features: Rows, present: csc_array, first: int, last: int) -> NDArray[np.float64]:
    """(L, last - first) medians of some of the columns."""
    part = features.columns(first, last) if isinstance(features, UnitRows) else features[:]
    psi = np.full((present.shape[1], last - first), np.nan)
    for c, (start, stop) in enumerate(zip(present.indptr, present.indptr[1:], strict=False)):
        if start < stop:
            psi[c] = _of_rows(part, np.sort(present.indices[start:stop]))
    return psi


def _of_rows(features: Rows, rows: NDArray[np.integer]) -> NDArray[np.float64]:
    """(D,) medians of some rows of features (n, D)."""
    width, found = features.shape[1], []
    step = max(1, min(_COLUMNS, _VALUES // len(rows)))
    for at in range(0, width, step):
        values = np.ascontiguousarray(features[rows, at : at + step].T)
        found.append(_middle(values))
    return np.concatenate(found)


def _middle(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """The median of each row of values, which are put into another order."""
    n, even = values.shape[1], values.shape[1] % 2 == 0
    half = n // 2
    if n < _SORTED:
        values.sort(axis=1)
    else:
        values.partition(half, axis=1)  # everything before the middle is not above it
    upper = values[:, half].astype(np.float64)
    if not even:
        return upper
    lower = values[:, half - 1] if n < _SORTED else values[:, :half].max(1)
    return (upper + lower.astype(np.float64)) / 2
