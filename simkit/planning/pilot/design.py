"""The pilot before there are any curves: what to label first, for how much, and why.

Images that are labelled completely answer for every scheme at once: whatever a scheme would ask
about them is known, so its labels are simulated and its own price is worked out. And sizes are
nested: a pilot costs its largest size, the smaller ones are parts of it. So the first thing to buy
is complete labels of some images; only a scheme that is much cheaper than that, and whose curve
would end too far before the budget, is bought directly on more images.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from simkit.annotate.habits import Habits
from simkit.annotate.prices import Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.effort import Effort
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth
from simkit.planning.pilot.half_width import half_width
from simkit.planning.pilot.reasons import FEW, headline, why
from simkit.planning.pilot.sizes import Bench, Part, first_boxes

SCHEMES = ("full-subset", "single-positive", "rpa", "fpc", "mixed")
SHARE, MOST_SHARE = 0.15, 0.2  # of the budget: what is usual, and the most
TEST = 0.25  # of the pilot's images are kept to measure by
DRAWS = 3
MOST = 8_000  # images in all: mAP on 2,000 is known well enough, and 6,000 begin a curve
THIRD = 3  # at most one of so many images that exist, as the rest is what a plan is about
LEAST = 160  # images to train on: the smallest of five sizes then has 10
SIMULATED = 1500  # images that schemes are priced on; more cost the same for each
PLACES = 2_000_000  # and so many (image, class) places, which keeps it to seconds


@dataclass(frozen=True)
class Pilot:
    """What to label first. Dollars are of the price list `prices`.

    images, test_images  to label completely, to train on and to measure by;  per_image  dollars.
    half_width  points to which mAP is known on the test images, 19 times in 20; 0 without any.
    dollars     of all these labels;  share  of the budget that they are;  set_up  dollars that are
                paid besides, once for the project.
    extra       (scheme, dollars) worth buying directly besides, in this order.
    rare        classes that fewer than 10 of the images to train on are expected to show.
    parts       by scheme;  left_out  sentences: schemes that have too few sizes for a curve.
    draws       repetitions of each size.
    exist       images that the user has; None: enough.  affordable  images that the pilot's share
                of the budget would pay for.
    """

    budget: float
    prices: str
    classes: int
    images: int
    test_images: int
    per_image: float
    half_width: float
    dollars: float
    share: float
    set_up: float
    extra: tuple[tuple[str, float], ...]
    rare: int
    parts: tuple[Part, ...]
    left_out: tuple[str, ...]
    draws: int
    exist: int | None
    affordable: int

    @property
    def recommendation(self) -> str:
        """In a sentence: what to label first, and for how much."""
        return headline(self)

    @property
    def why(self) -> tuple[str, ...]:
        """Sentences: why this pilot, what it can tell and what it cannot."""
        return tuple(why(self))

    @property
    def spent(self) -> float:
        """Dollars of the pilot's labels and of what is worth buying besides."""
        return self.dollars + sum(dollars for _, dollars in self.extra)

    @property
    def remaining(self) -> int | None:
        """Images that the pilot leaves to the plan; None: enough."""
        return None if self.exist is None else self.exist - self.images - self.test_images

    @property
    def everything(self) -> float:
        """Dollars for complete labels of all images that exist, with the set-up; inf: no number is
        given."""
        return math.inf if self.exist is None else self.exist * self.per_image + self.set_up

    @property
    def rest(self) -> float:
        """Dollars, in whole cents, that the plan afterwards is for, the set-up among them: no more
        than complete labels of all remaining images take."""
        left = self.budget - self.spent
        if self.remaining is not None:
            left = min(left, self.remaining * self.per_image + self.set_up)
        return math.floor(100 * left + 1e-6) / 100

    def to_json(self) -> dict[str, Any]:
        """As plain values: every field by its name, recommendation, why and rest besides."""
        told = {"recommendation": self.recommendation, "why": list(self.why), "rest": self.rest}
        return {**told, **asdict(self)}


def pilot(
    truth: Truth,
    prices: Prices | str,
    budget: float,
    *,
    images: int | None = None,
    schemes: Sequence[str] = SCHEMES,
    share: float = SHARE,
    test: bool = True,
    hierarchy: Hierarchy | None = None,
    boxes: Boxes | None = None,
    habits: Habits = Habits(),
    draws: int = DRAWS,
    seed: int = 0,
) -> Pilot:
    """The pilot for a budget (dollars, for everything) where there are no curves yet.

    truth   of a data set like the user's, or `standin.like(classes, per_image)`: how often classes
            occur decides what schemes cost.  images: how many the user has; None: enough.
    share   of the budget that its labels may cost; where so much labels too few images for five
            sizes, up to 0.2 is taken.
    test    whether it has to bring its own test images; False: a test set is there.

    Raises BadInput where 0.2 of the budget is too little, and says how much would do.
    """
    _check(budget, share, draws, images)
    listed = prices if isinstance(prices, Prices) else price_list(prices)
    once, L = listed.once_set_up(), truth.shape[1]
    each = cost(_swept(L, habits), once).dollars
    affordable, trained, held = divided(budget, each, images=images, share=share, test=test)
    many = trained + held
    set_up = listed.setup + listed.setup_class * L
    left = _left(budget, set_up, many * each)
    seen = min(truth.shape[0], SIMULATED, max(LEAST, PLACES // L), many - held)
    pool, places = truth.select(np.arange(seen)), first_boxes(boxes, seen)
    bench = Bench(pool, many - held, once, hierarchy, places, habits, seed)
    # More than complete labels of all images cannot be spent.
    most = left if images is None else min(left, (images - many) * each)
    parts, missing = bench.parts(schemes, most)
    besides = MOST_SHARE * budget - many * each if many == affordable else 0.0
    return Pilot(
        budget=float(budget),
        prices=listed.name,
        classes=L,
        images=many - held,
        test_images=held,
        per_image=each,
        half_width=half_width(truth, held) if held else 0.0,
        dollars=many * each,
        share=many * each / budget,
        set_up=set_up,
        extra=tuple(_extra(parts, besides)),
        rare=int((truth.counts * (many - held) < FEW * truth.shape[0]).sum()),
        parts=parts,
        left_out=missing,
        draws=draws,
        exist=images,
        affordable=affordable,
    )


def divided(
    budget: float, each: float, *, images: int | None, share: float = SHARE, test: bool = True
) -> tuple[int, int, int]:
    """Images whose complete labels, of `each` dollars, the pilot's share of a budget pays for; and
    how many the pilot trains on and measures by. The rest is as for `pilot`, BadInput with it."""
    affordable = _affordable(budget, share, each, images=images, test=test)
    many = min(affordable, MOST, *([] if images is None else [images // THIRD]))
    held = round(TEST * many) if test else 0
    return affordable, many - held, held


def _check(budget: float, share: float, draws: int, images: int | None) -> None:
    number = isinstance(budget, int | float) and not isinstance(budget, bool)
    if not number or not 0 < budget < math.inf:
        raise BadInput(f"the budget is {budget!r}; a number of dollars above 0 is expected")
    if not isinstance(share, float) or not 0 < share <= MOST_SHARE:
        raise BadInput(
            f"share is {share!r}; a share of the budget above 0 and up to {MOST_SHARE:g} is "
            "expected: a pilot is to leave the money for what it is about"
        )
    for name, value in (("draws", draws), ("images", images)):
        if value is not None and (type(value) is not int or value < 1):
            raise BadInput(f"{name} is {value!r}; a whole number from 1 on is expected")


def _affordable(budget: float, share: float, each: float, *, images: int | None, test: bool) -> int:
    """Images for whose complete labels the pilot's share pays; as many as a pilot takes at least,
    those to measure by among them."""
    least = math.ceil(LEAST / (1 - TEST)) if test else LEAST
    if not each:
        raise BadInput("complete labels cost nothing by this price list; label everything")
    if images is not None and images < THIRD * least and images * each <= budget:
        raise BadInput(
            f"images is {images:,}; a pilot takes at least {least:,} of them and at most a third, "
            f"so label all of them completely, for {images * each:,.2f} dollars, instead of "
            "planning"
        )
    many = max(int(share * budget / each), min(least, int(MOST_SHARE * budget / each)))
    if many < least:
        raise BadInput(
            f"{100 * MOST_SHARE:g} % of {budget:,g} dollars label {many:,} images completely "
            f"({each:,.2f} dollars each), and a pilot takes {least:,}; raise the budget to "
            f"{least * each / MOST_SHARE:,.0f} dollars, label fewer classes, or give runs on a "
            "public data set like yours"
        )
    return many


def _left(budget: float, set_up: float, labels: float) -> float:
    """Dollars besides the set-up and the pilot's labels."""
    if budget <= set_up + labels:
        raise BadInput(
            f"{budget:,g} dollars pay for the set-up ({set_up:,.2f} dollars) and a pilot "
            f"({labels:,.2f} dollars) and for nothing else; raise the budget"
        )
    return budget - labels - set_up


def _extra(parts: Sequence[Part], dollars: float) -> Iterator[tuple[str, float]]:
    """What brings curves near enough to the budget for the money that is left, cheapest first."""
    for part in sorted(parts, key=lambda one: one.extra):
        if 0 < part.extra <= dollars:
            dollars -= part.extra
            yield part.scheme, part.extra


def _swept(classes: int, habits: Habits) -> Effort:
    """The questions of one image that is labelled completely."""
    counted = np.zeros(classes + 1, np.int64)
    counted[classes] = 1
    return Effort({"sweep": counted}, np.zeros(classes, np.int64), habits.workers)
