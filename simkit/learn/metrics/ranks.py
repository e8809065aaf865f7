"""Where the present images of a block of classes stand among the known ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput


@dataclass(frozen=True)
class Ranks:
    """Where the present images of a block of classes stand among their known ones.

    classes: which ones. Of each class c, entries pointers[c] to pointers[c + 1] are its present
    images, from the lowest score: scores (P,), and how many present (hits) and how many known
    images (images) score at least as high, both (P,) int64.
    known (classes,): how many are known;  top (classes,): their highest score, -inf without any.
    """

    classes: slice
    pointers: NDArray[np.int64]
    scores: NDArray[Any]
    hits: NDArray[np.int64]
    images: NDArray[np.int64]
    known: NDArray[np.int64]
    top: NDArray[np.float64]

    @property
    def present(self) -> NDArray[np.int64]:
        """(classes,) how many images are present."""
        return np.diff(self.pointers)

    def reduce(self, how: np.ufunc, values: NDArray[Any], empty: float) -> NDArray[Any]:
        """(classes,) `how` over each class's values (P,), `empty` where it has none."""
        some = self.present > 0
        out = np.full(len(some), empty, values.dtype)
        if some.any():
            out[some] = how.reduceat(values, self.pointers[:-1][some])
        return out


def refuse_nan() -> NoReturn:
    """Raise BadInput for scores that hold nan."""
    raise BadInput("the scores hold nan; the model that gave them has diverged, lower its lr")
