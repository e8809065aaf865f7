"""Label embeddings: medians and means of the features of each class's images."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from simkit.embed.unit_features import Rows, UnitFeatures, same_features, unit_rows
from simkit.history import content_id
from simkit.labels.partial import PRESENT
from simkit.labels.truth import locked

_HELD = 1 << 28  # values of columns in memory: 1 GB
_VALUES = 1 << 16  # values sorted at a time: 256 KB, which fit into the cache
_COLUMNS = 32  # features sorted at a time, at least: one by one, they are slow to read
_FEW = 128  # values up to which sorting is as fast as selecting
_ROWS = 4096  # images added at a time for means; another number would change the last bits


@dataclass(frozen=True, eq=False)
class LabelEmbeddings:
    """An embedding of each class in the space of the features of unit length.

    Attributes
    ----------
    psi
        (L, D) float64, nan for a class without present labels.
    labels, inputs
        Ids of the labels and features it was computed from, "" if unknown.
    """

    psi: NDArray[np.float64]
    labels: str = ""
    inputs: str = ""

    name: ClassVar[str]

    @cached_property
    def id(self) -> str:
        """Content id."""
        return content_id(self.name, self.psi)

    @classmethod
    def build(cls, task: Any, *, train: Callable[..., Any] | None = None) -> Self:
        """Compute embeddings from the features and labels of the asked images; `train` is not used.

        Raises
        ------
        BadInput
            If the task has no features.
        """
        features = unit_rows(task, cls.name.replace("-", " "))
        codes = task.labels.codes[np.flatnonzero(task.labels.asked)]
        psi = cls.of(features, codes == PRESENT)
        return cls(locked(psi), task.labels.id, str(task.inputs.id))

    @staticmethod
    @abstractmethod
    def of(features: Rows, present: Any) -> NDArray[np.float64]:
        """(L, D) embeddings from features (n, D) and the sparse labels present (n, L) bool."""

    def fits(self, task: Any) -> bool:
        """Whether these may belong to the task: its classes and, if known, labels and features."""
        without = task.labels.per_class(PRESENT) == 0
        if len(self.psi) != len(without) or (np.isnan(self.psi).any(1) != without).any():
            return False
        return self.labels in ("", task.labels.id) and same_features(self.inputs, task)


@dataclass(frozen=True, eq=False)
class LabelMedians(LabelEmbeddings):
    """The median of each feature over the images in which a class is known to be present.

    The medians are not normalised to unit length again. Features of up to 1 GB are held in memory
    as float32; of larger ones the rows of one class are read, 1 GB at a time. Source: Soft
    Exposure, section 3 (a mean was worse).
    """

    name: ClassVar[str] = "label-medians"

    @staticmethod
    def of(features: Rows, present: Any) -> NDArray[np.float64]:
        """(L, D) medians. Memory-mapped pages of a file of features are not counted."""
        present = csc_array(present)
        width = features.shape[1]
        psi = np.full((present.shape[1], width), np.nan)
        for c in range(len(psi)):
            rows = np.sort(present.indices[present.indptr[c] : present.indptr[c + 1]])
            # Features on disk: as many columns of these rows at a time as may be held.
            step = _HELD // max(1, len(rows)) if isinstance(features, UnitFeatures) else width
            for first in range(0, width if len(rows) else 0, max(1, step)):
                columns = slice(first, first + max(1, step))
                psi[c, columns] = _median(features, rows, columns)
        return psi


@dataclass(frozen=True, eq=False)
class LabelMeans(LabelEmbeddings):
    """The mean feature of the images in which a class is known to be present.

    The means are not normalised to unit length again. Source: Soft Exposure, section 3, which found
    medians (`LabelMedians`) better.
    """

    name: ClassVar[str] = "label-means"

    @staticmethod
    def of(features: Rows, present: Any) -> NDArray[np.float64]:
        """(L, D) means."""
        present = csr_array(present).astype(np.float64)
        sums = np.zeros((present.shape[1], features.shape[1]))
        for start in range(0, present.shape[0], _ROWS):
            some = features[start : start + _ROWS].astype(np.float64)
            sums += present[start : start + _ROWS].T @ some
        counts = present.sum(0)[:, None]
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _median(features: Rows, rows: NDArray[np.integer], columns: slice) -> NDArray[np.float64]:
    """Medians (columns,) of some rows of features (n, D)."""
    if isinstance(features, UnitFeatures):
        held, rows = features.block(rows, columns), np.arange(len(rows))
    else:
        held = features[:]
    n, step = len(rows), max(_COLUMNS, _VALUES // len(rows))
    medians = np.empty(held.shape[1])
    for at in range(0, len(medians), step):
        values = np.ascontiguousarray(held[rows, at : at + step].T)
        if n <= _FEW:
            values.sort(axis=1)
            lower = values[:, (n - 1) // 2]
        else:  # of two middles at once, numpy selects several times slower
            values.partition(n // 2, axis=1)
            lower = values[:, n // 2] if n % 2 else values[:, : n // 2].max(1)
        medians[at : at + step] = (0.0 + lower.astype(np.float64) + values[:, n // 2]) / 2  # no -0
    return medians
