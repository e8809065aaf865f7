"""How much of a scheme a budget buys."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from simkit.annotate import schemes
from simkit.annotate.asking import ledger
from simkit.annotate.habits import Habits
from simkit.annotate.prices import Cost, Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.annotate.schemes import Scheme
from simkit.annotate.schemes.base import largest
from simkit.annotate.simulate import how_many, simulate
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth

OVERSHOOT = 1.02  # guesses aim this much beyond the budget, so that the answer is soon enclosed
FIRST_FACTOR = 10  # a guess is at most this many times the largest amount known to fit


@dataclass(frozen=True, eq=False)
class Bought:
    """What a budget bought: the scheme with its amount, the number of images, labels and bill."""

    scheme: Scheme
    images: int
    labels: PartialLabels
    cost: Cost


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
    seed: int = 0,
    draw: int = 0,
) -> Bought:
    """The largest amount of `scheme` whose cost does not exceed `budget`.

    Sought is the scheme's amount field (a share in steps as fine as one label), or, for a scheme
    without one, the number of images, up to `images`. Larger amounts contain smaller ones, so cost
    only grows; about ten simulations enclose the answer. Warns when the budget is more than the
    scheme can spend, or than can be written down (`ledger.LIMIT`). Raises BadInput when not even
    the smallest amount fits, and when `unit` is seconds and the price list does not know the time.
    """
    _check(budget, unit)
    truth = Truth.of(truth)
    part = schemes.make(scheme) if isinstance(scheme, str) else scheme
    listed = prices if isinstance(prices, Prices) else price_list(prices)
    ladder = _Ladder.of(part, how_many(images, truth.shape[0]), truth.shape[1])
    settings = {
        "hierarchy": hierarchy,
        "habits": habits,
        "boxes": boxes,
        "seed": seed,
        "draw": draw,
    }
    spend = _Buyer(truth, ladder, listed, unit, settings)
    best, above = _largest(spend, budget, ladder.steps)
    if best is None and above is not None and above.refused is not None:
        raise above.refused
    if best is None or best.bought is None or not best.bought.cost.lines:
        least = math.inf if above is None else above.spent
        costs = f", whose smallest amount costs {least:,.4g}" if math.isfinite(least) else ""
        once = listed.setup + listed.setup_class * truth.shape[1]
        costs += f" with {once:,g} dollars of set-up" if once and unit == "dollars" else ""
        raise BadInput(
            f"{budget:,g} {unit} do not buy anything of {part.name}{costs}; raise the budget"
        )
    scale, named = (3600, "hours") if unit == "seconds" and budget >= 3600 else (1, unit)
    spent = f"{part.name} can spend {best.spent / scale:,.2f} of {budget / scale:,.2f} {named}"
    for text in (*best.heard, *_unspent(spent, best.spent < budget, above)):
        warnings.warn(text, stacklevel=2)
    return best.bought


def least(
    truth: Truth,
    scheme: Scheme | str,
    prices: Prices | str,
    *,
    images: float | int = 1.0,
    **settings: Any,
) -> Cost:
    """The bill of the smallest amount of `scheme` that asks anything; settings as `simulate` has
    them. It has a line for each kind of question that larger amounts ask. Raises BadInput."""
    part = schemes.make(scheme) if isinstance(scheme, str) else scheme
    listed = prices if isinstance(prices, Prices) else price_list(prices)
    ladder = _Ladder.of(part, how_many(images, truth.shape[0]), truth.shape[1])
    spend, step = _Buyer(truth, ladder, listed, "dollars", settings), 1
    while True:
        trial = spend(step)
        if trial.refused is not None:
            raise trial.refused
        assert trial.bought is not None
        if trial.bought.cost.lines or step == ladder.steps:
            return trial.bought.cost
        step = min(10 * step, ladder.steps)


def _unspent(spent: str, left: bool, above: _Trial | None) -> Iterator[str]:
    """Why money is left."""
    if above is None and left:
        yield f"{spent}; everything was bought"
    if above is not None and above.refused is not None:
        yield f"{spent}; more than {ledger.LIMIT:,} answers cannot be written down"


@dataclass(frozen=True, eq=False)
class _Trial:
    step: int
    spent: float
    bought: Bought | None = None
    heard: tuple[str, ...] = ()
    # Too many answers: nothing is bought, and `spent` is infinite.
    refused: ledger.TooManyAnswers | None = None


@dataclass(frozen=True, eq=False)
class _Buyer:
    """Simulates one amount and bills it; what the simulation warns of is kept for later."""

    truth: Truth
    ladder: _Ladder
    prices: Prices
    unit: str
    settings: Mapping[str, Any]

    def __call__(self, step: int) -> _Trial:
        scheme, images = self.ladder.at(step)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                labels = simulate(self.truth, scheme, images=images, **self.settings)
            except ledger.TooManyAnswers as refused:
                return _Trial(step, math.inf, refused=refused)
        bill = cost(labels, self.prices)
        spent = getattr(bill, self.unit)
        if spent is None:
            raise BadInput(
                f"price list {self.prices.name!r} does not know the time; give a budget in dollars"
            )
        texts = tuple(str(warning.message) for warning in heard)
        return _Trial(step, spent, Bought(scheme, images, labels, bill), texts)


@dataclass(frozen=True)
class _Ladder:
    """Amounts as whole numbers 1..steps; `field` None: the number of images is the amount.

    top: what the last step of an amount stands for.
    """

    scheme: Scheme
    field: str | None
    share: bool
    steps: int
    images: int
    top: int = 1

    @staticmethod
    def of(scheme: Scheme, images: int, classes: int) -> _Ladder:
        field = scheme.amount
        share = field is not None and get_type_hints(type(scheme))[field] is float
        # A power of ten, so that the share that is found has a short spelling.
        steps = 10 ** len(str(images * classes)) if share else images
        if field is None:
            return _Ladder(scheme, None, False, images, images)
        top = largest(scheme, images, classes)
        return _Ladder(scheme, field, share, steps if share else top, images, top)

    def at(self, step: int) -> tuple[Scheme, int]:
        """The scheme and the number of images at this step."""
        if self.field is None:
            return self.scheme, step
        amount = step * self.top / self.steps if self.share else step
        changed: Any = dataclasses.replace(self.scheme, **{self.field: amount})  # type: ignore[type-var]
        return changed, self.images


def _check(budget: float, unit: str) -> None:
    if unit not in ("dollars", "seconds"):
        raise BadInput(f"the unit of the budget is {unit!r}; it must be one of dollars, seconds")
    number = isinstance(budget, int | float) and not isinstance(budget, bool)
    if not number or not 0 <= budget < math.inf:
        raise BadInput(f"the budget is {budget!r}; a number of {unit} from 0 on is expected")


def _largest(
    spend: Callable[[int], _Trial], budget: float, steps: int
) -> tuple[_Trial | None, _Trial | None]:
    """The trial with the largest affordable step (None: not even 1), and the one of the next step
    (None: there is none).

    Secant steps first enclose the answer from both sides; then regula falsi (Illinois form) closes
    in, with a bisection whenever that did not halve the interval.
    """
    best: _Trial | None = None
    low, low_spent, slope = 0, 0.0, 0.0
    guess = max(1, math.isqrt(steps))
    while True:
        trial = spend(guess)
        if trial.spent > budget:
            break
        if guess == steps:
            return trial, None
        slope = (trial.spent - low_spent) / (guess - low) or slope
        best, low, low_spent = trial, guess, trial.spent
        ahead = OVERSHOOT * (budget - low_spent) / slope if slope else math.inf
        guess = int(min(max(low + 1 + ahead, low * 1.02), low * FIRST_FACTOR + 1, steps))
    return _between(spend, budget, low=low, best=best, above=trial)


def _between(
    spend: Callable[[int], _Trial], budget: float, *, low: int, best: _Trial | None, above: _Trial
) -> tuple[_Trial | None, _Trial]:
    """The last affordable step from `low`, which is affordable, to `above`, which is not; and the
    first that is not."""
    high = above.step
    short, over = budget - (best.spent if best else 0.0), above.spent - budget
    halve = False
    while high - low > 1:
        width = high - low
        halve |= math.isinf(over)
        guess = low + (width // 2 if halve else int(width * short / (short + over)))
        trial = spend(min(max(guess, low + 1), high - 1))
        if trial.spent <= budget:
            best, low, short, over = trial, trial.step, budget - trial.spent, over / 2
        else:
            high, over, short, above = trial.step, trial.spent - budget, short / 2, trial
        halve = high - low > width / 2
    return best, above
