"""The chosen purchase for a budget, with its money and a grade of trust.

A backtest predicts the pilot's largest sizes from its smaller ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from simkit.annotate.prices import Prices
from simkit.planning import choose
from simkit.planning.choose import FAR, FURTHER, Candidate
from simkit.planning.costs import PriceCurve
from simkit.planning.curves import Curves
from simkit.planning.evidence import Evidence, LabelOption

Grade = Literal["high", "medium", "low"]
When = Literal["now", "later", "before"]

FEWER = 1.3  # times as many labels for each image in the smallest size: trust is low
MOST_REASONS = 3
HELD = 0.75  # share of a backtest from which on coverage is close to nominal
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
    sparse
        Whether the order has fewer labels per image than any measured size.
    """

    grade: Grade
    reasons: tuple[str, ...]
    sparse: bool

    @staticmethod
    def of(chosen: Candidate, curves: Curves, backtest: Backtest | None) -> Trust:
        """Trust in a purchase chosen by these curves."""
        evidence, test, times = curves.evidence, curves.evidence.test, chosen.times
        fewer = 0.0  # usable labels per image in the smallest size, as times the purchase's
        if chosen.option.amount != "images":
            labels = (chosen.present[None] / times, chosen.absent[None] / times)
            u = float(curves.shares(chosen.pair, *labels)[0])
            fewer = float(curves.cell(chosen.pair).u[0] / max(u, 1e-9))
        small = test.images is not None and test.small
        (missing, sentence), pool = evidence.missing, evidence.pool
        range_ = chosen.band[1] - chosen.band[0]
        problems = [  # severity, 0 to 2, and a sentence: of the runs, and then of the order
            ((missing > 0) + (missing > 0.05), sentence),
            (2 * evidence.stand_in_backbone,
             "the features come from scenes-net, a small network trained on drawings; compare "
             "again with a backbone for photographs"),
            (small + (small and test.half_width >= 5),
             f"mAP is uncertain by ±{test.half_width:.1f} points on the pilot's "
             f"{test.images or 0:,} test images"),
            (max(3 - evidence.draws, 0),
             f"every size was measured with {evidence.draws} draw{'s' * (evidence.draws > 1)}"),
            (not pool.opened,
             f"the data {evidence.grid.get('data')} cannot be opened here, so counts come from "
             "class frequencies alone"),
            ((times > FAR) + (times > FURTHER),
             f"{chosen.images:,} images are {times:.2g} times the pilot's {pool.images:,}"),
            (2 * (times > FAR and not curves.complete_sizes(chosen.pair)),
             "the gain from more images is assumed, because complete labels of fewer images were "
             "not compared; add full-subset to the schemes"),
            (2 * (fewer > FEWER),
             "the order has fewer labels per image than any that the pilot measured; the smallest "
             f"had {fewer:.2g} times as many"),
            (range_ > 0.1, f"the range is {100 * range_:.0f} points wide"),
        ]  # fmt: skip
        if backtest is not None:
            text = f"{backtest.held:.0%} of {backtest.cells} curves predict their own largest size"
            problems.insert(-2, (backtest.held < HELD, f"only {text}"))
        problems.sort(key=lambda row: -row[0])
        grades: tuple[Grade, ...] = ("high", "medium", "low")
        reasons = tuple(text for severity, text in problems if severity)[:MOST_REASONS]
        return Trust(grades[problems[0][0]], reasons, sparse=fewer > FEWER)


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
    when: When = "now"


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
        The cheapest purchase that may change the decision, with the probability; None if none is
        likely to.
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
    measurement: tuple[Candidate, float] | None
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

    def cost(self, *when: str) -> float:
        """Dollars in the bill's lines of these kinds, from which all sentences are printed.

        The budget is cost("now", "later") + left; what is paid already was no part of it.
        """
        return math.fsum(line.dollars for line in self.bill if line.when in when)

    @property
    def left(self) -> float:
        """Dollars of the budget that neither the order nor later rounds cost."""
        return self.project.dollars - self.cost("now", "later")

    @property
    def hours(self) -> float | None:
        """Working time of the order; None if the price list has no times."""
        hours = [line.hours for line in self.bill if line.when == "now"]
        return None if None in hours else math.fsum(filter(None, hours))

    @property
    def weeks(self) -> float | None:
        hours, week = self.hours, self.week_hours
        return None if hours is None or week is None else hours / week
