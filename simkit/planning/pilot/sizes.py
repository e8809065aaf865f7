"""The sizes of a pilot for one scheme: simulated on images like the user's, at its own price."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from simkit.annotate import schemes
from simkit.annotate.budget import Bought, amount_for, least
from simkit.annotate.habits import Habits
from simkit.annotate.prices import Prices, cost
from simkit.annotate.schemes import Scheme
from simkit.annotate.simulate import simulate
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.planning.curves import reach
from simkit.planning.curves.points import LEAST_SIZES
from simkit.planning.evidence.ways import spelled

COUNT = 5  # each size doubles the one before
ROOM = 1.25  # times what the smallest amount takes here: other images may take more for it
FILLED = 0.25  # of the labels of a pilot's images are bought by a scheme's own amount, at most
TOO_FAR = "too far"
DEAR = 4.0  # times a label of complete ones: no choice of labels by chance is worth so much more


@dataclass(frozen=True)
class Size:
    """dollars of a scheme's own labels; asked images; the scheme with its amount; the budget by
    which a comparison buys it."""

    dollars: float
    images: int
    spec: str
    budget: float


@dataclass(frozen=True)
class Part:
    """What completely labelled images say about one scheme.

    amount  what the scheme buys more of, "images" for one that buys more of these.
    sizes   ascending; all of them are parts of the same labels, at the scheme's own price.
    times   how far the dollars left for labels are beyond the largest;  grade  of that, "too far"
            from 50 times on.
    extra   dollars of this scheme's own labels on other images, after which its curve would end at
            most 11 times before the budget; 0 where it does.
    """

    scheme: str
    amount: str
    sizes: tuple[Size, ...]
    times: float
    grade: str
    extra: float

    @property
    def budgets(self) -> tuple[float, ...]:
        """Dollars for the sizes, as the grid of a comparison takes them: no cent too few."""
        return tuple(math.ceil(100 * size.budget - 1e-6) / 100 for size in self.sizes)


@dataclass(frozen=True, eq=False)
class Bench:
    """Simulates schemes on the images of `truth` and bills them as if there were `images`.

    prices: without the set-up.
    """

    truth: Truth
    images: int
    prices: Prices
    hierarchy: Hierarchy | None = None
    boxes: Boxes | None = None
    habits: Habits = Habits()
    seed: int = 0

    def parts(
        self, schemes: Sequence[str], left: float
    ) -> tuple[tuple[Part, ...], tuple[str, ...]]:
        """Schemes that have sizes enough, and a sentence for each that has not. Raises BadInput
        where none has."""
        found = [self.part(spec, left) for spec in schemes]
        parts = tuple(part for part in found if isinstance(part, Part))
        missing = tuple(told for told in found if isinstance(told, str))
        if not parts:
            raise BadInput(f"{missing[0]}; raise the budget, or name other schemes")
        return parts, missing

    def part(self, spec: str, left: float) -> Part | str:
        """A scheme's sizes, and how far `left` dollars are beyond them; why there are too few for a
        curve, in a sentence. Raises BadInput."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of empty images, and of money that is not spent
            scheme = schemes.make(spec)
            sizes = tuple(self._sizes(scheme))
            if len(sizes) < LEAST_SIZES:
                return self._too_few(scheme, len(sizes))
            if scheme.amount == "keep" and (dearer := self._dearer(sizes[-1])) >= DEAR:
                return self._too_dear(scheme, dearer)
        most = sizes[-1].dollars
        times = left / most
        grade = TOO_FAR if times > reach.MOST else str(reach.grade(left, most))
        extra = left / reach.AMBER if times > reach.AMBER else 0.0
        return Part(spec, scheme.amount or "images", sizes, times, grade, extra)

    def _too_few(self, scheme: Scheme, count: int) -> str:
        first = least(self.truth, scheme, self.prices, **self._settings).dollars
        times = self.images / self.truth.shape[0]
        return (
            f"{spelled(scheme)} is left out: its smallest amount takes ${first * times:,.2f} on "
            f"{self.images:,} images, and so few labels of them have room for {count} of the "
            f"{LEAST_SIZES} sizes that a curve needs"
        )

    def _dearer(self, size: Size) -> float:
        """How many times as much a label costs as one of complete labels does."""
        each = size.dollars / (_amount(schemes.make(size.spec)) * self.images)
        count = self.truth.shape[0]
        return each * count / cost(self._simulated("full-subset", count), self.prices).dollars

    @staticmethod
    def _too_dear(scheme: Scheme, dearer: float) -> str:
        return (
            f"{spelled(scheme)} is left out: a page or an image is paid for whole by these prices, "
            f"however few of its classes are asked about, so that a label of it costs {dearer:.0f} "
            "times one of complete labels; its sizes would be too few labels to teach anything"
        )

    @property
    def _settings(self) -> dict[str, Any]:
        names = ("hierarchy", "boxes", "habits", "seed")
        return {name: getattr(self, name) for name in names}

    def _sizes(self, scheme: Scheme) -> Iterator[Size]:
        times = self.images / self.truth.shape[0]
        if scheme.amount is None:
            yield from self._by_images(scheme, times)
            return
        first = ROOM * least(self.truth, scheme, self.prices, **self._settings).dollars
        most, seen = self._nearly_used_up(scheme, first), ""
        for k in range(COUNT):
            own = most / 2 ** (COUNT - 1 - k)
            if own < first:
                continue  # not surely the smallest amount: sizes start later
            bought = self._bought(scheme, own)
            if bought.spec != seen:
                yield self._grown(bought, scheme, times)
            seen = bought.spec

    def _nearly_used_up(self, scheme: Scheme, first: float) -> float:
        """Dollars from which on these images are too few to tell what a scheme's amount is worth.

        A quarter of what it could spend on them, and no more than a quarter of their labels: at
        the end every scheme has the same complete labels, and its curve would say nothing about
        few labels for each of more images. Less than `first`, where that is already too much.
        """
        everything = cost(self._simulated("full-subset", self.truth.shape[0]), self.prices).dollars
        dollars = FILLED * self._spent(scheme, everything).cost.dollars
        while dollars >= first:
            known = self._spent(scheme, dollars).labels.counts()
            if known["present"] + known["absent"] <= FILLED * math.prod(self.truth.shape):
                break
            dollars /= 2
        return dollars

    def _by_images(self, scheme: Scheme, times: float) -> Iterator[Size]:
        for k in range(COUNT):
            count = max(1, self.truth.shape[0] >> (COUNT - 1 - k))
            dollars = cost(self._simulated(scheme, count), self.prices).dollars
            grown = dollars * times
            yield Size(grown, round(count * times), spelled(scheme), grown)

    @staticmethod
    def _grown(size: Size, scheme: Scheme, times: float) -> Size:
        """The same about so many times the images: a count for each class grows with them."""
        amount = _amount(schemes.make(size.spec))
        if isinstance(amount, int):
            amount = max(1, round(amount * times))
        spec = spelled(scheme, amount=amount)
        return Size(size.dollars * times, round(size.images * times), spec, size.budget * times)

    def _simulated(self, scheme: Scheme | str, count: int) -> PartialLabels:
        return simulate(self.truth, scheme, images=count, **self._settings)

    def _bought(self, scheme: Scheme, dollars: float) -> Size:
        bought = self._spent(scheme, dollars)
        asked, spec = int(bought.labels.asked.sum()), spelled(scheme, amount=_amount(bought.scheme))
        return Size(bought.cost.dollars, asked, spec, dollars)

    def _spent(self, scheme: Scheme, dollars: float) -> Bought:
        return amount_for(dollars, self.truth, scheme, self.prices, **self._settings)


def _amount(scheme: Scheme) -> float:
    return getattr(scheme, str(scheme.amount))  # type: ignore[no-any-return]


def first_boxes(boxes: Boxes | None, images: int) -> Boxes | None:
    """Those of the first images of a data set."""
    if boxes is None:
        return None
    own = boxes.images < images
    sizes = None if boxes.sizes is None else boxes.sizes[:images]
    return Boxes(boxes.images[own], boxes.classes[own], boxes.corners[own], sizes)
