"""The amount of a scheme that a budget buys."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Unpack, get_type_hints

from simkit.annotate import ledger, schemes
from simkit.annotate.prices import Cost, Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.annotate.schemes import Scheme
from simkit.annotate.schemes.base import largest
from simkit.annotate.simulate import Options, how_many, simulate
from simkit.errors import BadInput, unknown
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.registry import convert

OVERSHOOT = 1.02  # guesses aim above the budget by this factor, to bracket the answer quickly
FIRST_FACTOR = 10  # a guess is at most this many times the largest affordable amount so far


@dataclass(frozen=True, eq=False)
class Bought:
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
    refused: ledger.TooManyAnswers | None = None


def amount_for(
    budget: float,
    truth: Truth | Any,
    scheme: Scheme | str,
    prices: Prices | str,
    *,
    unit: Literal["dollars", "seconds"] = "dollars",
    **options: Unpack[Options],
) -> Bought:
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
    **options
        images (an upper limit), hierarchy, habits, boxes, features, scores, seed and draw, as in
        `simulate`.

    Returns
    -------
    Bought

    Warns
    -----
    UserWarning
        If the budget is more than the scheme can spend, or buys more answers than `ledger.LIMIT`.

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
    ladder = Ladder.of_truth(truth, scheme, prices, unit, options)
    best, above = affordable(ladder, budget)
    name = ladder.scheme.name
    scale, counted = (3600, "hours") if unit == "seconds" and budget >= 3600 else (1, unit)
    spent = f"{name} can spend {best.spent / scale:,.2f} of {budget / scale:,.2f} {counted}"
    texts = list(best.warned)
    if above is None and best.spent < budget:
        texts.append(f"{spent}; everything was bought")
    if above is not None and above.refused is not None:
        texts.append(f"{spent}; more than {ledger.LIMIT:,} answers cannot be stored")
    for text in texts:
        warnings.warn(text, stacklevel=2)
    return best


def least(
    truth: Truth, scheme: Scheme | str, prices: Prices | str, **options: Unpack[Options]
) -> Cost:
    """The bill of the smallest amount with at least one question; options as in `simulate`.

    It has a line for each kind of question of larger amounts. Raises BadInput.
    """
    ladder, step = Ladder.of_truth(truth, scheme, prices, "dollars", options), 1
    while True:
        trial = ladder.buy(step)
        if trial.refused is not None:
            raise trial.refused
        if trial.cost.lines or step == ladder.steps:
            return trial.cost
        step = min(10 * step, ladder.steps)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Amounts of a scheme as whole numbers 1 .. steps, tried and billed one at a time.

    annotate: function of a scheme and a number of images; its labels or effort are billed;
    classes: number of classes; top: the amount of the last step; share: whether amounts are shares
    of it.
    """

    scheme: Scheme
    prices: Prices
    unit: str
    annotate: Callable[[Scheme, int], Any]
    images: int
    classes: int
    steps: int
    share: bool
    top: int

    @staticmethod
    def of(
        annotate: Callable[[Scheme, int], Any], shape: tuple[int, int], scheme: Scheme | str,
        prices: Any, unit: str = "dollars",
    ) -> Ladder:  # fmt: skip
        """The ladder for at most shape = (images, classes)."""
        (images, classes), share = shape, False
        chosen = schemes.make(scheme) if isinstance(scheme, str) else scheme
        top = steps = images
        if chosen.amount is not None:
            share = get_type_hints(type(chosen))[chosen.amount] is float
            top = largest(chosen, images, classes)
            # A power of ten, so that the share that is found has a short spelling.
            steps = 10 ** len(str(images * classes)) if share else top
        return Ladder(
            chosen, price_list(prices), unit, annotate, images, classes, steps, share, top
        )

    @staticmethod
    def of_truth(
        truth: Any, scheme: Scheme | str, prices: Any, unit: str, options: Mapping[str, Any]
    ) -> Ladder:
        """The ladder of labels simulated from a truth."""
        truth = Truth.of(truth)
        images = how_many(options.get("images", 1.0), truth.shape[0])
        others = {key: value for key, value in options.items() if key != "images"}

        def annotate(scheme: Scheme, images: int) -> PartialLabels:
            return simulate(truth, scheme, images=images, **others)

        return Ladder.of(annotate, (images, truth.shape[1]), scheme, prices, unit)

    def buy(self, step: int) -> Bought:
        """Try the amount at this step; warnings are kept for later."""
        scheme, images = self.scheme, step
        if scheme.amount is not None:
            amount = step * self.top / self.steps if self.share else step
            scheme = dataclasses.replace(scheme, **{scheme.amount: amount})  # type: ignore[type-var]
            images = self.images
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                labels = self.annotate(scheme, images)
            except ledger.TooManyAnswers as refused:
                nothing = Cost(None, math.inf, (), 0, self.prices.name)
                return Bought(scheme, images, None, nothing, math.inf, step, refused=refused)
        bill = cost(labels, self.prices)
        spent = getattr(bill, self.unit)
        if spent is None:
            raise BadInput(f"price list {self.prices.name!r} has no times; give dollars instead")
        texts = tuple(str(warning.message) for warning in caught)
        return Bought(scheme, images, labels, bill, spent, step, texts)


def affordable(ladder: Ladder, budget: float) -> tuple[Bought, Bought | None]:
    """The trial of the largest affordable step, and that of the next one (None: there is none).

    Raises BadInput if the first step is not affordable, or if no affordable step asks a question.
    """
    best, above = _largest(ladder, budget)
    if best is None and above is not None and above.refused is not None:
        raise above.refused
    if best is None or not best.cost.lines:
        smallest = math.inf if above is None else above.spent
        costs = f", whose smallest amount costs {smallest:,.4g}" if smallest < math.inf else ""
        once = ladder.prices.setup + ladder.prices.setup_class * ladder.classes
        costs += f" with {once:,g} dollars of set-up" if once and ladder.unit == "dollars" else ""
        raise BadInput(
            f"{budget:,g} {ladder.unit} do not buy anything of {ladder.scheme.name}{costs}; raise "
            "the budget"
        )
    return best, above


def _largest(ladder: Ladder, budget: float) -> tuple[Bought | None, Bought | None]:
    """The trial of the largest affordable step (None: not even 1), and that of the next step
    (None: no larger step exists).

    Secant steps first bracket the answer; then regula falsi (Illinois form) narrows the bracket,
    with a bisection whenever it was not halved.
    """
    best: Bought | None = None
    low, low_spent, slope = 0, 0.0, 0.0
    guess = max(1, math.isqrt(ladder.steps))
    while (trial := ladder.buy(guess)).spent <= budget:
        if guess == ladder.steps:
            return trial, None
        slope = (trial.spent - low_spent) / (guess - low) or slope
        best, low, low_spent = trial, guess, trial.spent
        ahead = OVERSHOOT * (budget - low_spent) / slope if slope else math.inf
        guess = int(min(max(low + 1 + ahead, low * 1.02), low * FIRST_FACTOR + 1, ladder.steps))
    above, high = trial, trial.step
    short, over = budget - low_spent, above.spent - budget
    halve = False
    while high - low > 1:
        width = high - low
        halve |= math.isinf(over)
        guess = low + (width // 2 if halve else int(width * short / (short + over)))
        trial = ladder.buy(min(max(guess, low + 1), high - 1))
        if trial.spent <= budget:
            best, low, short, over = trial, trial.step, budget - trial.spent, over / 2
        else:
            above, high, short, over = trial, trial.step, short / 2, trial.spent - budget
        halve = high - low > width / 2
    return best, above
