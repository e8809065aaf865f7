"""Looking through images in search of classes: what is found, and after how many looks.

For each class the images stand in an order of their own, a keyed permutation. All counting is done
on the places of the present images in that order; nothing is walked image by image.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.annotators import Ints
from simkit.annotate.ledger import Ledger
from simkit.annotate.sampling import spread
from simkit.chance import Chance, Permutation

if TYPE_CHECKING:
    from simkit.annotate.crowd import Observations

GROUP = 1 << 20  # present images and wanted answers worked on at a time; changes no result


@dataclass(frozen=True, eq=False)
class Goal:
    """What a search is for.

    present, absent  (g,) or one number: images wanted with and without each class.
    precision  None: images are looked at in the class's own order until both are found, or all are
               looked at. Otherwise a machine proposes candidates, of which this share shows the
               class.
    keep_looks write down every answer that was paid for; otherwise those beyond `present` and
               `absent` are dropped, and counted.
    """

    present: Ints | int
    absent: Ints | int
    precision: float | None = None
    keep_looks: bool = False

    @property
    def whole(self) -> bool:
        """Whether images between those written down were looked at, not candidates alone."""
        return self.precision is None and not self.keep_looks


@dataclass(frozen=True, eq=False)
class Order:
    """Where the present images of g classes stand among n images, each class in its own order.

    classes (g,);  present (g,) how many images show the class;  owner (m,) which of the g a present
    image belongs to;  nth (m,) how many present ones of its class come before it;  rank (m,) its
    place, from 0;  image (m,). Sorted by owner and rank.
    """

    permutation: Permutation
    classes: Ints
    present: Ints
    owner: Ints
    nth: Ints
    rank: Ints
    image: Ints

    @staticmethod
    def of(
        permutation: Permutation, classes: Ints, pointers: Ints, images: NDArray[np.int32]
    ) -> Order:
        """From the present images by class: `images[pointers[c]:pointers[c + 1]]`."""
        present = pointers[classes + 1] - pointers[classes]
        owner, nth = spread(present)
        image = images[pointers[classes][owner] + nth].astype(np.int64)
        rank = permutation.rank(image, classes[owner])
        bits = permutation.size.bit_length()
        keys = (owner << (2 * bits)) | (rank << bits) | image
        keys.sort()
        mask = (1 << bits) - 1
        return Order(permutation, classes, present, owner, nth, (keys >> bits) & mask, keys & mask)

    @property
    def absent(self) -> Ints:
        """(g,) how many images do not show the class."""
        return self.permutation.size - self.present

    def last_present(self, wanted: Ints) -> Ints:
        """(g,) the rank of the last of the first `wanted` present images; -1: none is wanted."""
        out = np.full(len(self.classes), -1, np.int64)
        last = self.nth == wanted[self.owner] - 1
        out[self.owner[last]] = self.rank[last]
        return out

    def reach(self, wanted: Ints) -> Ints:
        """(g,) how many images stand up to and with the last of the first `wanted` absent ones."""
        between = self.rank - self.nth < wanted[self.owner]
        return wanted + np.bincount(self.owner[between], minlength=len(wanted))

    def first_absent(self, wanted: Ints) -> tuple[Ints, Ints, Ints]:
        """Classes, images and counting numbers (from 0) of the first `wanted` (g,) absent ones."""
        reach = self.reach(wanted)
        starts = np.cumsum(reach) - reach
        free = np.ones(int(reach.sum()), bool)
        inside = self.rank < reach[self.owner]
        free[starts[self.owner[inside]] + self.rank[inside]] = False
        owner, nth = spread(wanted)
        ranks = np.flatnonzero(free) - starts[owner]
        return self.classes[owner], self.permutation.at(ranks, self.classes[owner]), nth


@dataclass(frozen=True, eq=False)
class Found:
    """What a search comes to, (g,) each: `present` and `absent` answers written down, `looks` paid
    for, and how many of the absent ones were looked at at all (those beyond `absent` are dropped).
    """

    present: Ints
    absent: Ints
    absent_seen: Ints
    looks: Ints


def look_for(
    ledger: Ledger, observations: Observations, classes: Ints, goal: Goal, chance: Chance
) -> Ints:
    """Search the images of `observations` for each of g classes and write down the answers.

    Returns (g,) how many present images were found.
    """
    n, g = len(observations.images), len(classes)
    present, absent = (np.broadcast_to(number, g) for number in (goal.present, goal.absent))
    pointers, images = observations.by_class
    permutation = chance.permutation(n)
    answers = present / (goal.precision or 1) + absent
    if goal.precision is None and goal.keep_looks:
        answers = np.full(g, 2.0 * n)
    weights = pointers[classes + 1] - pointers[classes]
    weights += np.minimum(2.0 * n, answers).astype(np.int64)
    most = 1 << max(0, 63 - 2 * n.bit_length())
    out = np.zeros(g, np.int64)
    for group in groups(weights, most):
        order = Order.of(permutation, classes[group], pointers, images)
        counts = found_in(order, present[group], absent[group], goal)
        out[group] = counts.present
        write_down(ledger, observations.images, order, counts, whole=goal.whole)
    return out


def found_in(order: Order, present: Ints, absent: Ints, goal: Goal) -> Found:
    """What `goal` comes to in this order: of as many images as there are, `present` and `absent`
    (g,) are wanted."""
    kept, denied = np.minimum(order.present, present), np.minimum(order.absent, absent)
    if goal.precision is not None:
        # Finding f takes ceil(f / precision) looks; the false candidates are absent answers.
        share = Fraction(repr(float(goal.precision))).limit_denominator(10**6)
        candidates = -(-kept * share.denominator // share.numerator)
        seen = np.maximum(np.minimum(candidates - kept, order.absent), denied)
        return Found(kept, seen if goal.keep_looks else denied, seen, kept + seen)
    enough = (order.present >= present) & (order.absent >= absent)
    both = np.maximum(order.last_present(kept) + 1, order.reach(denied))
    looks = np.where(enough, both, order.permutation.size)
    seen = np.bincount(order.owner[order.rank < looks[order.owner]], minlength=len(looks))
    if goal.keep_looks:
        return Found(seen, looks - seen, looks - seen, looks)
    return Found(kept, denied, looks - seen, looks)


def write_down(ledger: Ledger, images: Ints, order: Order, counts: Found, *, whole: bool) -> None:
    """Write into the ledger what a search among `images` (n,) found, dropped and looked at."""
    ledger.look(order.classes, counts.looks)
    beyond = int((counts.looks - counts.present - counts.absent).sum())
    ledger.dropped["search"] = ledger.dropped.get("search", 0) + beyond
    chosen = order.nth < counts.present[order.owner]
    shown = images[order.image[chosen]]
    ledger.record(shown, order.classes[order.owner[chosen]], True)
    ledger.look_at(shown)
    seen = counts.absent if whole else counts.absent_seen
    classes, places, nth = order.first_absent(seen)
    denied = images[places]
    ledger.look_at(denied)
    if (seen > counts.absent).any():
        kept = nth < np.repeat(counts.absent, seen)
        denied, classes = denied[kept], classes[kept]
    ledger.record(denied, classes, False)
    if whole:
        _look_through(ledger, images, order, counts.looks)


def _look_through(ledger: Ledger, images: Ints, order: Order, looks: Ints) -> None:
    """Mark the first `looks` images of each class's order, until all are marked."""
    longest_first = np.argsort(-looks, kind="stable")
    for group in groups(looks[longest_first], len(looks)):
        if ledger.looked_at == len(images):
            return
        searched = longest_first[group]
        if looks[searched[0]] == len(images):
            ledger.look_at(images)
            return
        owner, ranks = spread(looks[searched])
        places = order.permutation.at(ranks, order.classes[searched][owner])
        ledger.look_at(images[places])


def groups(weights: Ints, most: int) -> Iterator[slice]:
    """Slices of consecutive things whose weights add to about GROUP, `most` things at most."""
    ends, start = np.cumsum(weights), 0
    while start < len(weights):
        done = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, done + GROUP, side="right"))
        stop = min(max(stop, start + 1), start + most)
        yield slice(start, stop)
        start = stop
