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
from simkit.planning.evidence.measured import Run
from simkit.planning.evidence.ways import Way


@dataclass(frozen=True)
class Amount:
    """What dollars buy: `images` asked about, `labels` known then, the scheme with its amount."""

    images: int
    labels: int
    per_image: float
    spec: str


@dataclass(frozen=True, eq=False)
class Ladder:
    """The pilot's purchases along a way at one price list, means over draws, cheapest first.

    dollars, images, labels, amount  (S,) float64, amount nan where images are the amount; without
             the set-up.
    lines    (S,) dollars of each kind of line on the bill;  counts  (S,) questions of each kind.
    pages    by kind: how full its pages are, 0 to 1, where its price is by the page.
    pool     images that may be asked about;  classes  how many.
    everything  dollars at which nothing is left to ask about these images.
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
    everything: float

    def most(self, images: int | None) -> float:
        """Dollars that buy every label of so many images; without a number there is no end."""
        return math.inf if images is None else self.everything * images / self.pool

    def at(self, dollars: float, images: int | None = None) -> Amount:
        """What these dollars buy, of at most so many images.

        Up to the pilot's largest purchase straight lines through its purchases and nothing for
        nothing; beyond it m times the dollars buy m times the images and labels. Where there are
        not so many images, each gets more labels. More than `most` buys what `most` does.
        """
        spent = min(dollars, self.most(images))
        inside, times = self._inside(spent)
        wanted = self._read(self.images, inside) * times
        labels = self._read(self.labels, inside) * times
        had = wanted if images is None else min(wanted, float(images))
        amount = self._read(self.amount, inside)
        # A share is of each image: more images leave it as it is, fewer make it larger.
        amount *= wanted / had if self.way.shared and had else times
        if images is not None:
            labels = min(labels, float(images) * self.classes)
        limit = 1.0 if self.way.grows == "keep" else math.inf
        spec = self.way.scheme
        if self.way.grows != "images":
            spec = self.way.with_amount(min(amount, limit))
        count = max(1, round(had))
        return Amount(count, round(labels), labels / count, spec)

    def shares(self, dollars: float) -> dict[str, tuple[float, float]]:
        """By kind of line: its share of these dollars (together 1), and how many questions."""
        inside, times = self._inside(dollars)
        found = {kind: self._read(values, inside) * times for kind, values in self.lines.items()}
        total = math.fsum(found.values()) or 1.0
        return {
            kind: (value / total, self._read(self.counts[kind], inside) * times)
            for kind, value in found.items()
        }

    def _inside(self, dollars: float) -> tuple[float, float]:
        """The dollars up to the largest purchase, and how many times it is to be made."""
        reach = float(self.dollars[-1])
        return min(dollars, reach), max(1.0, dollars / reach)

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
    kinds = list(dict.fromkeys(kind for step in found for kind in step[1]))
    largest, means = sizes[-1], np.array([step[2] for step in found])
    costs = [bills[id(run.effort)] for run in largest if run.effort is not None]
    parts = np.array([[step[1].get(kind, (0.0, 0.0)) for kind in kinds] for step in found])
    dollars = np.array([step[0] for step in found])
    if not dollars[-1]:
        raise BadInput(
            f"price list {prices.name!r} asks nothing for what {way} asks; give it prices above 0"
        )
    every = _everything(way, largest, float(dollars[-1]), prices=prices, pool=pool, classes=classes)
    return Ladder(
        way=way,
        dollars=dollars,
        images=means[:, 0],
        labels=means[:, 1],
        amount=means[:, 2],
        lines={kind: parts[:, place, 0] for place, kind in enumerate(kinds)},
        counts={kind: parts[:, place, 1] for place, kind in enumerate(kinds)},
        pages={line.kind: line.full for bill in costs for line in bill.lines if line.full},
        workers=costs[0].workers if costs else prices.workers,
        pool=pool,
        classes=classes,
        everything=max(every, float(dollars[-1])),
    )


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
    way: Way, largest: Sequence[Run], reach: float, *, prices: Prices, pool: int, classes: int
) -> float:
    """Dollars at which nothing more can be asked about the images of the pool."""
    if all(run.all for run in largest):
        return reach
    images = math.fsum(run.images for run in largest) / len(largest)
    if way.grows == "images":
        return reach * pool / images
    amount = math.fsum(run.amount or 0.0 for run in largest) / len(largest)
    efforts = [run.effort for run in largest if run.effort is not None]
    kinds = set(efforts[0].kinds()) if efforts else set()
    if kinds and kinds <= {"search", "verify"}:
        workers = efforts[0].workers
        whole = Effort({}, np.full(classes, pool, np.int64), workers)
        if "search" not in kinds:
            counted = np.zeros(classes + 1, np.int64)
            counted[classes] = pool
            whole = Effort({"verify": counted}, np.zeros(classes, np.int64), workers)
        return cost(whole, prices).dollars
    # In proportion: a share up to all of it, a number up to every class of every image.
    most = 1.0 if way.grows == "keep" else float(classes if way.shared else pool)
    return reach * most / amount if amount else math.inf
