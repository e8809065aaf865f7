"""The amount of a scheme that a budget buys."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_type_hints

import numpy as np

from simkit.annotate import crowd, schemes
from simkit.annotate.annotators import Habits
from simkit.annotate.prices import Cost, Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.annotate.schemes import Scheme, largest
from simkit.annotate.simulate import how_many, simulate
from simkit.chance import Chance
from simkit.data.dataset import Boxes
from simkit.errors import BadInput, unknown
from simkit.labels.effort import Effort
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth
from simkit.quantities import money
from simkit.registry import convert

OVERSHOOT = 1.02  # guesses aim above the budget by this factor, to bracket the answer quickly
FIRST_FACTOR = 10  # a guess is at most this many times the largest affordable amount so far
FREE_MODEL = "assumes a free model"  # the start of sentences on such schemes


@dataclass(frozen=True, eq=False)
class Affordable:
    """One amount of a scheme: number of images, labels and bill.

    spent   in the unit of the budget; infinite, without labels, where there are too many answers.
    step    of the ladder;  warned  texts of warnings.
    """

    scheme: Scheme
    images: int
    labels: Any
    cost: Cost
    spent: float
    step: int
    warned: tuple[str, ...] = ()
    refused: crowd.TooManyAnswers | None = None


def amount_for(
    budget: float,
    truth: Truth | Any,
    scheme: Scheme | str,
    prices: Prices | str,
    *,
    unit: Literal["dollars", "seconds"] = "dollars",
    images: float | int = 1.0,
    hierarchy: Hierarchy | None = None,
    habits: Habits = Habits(),
    boxes: Boxes | None = None,
    features: Any = None,
    scores: Any = None,
    seed: int = 0,
    draw: int = 0,
) -> Affordable:
    """The largest amount of a scheme whose cost does not exceed a budget.

    The search is over the scheme's amount field (a share in steps as fine as one label), or, for a
    scheme without one, over the number of images. Larger amounts contain smaller ones, so the cost
    is monotone; about ten simulations find the answer.

    Parameters
    ----------
    budget : float
        Dollars, or seconds of annotation with unit="seconds".
    truth : Truth or array
        The complete labels, as for `simulate`.
    scheme : Scheme or str
        The scheme; its amount is replaced.
    prices : Prices or str
        A price list, its name or file.
    unit : "dollars" or "seconds"
        Unit of the budget.
    images : float or int, default 1.0
        Upper limit: the share (a float up to 1.0) or number (an int) of images to annotate.
    hierarchy : Hierarchy, optional
        Needed by schemes that ask along a hierarchy; the truth must be closed under it.
    habits : Habits, optional
        The annotator model; by default annotators never err.
    boxes : Boxes, optional
        Boxes of the objects, for schemes that choose by size or position.
    features : (N, D) float, optional
        Features of the images, for schemes that choose images by them.
    scores : (N, L) float, optional
        A model's scores of the images (logits), for schemes that choose images by them.
    seed : int, default 0
        Same seed, same labels.
    draw : int, default 0
        Index of the repetition, with other images, choices and errors.

    Returns
    -------
    Affordable

    Warns
    -----
    UserWarning
        If the budget is more than the scheme can spend, or buys more answers than `crowd.LIMIT`.

    Raises
    ------
    BadInput
        If not even the smallest amount fits, or if `unit` is seconds and the price list has no
        times.
    """
    budget = convert(budget, float, "the budget", spelled=False)
    if budget < 0:
        raise BadInput(f"the budget is {budget:g}; a number of at least 0 is expected")
    if unit not in ("dollars", "seconds"):
        raise unknown("unit", unit, ("dollars", "seconds"))
    truth = Truth.of(truth)
    simulated = partial(
        simulate, truth, hierarchy=hierarchy, habits=habits, boxes=boxes, features=features,
        scores=scores, seed=seed, draw=draw,
    )  # fmt: skip
    shape = how_many(images, truth.shape[0]), truth.shape[1]
    ladder = Ladder.of(simulated, shape, scheme, prices, unit)
    best, above = largest_affordable(ladder, budget)
    name = ladder.scheme.name
    scale, counted = (3600, "hours") if unit == "seconds" and budget >= 3600 else (1, unit)
    spent = f"{name} can spend {best.spent / scale:,.2f} of {budget / scale:,.2f} {counted}"
    texts = list(best.warned)
    if above is None and best.spent < budget:
        texts.append(f"{spent}; everything was bought")
    if above is not None and above.refused is not None:
        texts.append(f"{spent}; more than {crowd.LIMIT:,} answers cannot be stored")
    for text in texts:
        warnings.warn(text, stacklevel=2)
    return best


def names_for(
    budget: float, classes: int, prices: Prices, exist: int | None = None
) -> tuple[int, float]:
    """In how many images a budget pays for one name, and their bill; 0 if names have no price.

    Parameters
    ----------
    budget : float
        Dollars, with the set-up of the project.
    classes : int
        Number of classes, for the set-up.
    prices : Prices
    exist : int, optional
        Number of existing images. Default: unlimited.

    Returns
    -------
    int, float
    """
    if "name" not in prices.rates:
        return 0, 0.0
    many = 1_000_000  # a bill of one image is rounded coarsely
    each = cost(Effort({"name": np.array([0, many])}), prices.once_set_up()).dollars / many
    set_up = prices.setup + prices.setup_class * classes
    images = max(0, int((budget - set_up) / each + 1e-6)) if each else 0
    images = images if exist is None else min(images, exist)
    return images, images * each + set_up


@dataclass(frozen=True, eq=False)
class Ladder:
    """Amounts of a scheme as whole numbers 1 .. steps, tried and billed one at a time.

    annotate: function of a scheme and the keyword images, a number; its labels or effort are
    billed;  classes: number of classes;  top: the amount of the last step;  share: whether amounts
    are shares of it.
    """

    scheme: Scheme
    prices: Prices
    unit: str
    annotate: Callable[..., Any]
    images: int
    classes: int
    steps: int
    share: bool
    top: int

    @staticmethod
    def of(
        annotate: Callable[..., Any], shape: tuple[int, int], scheme: Scheme | str,
        prices: Prices | str, unit: str = "dollars",
    ) -> Ladder:  # fmt: skip
        """The ladder for at most shape = (images, classes)."""
        (images, classes), share = shape, False
        scheme = schemes.make(scheme) if isinstance(scheme, str) else scheme
        top = steps = images
        if scheme.amount is not None:
            share = get_type_hints(type(scheme))[scheme.amount] is float
            top = largest(scheme, images, classes)
            # A power of ten, so that the share in the answer has a short spelling.
            steps = 10 ** len(str(images * classes)) if share else top
        return Ladder(
            scheme, price_list(prices), unit, annotate, images, classes, steps, share, top
        )

    def shown(self, amount: str) -> str:
        """An amount of money or time with its unit."""
        return f"${amount}" if self.unit == "dollars" else f"{amount} s"

    def buy(self, step: int) -> Affordable:
        """Try the amount at this step; warnings are kept for later."""
        scheme, images = self.scheme, step
        if scheme.amount is not None:
            amount = step * self.top / self.steps if self.share else step
            scheme = dataclasses.replace(scheme, **{scheme.amount: amount})  # type: ignore[type-var]
            images = self.images
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                labels = self.annotate(scheme, images=images)
            except crowd.TooManyAnswers as refused:
                nothing = Cost(None, math.inf, (), 0, self.prices.name)
                return Affordable(scheme, images, None, nothing, math.inf, step, refused=refused)
        bill = cost(labels, self.prices)
        spent = getattr(bill, self.unit)
        if spent is None:
            raise BadInput(
                f"price list {self.prices.name!r} has no times; set the budget in dollars, or use "
                "a list with times, such as hourly"
            )
        texts = tuple(str(warning.message) for warning in caught)
        return Affordable(scheme, images, labels, bill, spent, step, texts)

    def least(self) -> Affordable:
        """The smallest amount with at least one question.

        Its bill has a line for each kind of question of larger amounts. Raises BadInput.
        """
        step = 1
        while True:
            trial = self.buy(step)
            if trial.refused is not None:
                raise trial.refused
            if trial.cost.lines or step == self.steps:
                return trial
            step = min(10 * step, self.steps)


def _up(amount: float) -> str:
    """An amount in four digits, rounded up so that it suffices."""
    unit = 10.0 ** (math.floor(math.log10(amount)) - 3)
    return f"{math.ceil(round(amount / unit, 6)) * unit:,.6g}"


def largest_affordable(ladder: Ladder, budget: float) -> tuple[Affordable, Affordable | None]:
    """The trial of the largest affordable step, and that of the next one (None: there is none).

    Each trial is a simulation, so few of them matter. Secant steps first bracket the answer; then
    regula falsi (Illinois form, which halves the weight of an end that stays) narrows the bracket,
    with a bisection whenever it was not halved. Raises BadInput if the first step is not
    affordable, or if no affordable step asks a question.
    """
    best: Affordable | None = None
    low, low_spent, slope = 0, 0.0, 0.0
    guess = max(1, math.isqrt(ladder.steps))
    while (trial := ladder.buy(guess)).spent <= budget:
        best = trial
        if guess == ladder.steps:
            break
        slope = (trial.spent - low_spent) / (guess - low) or slope
        low, low_spent = guess, trial.spent
        ahead = OVERSHOOT * (budget - low_spent) / slope if slope else math.inf
        # At least 2 % further, as the slope may have fallen to nearly nothing.
        guess = int(min(max(low + 1 + ahead, low * 1.02), low * FIRST_FACTOR + 1, ladder.steps))
    above = None if trial is best else trial
    high = low if above is None else above.step
    short, over = budget - low_spent, trial.spent - budget
    halve = False
    while high - low > 1:
        width = high - low
        halve |= math.isinf(over)  # a trial with too many answers has no price to interpolate
        guess = low + (width // 2 if halve else int(width * short / (short + over)))
        trial = ladder.buy(min(max(guess, low + 1), high - 1))
        if trial.spent <= budget:
            best, low, short, over = trial, trial.step, budget - trial.spent, over / 2
        else:
            above, high, short, over = trial, trial.step, short / 2, trial.spent - budget
        halve = high - low > width / 2
    if best is None and above is not None and above.refused is not None:
        raise above.refused
    if best is None or not best.cost.lines:
        smallest = math.inf if above is None else above.spent
        costs = ""
        if smallest < math.inf:
            hours = f" ({_up(smallest / 3600)} hours)" if ladder.unit == "seconds" else ""
            costs = f", whose smallest amount costs {ladder.shown(_up(smallest))}{hours}"
        once = ladder.prices.setup + ladder.prices.setup_class * ladder.classes
        costs += f" with ${once:,g} of set-up" if once and ladder.unit == "dollars" else ""
        raise BadInput(
            f"a budget of {ladder.shown(f'{budget:,g}')} buys nothing of "
            f"{ladder.scheme.name}{costs}; raise the budget"
        )
    return best, above


@dataclass(frozen=True)
class Assumed:
    """The machine that a scheme assumes, and the price of its labels without one.

    Attributes
    ----------
    precision
        Share of the machine's candidates that show the class.
    at_random
        Dollars for the same labels by a search at random; None for a scheme that only verifies
        what a machine proposes.
    """

    precision: float
    at_random: float | None

    def text(self, dollars: float) -> str:
        """The assumption beside the price of the labels."""
        text = (
            f"{FREE_MODEL} that proposes images, {self.precision:.0%} of which show the "
            f"class: its labels cost {money(dollars)}"
        )
        if self.at_random is None:
            return text
        return f"{text}; without such a model, searched at random, {money(self.at_random)}"


def free_scores(
    scheme: schemes.Scheme, effort: Effort, truth: Truth, prices: Prices | str, *,
    images: float | int = 1.0,
) -> str:  # fmt: skip
    """A sentence on a model's scores that are not billed, and their price for these images.

    "" if the scheme uses none, or if they are billed or cost nothing.
    """
    images = how_many(images, truth.shape[0])
    dollars = images * price_list(prices).machine
    if not scheme.needs_scores or effort.machine or not dollars:
        return ""
    return (
        "is not billed for the model's scores, as machine and proposals(by=scores) are: "
        f"{images:,} images would cost {money(dollars)}"
    )


def assumed(
    scheme: schemes.Scheme, effort: Effort, truth: Truth, prices: Prices | str, *,
    images: float | int = 1.0, seed: int = 0, draw: int = 0,
) -> Assumed | None:  # fmt: skip
    """The machine that a scheme assumes; None if it assumes none.

    A search at random is priced by a formula and not simulated: the k-th of m images is expected at
    place k (n + 1) / (m + 1) of n. A search for images with and without a class ends at the later
    of both, and after all images if there are too few. Answers are taken as correct.

    Parameters
    ----------
    scheme : Scheme
    effort : Effort
        The questions for its labels.
    truth : Truth
    prices : Prices or str
    images, seed, draw
        As in `simulate`.
    """
    if scheme.unassuming(scores=True) == scheme:
        return None
    if not isinstance(scheme, schemes.Searching):
        return Assumed(float(getattr(scheme, "precision", math.nan)), None)
    chance = Chance.seeded(seed).of("draw", draw).of("scheme", scheme.name)
    (N, L), n = truth.shape, how_many(images, truth.shape[0])
    shown, looks = truth.counts * (n / N), np.zeros(L)
    for goal, there in zip(scheme.goals_by_class((n, L), chance), (shown, n - shown), strict=True):
        places = goal * (n + 1) / (there + 1)
        looks = np.maximum(looks, np.where(goal > there, n, np.minimum(places, n)))
    walked = replace(effort, looks=np.rint(looks).astype(np.int64), dropped={})
    return Assumed(scheme.precision, cost(walked, prices).dollars)
