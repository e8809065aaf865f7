"""The grade of trust in a plan: its reasons, and a backtest of the curves.

The backtest predicts the pilot's largest sizes from its smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from simkit.planning.choose import Candidate
from simkit.planning.costs import Purchases
from simkit.planning.curves import Curves
from simkit.planning.evidence import Evidence, LabelOption

Grade = Literal["high", "medium", "low"]

FAR, FURTHER = 1.5, 3.0  # times the pilot's pool: trust is medium, and low
FEWER = 1.3  # times as many labels for each image in the smallest size: trust is low
MOST_REASONS = 3
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


@dataclass(frozen=True)
class Trust:
    """The grade of trust in a plan.

    Attributes
    ----------
    reasons
        Sentences, most serious first.
    far
        Whether the order is far beyond the pilot's images.
    sparse
        Whether the order has fewer labels per image than any measured size.
    """

    grade: Grade
    reasons: tuple[str, ...]
    far: bool
    sparse: bool

    @staticmethod
    def of(chosen: Candidate, curves: Curves, test: Backtest | None) -> Trust:
        """Trust in a purchase chosen by these curves."""
        rows = [*_of_evidence(curves.evidence), *_of_order(chosen, curves, test)]
        reasons = sorted((row for row in rows if row[0]), key=lambda row: -row[0])
        grades: tuple[Grade, ...] = ("high", "medium", "low")
        return Trust(
            grade=grades[max((weight for weight, _ in reasons), default=0)],
            reasons=tuple(text for _, text in reasons)[:MOST_REASONS],
            far=chosen.times > FURTHER,
            sparse=_fewer(chosen, curves) > FEWER,
        )


Row = tuple[int, str]  # severity, 0 to 2, and a sentence


def _of_evidence(evidence: Evidence) -> Iterator[Row]:
    """Problems of the runs."""
    share, sentence = evidence.missing
    yield int(share > 0) + int(share > 0.05), sentence
    text = (
        "the features come from scenes-net, a small network trained on drawings; compare again "
        "with a backbone for photographs"
    )
    yield 2 * evidence.stand_in_backbone, text
    test = evidence.test
    text = (
        f"mAP is known only to ±{test.half_width:.1f} points on the pilot's "
        f"{test.images or 0:,} test images"
    )
    small = test.images is not None and test.small
    yield int(small) + int(small and test.half_width >= 5), text
    text = "every size was measured with " + ("1 draw" if evidence.draws == 1 else "2 draws")
    yield max(3 - evidence.draws, 0), text
    text = (
        f"the data {evidence.grid.get('data')} cannot be opened here, so counts come from class "
        "frequencies alone"
    )
    yield int(not evidence.pool.opened), text


def _of_order(chosen: Candidate, curves: Curves, backtest: Backtest | None) -> Iterator[Row]:
    """Problems of the extrapolation to the order."""
    times, pool = chosen.times, curves.evidence.pool.images
    text = f"{chosen.images:,} images are {times:.2g} times the pilot's {pool:,}"
    yield int(times > FAR) + int(times > FURTHER), text
    text = (
        "the gain from more images is assumed, as complete labels of fewer images were not "
        "compared; add full-subset to the schemes"
    )
    yield 2 * (times > FAR and not curves.growth_measured(chosen.pair)), text
    if backtest is not None:
        text = f"only {backtest.held:.0%} of {backtest.cells} curves predict their own largest size"
        yield int(not backtest.passed), text
    fewer = _fewer(chosen, curves)
    text = (
        "the order has fewer labels per image than any that the pilot measured; the smallest had "
        f"{fewer:.2g} times as many"
    )
    yield 2 * (fewer > FEWER), text
    low, high = chosen.band
    yield int(high - low > 0.1), f"the range is {100 * (high - low):.0f} points wide"


def _fewer(one: Candidate, curves: Curves) -> float:
    return curves.fewer_than_measured(one.pair, one.present, one.absent, one.times)
