"""Cost and labels of any purchase, by simulation on the pilot's images."""

from __future__ import annotations

import math
import warnings
from dataclasses import InitVar, dataclass, replace
from typing import Any

import numpy as np

from simkit import quantities
from simkit.annotate.crowd import looks_by_score
from simkit.annotate.prices import BY_USER, IMAGES, MACHINE, Cost, Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.annotate.schemes import largest
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.effort import QUESTIONS, Effort
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.planning.evidence import COMPLETE, Array, LabelOption, Pool

COUNTED = 2_000_000  # (image, class) places that are simulated; the rest is in proportion
NOTHING = 1e-6  # dollars
UNITS = (*QUESTIONS, IMAGES, MACHINE)  # what a price list has a price for
STEPS = 16  # amounts per label option


@dataclass(frozen=True)
class Staff:
    """The annotators: number, working time and wage, as numbers or text.

    Attributes
    ----------
    annotators
        Number of annotators. Default: 1.
    hours_a_week
        Working hours of each annotator a week, at most 168. Default: 40.
    wage
        Dollars an hour, such as 22 or "$22". Default: that of the price list.
    people
        Earlier name of `annotators`.
    """

    annotators: int | str | None = None
    hours_a_week: int | str | None = None
    wage: float | str | None = None
    people: InitVar[int | str | None] = None

    def __post_init__(self, people: int | str | None) -> None:
        if people is not None:
            if self.annotators is not None:
                raise BadInput("annotators and people, its earlier name, are both given; leave "
                               "people out")  # fmt: skip
            warnings.warn("people is now called annotators", stacklevel=3)
            object.__setattr__(self, "annotators", people)

    @property
    def number(self) -> int:
        """Number of annotators."""
        return quantities.count(1 if self.annotators is None else self.annotators, "annotators")

    @property
    def hours(self) -> int:
        """Working hours of each annotator a week."""
        hours = quantities.count(
            40 if self.hours_a_week is None else self.hours_a_week, "hours_a_week"
        )
        if hours > 168:
            raise BadInput(f"hours_a_week is {hours}, but a week has 168 hours; give those that "
                           "one annotator works")  # fmt: skip
        return hours

    @property
    def week(self) -> int:
        """Working hours of all annotators a week."""
        return self.number * self.hours

    @property
    def dollars_an_hour(self) -> float | None:
        """The wage as a number."""
        return None if self.wage is None else quantities.dollars(self.wage, "wage", hourly=True)

    def prices(self, prices: Prices | str) -> Prices:
        """A price list, or the list of this name or file, at the wage."""
        listed, wage = price_list(prices), self.dollars_an_hour
        return listed if wage is None else listed.at_wage(wage)


@dataclass(frozen=True, eq=False)
class PriceCurve:
    """Cost and labels of growing amounts of a label option in the pilot's pool.

    All arrays ascend with the amount. A pool of t times as many images costs t times the dollars
    for the same shares, and takes t times the amount if that is a count per class.

    Attributes
    ----------
    amounts
        (K,) amount of the scheme; the number of images if that is the amount.
    dollars, seconds
        (K,) cost and working time without set-up; seconds are nan if the list has no times.
    labour
        (K,) the part of dollars for answers of people, which grows with the answers per question.
    units
        (K, U) numbers of questions (or of pages or images, where these have the price), of loaded
        images, and of images that a machine scored, as `UNITS`.
    asked
        (K,) number of images with at least one question.
    present, absent
        (K, L') number of known labels of each scored class.
    complete
        ((L',), (L',)) the same for complete labels by the same annotators.
    """

    option: LabelOption
    amounts: Array
    dollars: Array
    seconds: Array
    labour: Array
    units: Array
    asked: Array
    present: Array
    absent: Array
    complete: tuple[Array, Array]

    def at(self, dollars: Array) -> PriceCurve:
        """Interpolated purchases in the pool at these costs (M,), up to the largest amount."""
        place = np.interp(dollars, self.dollars, np.arange(len(self.dollars)))
        low = np.minimum(place.astype(int), max(len(self.dollars) - 2, 0))
        high, part = np.minimum(low + 1, len(self.dollars) - 1), place - low

        def between(values: Array) -> Array:
            share = part.reshape(-1, *[1] * (values.ndim - 1))
            return values[low] * (1 - share) + values[high] * share

        names = ("dollars", "amounts", "seconds", "units", "asked", "present", "absent")
        values: dict[str, Any] = {name: between(getattr(self, name)) for name in names}
        return replace(self, **values)

    def answered(self, times: float) -> PriceCurve:
        """The same questions with `times` as many answers."""
        dollars, seconds = self.dollars + (times - 1) * self.labour, times * self.seconds
        return replace(self, dollars=dollars, seconds=seconds, labour=times * self.labour)

    @property
    def counts(self) -> tuple[Array, Array, Array, Array, Array]:
        """Seconds, units, asked images, and present and absent labels."""
        return self.seconds, self.units, self.asked, self.present, self.absent


def count(option: LabelOption, pool: Pool, prices: Prices) -> PriceCurve:
    """Simulate and price growing amounts of a label option on the pilot's pool.

    Parameters
    ----------
    option
        The label option.
    pool
        The pilot's completely labelled images.
    prices
        The price list.

    Returns
    -------
    PriceCurve

    Raises
    ------
    BadInput
        If the price list has no price for a question that the scheme asks, or charges nothing.
    """
    prices, times = prices.once_set_up(), pool.images / _counted_images(pool)

    def known(labels: PartialLabels) -> list[Any]:
        return [times * labels.per_class(sign)[pool.scored] for sign in (PRESENT, ABSENT)]

    images, amounts = _counted_images(pool), [float(pool.images)]
    if option.amount != "images":  # from the smallest with any question to the largest
        most = float(largest(option.part, images, pool.truth.shape[1]))
        amounts = np.geomspace(max(2e-3 * most, 1 / images), most, STEPS).tolist()
        if option.counted:
            most = min(most, float(max(pool.truth.counts.max(), 1) * 8))
            amounts = (np.unique(np.geomspace(1.0, most, STEPS).round()) * times).tolist()
    rows: list[tuple[Any, ...]] = []
    for amount in amounts:
        labels = _simulated(option, amount, pool)
        bill, asked = cost(labels, prices), float(labels.asked.sum())
        seconds = math.nan if bill.seconds is None else bill.seconds
        people = math.fsum(line.dollars for line in bill.lines if line.kind != MACHINE)
        sums = np.array([bill.dollars, seconds, people]) * times
        units = times * _units(labels.effort, bill, prices)
        rows.append((amount, *sums.tolist(), units, times * asked, *known(labels)))
    # Of amounts with equal prices (as with a price per image) the largest counts.
    rows = [row for row, after in zip(rows, [*rows[1:], None], strict=True)
            if after is None or after[1] > row[1]]  # fmt: skip
    if rows[0][1] <= NOTHING:
        if prices.wage_source == BY_USER:
            raise BadInput(
                f"wage is {prices.wage:g}, which makes the questions of {option.scheme} free; "
                "state dollars an hour, such as 15"
            )
        raise BadInput(
            f"price list {prices.name!r} charges nothing for the questions of {option.scheme}; "
            "give it prices above 0"
        )
    columns = [np.array(column, np.float64) for column in zip(*rows, strict=True)]
    complete = _simulated(LabelOption(COMPLETE, option.habits), pool.images, pool)
    return PriceCurve(option, *columns, tuple(known(complete)))  # type: ignore[call-arg, arg-type]


def _units(effort: Effort, bill: Cost, prices: Prices) -> Array:
    """(U,) what a bill counts of each of the `UNITS`."""
    lines = {line.kind: line.questions for line in bill.lines}
    return np.array([
        prices.rates[kind].units(effort, kind) if kind in QUESTIONS and kind in lines
        else lines.get(kind, 0) for kind in UNITS
    ], np.float64)  # fmt: skip


def wrong_labels(option: LabelOption, amount: float, pool: Pool) -> tuple[float, float]:
    """Share of the present and of the absent labels that contradict the pool's truth.

    The errors are those of annotators or of a machine. `amount` refers to the whole pool.
    """
    if option.habits.perfect and not option.part.needs_scores:
        return 0.0, 0.0
    labels = _simulated(option, amount, pool)
    wrong, known = labels.wrong(pool.truth), labels.counts()
    present, absent = (wrong[side] / max(1, known[side]) for side in ("present", "absent"))
    return present, absent


def searched(option: LabelOption, amount: float, pool: Pool) -> tuple[Array, Array] | None:
    """Right candidates, and all candidates, of a search by the pool's machine.

    Both (L',) by scored class; `amount` refers to the whole pool. None if the scheme assumes no
    machine, or the pool has none.
    """
    part = option.part
    if pool.machine is None or part.needs_scores or part.unassuming(scores=True) == part:
        return None
    labels = _simulated(option, amount, pool)
    right, denied = (labels.per_class(sign)[pool.scored] for sign in (PRESENT, ABSENT))
    looks = right + denied
    if labels.effort.count("search"):  # its absent labels may be of further, random images
        times, shown = pool.images / _counted_images(pool), pool.truth.present.toarray()
        right = np.minimum(np.rint(right * times), pool.present).astype(np.int64)
        looks = np.array([
            looks_by_score(shown[np.argsort(-pool.machine[:, c], kind="stable"), c], max(1, wanted))
            for c, wanted in zip(pool.scored.tolist(), right.tolist(), strict=True)
        ])  # fmt: skip
    return right.astype(float), looks.astype(float)


def times_at_random(
    option: LabelOption, amount: float, pool: Pool, prices: Prices
) -> float | None:  # fmt: skip
    """How many times as much the same amount costs without the pool's machine, searched at random.

    None if the scheme cannot do without a machine.
    """
    pools, listed = (pool, replace(pool, machine=None)), prices.once_set_up()
    try:
        by_machine, alone = (cost(_simulated(option, amount, one), listed) for one in pools)
    except BadInput:
        return None
    return alone.dollars / by_machine.dollars


def _counted_images(pool: Pool) -> int:
    """Number of the pool's images that are simulated."""
    return min(pool.images, max(1, COUNTED // pool.truth.shape[1]))


def _simulated(option: LabelOption, amount: float, pool: Pool) -> PartialLabels:
    """Labels of the simulated images, for an amount of the whole pool."""
    images = _counted_images(pool)
    scheme = option.with_amount(amount / (pool.images / images) if option.counted else amount)
    scores = pool.scores if scheme.needs_scores else pool.machine
    scheme = scheme.unassuming(scores=scores is not None)  # nobody has an assumed machine
    with warnings.catch_warnings(action="ignore"):  # of images without any class
        return simulate(
            pool.truth, scheme, images=images, boxes=pool.boxes if scheme.needs_boxes else None,
            hierarchy=pool.hierarchy if scheme.needs_hierarchy else None,
            habits=option.habits, scores=scores,
        )  # fmt: skip
