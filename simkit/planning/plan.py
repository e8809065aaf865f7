"""From comparisons and a budget to a plan, with a grade of trust.

A backtest predicts the pilot's largest sizes from its smaller ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, Literal

import numpy as np

from simkit import quantities
from simkit.annotate import schemes
from simkit.annotate.prices import Prices
from simkit.errors import BadInput
from simkit.history import versions
from simkit.planning import choose
from simkit.planning import plan_figure as report
from simkit.planning import plan_page as answers
from simkit.planning.choose import Candidate
from simkit.planning.costs import Purchases, Staff, count, wrong_labels
from simkit.planning.curves import Curves
from simkit.planning.evidence import COMPLETE, Evidence, Folder, LabelOption
from simkit.planning.plan_figure import Page, Readable

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


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Readable):
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

    project: choose.Project
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

    @cached_property
    def page(self) -> Page:
        """The plan as answers, tables and details."""
        return answers.page(self)

    def to_json(self) -> dict[str, Any]:
        """As plain values; mAP from 0 to 1 on new images."""
        measurement = self.measurement and {
            **_values(self.measurement.candidate), "changes": self.measurement.changes,
        }  # fmt: skip
        target = self.project.target and {
            "map": self.project.target, "confidence": self.project.confidence,
            "probability": self.chosen.reaches(self.project.target), "reached": self.choice.reached,
        }  # fmt: skip
        values = {
            "budget": self.project.dollars, "images": self.project.images, "target": target,
            "purchase_needed": self.purchase_needed, "zero_shot": self.evidence.zero_shot,
            "wrong": self.wrong,
            "chosen": _values(self.chosen), "order": [_values(one) for one in self.order],
            "rivals": [_values(one) for one in self.choice.rivals],
            "trust": {"grade": self.trust.grade, "reasons": list(self.trust.reasons)},
            "next_measurement": measurement, "bill": [vars(line) for line in self.bill],
            "weeks": self.weeks, "prices": self.prices.name, "wage": self.prices.wage,
            "backtest": self.backtest and vars(self.backtest), "unpriced": list(self.unpriced),
            "trained_as": self.evidence.trained_as.get(self.chosen.pair),
            "folders": list(self.evidence.folders), "ids": dict(self.evidence.ids),
            "command": self.command, "versions": versions(),
        }  # fmt: skip
        return dict(json.loads(json.dumps(values)))


def _values(one: Candidate) -> dict[str, Any]:
    return {
        "way": str(one.option), "scheme": schemes.spell(one.option.with_amount(one.amount)),
        "method": one.method, "dollars": round(one.dollars, 2), "images": one.images,
        "asked": round(one.asked), "amount": one.amount,
        "hours": None if math.isnan(one.seconds) else one.seconds / 3600,
        "present": round(float(one.present.sum())), "absent": round(float(one.absent.sum())),
        "times_the_pilot": one.times, "median": one.median, "band90": list(one.band),
    }  # fmt: skip


def plan(
    runs: Folder | Sequence[Folder] | Evidence,
    budget: float | str,
    *,
    images: int | str | None = None,
    target: float | str | tuple[float | str, float | str] | None = None,
    prices: Prices | str = "hourly",
    staff: Staff = Staff(),
    image_price: float | str = 0.0,
    seed: int = 0,
) -> Plan:
    """Plan the purchase of labels for a budget from the runs of one or several comparisons.

    Parameters
    ----------
    runs : path, sequence of paths or Evidence
        Folders of comparisons (`simkit compare`), all of the same data, or what was read from them.
        With labels of earlier rounds (`Evidence.received`), the plan uses the predictions that
        agree with their mAP, and further labels of the same option add to them.
    budget : number or str
        Dollars still to spend, such as 2000 or "$2,000".
    images : int or str, optional
        Number of images besides the pilot's. Default: unlimited.
    target : number or str, or a pair, optional
        Target mAP, 0.6 or 60: the cheapest purchase that reaches it is chosen. The second value of
        a pair is the required probability of reaching it. Default: 80 %.
    prices : Prices or str
        A price list, its name or its TOML file.
    staff : Staff
        Number, working hours and wage of the annotators.
    image_price : number or str
        Dollars to obtain one image.
    seed : int
        Seed of all samples.

    Returns
    -------
    Plan

    Raises
    ------
    BadInput
        For folders without finished runs or of different data, and for a budget below the cost of
        any purchase that the pilot can predict.
    """
    listed = staff.prices(prices)
    reach, confidence = target if isinstance(target, tuple) else (target, 0.8)
    money = quantities.dollars(budget, "budget")
    if isinstance(runs, Evidence):
        evidence = runs
    else:
        evidence = Evidence.of(*([runs] if isinstance(runs, str | PathLike) else runs))
    received = evidence.received
    once = listed.setup + listed.setup_class * evidence.pool.truth.shape[1]
    once *= received is None  # set-up is paid with the first round
    project = choose.Project(
        dollars=money,
        images=None if images is None else quantities.count(images, "images"),
        target=None if reach is None else quantities.score(reach, "target"),
        confidence=quantities.share(confidence, "confidence"),
        image_price=quantities.dollars(image_price, "image_price"), set_up=once,
        spent={} if received is None else {received.option: received.dollars},
    )  # fmt: skip
    purchases, unpriced = _priced(evidence, listed)
    curves = Curves(evidence, purchases, seed=seed)
    expected = None
    if received is not None:
        expected = tuple(np.quantile(curves.expected(received), [0.5, 0.05, 0.95]).tolist())
        curves.agree_with(received)
    choice = choose.choose(choose.candidates(curves, project), project)
    test = backtest(evidence, purchases, seed=seed)
    trust = Trust.of(choice.chosen, curves, test)
    order = (choose.first_round(choice) if trust.far else ()) or (choice.chosen,)
    best = choice.chosen
    amount = best.amount / best.times if best.option.counted else best.amount
    wrong = wrong_labels(best.option, amount, evidence.pool)
    return Plan(
        project=project, evidence=evidence, curves=curves, choice=choice, order=order, trust=trust,
        backtest=test, measurement=choose.next_measurement(choice), prices=listed,
        bill=tuple(_bill(order, choice.chosen, curves, project)), unpriced=unpriced,
        week_hours=staff.week, expected=expected, wrong=wrong,
        command=report.command(
            *evidence.folders, budget=money, images=project.images,
            target=project.target, confidence=confidence if reach else None,
            prices=prices if isinstance(prices, str) else listed.name, wage=staff.wage,
            image_price=image_price or None, people=staff.people,
            hours_a_week=staff.hours_a_week,
            seed=seed or None,
        ),
    )  # fmt: skip


def _priced(
    evidence: Evidence, prices: Prices
) -> tuple[dict[LabelOption, Purchases], tuple[str, ...]]:
    """Purchases of every option, and a sentence for each option without a price."""
    habits = dict.fromkeys(option.habits for option, _ in evidence.cells)
    habits |= dict.fromkeys(key[0] for key in evidence.complete)
    options = dict.fromkeys([
        *(LabelOption(COMPLETE, one) for one in habits), *(option for option, _ in evidence.cells),
    ])  # fmt: skip
    purchases, unpriced = {}, []
    for option in options:
        try:
            purchases[option] = count(option, evidence.pool, prices)
        except BadInput as error:
            unpriced.append(f"{option}: {error}")
    if not any(option.complete for option in purchases):
        raise BadInput(unpriced[0])
    return purchases, tuple(unpriced)


def _bill(
    order: Sequence[Candidate], chosen: Candidate, curves: Curves, project: choose.Project
) -> list[BillLine]:
    lines, evidence = [], curves.evidence
    for letter, one in zip("ab", order, strict=False):
        paid = one.images * project.image_price
        what = "labels" if len(order) == 1 else f"round 1, {letter}: labels"
        labels = one.dollars - paid - project.set_up
        lines.append(BillLine(what, labels, _hours(one.seconds)))
        if paid:
            lines.append(BillLine(f"{one.images:,} images", paid, 0.0))
    if project.set_up:
        lines.append(BillLine("set-up", project.set_up, 0.0))
    if len(order) > 1:
        a = order[0]
        unspent = project.dollars - sum(line.dollars for line in lines)
        needed = chosen.dollars - a.dollars
        later = min(needed, unspent)  # round 1, b is no part of the chosen purchase
        hours = _hours((chosen.seconds - a.seconds) * later / needed if needed else 0.0)
        lines.append(BillLine("later rounds, by a new plan", later, hours, "later"))
    pilot = next(one for option, one in curves.purchases.items() if option.complete)
    pool, tests = evidence.pool.images, evidence.test.images
    received = evidence.received
    if received is not None:
        what = f"{received.option.part.name} labels so far"
        lines.append(BillLine(what, received.dollars, None, "before"))
        if evidence.project is not None:  # whose first order is the pilot
            return lines
    for images, kind in ((pool, "complete"), (tests or 0, "test")):
        share, what = images / pool, f"pilot: {images:,} {kind} images"
        if not images:
            continue
        hours = _hours(pilot.seconds[-1] * share)
        lines.append(BillLine(what, float(pilot.dollars[-1]) * share, hours, "before"))
    return lines


def _hours(seconds: float) -> float | None:
    return None if math.isnan(seconds) else float(seconds) / 3600
