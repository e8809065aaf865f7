"""The chosen purchase for a budget, with its money and a grade of trust.

A backtest predicts the pilot's largest sizes from its smaller ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from simkit.annotate.prices import Prices
from simkit.planning import choose
from simkit.planning.choose import Candidate
from simkit.planning.costs import PriceCurve
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
    evidence: Evidence, purchases: Mapping[LabelOption, PriceCurve], *, seed: int = 0
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
    def of(chosen: Candidate, curves: Curves, backtest: Backtest | None) -> Trust:
        """Trust in a purchase chosen by these curves."""
        fewer = curves.fewer_than_measured(chosen.pair, chosen.present, chosen.absent, chosen.times)
        rows = [*_problems_of_runs(curves.evidence)]
        rows += _problems_of_order(chosen, curves, fewer, backtest)
        reasons = sorted((row for row in rows if row[0]), key=lambda row: -row[0])
        grades: tuple[Grade, ...] = ("high", "medium", "low")
        return Trust(
            grade=grades[max((severity for severity, _ in reasons), default=0)],
            reasons=tuple(text for _, text in reasons)[:MOST_REASONS],
            far=chosen.times > FURTHER,
            sparse=fewer > FEWER,
        )


Row = tuple[int, str]  # severity, 0 to 2, and a sentence


def _problems_of_runs(evidence: Evidence) -> Iterator[Row]:
    share, sentence = evidence.missing
    yield int(share > 0) + int(share > 0.05), sentence
    text = (
        "the features come from scenes-net, a small network trained on drawings; compare again "
        "with a backbone for photographs"
    )
    yield 2 * evidence.stand_in_backbone, text
    test = evidence.test
    text = (
        f"mAP is uncertain by ±{test.half_width:.1f} points on the pilot's "
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


def _problems_of_order(
    chosen: Candidate, curves: Curves, fewer: float, backtest: Backtest | None
) -> Iterator[Row]:
    """Problems of the extrapolation from the runs to the order."""
    times, pool = chosen.times, curves.evidence.pool.images
    text = f"{chosen.images:,} images are {times:.2g} times the pilot's {pool:,}"
    yield int(times > FAR) + int(times > FURTHER), text
    text = (
        "the gain from more images is assumed, because complete labels of fewer images were not "
        "compared; add full-subset to the schemes"
    )
    yield 2 * (times > FAR and not curves.growth_measured(chosen.pair)), text
    if backtest is not None:
        text = f"only {backtest.held:.0%} of {backtest.cells} curves predict their own largest size"
        yield int(not backtest.passed), text
    text = (
        "the order has fewer labels per image than any that the pilot measured; the smallest had "
        f"{fewer:.2g} times as many"
    )
    yield 2 * (fewer > FEWER), text
    low, high = chosen.band
    yield int(high - low > 0.1), f"the range is {100 * (high - low):.0f} points wide"


@dataclass(frozen=True)
class BillLine:
    """One line of the bill.

    Attributes
    ----------
    hours
        Working time; None if the price list has no times.
    when
        "now", "later" (after a new plan) or "before" (with the pilot).
    """

    what: str
    dollars: float
    hours: float | None
    when: Literal["now", "later", "before"] = "now"


@dataclass(frozen=True)
class Money:
    """The division of a budget in dollars: order + later + left = budget.

    Attributes
    ----------
    order
        Cost of the present order.
    later
        Cost of later rounds.
    """

    budget: float
    order: float
    later: float

    @staticmethod
    def of(bill: Sequence[BillLine], budget: float) -> Money:
        """From the lines of a bill; what is paid already was no part of this budget."""
        now, later = (
            math.fsum(line.dollars for line in bill if line.when == when)
            for when in ("now", "later")
        )
        return Money(budget, now, later)

    @property
    def total(self) -> float:
        """Cost of the order and of later rounds."""
        return self.order + self.later

    @property
    def left(self) -> float:
        return self.budget - self.total


@dataclass(frozen=True, eq=False)
class Decision:
    """The purchase for a budget, with its expected mAP and a grade of trust.

    Attributes
    ----------
    choice
        The chosen purchase and all others.
    order
        The present order: the chosen purchase, or a first round of the two best label options.
    trust
        The grade of trust, with reasons.
    measurement
        The cheapest purchase that may change the decision; None if none is likely to.
    bill
        Bill of the order, of later rounds, of the pilot and of the labels so far.
    weeks
        Working time of the annotators; None if their number is not set.
    expected
        Median and 90 % interval of the expected mAP of earlier rounds' labels; None without any.
    wrong
        Shares of the chosen purchase's present and absent labels that are wrong.
    """

    project: choose.Request
    evidence: Evidence
    curves: Curves
    choice: choose.Choice
    order: tuple[Candidate, ...]
    trust: Trust
    backtest: Backtest | None
    measurement: choose.Measurement | None
    prices: Prices
    bill: tuple[BillLine, ...]
    unpriced: tuple[str, ...]
    week_hours: float | None
    command: str
    expected: tuple[float, float, float] | None = None
    wrong: tuple[float, float] = (0.0, 0.0)

    @property
    def chosen(self) -> Candidate:
        return self.choice.chosen

    @property
    def purchase_needed(self) -> bool:
        """Whether the purchase is expected to raise mAP by at least 1 point.

        Above the mAP of earlier rounds' labels, and the zero-shot mAP of the scores, if any.
        """
        gains = self.chosen.map - self.curves.floor
        adds = self.evidence.received is None or bool(np.median(gains) >= choose.LOSS)
        free = self.evidence.zero_shot
        return adds and (free is None or self.chosen.median >= free[0] + choose.LOSS)

    @property
    def money(self) -> Money:
        """The division of the budget, from which all sentences and the bill are printed."""
        return Money.of(self.bill, self.project.dollars)

    @property
    def hours(self) -> float | None:
        """Working time of the order; None if the price list has no times."""
        hours = [line.hours for line in self.bill if line.when == "now"]
        return None if None in hours else math.fsum(filter(None, hours))

    @property
    def weeks(self) -> float | None:
        hours, week = self.hours, self.week_hours
        return None if hours is None or week is None else hours / week
