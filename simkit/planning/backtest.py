"""Backtest: the pilot's largest sizes, predicted from its smaller ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from simkit.planning.costs import Purchases
from simkit.planning.curves import Curves
from simkit.planning.evidence import Evidence, LabelOption

LEAST_SIZES = 3  # measured ones; the largest is predicted from the others


@dataclass(frozen=True)
class Backtest:
    """The largest size of every cell, predicted from its smaller ones.

    Attributes
    ----------
    cells
        Number of predicted cells.
    held
        Share of the cells whose mean mAP is within its 90 % interval.
    error
        Median absolute error of the prediction, as mAP in [0, 1].
    """

    cells: int
    held: float
    error: float

    @property
    def passed(self) -> bool:
        """Whether coverage is close to nominal."""
        return self.held >= 0.75


def backtest(
    evidence: Evidence, purchases: Mapping[LabelOption, Purchases], *, seed: int = 0
) -> Backtest | None:
    """Predict the largest size of each cell from the others; None if no cell has three sizes."""
    long = {
        pair: sizes
        for pair, sizes in evidence.cells.items()
        if len(sizes) >= LEAST_SIZES and pair[0] in purchases
    }
    if not long:
        return None
    shorter = {pair: sizes[:-1] for pair, sizes in long.items()}
    curves = Curves(replace(evidence, cells=shorter), purchases, seed=seed)
    held, errors = [], []
    for pair, sizes in long.items():
        values = curves.at_size(pair, sizes[-1])
        low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
        held.append(low <= sizes[-1].score <= high)
        errors.append(abs(median - sizes[-1].score))
    return Backtest(len(long), float(np.mean(held)), float(np.median(errors)))
