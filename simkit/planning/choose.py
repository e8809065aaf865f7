"""The candidates within a budget, the choice among them, and the decision with its bill and trust.

A backtest predicts the pilot's largest sizes from its smaller ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property, lru_cache
from shlex import quote
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, expit, logit

from simkit import quantities
from simkit.annotate.prices import Prices
from simkit.errors import BadInput
from simkit.metrics.thresholds import exact_interval
from simkit.planning.answers import Answers, Lacking
from simkit.planning.bill import BillLine, bill_of
from simkit.planning.certainty import CENT, BetterTests, Certainty, TestOffer, certainties
from simkit.planning.costs import PriceCurve, Staff, searched, times_at_random, wrong_labels
from simkit.planning.curves import EDGE, Curves
from simkit.planning.evidence import COMPLETE, Array, Evidence, LabelOption, Pair
from simkit.quantities import numbered

Grade = Literal["high", "medium", "low"]

FAR, FURTHER = 1.5, 3.0  # times the pilot's pool: trust is medium, and low
MOST_TIMES = 50.0  # times the pilot's pool: the limit of predictions
LEVELS = 20  # costs per option and number of images
SIZES = 5  # numbers of images, for options that can use fewer than all
UNSEEN = 5.0  # times as sparse as any measured size: the limit of candidates
UNLIMITED = 1e15  # dollars
LOSS = 0.01  # mAP that a purchase has to add
LOST = 0.005  # mAP that a cheaper purchase may lose on average
SMALL_ORDER = 100.0  # dollars: a first round of smaller orders has one part
FIRST_ROUND = 0.1  # of the order, for each of two label options
# Most of the order; least probability of another option, or least share by which the range narrows.
MEASURED_FOR, TELLING = 0.25, 0.15
LEAST_MEASURED = 0.02  # of the order
CORRELATED = 0.3  # least correlation of outcome and final gain; less is sampling noise
TEST_NOISE = 0.007  # standard deviation of a measured mAP
FEWER = 1.3  # times as many labels for each image in the smallest size: trust is low
MOST_REASONS = 3
TARGETS = 100  # budgets at which a purchase for a target is sought
MEANT = 0.9  # probability of the printed range
UNFINISHED = 0.05  # of the runs are missing: the comparison is finished first
LEAST_SIZES = 3  # measured sizes of a backtest, which predicts the largest from the others


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
    spent: Mapping[LabelOption, float] = field(default_factory=dict, hash=False)


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
    answers
        Answers to each question; if these are further answers to the questions so far, `images` is
        0, and labels and times are those so far.
    budget
        The only budget for which the purchase is considered, as it uses it up; None: all budgets.
    settling
        Dollars of further answers for the ties that these are expected to leave, which a later
        round asks for; other purchases do not tell them apart.
    units
        (U,) questions, images and scores that are paid for, as `costs.UNITS`; None for further
        answers to the questions so far.
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
    answers: Answers = Answers()
    budget: float | None = None
    settling: float = 0.0
    units: Array | None = None

    def __repr__(self) -> str:
        scheme = self.option.with_amount(self.amount)
        price = quantities.exact_money(self.dollars)
        return f"<Candidate {scheme!r}, {self.method}: {price}, {self.median:.3f} mAP>"

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


def candidates(
    curves: Curves, project: Request, *, only: LabelOption | None = None,
    budgets: Sequence[float] = (),
) -> list[Candidate]:  # fmt: skip
    """All purchases within the budget, on a grid of dollars and numbers of images.

    Complete labels are always on offer, other label options only if they were measured. `only`
    restricts the candidates to one option. `budgets` are smaller budgets; `within` selects the
    candidates of one of them.

    Raises
    ------
    BadInput
        If the budget pays for nothing that the pilot measured.
    """
    made = [
        one
        for one in _of_all_budgets(curves, replace(project, dollars=UNLIMITED, target=None))
        if only in (one.option, None)
    ]
    made += _listed(curves, project, only=only, budgets=[*budgets, project.dollars])
    made = _affordable(made, project.dollars)
    if not made and project.dollars < UNLIMITED:
        least = min(one.dollars for one in candidates(curves, replace(project, dollars=UNLIMITED)))
        raise BadInput(
            f"the budget of {quantities.exact_money(project.dollars)} pays for no labels that the "
            f"pilot can judge; raise it to {quantities.exact_money(math.ceil(100 * least) / 100)}"
        )
    if not made:
        raise BadInput("the pilot can judge no label option at these prices; compare more schemes")
    return made


def within(every: Sequence[Candidate], budget: float) -> list[Candidate]:
    """The candidates within one of the `budgets` given to `candidates`."""
    return _affordable([one for one in every if one.budget in (None, budget)], budget)


def _affordable(every: Sequence[Candidate], budget: float) -> list[Candidate]:
    return [one for one in every if one.dollars <= budget * (1 + 1e-9)]


@lru_cache(maxsize=4)  # for the other budgets of a page, and the shares of wrong answers of a plan
def _of_all_budgets(curves: Curves, project: Request) -> list[Candidate]:
    """The purchases, at any price, that more money never removes."""
    return _listed(curves, project)


def _listed(
    curves: Curves, project: Request, *, only: LabelOption | None = None,
    budgets: Sequence[float] | None = None,
) -> list[Candidate]:  # fmt: skip
    """The purchases of each option that can be judged: those that all budgets share (None), or
    those that use up these."""
    made: list[Candidate] = []
    pairs = [*curves.complete_pairs]
    pairs += [pair for pair in curves.evidence.cells if not pair[0].complete]
    for option in dict.fromkeys(option for option, _ in pairs):
        if option not in curves.purchases or only not in (option, None):
            continue  # without a price, or not wanted
        methods = [method for other, method in pairs if other == option]
        for answers in curves.offers(option):
            if (grid := _grid(curves, option, answers, project, budgets)) is not None:
                for method in methods:
                    made += _on_grid(curves, (option, method), answers, grid, project)
            if budgets is None:
                made += _again(curves, option, methods, answers, project)
    return made


def _on_grid(
    curves: Curves, pair: Pair, answers: Answers, grid: _Grid, project: Request
) -> Iterator[Candidate]:
    """The purchases of a grid that can be judged."""
    if not (offered := _offered(curves, pair, answers, grid, project)).any():
        return
    grid = _Grid(*(column[offered] for column in grid))
    columns = grid.present, grid.absent, grid.times
    asked = grid.asked * grid.times / curves.evidence.pool.images
    value = curves.with_labels_so_far(pair, *columns, asked, images=project.images)
    if (gain := curves.gain(pair[1], answers, grid.times)).any():
        value = expit(logit(value) + gain * curves.share_of_new(pair[0], asked))
    value = curves.as_scored(pair, value)[curves.kept]
    medians = np.median(value, axis=0).tolist()
    for k in range(len(medians)):
        by = float(grid.times[k])
        yield Candidate(
            *pair, float(grid.dollars[k]), int(grid.images[k]), by, float(grid.amounts[k]),
            float(grid.seconds[k] * by), float(grid.asked[k] * by), grid.present[k] * by,
            grid.absent[k] * by, value[:, k], medians[k], answers,
            None if np.isnan(grid.budget[k]) else float(grid.budget[k]),
            units=grid.units[k] * by,
        )  # fmt: skip


def _again(
    curves: Curves, option: LabelOption, methods: Sequence[str], answers: Answers, project: Request
) -> Iterator[Candidate]:
    """Further answers to the questions so far: those of earlier rounds, or else of the pilot."""
    received, whole = curves.evidence.received, curves.purchases[option]
    if answers.number <= curves.usual or answers.errors is None:
        return
    if received is None and curves.evidence.true_labels:
        return
    if received is not None:
        if received.option != option:
            return
        methods, counts = [received.method], received.answers
        lacking = received.lacking.get(answers.number)
        images = received.asked if option.amount == "images" else received.images
        asked, present, absent = received.asked, received.present, received.absent
    elif option.complete:
        counts = curves.evidence.answers.get("train", {curves.usual: 1})
        lacking = _lacking(curves, answers.number)
        images = asked = curves.evidence.pool.images
        present, absent = whole.present[-1], whole.absent[-1]
    else:
        return
    if lacking is None:
        return
    times = images / curves.evidence.pool.images
    dollars, seconds = lacking.with_ties(answers.settling(curves.usual))
    for method in methods:
        gain = curves.gain_again(method, answers, counts, np.array([times]))[curves.kept, 0]
        so_far = np.clip(curves.so_far((option, method)), EDGE, 1 - EDGE)
        value = expit(logit(so_far) + gain)
        yield Candidate(
            option, method, dollars + project.set_up, 0, times, float(images), seconds,
            float(asked), present, absent, value, float(np.median(value)),
            replace(answers, again=True), settling=dollars - lacking.dollars,
        )  # fmt: skip


def _lacking(curves: Curves, number: int) -> Lacking | None:
    """What the questions about the pilot lack to so many answers, in a project with those about
    its test images; None if they have them all."""
    evidence, usual = curves.evidence, curves.usual
    pool, tests, whole = evidence.pool.images, evidence.test.images or 0, curves.complete
    questions = answers = 0.0
    for images, split in ((pool, "train"), (tests * (evidence.project is not None), "test")):
        counts = evidence.answers.get(split, {usual: 1})
        each = images * evidence.pool.truth.shape[1] / sum(counts.values())
        questions += each * sum(many for so_far, many in counts.items() if so_far < number)
        answers += each * sum(max(number - so_far, 0) * many for so_far, many in counts.items())
    if not answers:
        return None
    share = answers / (usual * pool * evidence.pool.truth.shape[1])  # of the pilot's answers
    dollars, seconds = share * float(whole.labour[-1]), share * float(whole.seconds[-1])
    return Lacking(round(questions), answers, dollars, seconds)


def added(one: Candidate, at_hand: float) -> float:
    """What a purchase adds to a mAP: the difference of these numbers as they are printed, to a
    tenth of a point."""
    return round(one.median, 3) - round(at_hand, 3)


def choose(
    every: Sequence[Candidate], project: Request, *, at_hand: float = -math.inf
) -> Choice:  # fmt: skip
    """The cheapest purchase that is as good as the best one.

    Without a target the best has the highest expected mAP. A cheaper one is chosen only if it
    loses at most half a point on average over the paired samples, where samples without a loss
    count as 0, against the best and against the best complete labels, of this budget and of every
    smaller one: an uncertain difference is not a tie, and more money never promises less.
    With a target the choice is the cheapest that reaches it with the required
    probability; where none does, that without a target.

    Parameters
    ----------
    every
        All candidates.
    project
        Budget and target.
    at_hand
        mAP without a purchase: where any adds 1 point to it, so does the choice.

    Returns
    -------
    Choice
    """
    # Purchases at the same price to the cent are one price, at which the higher mAP comes first.
    order = sorted(every, key=lambda one: (
        round(one.dollars, 2), -round(one.median, 4), one.dollars, -one.median,
    ))  # fmt: skip
    best = max(every, key=lambda one: (one.median, -one.dollars))
    target, reached, sufficient = project.target, None, order
    if target is not None:
        sufficient = [one for one in order if one.reaches(target) >= project.confidence]
        if not sufficient:
            without = choose(every, replace(project, target=None), at_hand=at_hand)
            return replace(without, reached=False)
        reached, chosen = True, sufficient[0]
    else:
        good = _as_good(order) or [best]
        chosen = next((one for one in good if added(one, at_hand) > LOSS - 1e-9), good[0])
    rivals: dict[LabelOption, Candidate] = {}
    for one in sufficient or order:
        before = rivals.setdefault(one.option, one)
        if not reached and one.median > before.median + 1e-9:
            rivals[one.option] = one
    rivals.pop(chosen.option, None)
    ranked = sorted(rivals.values(), key=lambda one: one.dollars if reached else -one.median)
    return Choice(chosen, best, tuple(ranked), tuple(every), reached)


def _rising(order: Iterable[Candidate]) -> list[Candidate]:
    """Of purchases in the order of their prices, those that give more than all cheaper ones."""
    best = list[Candidate]()
    for one in order:
        if not best or one.median > best[-1].median:
            best.append(one)
    return best


def _as_good(order: Sequence[Candidate]) -> list[Candidate]:
    """Those that lose at most half a point on average against the best purchase of every budget up
    to this, and against its best complete labels: a larger budget only adds references, so what is
    good for it and cheap enough for a smaller one is good for that as well."""
    some = _rising(order)
    references = [*some, *_rising(one for one in order if one.option.complete)]
    maps, others = (np.stack([one.map for one in each]) for each in (some, references))
    lost = [np.maximum(others - one, 0.0).mean(axis=1).max() for one in maps]
    return [one for one, most in zip(some, lost, strict=True) if most <= LOST + 1e-9]


def alternatives(choice: Choice) -> list[Candidate]:
    """Of every other label option the best purchase for at most the price of the chosen one, best
    first; if a target is reached, the rivals."""
    if choice.reached:
        return [*choice.rivals]
    affordable = [one for one in choice.every if one.dollars <= choice.chosen.dollars + CENT]
    best = (
        max((one for one in affordable if one.option == option), key=lambda one: one.median)
        for option in dict.fromkeys(one.option for one in affordable)
        if option != choice.chosen.option
    )
    return sorted(best, key=lambda one: -one.median)


def to_reach(curves: Curves, project: Request) -> tuple[float, int | None] | None:
    """A budget and a number of images at which a plan reaches the target.

    The images are those of the project if these suffice, and else as few as are needed. None if
    no purchase reaches the target, whatever the budget and the number of images.
    """
    wanted, least = project.target, math.inf
    assert wanted is not None
    for images in dict.fromkeys((project.images, None)):
        enough = [one for one in candidates(curves, at_any_price(curves, project, images))
                  if one.reaches(wanted) >= project.confidence]  # fmt: skip
        if not enough:
            continue
        if images is None and project.images is not None:
            images, fewest = project.images, min(one.images for one in enough)
            # A part of any images is for testing.
            while (most := at_any_price(curves, project, images).images or 0) < fewest:
                images += fewest - most
            enough = [one for one in enough if one.images <= most]
        least = min(one.dollars for one in enough)
        offer = TestOffer.of(curves.evidence, curves, images, project.image_price)
        for more in (1.0, 1 + FIRST_ROUND, 1.5):  # a first round of two options costs more
            budget = max(offer.budget_for(more * least), project.dollars)
            trial = replace(project, dollars=budget, images=images)
            if decide(curves, trial, offer).choice.reached:
                return budget, images
    return None


def highest_target(curves: Curves, project: Request) -> float | None:
    """The highest target, to a tenth of a point, that a plan for the project reaches; None: 0."""
    every = candidates(curves, project)
    while every:
        place = math.ceil(project.confidence * len(every[0].map)) - 1
        target = max(float(np.sort(one.map)[::-1][place]) for one in every)
        target = math.floor(1000 * target + 1e-9) / 1000
        if target <= 0 or planned(curves, replace(project, target=target))[0].reached:
            return target or None
        every = [one for one in every if one.reaches(target) < project.confidence]
    return None


def next_measurement(choice: Choice) -> tuple[Candidate, float] | None:
    """The cheapest purchase that probably changes the chosen label option, with the probability.

    The outcome of a smaller purchase of the chosen option, or of one of the next two, predicts by
    linear regression over the samples the final lead of each of these two over the choice. The
    option changes if a lead of more than 1 point is then expected. None if no purchase of up to a
    quarter of the order has a probability of 15 % or more, and for a target that is reached.
    """
    rivals = choice.rivals[:2]
    if choice.reached or not rivals:
        return None
    gains = np.stack([rival.map - choice.chosen.map for rival in rivals])
    spread, mean = gains.std(axis=1), gains.mean(axis=1)
    least, limit = (part * choice.chosen.dollars for part in (LEAST_MEASURED, MEASURED_FOR))
    options = {one.pair for one in (choice.chosen, *rivals)}
    noise = np.random.default_rng(0).normal(scale=TEST_NOISE, size=gains.shape[1])
    for candidate in sorted(choice.every, key=lambda one: one.dollars):
        small = candidate.times <= 1 or candidate.dollars < least or candidate.answers.again
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
            return candidate, changes
    return None


def first_part(choice: Choice, curves: Curves) -> Candidate | None:
    """A part of the chosen purchase that narrows its range enough to be bought first, if any.

    It costs at most a quarter of the purchase: the cheapest that halves the range, or else the
    largest, if that narrows the range by 15 % or more (`narrowed`).
    """
    least, limit = (part * choice.chosen.dollars for part in (LEAST_MEASURED, MEASURED_FOR))
    parts = [
        (one, narrowed(one, choice.chosen, curves))
        for one in sorted(choice.every, key=lambda one: one.dollars)
        if (one.pair, one.answers) == (choice.chosen.pair, choice.chosen.answers)
        and least <= one.dollars <= limit
    ]
    telling = [one for one, width in parts if width <= 0.5]
    telling += [one for one, width in parts[-1:] if width <= 1 - TELLING]
    return next(iter(telling), None)


def narrowed(part: Candidate, chosen: Candidate, curves: Curves) -> float:
    """The expected width of the range of a purchase once a part of it is measured, as a share of
    the width now.

    It is sqrt(1 - r**2), with the correlation r over the samples of the final mAP and the gain that
    the part is measured to give. Both mAPs of a gain are measured on the pilot's test split, so the
    error of the split stays in the range.
    """
    spread = math.hypot(TEST_NOISE, curves.deviation(part.pair))
    noise = np.random.default_rng(0).normal(scale=spread, size=len(part.map))
    gain = part.map - curves.floor + noise
    if min(gain.std(), chosen.map.std()) < 1e-9:
        return 1.0
    r = float(np.corrcoef(gain, chosen.map)[0, 1])
    return math.sqrt(1 - r**2)


def planned(
    curves: Curves, project: Request, every: Sequence[Candidate] = ()
) -> tuple[Choice, tuple[Candidate, ...]]:
    """The choice of a project and its present order; without its target if none reaches it.

    every: the candidates, if they are known.
    """
    # The cheapest purchase that reaches a target, to a few per cent of its price.
    steps: list[float] = []
    if project.target is not None:
        steps = np.geomspace(project.dollars / 1000, project.dollars, TARGETS)[:-1].tolist()
    every = every or candidates(curves, project, budgets=steps)
    choice = choose(every, project, at_hand=curves.at_hand)
    choice, order = in_rounds(choice, curves, project)
    if choice.reached is False:  # none does, or none in rounds
        choice, order = planned(curves, replace(project, target=None))
        choice = replace(choice, reached=False)
    return choice, order


class Purchases(NamedTuple):
    """What a budget buys: test labels that come first; the rest of the request, with the choice and
    the present order for it."""

    tests: BetterTests | None
    rest: Request
    choice: Choice
    order: tuple[Candidate, ...]


def rest_of(project: Request, offer: TestOffer) -> Request:
    """The request with the money and images that test labels leave for training labels.

    The test images that an unlimited budget buys are left out for every budget, so more money never
    removes a candidate.
    """
    images, most = project.images, offer.within(UNLIMITED)
    if images is not None and most is not None:
        images -= most.images
    return replace(project, dollars=offer.left(project.dollars), images=images)


def at_any_price(curves: Curves, project: Request, images: int | None) -> Request:
    """The request with an unlimited budget, and the part of these images for training labels."""
    offer = TestOffer.of(curves.evidence, curves, images, project.image_price)
    return replace(rest_of(replace(project, images=images), offer), dollars=UNLIMITED)


def decide(
    curves: Curves, project: Request, offer: TestOffer, every: Sequence[Candidate] = ()
) -> Purchases:  # fmt: skip
    """What a budget buys. every: candidates at any price, if they are known."""
    rest = rest_of(project, offer)
    try:
        made = planned(curves, rest, within(every, rest.dollars))
        return Purchases(offer.within(project.dollars), rest, *made)
    except BadInput:
        if rest.dollars > project.dollars - CENT:
            raise
    # Test labels leave too little for any other. The cheapest purchase, as larger budgets that buy
    # both promise no less than it does.
    rest = replace(rest, dollars=project.dollars)
    some = within(every, rest.dollars) or candidates(curves, rest)
    cheapest = min(some, key=lambda one: one.dollars)
    return Purchases(None, rest, *planned(curves, rest, [cheapest]))


def in_rounds(
    choice: Choice, curves: Curves, project: Request
) -> tuple[Choice, tuple[Candidate, ...]]:
    """The choice, and the present order: the chosen purchase or, far from the pilot, a first round.

    A first round of a large order buys a little of each of the two best label options, for at most
    a tenth of the order each. The part for the second option leaves less money for the chosen
    purchase; the returned choice fits the remaining budget. A first round of a small order is the
    part of it that `first_part` finds, if any.
    """
    chosen, rivals = choice.chosen, choice.rivals[:1]
    if not _far(chosen):
        return choice, (chosen,)
    limit = FIRST_ROUND * chosen.dollars
    parts = [
        [
            one
            for one in choice.every
            if (one.pair, one.answers) == (other.pair, other.answers) and one.dollars <= limit
        ]
        for other in (chosen, *rivals)
    ]
    if chosen.dollars < SMALL_ORDER or not rivals or not all(parts):
        return choice, (first_part(choice, curves) or chosen,)
    a, b = (max(part, key=lambda one: one.median) for part in parts)
    rest = project.dollars - (b.dollars - project.set_up)  # the set-up is paid once
    if chosen.dollars > rest:
        more = candidates(curves, replace(project, dollars=rest), only=chosen.option)
        affordable = [one for one in more
                      if (one.method, one.answers) == (chosen.method, chosen.answers)]  # fmt: skip
        chosen = max(affordable, key=lambda one: one.median)
        alone = [one for one in choice.every if one.dollars < SMALL_ORDER or not _far(one)]
        if (least := max(alone, key=lambda one: one.median, default=chosen)).median > chosen.median:
            # The part for the other option costs more than its money is worth.
            choice = replace(choice, chosen=least)
            part = first_part(choice, curves) if _far(least) else None
            return choice, (part or least,)
        choice = replace(choice, chosen=chosen, every=(*choice.every, *more))
        if project.target is not None:
            reached = chosen.reaches(project.target) >= project.confidence
            choice = replace(choice, reached=reached)
    return choice, (a, b)


def _far(one: Candidate) -> bool:
    """Whether a purchase is so far from the pilot that it is bought in rounds."""
    return one.times > FURTHER and not one.answers.again


class _Grid(NamedTuple):
    """Purchases of one option: (M,) columns with the names of `Candidate`.

    Times and labels (seconds, units, asked, present, absent) are those of the pilot's pool.
    """

    dollars: Array
    images: Array
    times: Array
    amounts: Array
    seconds: Array
    units: Array
    asked: Array
    present: Array
    absent: Array
    budget: Array  # that the purchase uses up; nan on the grid of all budgets


def _grid(
    curves: Curves, option: LabelOption, answers: Answers, project: Request,
    budgets: Sequence[float] | None,
) -> _Grid | None:  # fmt: skip
    """Numbers of images and dollars in addition to earlier purchases of the option (whose questions
    then get as many answers): the same for every budget, so that more money never removes a
    purchase, or those that use up these budgets. None without any."""
    bought = curves.purchases[option].answered(answers.times)
    pool, spent = curves.evidence.pool.images, project.spent.get(option, 0.0)
    set_up, had = project.set_up, curves.had(option)
    if project.images == 0 or (spent and answers.times < 1):
        return None
    ends = np.array(budgets or ())
    exist = max(min(project.images or math.inf, int(MOST_TIMES * pool)), had)
    rows: list[tuple[Array, ...]] = []
    if option.amount == "images":
        label, image = bought.dollars[-1] / pool, project.image_price
        images = np.unique(np.geomspace(max(1, min(pool // 50, exist)), exist, 3 * LEVELS).round())
        used_up = np.full(len(images), np.nan)
        if budgets is not None:
            most = (ends + spent - set_up + had * image) / (label + image)
            most = np.floor(np.minimum(exist, most + 1e-9))
            new = ~np.isin(most, images)
            images, used_up = most[new], ends[new]
        kept = images >= max(had, 1)
        images, used_up = images[kept], used_up[kept]
        whole = bought.at(np.full(len(images), bought.dollars[-1]))
        dollars = images * label + (images - had) * image + set_up
        rows.append((dollars, images, images / pool, images, *whole.counts, used_up))
    else:  # a part of the questions about each image
        least = max(min(pool, exist), had)  # further labels of the option contain the earlier ones
        sizes = np.unique(np.geomspace(least, exist, SIZES).round().astype(int))
        for count in sizes.tolist():
            times, paid = count / pool, set_up + (count - had) * project.image_price
            first, last = bought.dollars[[0, -1]]
            labels, used_up = np.geomspace(first, last, LEVELS), np.full(LEVELS, np.nan)
            if budgets is not None:
                labels = (ends + spent - paid) / times
                edge = (labels >= first) & (labels < last)
                labels, used_up = labels[edge], ends[edge]
            part = bought.at(labels)
            total = np.fmin(part.dollars * times + paid, used_up + spent)
            amounts, ones = part.amounts * (times if option.counted else 1.0), np.ones(len(total))
            rows.append((total, ones * count, ones * times, amounts, *part.counts, used_up))
    made = _Grid(*map(np.concatenate, zip(*rows, strict=True)))
    if spent:
        labels = made.dollars - set_up - (made.images - had) * project.image_price
        made = _Grid(*(column[labels > 1.02 * spent] for column in made))
        share = 1 - spent / labels[labels > 1.02 * spent]
        made = made._replace(dollars=made.dollars - spent, seconds=made.seconds * share,
                             units=made.units * share[:, None])  # fmt: skip
    return made if len(made.dollars) else None


def _offered(
    curves: Curves, pair: Pair, answers: Answers, grid: _Grid, project: Request
) -> NDArray[np.bool_]:
    """(M,) whether the purchase can be judged and is cheaper than complete labels of its images.

    The pilot measured similarly few labels per image, and at least one for each class.
    """
    (option, method), evidence = pair, curves.evidence
    if option.amount == "images":
        least = min((size.amount for size in evidence.cells.get(pair, ())), default=1.0)
        offered = grid.images * UNSEEN >= min(least, evidence.pool.images)
    else:
        u = curves.shares(pair, grid.present, grid.absent)
        offered = UNSEEN * u >= curves.cell(pair).u[0]
    complete = curves.purchases.get(LabelOption(COMPLETE, option.habits))
    if complete is not None and not option.complete:
        whole = complete.answered(answers.times).dollars[-1]
        each = whole / evidence.pool.images + project.image_price
        offered &= grid.dollars < 0.98 * (each * grid.images + project.set_up)
    if evidence.methods[method].known_alone:  # it would predict every class as present
        offered &= grid.absent.sum(axis=1) > 0
    if option.counted:
        offered &= grid.amounts >= 1
    so_far = evidence.received
    if so_far is not None and so_far.option.complete and so_far.option != option:
        # Of completely labelled images everything is known; if all are, no purchase is needed.
        left = (project.images or np.inf) - so_far.asked
        offered &= (grid.images <= left) | (left <= 0)
    return np.asarray(offered)


# ------------------------------------------------------------------------------------ the decision


@dataclass(frozen=True)
class Backtest:
    """The largest size of every cell, predicted from its smaller ones.

    Attributes
    ----------
    cells
        Number of predicted cells.
    held
        Share of the cells whose mean mAP is within its 90 % interval, with the noise of its draws.
    error
        Median absolute error of the prediction, as mAP in [0, 1].
    widening
        Factor of all ranges, see `widening`.
    """

    cells: int
    held: float
    error: float
    widening: float = 1.0

    @property
    def hits(self) -> int:
        return round(self.held * self.cells)

    @property
    def too_narrow(self) -> bool:
        """Whether fewer unwidened ranges hold than chance explains."""
        return _too_few(self.hits, self.cells)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share of intervals that hold (Clopper and Pearson)."""
        cells = np.array(self.cells)
        low, high = exact_interval(self.hits / cells, cells)
        return float(low), float(high)


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
    bands = [
        np.quantile(curves.measured_at(pair, sizes[-1]), [0.05, 0.5, 0.95])
        for pair, sizes in long.items()
    ]
    measured = np.array([sizes[-1].score for sizes in long.values()])
    low, median, high = np.stack(bands, axis=1)
    held = (low <= measured) & (measured <= high)
    return Backtest(
        len(long), float(held.mean()), float(np.median(np.abs(median - measured))),
        widening(measured, low, median, high),
    )  # fmt: skip


def widening(measured: Array, low: Array, median: Array, high: Array) -> float:
    """The factor by which ranges (N,) are to be widened, so that 90 % of them hold; 1 if chance may
    explain that fewer do.

    It is the 90 % quantile of the errors, each divided by the half of its range on the side of the
    error: the ceil(0.9 N)-th smallest of N, in logit mAP, in which ranges are widened.
    """
    # Ranges of plans held for 93 to 100 % of the purchases of benchmarks/results/plan_together.md,
    # so tests of one pilot are believed against them only if they fail significantly. The conformal
    # quantile, ceil(0.9 (N + 1)), is the largest error where tests are few: it widened the ranges
    # of 3 of the 9 pilots there, up to 2.9 times. The tests share draws, images and test split, so
    # 30 of them count for fewer; in a simulation with a third of the variance common to all, ranges
    # 0.6 times as wide as they should be hold 85 % after this factor (69 % before).
    value, below, middle, above = (logit(np.clip(x, EDGE, 1 - EDGE)) for x in (
        measured, low, median, high,
    ))  # fmt: skip
    half = np.where(value > middle, above - middle, middle - below)
    errors = np.sort(np.abs(value - middle) / np.maximum(half, EDGE))
    if not _too_few(int((errors <= 1).sum()), len(errors)):
        return 1.0
    return float(errors[math.ceil(MEANT * len(errors) - 1e-9) - 1])


def _too_few(hits: int, tests: int) -> bool:
    """Whether fewer ranges hold than 90 % of them would by chance (one-sided p < 5 %)."""
    return bool(bdtr(hits, tests, MEANT) < 0.05)


@dataclass(frozen=True)
class Trust:
    """The grade of trust in a plan.

    Attributes
    ----------
    reasons
        Sentences, most serious first.
    remedy
        Where trust is low, what would raise it without further labels; "" if nothing would.
    """

    grade: Grade
    reasons: tuple[str, ...]
    remedy: str = ""

    @staticmethod
    def of(
        chosen: Candidate | None, curves: Curves, backtest: Backtest | None,
        said: Array | None = None,
    ) -> Trust:  # fmt: skip
        """Trust in a purchase chosen by these curves, or in the labels so far without one.

        said: (R,) without a purchase, the mAP that is stated with its range, if there is one.
        """
        said = said if chosen is None else chosen.map
        evidence, test = curves.evidence, curves.evidence.test
        small = test.images is not None and test.small
        (missing, sentence), pool = evidence.missing, evidence.pool
        of_order = [] if chosen is None else _of_order(chosen, curves)
        low, high = (0.0, 0.0) if said is None else np.quantile(said, [0.05, 0.95]).tolist()
        tested = Backtest(0, 1.0, 0.0) if backtest is None or chosen is None else backtest
        problems: list[tuple[int, str, str]]
        # Severity, 0 to 2, a sentence, and a remedy without labels: of the runs, then of the order.
        problems = [
            ((missing > 0) + (missing > 0.05), sentence, ""),
            (2 * evidence.stand_in_backbone,
             "the features come from scenes-net, a small network trained on drawings; compare "
             "again with a backbone for photographs", ""),
            (bool(evidence.squares), evidence.earlier_features, ""),
            (small + (small and test.uncertain >= 5),
             f"mAP is uncertain by ±{test.uncertain:.1f} points on the pilot's "
             f"{numbered(test.images or 0, 'test image')}", ""),
            (max(3 - evidence.draws, 0),
             f"every size was measured in only {numbered(evidence.draws, 'draw')}",
             "Compare again with `draws = 3` in the grid"),
            (not pool.opened,
             f"the data {evidence.grid.get('data')} cannot be opened here, so counts come from "
             "class frequencies alone", ""),
            *of_order[:3],
            (tested.too_narrow,
             f"the range is widened {tested.widening:.2g} times, as {tested.hits} of "
             f"{tested.cells} of its own tests lay inside the unwidened one", ""),
            (bool(evidence.unscored),
             f"mAP leaves out {len(evidence.unscored)} of "
             f"{len(evidence.unscored) + len(pool.scored)} classes, which no test image shows, or "
             "every one", ""),
            *of_order[3:],
            (high - low > 0.1, f"the range is {100 * (high - low):.0f} points wide", ""),
        ]  # fmt: skip
        problems.sort(key=lambda row: -row[0])
        # Nothing else holds if labels are wrong, so what is unknown about errors comes first.
        option = curves.trained[0] if chosen is None else chosen.option
        problems.insert(0, (*_unknown_errors(option, curves), ""))
        if test.limit is not None:  # one reason more
            problems.insert(0, (2, (
                "with such errors of the test labels no model could measure more than "
                f"{100 * test.limit:.1f} mAP, and the better runs of the pilot measured "
                f"{100 * test.measured:.1f}; so the labels err less than stated, and mAP is not "
                "corrected for their errors"
            ), "State lower `--errors`"))  # fmt: skip
        grades: tuple[Grade, ...] = ("high", "medium", "low")
        reasons = tuple(text for severity, text, _ in problems[1:] if severity)[:MOST_REASONS]
        reasons = (*([problems[0][1]] if problems[0][0] else ()), *reasons)
        remedy = next((mend for severity, _, mend in problems if severity > 1 and mend), "")
        return Trust(grades[max(row[0] for row in problems)], reasons, remedy)


def _of_order(chosen: Candidate, curves: Curves) -> list[tuple[int, str, str]]:
    """Severity, sentence and remedy without labels of each problem of the purchase."""
    evidence, times, option = curves.evidence, chosen.times, chosen.option
    fewer = 0.0
    if option.amount != "images":
        labels = (chosen.present[None] / times, chosen.absent[None] / times)
        u = float(curves.shares(chosen.pair, *labels)[0])
        fewer = float(curves.cell(chosen.pair).u[0] / max(u, 1e-9))
    again = chosen.answers.again  # about no further images
    return [
        ((not again) * ((times > FAR) + (times > FURTHER)),
         f"{chosen.images:,} images are {times:.2g} times the pilot's {evidence.pool.images:,}",
         ""),
        (2 * (times > FAR and not again
              and not any(option.complete for option, _ in evidence.cells)),
         "the gain from more images is assumed, because complete labels of fewer images were "
         "not compared", "Add full-subset to the schemes of the grid and compare again"),
        (2 * (fewer > FEWER),
         "the order has fewer labels per image than any that the pilot measured; the smallest "
         f"had {fewer:.2g} times as many", f"Compare smaller budgets of {option}"),
        (not option.complete and chosen.answers.errors is not None
         and chosen.answers.number != curves.usual,
         "the gain from several answers was measured with complete labels, and is assumed for "
         f"{option}", ""),
    ]  # fmt: skip


def _unknown_errors(option: LabelOption, curves: Curves) -> tuple[int, str]:
    """Severity, and what is unknown about the annotators' errors or their effect: errors that are
    stated leave no more unknown than those that are not."""
    if not option.habits.perfect or (curves.errors and not any(curves.errors)):
        return 0, ""
    so = " and taken as none" * curves.evidence.true_labels
    if curves.errors is None:
        also = (
            ""
            if curves.evidence.levels
            else "; error levels in the grid of a comparison, `errors`, measure their effect"
        )
        if home := curves.evidence.project:
            also += f"; simkit status {quote(home)} prints how to measure them"
        return 1, f"the annotators' errors are unknown{so} (--errors states them{also})"
    rates = [max(float(f"{rate:.1g}"), 0.001) for rate in curves.errors]
    mend = f"to measure it, add `errors = [{rates}]` to the grid and compare again"
    text = f"the effect of annotators' errors was not measured{so} ({mend})"
    return int(not curves.evidence.levels), text


@dataclass(frozen=True)
class Step:
    """The next step.

    Attributes
    ----------
    dollars
        Price of a smaller purchase that comes before the order.
    """

    kind: Literal[
        "finish", "backbone", "tests", "at hand", "remedy", "status", "round", "measure", "order"
    ]
    dollars: float = 0.0

    @property
    def first(self) -> bool:
        """Whether it comes before the order, and then all is planned again."""
        return self.kind in ("finish", "backbone", "tests", "remedy", "measure")


@dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """The purchase for a budget, with its expected mAP and a grade of trust.

    Attributes
    ----------
    tests
        Test labels to buy before the purchase; the budget pays for both.
    offer
        The test labels that this and other budgets can buy first.
    rest
        The request with the money and images that these leave for training labels.
    choice
        The chosen purchase and all others.
    supposed
        The choice for shares of wrong answers of 0, 2 and 5 %, if the annotators' errors are
        unknown and the comparison measured their effect.
    order
        The present order: the chosen purchase, or a first round of the two best label options.
    paid
        The price of complete labels at the wage of the price list, at which the pilot was paid.
    measurement
        The cheapest purchase that may change the decision, with the probability; None if none is
        likely to.
    staff
        The annotators.
    command_options, command
        The options of `simkit plan` that give this plan, and the whole command.
    spent
        What the project has paid so far, in dollars; None: by the prices of the plan.
    aside
        Dollars of `spent` for answers that are set aside.
    rate
        What the answers in use really cost, as times the prices of the plan; 1 if unknown.
    later_spent
        What the labels after the pilot have cost so far, in dollars; None: as `spent`.
    expected
        Median and 90 % interval of the mAP that was expected of earlier rounds' labels on new
        images, before it was measured; None without any.
    day
        The day of the plan, on which the work can begin.
    """

    project: Request
    evidence: Evidence
    curves: Curves
    tests: BetterTests | None
    offer: TestOffer
    rest: Request
    choice: Choice
    order: tuple[Candidate, ...]
    paid: PriceCurve
    backtest: Backtest | None
    measurement: tuple[Candidate, float] | None
    prices: Prices
    unpriced: tuple[str, ...]
    staff: Staff
    command_options: Mapping[str, Any]
    command: str
    spent: float | None = None
    aside: float = 0.0
    rate: float = 1.0
    later_spent: float | None = None
    expected: tuple[float, float, float] | None = None
    supposed: tuple[tuple[float, Candidate], ...] = ()
    day: date = field(default_factory=quantities.today)

    @property
    def chosen(self) -> Candidate:
        return self.choice.chosen

    @property
    def tests_first(self) -> BetterTests | None:
        """The test labels that this plan buys: in a project always, else only with a purchase."""
        home = self.evidence.project is not None
        return self.tests if home or self.purchase_needed else None

    @property
    def purchase_needed(self) -> bool:
        """Whether the purchase is expected to raise mAP by at least 1 point; see `gain`. With a
        target: whether it is needed for that."""
        if self.reached_today or self.choice.reached:
            return not self.reached_today
        received, images = self.evidence.received, self.rest.images or math.inf
        known = received is not None and received.option.complete and received.asked >= images
        return self.gain > LOSS - 1e-9 and (self.chosen.answers.again or not known)

    @cached_property
    def gain(self) -> float:
        """What the purchase adds to mAP; see `gain_of`."""
        return self.gain_of(self.chosen)

    def gain_of(self, one: Candidate) -> float:
        """What a purchase adds to the best mAP without one."""
        return added(one, self.curves.at_hand)

    @cached_property
    def trust(self) -> Trust:
        """The grade of trust, with reasons: of a purchase, or of the labels so far alone."""
        bought = self.chosen if self.purchase_needed else None
        return Trust.of(bought, self.curves, self.backtest, self.said)

    @property
    def said(self) -> Array | None:
        """(R,) the stated mAP in each sample: that of the purchase, or of the labels so far without
        one; None where it was measured."""
        if self.purchase_needed:
            return self.chosen.map
        return None if self.curves.free > self.so_far else self.curves.floor

    @cached_property
    def reachable(self) -> tuple[float, int | None] | None:
        """A budget and a number of images that reach a target which this plan misses."""
        return to_reach(self.curves, self.project) if self.missed else None

    @cached_property
    def highest(self) -> float | None:
        """The highest target that this budget reaches, if the plan misses its own."""
        return highest_target(self.curves, self.rest) if self.missed else None

    @property
    def missed(self) -> bool:
        """Whether neither the purchase nor the labels so far reach the target."""
        return self.choice.reached is False and not self.reached_today

    @property
    def reached_today(self) -> bool:
        """Whether the target is reached without a purchase, with the required probability."""
        target, free = self.project.target, self.curves.free
        return target is not None and (self.today(target) >= self.project.confidence
                                       or free >= target)  # fmt: skip

    def today(self, target: float) -> float:
        """Probability that the labels so far reach a target."""
        return float((self.curves.floor >= target).mean())

    @cached_property
    def so_far(self) -> float:
        """Median mAP of the labels so far: those of the pilot and of earlier rounds."""
        return float(np.median(self.curves.floor))

    @property
    def half(self) -> float:
        """Half of what the plan spends, in whole cents."""
        return math.floor(50 * round(self.cost("now", "later"), 2) + 1e-9) / 100

    @property
    def in_rounds(self) -> bool:
        """Whether the present order is a first round of the chosen purchase."""
        return self.order[0] is not self.chosen

    @property
    def trained(self) -> Pair:
        """The label option and method to train: those of the purchase, or of the labels so far."""
        return self.chosen.pair if self.purchase_needed else self.curves.trained

    @cached_property
    def bill(self) -> tuple[BillLine, ...]:
        """Bill of the order, of later rounds, of the pilot and of the labels so far."""
        return bill_of(self)

    @property
    def _amount(self) -> float:
        """The amount of the purchase on the pilot's images."""
        one = self.chosen
        return one.amount / one.times if one.option.counted else one.amount

    @cached_property
    def wrong(self) -> tuple[float, float]:
        """Shares of the purchase's present and absent labels that are wrong."""
        return wrong_labels(self.chosen.option, self._amount, self.evidence.pool)

    @cached_property
    def candidates_right(self) -> dict[str, Any] | None:
        """The model by which the purchase is searched for, and the share of its right candidates.

        As `model`, `right` and `by_class`, with `at_random`, how many times as much the purchase
        costs without it (None if it needs one); None without a search by a model.
        """
        pool = self.evidence.pool
        if (found := searched(self.chosen.option, self._amount, pool)) is None:
            return None
        right, looks = found
        names = [pool.truth.classes[c] for c in pool.scored]
        shares = (right / np.maximum(looks, 1)).tolist()
        return {
            "model": pool.machine_name, "right": float(right.sum() / max(1.0, looks.sum())),
            "by_class": dict(zip(names, shares, strict=True)),
            "at_random": times_at_random(self.chosen.option, self._amount, pool, self.prices),
        }  # fmt: skip

    def cost(self, *when: str) -> float:
        """Total of the bill's lines of these kinds, in dollars; all printed costs come from here.

        The budget is cost("now", "later") + left; earlier payments do not count towards it.
        """
        return math.fsum(line.dollars for line in self.bill if line.when in when)

    @property
    def left(self) -> float:
        """Dollars of the budget that are left after the order and all later rounds."""
        return self.project.dollars - self.cost("now", "later")

    @cached_property
    def step(self) -> Step:
        """The first next step that applies."""
        evidence, home = self.evidence, self.evidence.project is not None
        to_buy = self.tests_first and Step("tests", self.cost("now"))
        if evidence.missing[0] > UNFINISHED:
            return Step("finish")
        if evidence.stand_in_backbone:
            return Step("backbone")
        if to_buy and home:
            return to_buy
        if not self.purchase_needed:
            return Step("at hand")
        if self.trust.remedy:
            return Step("remedy")
        if to_buy:
            return to_buy
        if home or self.in_rounds:
            return Step("status" if home else "round")
        if self.measurement is not None and not self.chosen.answers.again:
            return Step("measure", self.measurement[0].dollars)
        return Step("order")

    @cached_property
    def amounts(self) -> tuple[float, float, float]:
        """Dollars spent now, later and not at all, which add up to the budget."""
        budget, now, later = self.project.dollars, self.cost("now"), self.cost("later")
        if self.step.first and self.step.kind != "tests":
            now, later = self.step.dollars, min(now + later, budget - self.step.dollars)
        return now, later, budget - now - later

    @cached_property
    def certainty(self) -> tuple[Certainty, ...]:
        """The test split as it is, and with each way to improve it; see `certainties`."""
        return certainties(self.evidence, self.curves, self.project.image_price)

    def work(self, *when: str) -> float | None:
        """Hours of work of the bill's lines of these kinds; None if the price list has no times."""
        hours = [line.hours for line in self.bill if line.when in when]
        return None if None in hours else math.fsum(filter(None, hours))

    @property
    def weeks(self) -> float | None:
        """Working time of the annotators for the order; None if the price list has no times."""
        hours = self.work("now")
        return None if hours is None else hours / self.staff.week

    @property
    def done(self) -> date | None:
        """The day by which the order and later rounds are labelled, if work begins on `day`."""
        return self.day_after(self.work("now", "later"))

    def day_after(self, hours: float | None) -> date | None:
        """The day on which so many hours of work are done, in equal parts on all seven days of a
        week; None if the price list has no times."""
        return None if hours is None else (
            self.day + timedelta(math.ceil(7 * hours / self.staff.week))
        )  # fmt: skip
