"""A proposer: a machine that proposes classes for images; people then verify its candidates.

It belongs to the crowd and not to the scheme, because it reads the truth, so that a simulated
machine is right as often as stated. Nothing it does is billed. OpenImages V4 (Kuznetsova
et al., IJCV 2020) had people verify the candidates of an image classifier; no paper defines such a
machine as a simulator, so the design is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.annotators import Bools, Ints, Limits, under
from simkit.annotate.sparse_draws import among, ask_images, by_row, count_table, row_blocks, spread
from simkit.chance import Chance, below, threshold
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import sealed

CONFUSABLE = 5  # classes that each class may be taken for
CHUNK = 1 << 20  # candidates or present labels worked on at a time; changes no result
SLICE = 1 << 13  # present labels sorted at a time; changes no result
_DROPPED = 20  # low bits of a keyed number that do not count in an order of candidates
# The lowest two bits of a candidate: a present class that the machine notices, or overlooks, and a
# class that a present one may be taken for. In this order: see `_near`.
_SEEN, _ALIKE = 0, 2  # 1: overlooked


@dataclass(frozen=True, eq=False)
class Proposer:
    """A machine that proposes classes for an image.

    The number of candidates is Poisson with mean `per_image`, at most all classes. Each is meant to
    be right with probability `precision`. A right one is a present class that the machine notices
    in this image (share `recall`); if none of these is left the candidate is wrong after all. A
    wrong one is a class that some present class may be taken for, then any other class. Every class
    has a keyed rank r of L, whatever its frequency, and is proposed, rightly or wrongly, in no more
    than the share (r / L) ** skew of the images. A larger `per_image` adds candidates.
    """

    per_image: float
    recall: float
    precision: float
    skew: float
    classes: int
    chance: Chance

    def propose(
        self, present: csr_array, images: Ints, hierarchy: Hierarchy | None
    ) -> Iterator[tuple[Ints, Ints]]:
        """Pairs of images and classes, sorted, some images at a time.

        present (n, L) the truth; row i is about `images[i]`.
        """
        L = self.classes
        alike = confusable(hierarchy, L, self.chance.of("alike"))
        near = np.column_stack([np.arange(L) << 2 | _SEEN, alike << 2 | _ALIKE]).astype(np.int32)
        for start, stop in row_blocks(present, max(1, int(CHUNK / max(2.0, self.per_image)))):
            block, pointers = images[start:stop], present.indptr[start : stop + 1]
            count = self._count(block)
            owner, nth = spread(count)
            right = below(self.chance.of("right")(block[owner], nth), self.precision)
            meant = np.bincount(owner[right], minlength=len(block))
            lacking = count.copy()
            nothing = np.zeros(0, np.int64)
            parts: list[tuple[Ints, NDArray[np.integer]]] = [(nothing, nothing.astype(np.int32))]
            blocked = [nothing]
            # Rows with the same number p of present classes make arrays without gaps.
            many = np.diff(pointers)
            order = np.argsort(many, kind="stable")
            for p in np.unique(many[many > 0]):
                first, last = np.searchsorted(many[order], [p, p + 1])
                step = max(1, SLICE // int(p))
                for begin in range(first, last, step):
                    rows = order[begin : min(begin + step, last)]
                    own = present.indices[pointers[rows][:, None] + np.arange(p)]
                    classes, chosen, taken = self._near(
                        block[rows],
                        near.take(own, 0).reshape(len(rows), -1),
                        meant[rows],
                        count[rows],
                    )
                    parts.append((np.repeat(rows, taken), classes.ravel()[np.flatnonzero(chosen)]))
                    lacking[rows] -= taken
                    short = lacking[rows] > 0
                    blocked.append((rows[short, None] * L + classes[short]).ravel())
            parts += self._others(block, lacking, np.append(np.sort(np.concatenate(blocked)), -1))
            rows, columns = (np.concatenate(column) for column in zip(*parts, strict=True))
            where, which = by_row(rows, columns, L)
            yield block[where], which

    def highest(self, scores: NDArray[np.floating], images: Ints) -> Iterator[tuple[Ints, Ints]]:
        """As many pairs as in `propose`, with the highest of the scores (N, L) of each image."""
        L = self.classes
        step = max(1, CHUNK // L)
        for start in range(0, len(images), step):
            block = images[start : start + step]
            ranked = np.argsort(-scores[block], axis=1, kind="stable")
            owner, nth = spread(self._count(block))
            places = np.sort(owner * L + ranked[owner, nth])
            yield block[places // L], places % L

    def _count(self, images: Ints) -> Ints:
        """(b,) the number of candidates for each image."""
        table = count_table(self.classes, mean=self.per_image)
        return np.searchsorted(table, self.chance.of("count")(images), side="right")

    def _near(
        self, images: Ints, near: NDArray[np.int32], meant: Ints, count: Ints
    ) -> tuple[NDArray[np.int32], Bools, Ints]:
        """The present classes of b images and those they may be taken for, and which to propose.

        near (b, 6 p) classes and their kinds, each of the p present ones before those it may be
        taken for; meant, count (b,) how many candidates are meant to be right, and how many there
        are. Returns classes (b, 6 p) in a keyed order, some of them twice, a mask of them, and how
        many of each row it has (b,).
        """
        classes = near >> 2
        keys = self.chance.of("order")(images[:, None], classes)
        own = classes[:, :: CONFUSABLE + 1]
        near[:, :: CONFUSABLE + 1] |= ~self._noticed(images[:, None], own, self._limits[0])
        # Order, class and kind in one word, which sorts several times as fast as indices do. From
        # the highest bit: 44 - `bits` random bits, and in the lowest `bits` for the class and two
        # for the kind. The same class has the same random bits, so its copies stand side by side,
        # the present one first.
        bits = self.classes.bit_length()
        keys &= ~np.uint64((1 << (_DROPPED + bits)) - 1)
        keys |= near.view(np.uint32)
        keys.sort(axis=1)
        candidates = keys.astype(np.int32) & np.int32((4 << bits) - 1)  # class and kind
        kinds = candidates.astype(np.uint8) & np.uint8(3)
        right, wrong = kinds == _SEEN, kinds == _ALIKE
        # Of copies the first counts; where it is a present class, none of them is wrong.
        wrong[:, 1:] &= (candidates[:, 1:] ^ candidates[:, :-1]) > 3
        if self.skew:
            rows, places = np.nonzero(wrong)
            of_class = candidates[rows, places] >> 2
            wrong[rows, places] = self._noticed(images[rows], of_class, self._limits[1])
        taken = np.zeros(len(candidates), np.int64)
        for chosen, wanted in ((right, meant), (wrong, count)):  # the first ones of each
            many = np.cumsum(chosen, axis=1, dtype=np.int32)
            limit = (wanted - taken).astype(np.int32)
            chosen &= many <= limit[:, None]
            taken += np.minimum(many[:, -1], limit)
        return candidates >> 2, right | wrong, taken

    def _others(
        self, images: Ints, wanted: Ints, blocked: Ints
    ) -> Iterator[tuple[Ints, NDArray[np.integer]]]:
        """Rows and classes: `wanted` (b,) classes of each image in a keyed order, without the
        `blocked` places row * L + class (sorted, then -1), which `_near` has dealt with."""
        L, row_of = self.classes, np.flatnonzero(wanted)

        def unfit(which: Ints, others: Ints) -> Bools:
            out = among(np.searchsorted(images, which) * L + others, blocked)
            return out | ~self._noticed(which, others, self._limits[1]) if self.skew else out

        order = self.chance.of("others").permutation(L)
        for which, others, no in ask_images(unfit, order, images[row_of], wanted[row_of]):
            yield np.searchsorted(images, which[~no]), others[~no]

    def _noticed(self, images: Ints, classes: NDArray[np.integer], limits: Limits) -> Bools:
        return under(self.chance.of("noticed")(images, classes), limits, classes)

    @cached_property
    def _limits(self) -> tuple[Limits, Limits]:
        """For present classes and for all: up to which 64-bit number each is noticed, and whether
        at all. A limit is one below its share: the share 1 is 2**64, which does not fit."""
        shares = [1 << 64]  # of all classes
        if self.skew:
            shares = noticed(self.skew, self.classes, self.chance.of("weights"))
        recalled = [share * threshold(self.recall) >> 64 for share in shares]
        present, every = (
            (np.array([max(share - 1, 0) for share in part], np.uint64), np.array(part) > 0)
            for part in (recalled, shares)
        )
        return present, every


@lru_cache(maxsize=8)
def noticed(skew: float, L: int, chance: Chance) -> list[int]:
    """(L,) the share of the images in which the machine may propose each class, times 2**64."""
    ranks = chance.permutation(L).rank(np.arange(L)) + 1
    with localcontext() as context:
        context.prec = 30  # decimal powers are the same on every machine
        power = Decimal(repr(skew))
        return [int((Decimal(int(rank)) / L) ** power * 2**64) for rank in ranks]


@lru_cache(maxsize=4)
def confusable(hierarchy: Hierarchy | None, L: int, chance: Chance) -> Ints:
    """(L, CONFUSABLE) classes that each class may be taken for: siblings first, then any others
    that are neither above nor below it, both in a keyed order; where they do not suffice the class
    itself fills the row."""
    order, few = chance.permutation(L), min(L, 4 * CONFUSABLE)
    others = order.at(np.arange(few), np.arange(L)[:, None])  # nearly always enough
    out = np.repeat(np.arange(L)[:, None], CONFUSABLE, axis=1)
    for c in range(L):
        line, siblings = {c}, set[int]()
        if hierarchy is not None:
            above = hierarchy.above
            line = set(np.flatnonzero(above[c] | above[:, c]).tolist())
            children = [hierarchy.children[parent] for parent in hierarchy.parents[c]]
            siblings = set().union(*(children or [hierarchy.roots.tolist()])) - line
        near = np.array(sorted(siblings), np.int64)
        near = near[np.argsort(chance(near, c), kind="stable")] if len(near) > 1 else near
        for size in dict.fromkeys((few, L)):
            pool = others[c] if size == few else order.at(np.arange(L), c)
            free = [other for other in pool.tolist() if other not in line]
            chosen = [*dict.fromkeys([*near.tolist(), *free])][:CONFUSABLE]
            if len(chosen) == CONFUSABLE:
                break
        out[c, : len(chosen)] = chosen
    return sealed(out)
