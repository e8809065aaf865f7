"""What dollars buy along a way: images, labels, an amount; read off the pilot's own purchases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.prices import Cost, Prices, cost
from simkit.errors import BadInput
from simkit.labels.effort import Effort
from simkit.planning.evidence.gathering import SAME_PRICE
from simkit.planning.evidence.measured import Run
from simkit.planning.evidence.ways import Way

USED = 0.25  # of all labels of a pool: whoever buys more of them would rather have more images
FADED = 0.75  # of what the smallest amount gives for one of it


@dataclass(frozen=True)
class Amount:
    """What dollars buy: `images` that are put to the scheme, `labels` known then, the scheme with
    its amount. The scheme on so many images costs those dollars; it need not ask about them all."""

    images: int
    labels: int
    per_image: float
    spec: str


@dataclass(frozen=True, eq=False)
class Ladder:
    """The pilot's purchases along a way at one price list, means over draws, cheapest first.

    dollars, images, labels, amount  (S,) float64, amount nan where images are the amount; without
             the set-up.  images  that were asked about.
    lines    (S,) dollars of each kind of line on the bill;  counts  (S,) questions of each kind.
    pages    by kind: how full its pages are, 0 to 1, where its price is by the page.
    pool     images that may be asked about;  classes  how many.
    reach    dollars of the largest purchase;  everything  at which nothing is left to ask about
             these images: where an amount grows up to there, it is the last of (S,).
    fresh    dollars of the largest purchase that leaves most of the pool to ask about, so that as
             many labels of more images would have been about as good; inf: every one does.
    """

    way: Way
    dollars: NDArray[np.float64]
    images: NDArray[np.float64]
    labels: NDArray[np.float64]
    amount: NDArray[np.float64]
    lines: Mapping[str, NDArray[np.float64]]
    counts: Mapping[str, NDArray[np.float64]]
    pages: Mapping[str, float]
    workers: int
    pool: int
    classes: int
    reach: float
    everything: float
    fresh: float

    def most(self, images: int | None) -> float:
        """Dollars that buy every label of so many images; without a number there is no end."""
        return math.inf if images is None else self.everything * images / self.pool

    def saturated(self, dollars: float, images: int | None = None) -> bool:
        """Whether the pilot ran out of images on the way to these dollars, and the project, with so
        many, does not: bought on all of those the labels are rather better than the curve says."""
        return (images is None or images > self.pool) and dollars > self.fresh

    def at(self, dollars: float, images: int | None = None) -> Amount:
        """What these dollars buy, of at most so many images.

        Up to the pilot's largest purchase straight lines through its purchases and nothing for
        nothing; beyond it m times the dollars buy the same of m times the images. Where there are
        not so many images, each gets more labels, in a straight line to all there is to ask. More
        than `most` buys what `most` does.
        """
        inside, times = self._inside(min(dollars, self.most(images)), images)
        labels = self._read(self.labels, inside) * times
        if self.way.grows == "images":
            count, spec = self._read(self.images, inside) * times, self.way.scheme
        else:
            count, amount = self.pool * times, self._read(self.amount, inside)
            # A share is of each image: more images leave it as it is.
            spec = self.way.with_amount(amount if self.way.shared else amount * times)
        whole = max(1, math.floor((count if images is None else min(count, images)) + 1e-6))
        if self.way.grows == "images":
            labels *= whole / count  # nobody pays for a part of an image
        labels = min(labels, float(whole * self.classes))
        return Amount(whole, round(labels), labels / whole, spec)

    def count(self, dollars: float, images: int | None = None) -> float:
        """What these dollars buy where a number grows, of images or of the scheme's amount, with a
        part of the last one; images: that exist."""
        inside, times = self._inside(dollars, images)
        grows = self.images if self.way.grows == "images" else self.amount
        return self._read(grows, inside) * times

    def shares(self, dollars: float, images: int | None = None) -> dict[str, tuple[float, float]]:
        """By kind of line: its share of these dollars (together 1), and how many questions."""
        inside, times = self._inside(dollars, images)
        found = {kind: self._read(values, inside) * times for kind, values in self.lines.items()}
        total = math.fsum(found.values()) or 1.0
        return {
            kind: (value / total, self._read(self.counts[kind], inside) * times)
            for kind, value in found.items()
        }

    def _inside(self, dollars: float, images: int | None) -> tuple[float, float]:
        """Dollars for as many images as the pilot had, and how many times so many there are."""
        times = max(1.0, dollars / self.reach)
        if images is not None and self.way.grows != "images":
            times = min(times, images / self.pool)
        return dollars / times, times

    def _read(self, values: NDArray[np.float64], dollars: float) -> float:
        return float(np.interp(dollars, [0.0, *self.dollars], [0.0, *values]))


def ladder(
    way: Way,
    sizes: Sequence[Sequence[Run]],
    bills: Mapping[int, Cost],
    *,
    prices: Prices,
    pool: int,
    classes: int,
) -> Ladder:
    """From the runs of a way by size, cheapest first.

    bills: of their efforts without the set-up, by the efforts' identity. Runs without an effort
    count with the dollars on file, their set-up taken off. Raises BadInput where nothing
    costs anything.
    """
    found = [_step(runs, bills) for runs in sizes]
    reach = found[-1][0]
    if not reach:
        raise BadInput(
            f"price list {prices.name!r} asks nothing for what {way} asks; give it prices above 0"
        )
    largest = sizes[-1]
    costs = [bills[id(run.effort)] for run in largest if run.effort is not None]
    fresh = math.inf if way.grows == "images" else _fresh(found, largest, pool * classes)
    end = _everything(way, largest, found[-1], prices=prices, pool=pool, classes=classes)
    if way.grows != "images" and reach < end[0] < math.inf:
        # What costs as much as all there is buys all there is: by the image or page it may.
        found = [step for step in found if SAME_PRICE * step[0] < end[0]] + [end]
    kinds = list(dict.fromkeys(kind for step in found for kind in step[1]))
    means = np.array([step[2] for step in found])
    parts = np.array([[step[1].get(kind, (0.0, 0.0)) for kind in kinds] for step in found])
    return Ladder(
        way=way,
        dollars=np.array([step[0] for step in found]),
        images=means[:, 0],
        labels=means[:, 1],
        amount=means[:, 2],
        lines={kind: parts[:, place, 0] for place, kind in enumerate(kinds)},
        counts={kind: parts[:, place, 1] for place, kind in enumerate(kinds)},
        pages={line.kind: line.full for bill in costs for line in bill.lines if line.full},
        workers=costs[0].workers if costs else prices.workers,
        pool=pool,
        classes=classes,
        reach=reach,
        everything=max(end[0], reach),
        fresh=fresh,
    )


def _fresh(found: Sequence[_Step], largest: Sequence[Run], cells: int) -> float:
    """Dollars of the last purchase before the pool is used up: a quarter of all labels are bought,
    or an amount gives much less than the smallest one did, or nothing is left."""
    first = found[0][2]
    for place, (dollars, _, (_, labels, amount)) in enumerate(found):
        over = labels > USED * cells or labels * first[2] < FADED * first[1] * amount
        if over or (dollars == found[-1][0] and all(run.all for run in largest)):
            return found[place - 1][0] if place else 0.0
    return math.inf


_Step = tuple[float, dict[str, tuple[float, float]], tuple[float, float, float]]


def _step(runs: Sequence[Run], bills: Mapping[int, Cost]) -> _Step:
    """Means over runs: dollars; (dollars, questions) by line; images, labels, amount."""
    n = len(runs)
    lines: dict[str, tuple[float, float]] = {}
    for run in runs:
        parts = [("labels", run.dollars - run.set_up, float(run.labels))]
        if run.effort is not None:
            listed = bills[id(run.effort)].lines
            parts = [(line.kind, line.dollars, float(line.questions)) for line in listed]
        for kind, dollars, count in parts:
            before = lines.get(kind, (0.0, 0.0))
            lines[kind] = before[0] + dollars / n, before[1] + count / n
    total = math.fsum(dollars for dollars, _ in lines.values())
    amounts = [math.nan if run.amount is None else run.amount for run in runs]
    means = (
        math.fsum(run.images for run in runs) / n,
        math.fsum(run.labels for run in runs) / n,
        math.fsum(amounts) / n,
    )
    return total, lines, means


def _everything(
    way: Way, largest: Sequence[Run], last: _Step, *, prices: Prices, pool: int, classes: int
) -> _Step:
    """The purchase after which nothing more can be asked about the images of the pool.

    last: the largest of the pilot, of the runs `largest`.
    """
    images, labels, amount = last[2]
    if all(run.all for run in largest):
        return last
    if way.grows == "images":
        return _times(last, pool / images, pool * classes)
    efforts = [run.effort for run in largest if run.effort is not None]
    kinds = set(efforts[0].kinds()) if efforts else set()
    if kinds and kinds <= {"search", "verify"}:
        whole = _whole(kinds, pool, classes, efforts[0].workers)
        listed = cost(whole, prices)
        lines = {line.kind: (line.dollars, float(line.questions)) for line in listed.lines}
        every = float(pool * classes)
        if "search" in kinds:  # not every look gives a label
            every = min(every, labels * listed.dollars / last[0])
        full = 1.0 if way.grows == "keep" else amount * every / max(1.0, labels)
        return listed.dollars, lines, (float(pool), every, full)
    # In proportion: a share up to all of it, a number up to every class of every image.
    most = 1.0 if way.grows == "keep" else float(classes if way.shared else pool)
    return _times(last, most / amount if amount else math.inf, pool * classes)


def _times(step: _Step, times: float, most: float) -> _Step:
    """So many times a purchase; labels up to `most`."""
    dollars, lines, (images, labels, amount) = step
    more = {kind: (times * part, times * count) for kind, (part, count) in lines.items()}
    return times * dollars, more, (images, min(most, times * labels), times * amount)


def _whole(kinds: set[str], pool: int, classes: int, workers: int | None) -> Effort:
    """The effort of looking at every image for every class, or of verifying each of its labels."""
    if "search" in kinds:
        return Effort({}, np.full(classes, pool, np.int64), workers)
    counted = np.zeros(classes + 1, np.int64)
    counted[classes] = pool
    return Effort({"verify": counted}, np.zeros(classes, np.int64), workers)
