"""Search for images with and without each class, as if somebody looked at one after another.

For each class the images stand in their own order, a keyed permutation. Nobody walks along it: how
far a search goes, and its answers, follow by counting from the places of the present images alone.
So a search among 9 M images costs as much as it has answers. Arrays are of g classes, (g,), or of
the present images of all these classes, (m,).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.annotators import Ints
from simkit.annotate.ledger import Ledger
from simkit.annotate.sparse_draws import spread
from simkit.chance import Permutation

GROUP = 1 << 20  # present images and wanted answers worked on at a time; changes no result


def search(
    ledger: Ledger,
    images: Ints,
    classes: Ints,
    by_class: tuple[Ints, NDArray[np.int32]],
    *,
    present: Ints,
    absent: Ints,
    permutation: Permutation,
    precision: float | None,
    keep_looks: bool,
) -> Ints:
    """Search `images` (n,) for each class, and write answers and looks into the ledger.

    by_class: (L + 1,) pointers and the rows of `images` that show each class;  permutation: orders
    these rows by class; the other parameters are those of `Crowd.search`.
    Returns (g,) how many present images were recorded.
    """
    pointers, rows = by_class
    n, found = len(images), np.zeros(len(classes), np.int64)
    weights = pointers[classes + 1] - pointers[classes]
    answers = present / (precision or 1) + absent
    if precision is None and keep_looks:
        answers = np.full(len(classes), 2.0 * n)
    weights += np.minimum(2.0 * n, answers).astype(np.int64)
    # The keys of SearchOrder.of hold the class, twice as many bits as n has, and no sign.
    for part in groups(weights, 1 << max(0, 63 - 2 * n.bit_length())):
        shown = [rows[pointers[c] : pointers[c + 1]] for c in classes[part]]
        found[part] = _search(
            ledger, images, classes[part], shown,
            present=present[part], absent=absent[part], permutation=permutation,
            precision=precision, keep_looks=keep_looks,
        )  # fmt: skip
    return found


def _search(
    ledger: Ledger, images: Ints, classes: Ints, rows: list[NDArray[np.int32]], *, present: Ints,
    absent: Ints, permutation: Permutation, precision: float | None, keep_looks: bool,
) -> Ints:  # fmt: skip
    """`search` for one group of classes; rows: those that show each of them."""
    n, shows = len(images), np.array([len(part) for part in rows])
    kept, denied = np.minimum(shows, present), np.minimum(n - shows, absent)
    seen = denied  # absent images that were looked at, recorded or not
    if precision is not None:
        # Finding f takes ceil(f / precision) looks; the false candidates are absent answers.
        share = Fraction(repr(float(precision))).limit_denominator(10**6)
        candidates = -(-kept * share.denominator // share.numerator)
        seen = np.maximum(np.minimum(candidates - kept, n - shows), denied)
    order = SearchOrder.of(permutation, classes, np.concatenate(rows), shows, (kept, seen))
    looks = kept + seen
    if precision is None:
        # The search ends at the later of two places, the last present image wanted and the last
        # absent one; if there are too few of either, only after all images.
        last = np.zeros(len(classes), np.int64)
        final = order.nth == kept[order.owner] - 1
        last[order.owner[final]] = order.rank[final] + 1
        enough = (kept == present) & (denied == absent)
        looks = np.where(enough, np.maximum(last, order.reach(denied)), n)
        met = np.bincount(order.owner[order.rank < looks[order.owner]], minlength=len(classes))
        met = np.where(enough, met, shows)
        seen = looks - met
        kept = met if keep_looks else kept
    denied = seen if keep_looks else denied
    ledger.bill_look(classes, looks)
    beyond = int((looks - kept - denied).sum())
    ledger.dropped["search"] = ledger.dropped.get("search", 0) + beyond
    chosen = order.nth < kept[order.owner]
    shown = images[order.image[chosen]]
    ledger.record(shown, classes[order.owner[chosen]], True)
    ledger.seen[shown] = True
    # Without a machine's candidates, all images between those recorded were looked at, too.
    walked = precision is None and not keep_looks
    listed = denied if walked else seen
    of_class, places, nth = order.first_absent(listed)
    ledger.seen[images[places]] = True
    recorded = nth < np.repeat(denied, listed)
    ledger.record(images[places[recorded]], of_class[recorded], False)
    longest_first = np.argsort(-looks, kind="stable") if walked else np.zeros(0, np.int64)
    for part in groups(looks[longest_first], len(looks)):
        if ledger.seen[images].all():
            break
        owner, ranks = spread(looks[longest_first[part]])
        places = permutation.at(ranks, classes[longest_first[part]][owner])
        ledger.seen[images[places]] = True
    return kept


@dataclass(frozen=True, eq=False)
class SearchOrder:
    """Where the present images of g classes stand among n images, each class in its own order.

    classes (g,);  owner (m,) which of the g a present image belongs to;  nth (m,) how many present
    ones of its class come before it;  rank (m,) its place, from 0;  image (m,). Sorted by owner and
    rank, and without those that no look of a search reaches.
    """

    permutation: Permutation
    classes: Ints
    owner: Ints
    nth: Ints
    rank: Ints
    image: Ints

    @staticmethod
    def of(
        permutation: Permutation, classes: Ints, image: NDArray[np.int32], shows: Ints,
        wanted: tuple[Ints, Ints],
    ) -> SearchOrder:  # fmt: skip
        """From the present images, class after class, `shows` (g,) of each.

        wanted: (g,) numbers of present and of absent images that the order must reach.
        """
        n, g = permutation.size, len(classes)
        rank = permutation.rank(image, classes, shows)
        # Of s images among n, the first k stand within about n / s * k places; with five standard
        # deviations more, one class in millions is too short, and is taken whole.
        far = np.maximum(*(
            n / np.maximum(there, 1) * (some + 5 * np.sqrt(some) + 9)
            for there, some in zip((shows, n - shows), wanted, strict=True)
        ))  # fmt: skip
        far = np.minimum(far, n).astype(np.int64)
        short = np.ones(g, bool)
        while short.any():
            inside = np.flatnonzero(rank < np.repeat(far, shows))
            owner = np.repeat(np.arange(g), shows)[inside]
            count = np.bincount(owner, minlength=g)
            short = (count < wanted[0]) | (far - count < wanted[1])
            far[short] = n
        # One sort of whole numbers, several times as fast as a lexsort of three columns.
        bits = n.bit_length()
        keys = (owner << (2 * bits)) | (rank[inside] << bits) | image[inside]
        keys.sort()
        nth = np.arange(len(keys)) - np.repeat(np.cumsum(count) - count, count)
        mask = (1 << bits) - 1
        return SearchOrder(permutation, classes, owner, nth, (keys >> bits) & mask, keys & mask)

    def reach(self, wanted: Ints) -> Ints:
        """(g,) the number of images from the first to the `wanted`-th absent one of each class."""
        # rank - nth absent images come before a present one: it stands before the last wanted one
        # if these are fewer than `wanted`.
        between = self.rank - self.nth < wanted[self.owner]
        return wanted + np.bincount(self.owner[between], minlength=len(wanted))

    def first_absent(self, wanted: Ints) -> tuple[Ints, Ints, Ints]:
        """Classes, images and counting numbers (from 0) of the first `wanted` (g,) absent ones."""
        reach = self.reach(wanted)
        starts = np.cumsum(reach) - reach  # the first `reach` places of all classes in one row
        free = np.ones(int(reach.sum()), bool)
        inside = self.rank < reach[self.owner]
        free[starts[self.owner[inside]] + self.rank[inside]] = False
        owner, nth = spread(wanted)
        ranks = np.flatnonzero(free) - starts[owner]
        return self.classes[owner], self.permutation.at(ranks, self.classes, wanted), nth


def groups(weights: Ints, most: int) -> Iterator[slice]:
    """Slices of consecutive things whose weights add to about GROUP, `most` things at most."""
    ends, start = np.cumsum(weights), 0
    while start < len(weights):
        done = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, done + GROUP, side="right"))
        stop = min(max(stop, start + 1), start + most)
        yield slice(start, stop)
        start = stop
