"""The candidates within a budget, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.planning.costs import PriceCurve
from simkit.planning.curves import Curves
from simkit.planning.evidence import COMPLETE, Array, LabelOption, Pair

MOST_TIMES = 50.0  # times the pilot's pool: the limit of predictions
LEVELS = 20  # costs per option and number of images
SIZES = 5  # numbers of images, for options that can use fewer than all
UNSEEN = 5.0  # times as sparse as any measured size: the limit of candidates
UNLIMITED = 1e15  # dollars
LOSS, RISK = 0.01, 0.05  # a cheaper order loses more than this mAP with at most this probability
SMALL_ORDER = 100.0  # dollars: smaller orders need no first round
FIRST_ROUND = 0.1  # of the order, for each of two label options
MEASURED_FOR, TELLING = 0.25, 0.15  # of the order at most; probability of another option at least
LEAST_MEASURED = 0.02  # of the order
CORRELATED = 0.3  # least correlation of outcome and final gain; less is sampling noise
TEST_NOISE = 0.007  # standard deviation of a measured mAP


@dataclass(frozen=True)
class Request:
    """The purchase to plan.

    Attributes
    ----------
    dollars
        Budget for labels, images and set-up of this order.
    images
        Number of images besides the pilot's; None: unlimited.
    target
        mAP in [0, 1] to be reached with probability `confidence`; None: the best mAP.
    image_price, set_up
        Dollars per image, and once for the project.
    spent
        Dollars spent on label options in earlier rounds; further labels of an option add to its
        earlier ones.
    """

    dollars: float
    images: int | None = None
    target: float | None = None
    confidence: float = 0.8
    image_price: float = 0.0
    set_up: float = 0.0
    spent: Mapping[LabelOption, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One purchase and its expected results.

    Attributes
    ----------
    dollars
        Total cost of labels, images and set-up.
    images
        Number of the project's images that the option may ask about.
    times
        `images` as times the pilot's pool.
    amount
        Amount of the scheme on these images; `images` if that is the amount.
    seconds
        Working time of annotators; nan if the price list has no times.
    asked
        Images about which at least one question is asked.
    present, absent
        (L',) labels of each scored class that become known.
    map
        (R,) mAP on new images in each sample.
    median
        Median of `map`, the expected mAP.
    """

    option: LabelOption
    method: str
    dollars: float
    images: int
    times: float
    amount: float
    seconds: float
    asked: float
    present: Array
    absent: Array
    map: Array
    median: float

    def __repr__(self) -> str:
        scheme = self.option.with_amount(self.amount)
        return f"<Candidate {scheme!r}, {self.method}: ${self.dollars:,.2f}, {self.median:.3f} mAP>"

    @property
    def pair(self) -> Pair:
        return self.option, self.method

    @property
    def band(self) -> tuple[float, float]:
        """The 90 % interval of mAP."""
        low, high = np.quantile(self.map, [0.05, 0.95])
        return float(low), float(high)

    def reaches(self, target: float) -> float:
        """Probability that mAP reaches a target."""
        return float((self.map >= target).mean())


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen purchase among all candidates.

    Attributes
    ----------
    chosen
        The cheapest purchase that is as good as the best, or that reaches the target.
    best
        The purchase with the highest expected mAP within the budget.
    rivals
        The best purchase of every other label option, best first; if the target is reached, the
        cheapest purchase that reaches it, cheapest first.
    every
        All candidates.
    reached
        Whether a candidate reaches the target with the required probability; None: no target.
    """

    chosen: Candidate
    best: Candidate
    rivals: tuple[Candidate, ...]
    every: tuple[Candidate, ...]
    reached: bool | None = None


def candidates(curves: Curves, project: Request) -> list[Candidate]:
    """All purchases within the budget, on a grid of dollars and numbers of images.

    Complete labels can always be bought, other label options if they were measured.

    Raises
    ------
    BadInput
        If the budget pays for nothing that the pilot measured.
    """
    made: list[Candidate] = []
    purchases, cells = curves.purchases, curves.evidence.cells
    options = [(LabelOption(COMPLETE, habits), name) for habits, name in curves.evidence.complete]
    options += [pair for pair in cells if not pair[0].complete]
    sold = [pair for pair in options if pair[0] in purchases]
    grids = {option: _grid(curves, option, project) for option in dict.fromkeys(p[0] for p in sold)}
    for pair in sold:
        grid = grids[pair[0]]
        if grid is None:
            continue
        value = curves.as_scored(pair, curves(pair, grid.present, grid.absent, grid.times))
        # Labels of another option add to the labels so far; by how much is not known.
        value = np.maximum(value[curves.kept], curves.floor[:, None])
        medians = np.median(value, axis=0).tolist()
        seen = _seen(curves, pair, grid) & _cheaper_than_complete(curves, pair, grid, project)
        if curves.evidence.methods[pair[1]].known_alone:  # it would predict every class as present
            seen &= grid.absent.sum(axis=1) > 0
        if pair[0].counted:
            seen &= grid.amounts >= 1
        made += [
            grid.candidate(k, pair, value[:, k], medians[k]) for k in np.flatnonzero(seen).tolist()
        ]
    if not made and project.dollars < UNLIMITED:
        least = min(one.dollars for one in candidates(curves, replace(project, dollars=UNLIMITED)))
        raise BadInput(
            f"the budget of ${project.dollars:,.2f} pays for no labels that the pilot can judge; "
            f"raise it to ${math.ceil(100 * least) / 100:,.2f}"
        )
    if not made:
        raise BadInput("the pilot can judge no label option at these prices; compare more schemes")
    return made


def choose(every: Sequence[Candidate], project: Request) -> Choice:
    """The cheapest purchase that is as good as the best one.

    Without a target the best has the highest expected mAP. A cheaper one is chosen only if it
    loses more than 1 point with a probability of at most 5 %, by paired samples, against the best
    and against the best complete labels: an uncertain difference is not a tie. With a target the
    choice is the cheapest that reaches it with the required probability.

    Parameters
    ----------
    every
        All candidates.
    project
        Budget and target.

    Returns
    -------
    Choice
    """
    order = sorted(every, key=lambda one: (one.dollars, -one.median))
    best = max(every, key=lambda one: (one.median, -one.dollars))
    chosen, reached, sufficient = best, None, list(order)
    if project.target is not None:
        sufficient = [one for one in order if one.reaches(project.target) >= project.confidence]
        reached = bool(sufficient)
        likely = max(order, key=lambda one: (one.reaches(project.target or 0), one.median))
        chosen = sufficient[0] if sufficient else likely
    else:
        complete = [one for one in every if one.option.complete]
        references = [best, max(complete, key=lambda one: one.median, default=best)]
        as_good = (o for o in order if all(_loses(o, other) <= RISK for other in references))
        chosen = next(as_good, best)
        equal = [one for one in order if abs(one.dollars - chosen.dollars) < 0.005]
        chosen = max(equal, key=lambda one: round(one.median, 4))
    return Choice(
        chosen, best, _rivals(sufficient or order, chosen, reached), tuple(every), reached
    )


def _loses(one: Candidate, other: Candidate) -> float:
    """Probability that `other` is more than 1 point better."""
    return float((other.map - one.map > LOSS).mean())


def _rivals(
    order: Sequence[Candidate], chosen: Candidate, reached: bool | None
) -> tuple[Candidate, ...]:
    """The best purchase of every other option; the cheapest if a target is reached."""
    rivals: dict[LabelOption, Candidate] = {}
    for one in order:
        if one.option == chosen.option:
            continue
        before = rivals.get(one.option)
        if before is None or (not reached and one.median > before.median + 1e-9):
            rivals[one.option] = one
    ranked = rivals.values()
    return tuple(sorted(ranked, key=lambda one: one.dollars if reached else -one.median))


@dataclass(frozen=True, eq=False)
class Measurement:
    """A purchase that may change the decision before the whole order is made.

    Attributes
    ----------
    candidate
        The purchase to make and score first.
    changes
        Probability that another label option is chosen afterwards.
    """

    candidate: Candidate
    changes: float


def next_measurement(choice: Choice) -> Measurement | None:
    """The cheapest purchase whose outcome probably changes the label option.

    The outcome of a smaller purchase of the chosen option, or of one of the next two, predicts by
    linear regression over the samples the final lead of each of these two over the choice. The
    option changes if a lead of more than 1 point is then expected. None if no purchase of up to a
    quarter of the order has a probability of 15 % or more, and for targets.
    """
    rivals = choice.rivals[:2]
    if choice.reached is not None or not rivals:
        return None
    gains = np.stack([rival.map - choice.chosen.map for rival in rivals])
    spread, mean = gains.std(axis=1), gains.mean(axis=1)
    least, limit = (part * choice.chosen.dollars for part in (LEAST_MEASURED, MEASURED_FOR))
    options = {one.pair for one in (choice.chosen, *rivals)}
    noise = np.random.default_rng(0).normal(scale=TEST_NOISE, size=gains.shape[1])
    for candidate in sorted(choice.every, key=lambda one: one.dollars):
        small = candidate.times <= 1 or candidate.dollars < least
        if small or candidate.pair not in options:
            continue  # measured in the pilot, or too small to be informative
        if candidate.dollars > limit:
            return None
        outcome = candidate.map + noise
        outcome = (outcome - outcome.mean()) / max(outcome.std(), 1e-9)
        covariance = ((gains - mean[:, None]) @ outcome) / len(outcome)
        telling = np.abs(covariance) > CORRELATED * spread
        expected = mean[:, None] + np.outer(np.where(telling, covariance, 0.0), outcome)
        changes = float((expected.max(axis=0) > LOSS).mean())
        if changes >= TELLING and telling.any():
            return Measurement(candidate, changes)
    return None


def first_round(choice: Choice) -> tuple[Candidate, ...]:
    """A first round of the two best label options, before a large order.

    Empty for a small order, and if either cannot be bought for a tenth of the order.
    """
    ways = [choice.chosen, *choice.rivals[:1]]
    limit = FIRST_ROUND * choice.chosen.dollars
    if choice.chosen.dollars < SMALL_ORDER:
        return ()
    parts = [
        [one for one in choice.every if one.pair == way.pair and one.dollars <= limit]
        for way in ways
    ]
    if len(ways) < 2 or not all(parts):
        return ()
    return tuple(max(part, key=lambda one: one.median) for part in parts)


@dataclass(frozen=True, eq=False)
class _Grid:
    """PriceCurve of one option: (M,) columns with the names of `Candidate`."""

    dollars: Array
    images: Array
    times: Array
    pool_times: Array  # factor from counts in the pool to those of the purchase
    amounts: Array
    seconds: Array
    asked: Array
    present: Array
    absent: Array

    def candidate(self, place: int, pair: Pair, value: Array, median: float) -> Candidate:
        by = self.pool_times[place]
        return Candidate(
            *pair, float(self.dollars[place]), int(self.images[place]), float(self.times[place]),
            float(self.amounts[place]), float(self.seconds[place] * by),
            float(self.asked[place] * by), self.present[place] * by, self.absent[place] * by, value,
            median,
        )  # fmt: skip


def _grid(curves: Curves, option: LabelOption, project: Request) -> _Grid | None:
    """All numbers of images and dollars within the budget, in addition to earlier purchases of the
    option; None without any."""
    bought, pool = curves.purchases[option], curves.evidence.pool.images
    spent = project.spent.get(option, 0.0)
    larger = replace(project, dollars=project.dollars + spent)
    exist = min(project.images or int(MOST_TIMES * pool), int(MOST_TIMES * pool))
    if option.amount == "images":
        made = [_all_images(bought, pool, exist, larger)]
    else:  # a part of the questions about each image
        sizes = np.unique(np.geomspace(min(pool, exist), exist, SIZES).round().astype(int))
        made = [_by_amount(bought, pool, images, larger) for images in sizes.tolist()]
    rows = [row for row in made if row is not None]
    if not rows:
        return None
    columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
    if not spent:
        return _Grid(*columns)
    more = columns[0] > 1.02 * spent
    grid = _Grid(*(column[more] for column in columns))
    share = 1 - spent / grid.dollars
    return replace(grid, dollars=grid.dollars - spent, seconds=grid.seconds * share)


def _all_images(
    bought: PriceCurve, pool: int, exist: int, project: Request
) -> tuple[Array, ...] | None:
    """PriceCurve of an option whose amount is the number of images."""
    each = bought.dollars[-1] / pool + project.image_price
    most = int(min(exist, (project.dollars - project.set_up) / each + 1e-9))
    if most < 1:
        return None
    least = max(1, min(pool // 50, exist))
    # The same grid for every budget, so that more money never removes a candidate.
    images = np.unique(np.append(np.geomspace(least, exist, 3 * LEVELS).round(), most))
    images = images[images <= most]
    times, ones = images / pool, np.ones(len(images))
    counts = (np.outer(ones, part[-1]) for part in (bought.present, bought.absent))
    return (
        images * each + project.set_up, images, times, times, images, ones * bought.seconds[-1],
        ones * bought.asked[-1], *counts,
    )  # fmt: skip


def _by_amount(
    bought: PriceCurve, pool: int, images: int, project: Request
) -> tuple[Array, ...] | None:
    """PriceCurve of an option with growing amounts on a fixed number of images."""
    times = images / pool
    paid = project.set_up + images * project.image_price
    left = (project.dollars - paid) / times
    if left < bought.dollars[0]:
        return None
    most = min(left, float(bought.dollars[-1]))
    levels = np.geomspace(bought.dollars[0], bought.dollars[-1], LEVELS)
    here = bought.at(np.append(levels[levels < most], most))
    ones = np.ones(len(here.dollars))
    amounts = here.amounts * (times if bought.option.counted else 1.0)
    total = np.minimum(here.dollars * times + paid, project.dollars)
    return (
        total, ones * images, ones * times, ones * times, amounts, here.seconds, here.asked,
        here.present, here.absent,
    )  # fmt: skip


def _seen(curves: Curves, pair: Pair, grid: _Grid) -> NDArray[np.bool_]:
    """(M,) whether the pilot measured similarly few labels per image."""
    option = pair[0]
    if option.amount == "images":
        measured = curves.evidence.cells.get(pair, ())
        least = min((size.amount for size in measured), default=1.0)
        return grid.images * UNSEEN >= min(least, curves.evidence.pool.images)
    u = curves.shares(pair, grid.present, grid.absent)
    return UNSEEN * u >= curves.cell(pair).u[0]


def _cheaper_than_complete(
    curves: Curves, pair: Pair, grid: _Grid, project: Request
) -> NDArray[np.bool_]:
    """(M,) whether complete labels of the same images cost more."""
    option = pair[0]
    complete = curves.purchases.get(LabelOption(COMPLETE, option.habits))
    if option.complete or complete is None:
        return np.ones(len(grid.dollars), bool)
    each = complete.dollars[-1] / curves.evidence.pool.images + project.image_price
    return grid.dollars < 0.98 * (each * grid.images + project.set_up)
