"""What a class looks like on average: the other way to place it, which Soft Exposure tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from simkit.embed.label_places import LabelPlaces
from simkit.embed.unit import unit_rows

_ROWS = 4096  # images added at a time; another number would give other last bits


@dataclass(frozen=True, eq=False)
class LabelMeans(LabelPlaces):
    """psi (L, D) float64: the mean feature of the images in which a class is known to be present.

    nan for a class without such an image. The features have unit length; the means are not brought
    to it again. Source: Soft Exposure, section 3, which found medians (`LabelMedians`) better.
    """

    name: ClassVar[str] = "label-means"
    key: ClassVar[str] = "means"

    @classmethod
    def build(cls, task: Any, *, train: Callable[..., Any] | None = None) -> LabelMeans:
        """From the features and labels of the task. Raises BadInput where it has no features."""
        features = unit_rows(task, "label means")
        codes = task.labels.codes[np.flatnonzero(task.labels.asked)]
        present = csr_array(codes == 1).astype(np.float64)
        sums = np.zeros((codes.shape[1], features.shape[1]))
        for start in range(0, codes.shape[0], _ROWS):
            some = features[start : start + _ROWS].astype(np.float64)
            sums += present[start : start + _ROWS].T @ some
        counts = present.sum(0)[:, None]
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return cls.of(means, task)
