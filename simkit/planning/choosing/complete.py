"""What labelling images completely costs and gives: nothing else about the same images beats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.prices import Prices, cost
from simkit.labels.effort import Effort
from simkit.planning.curves.fit import Curve
from simkit.planning.curves.points import Points
from simkit.planning.evidence.evidence import Amount, Evidence, Way
from simkit.planning.evidence.ways import Pair

Array = NDArray[np.float64]

SCHEME = "full-subset"
NEARLY = 0.995  # of all labels of some images are all of them
MOST_LABELS = 0.75  # of them: who pays for so many had better have all
METHOD = "full"  # what a comparison's references are trained with


@dataclass(frozen=True)
class Reference:
    """Complete labels of the pilot's whole pool, as a comparison measured them."""

    pair: Pair
    points: Points
    images: int


def reference(evidence: Evidence, prices: Prices) -> Reference | None:
    """What the references gave, at their price on this list; None where there are none, or the
    list does not price them."""
    runs = [run for run in evidence.runs if run.reference and run.method == METHOD]
    ceiling = evidence.ceiling(prices)
    if ceiling is None or not ceiling.dollars:
        return None
    order = sorted({run.draw for run in evidence.runs})
    points = Points(
        np.full(len(runs), ceiling.dollars),
        np.array([run.score for run in runs]),
        np.array([order.index(run.draw) for run in runs]),
        np.zeros(len(runs), np.int64),
    )
    return Reference((runs[0].way, METHOD), points, max(run.images for run in runs))


def measured(pair: Pair, evidence: Evidence, prices: Prices) -> Points | None:
    """What was measured of a way with a method, or of the references where they are it."""
    points = evidence.points(*pair, prices)
    if points is None and pair[1] == METHOD:
        found = reference(evidence, prices)
        return found.points if found is not None and found.pair == pair else None
    return points


def is_complete(way: Way) -> bool:
    """Whether images are labelled completely."""
    return way.scheme == SCHEME


def same_as_complete(way: Way, amount: Amount, classes: int) -> bool:
    """Whether another way than that of complete labels buys nearly all labels of its images."""
    return not is_complete(way) and amount.labels >= NEARLY * amount.images * classes


def price(way: Way, evidence: Evidence, prices: Prices) -> float | None:
    """Dollars for an image that the people of a way label completely; None: it has no price."""
    if "sweep" not in prices.rates:
        return None
    classes, images = len(evidence.classes), evidence.images
    counted = np.zeros(classes + 1, np.int64)
    counted[classes] = images
    effort = Effort({"sweep": counted}, np.zeros(classes, np.int64), way.habits.workers)
    return cost(effort, prices.once_set_up()).dollars / images or None


@dataclass(frozen=True, eq=False)
class Complete:
    """mAP of complete labels by how many images they are of.

    each     dollars for an image;  curves  of complete labels, over dollars: of the same method
             where it was measured, else of all.
    whole    the measured reference and its images, where there is one.
    """

    each: float
    curves: tuple[Curve, ...]
    whole: tuple[Curve, int] | None

    @staticmethod
    def of(
        way: Way, method: str, curves: Mapping[Pair, Curve], evidence: Evidence, prices: Prices
    ) -> Complete | None:
        """For a way whose people label completely elsewhere; None for complete labels themselves,
        and where nothing is known of them."""
        each = price(way, evidence, prices)
        if is_complete(way) or each is None:
            return None
        alike = {
            other: curve for (full, other), curve in curves.items()
            if is_complete(full) and full.habits == way.habits and other != METHOD
        }  # fmt: skip
        own = (alike[method],) if method in alike else tuple(alike.values())
        measured = reference(evidence, prices)
        whole = None
        if measured is not None and measured.pair in curves:
            whole = curves[measured.pair], measured.images
        return Complete(each, own, whole) if own or whole else None

    def samples(self, images: Array) -> Array:
        """(S, n) mAP of complete labels of so many images, (n,); inf where it is not known."""
        dollars = self.each * images
        found = [curve.samples(dollars) for curve in self.curves]
        if self.whole is not None:
            found.append(self._towards(images))
        return np.where(images > self.known * (1 + 1e-9), np.inf, np.max(found, axis=0))

    @property
    def known(self) -> float:
        """The most images that complete labels were measured on: what a curve says beyond them is
        no bound on others."""
        pool = 0.0 if self.whole is None else float(self.whole[1])
        return max([curve.reach / self.each for curve in self.curves] + [pool])

    def _towards(self, images: Array) -> Array:
        """Up to the reference, from the largest measured curve of complete labels in a straight
        line of log images; where there is none, as much as the reference and not known beyond."""
        assert self.whole is not None
        curve, pool = self.whole
        end = curve.samples(curve.reach)
        there = images >= pool * (1 - 1e-9)
        if not self.curves:
            return np.where(images > pool, np.inf, end)
        first = max(self.curves, key=lambda one: one.reach)
        start = first.reach / self.each
        part = there.astype(float)
        if start < pool:
            part = np.clip(np.log(images / start) / np.log(pool / start), 0.0, 1.0)
        low = first.samples(first.reach)
        return np.where(images < min(start, pool), -np.inf, low + part * (end - low))
