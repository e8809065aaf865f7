"""A proposer: a machine that proposes classes for images; people then verify its candidates.

It stands on the crowd's side because it needs the truth to be good at its work; nothing it does is
billed. OpenImages V4 (Kuznetsova et al., IJCV 2020) had people verify the candidates
of an image classifier; no paper defines such a machine as a simulator, so its make-up is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.annotators import Bools, Ints, Limits, under
from simkit.annotate.sparse_draws import among, ask_images, by_row, row_blocks, spread
from simkit.chance import Chance, below, threshold
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import sealed

CONFUSABLE = 5  # classes that each class may be taken for
CHUNK = 1 << 20  # candidates or present labels worked on at a time; changes no result
SLICE = 1 << 13  # present labels sorted at a time; changes no result
_ROWS = 20  # bits of a number that are left out
_SEEN, _UNSEEN, _ALIKE = np.int32(0), np.int32(1), np.int32(2)
_NONE: tuple[Ints, Ints] = np.zeros(0, np.int64), np.zeros(0, np.int32)
_ALL = 1 << 64

Entries = tuple[Ints, NDArray[np.integer]]


@dataclass(frozen=True, eq=False)
class Proposer:
    """What a machine proposes for an image.

    The number of candidates is Poisson with mean `per_image`, at most all classes. Each is meant to
    be right with probability `precision`: then it is a class that is there, out of those that the
    machine notices in this image (share `recall`), and where none is left it is wrong after all. A
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

        present (n, L) what is there; row i is about `images[i]`.
        """
        L = self.classes
        table = poisson_table(self.per_image, L)
        shares = noticed(self.skew, L, self.chance.of("weights"))
        recalled = _limits([share * threshold(self.recall) >> 64 for share in shares])
        limits = _limits(shares) if self.skew else None
        alike = confusable(hierarchy, L, self.chance.of("alike")).astype(np.int32)
        for start, stop in row_blocks(present, max(1, int(CHUNK / max(2.0, self.per_image)))):
            block, pointers = images[start:stop], present.indptr[start : stop + 1]
            count = np.searchsorted(table, self.chance.of("count")(block), side="right")
            meant, lacking, parts = self._meant(block, count), count.copy(), [_NONE]
            blocked = [_NONE[0]]
            for rows, places in _alike_rows(pointers):
                own = present.indices[places].astype(np.int32, copy=False)
                keys = self._ordered(block[rows], own, recalled, alike)
                chosen, taken = self._first(block[rows], keys, meant[rows], count[rows], limits)
                lacking[rows] -= taken
                parts.append((np.repeat(rows, taken), keys[chosen] >> 2))
                short = lacking[rows] > 0
                blocked.append((rows[short, None] * L + (keys[short] >> 2)).ravel())
            parts += self._others(block, lacking, np.sort(np.concatenate(blocked)), limits)
            rows, classes = (np.concatenate(column) for column in zip(*parts, strict=True))
            pairs = by_row(np.ones(len(rows), bool), rows, classes, (len(block), L))
            yield np.repeat(block, np.diff(pairs.indptr)), pairs.indices

    def highest(self, scores: NDArray[np.floating], images: Ints) -> Iterator[tuple[Ints, Ints]]:
        """As many pairs as in `propose`, with the highest of the scores (N, L) of each image."""
        L = self.classes
        table = poisson_table(self.per_image, L)
        step = max(1, CHUNK // L)
        for start in range(0, len(images), step):
            block = images[start : start + step]
            count = np.searchsorted(table, self.chance.of("count")(block), side="right")
            ranked = np.argsort(-scores[block], axis=1, kind="stable")
            owner, nth = spread(count)
            places = np.sort(owner * L + ranked[owner, nth])
            yield block[places // L], places % L

    def _meant(self, images: Ints, count: Ints) -> Ints:
        """(b,) how many candidates are meant to be right, candidate by candidate."""
        owner, nth = spread(count)
        hit = below(self.chance.of("right")(images[owner], nth), self.precision)
        return np.bincount(owner[hit], minlength=len(images))

    def _ordered(
        self, images: Ints, own: NDArray[np.int32], limits: Limits, alike: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """(b, 6 p) the p present classes of each image, and those they may be taken for, in a keyed
        order: each is 4 * class + `_SEEN`, `_UNSEEN` or `_ALIKE`."""
        p = own.shape[1]
        classes = np.concatenate([own, alike[own].reshape(len(own), -1)], axis=1)
        keys = self.chance.of("order")(images[:, None], classes)
        bits = np.uint64(self.classes.bit_length())
        keys >>= np.uint64(_ROWS) + bits
        keys <<= bits + np.uint64(2)
        classes <<= 2
        classes[:, :p] |= np.where(self._noticed(images[:, None], own, limits), _SEEN, _UNSEEN)
        classes[:, p:] |= _ALIKE
        keys |= classes.view(np.uint32)
        keys.sort(axis=1)
        return keys.astype(np.int32) & np.int32((4 << int(bits)) - 1)

    def _first(
        self, images: Ints, keys: NDArray[np.int32], meant: Ints, count: Ints, limits: Limits | None
    ) -> tuple[Bools, Ints]:
        """Which to propose of `_ordered` classes, and how many (b,): first the `meant` (b,) ones
        that are seen, then absent ones up to `count` (b,)."""
        flags = keys.astype(np.uint8) & np.uint8(3)
        right, wrong = flags == _SEEN, flags == _ALIKE
        # Of equal classes the first is the present one, if there is one.
        wrong[:, 1:] &= (keys[:, 1:] ^ keys[:, :-1]) > 3
        if limits is not None:
            rows, places = np.nonzero(wrong)
            wrong[rows, places] = self._noticed(images[rows], keys[rows, places] >> 2, limits)
        taken = np.zeros(len(keys), np.int64)
        for chosen, wanted in ((right, meant), (wrong, count)):
            many = np.cumsum(chosen, axis=1, dtype=np.int32)
            limit = (wanted - taken).astype(np.int32)
            chosen &= many <= limit[:, None]
            taken += np.minimum(many[:, -1], limit)
        return right | wrong, taken

    def _others(
        self, images: Ints, wanted: Ints, blocked: Ints, limits: Limits | None
    ) -> Iterator[Entries]:
        """Classes in a keyed order, without the `blocked` places."""
        L, row_of = self.classes, np.flatnonzero(wanted)
        closed = np.append(blocked, -1)

        def unfit(which: Ints, others: Ints) -> Bools:
            fit = ~among(np.searchsorted(images, which) * L + others, closed)
            return ~(fit & self._noticed(which, others, limits))

        order = self.chance.of("others").permutation(L)
        for which, others, no in ask_images(unfit, order, images[row_of], wanted[row_of]):
            yield np.searchsorted(images, which[~no]), others[~no]

    def _noticed(self, images: Ints, classes: NDArray[np.integer], limits: Limits | None) -> Bools:
        if limits is None:
            return np.ones(classes.shape, bool)
        return under(self.chance.of("noticed")(images, classes), limits, classes)


def _alike_rows(pointers: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Rows with the same number p of entries, some at a time, and the places (b, p) of these."""
    many = np.diff(pointers)
    order = np.argsort(many, kind="stable")
    for p in np.unique(many[many > 0]):
        first, last = np.searchsorted(many[order], [p, p + 1])
        step = max(1, SLICE // int(p))
        for start in range(first, last, step):
            rows = order[start : min(start + step, last)]
            yield rows, pointers[rows][:, None] + np.arange(p)


def _limits(shares: list[int]) -> Limits:
    """From shares of 2**64: the last number that counts, and whether any does."""
    last = np.array([max(share - 1, 0) for share in shares], np.uint64)
    return last, np.array([share > 0 for share in shares])


@lru_cache(maxsize=8)
def noticed(skew: float, L: int, chance: Chance) -> list[int]:
    """(L,) in what share of the images, of 2**64, the machine may propose each class."""
    ranks = chance.permutation(L).rank(np.arange(L)) + 1
    with localcontext() as context:
        context.prec = 30  # decimal powers are the same on every machine
        power = Decimal(repr(skew))
        return [int((Decimal(int(rank)) / L) ** power * _ALL) for rank in ranks]


@lru_cache(maxsize=8)
def poisson_table(mean: float, most: int) -> NDArray[np.uint64]:
    """(m,) P(X <= j) for j = 0 .. m - 1 in units of 2**-64, X Poisson; m at most `most`.

    `searchsorted(table, number, side="right")` turns a uniform number into min(X, m), and a larger
    mean gives at least the same X.
    """
    with localcontext() as context:
        context.prec, context.Emin = 50, -(10**9)
        rate = Decimal(mean)
        mass, total, out = (-rate).exp(), Decimal(0), []
        for j in range(most):
            total += mass
            out.append(min(int(total * _ALL), _ALL - 1))
            mass = mass * rate / (j + 1)
            if out[-1] >= _ALL - 2 and j > mean:
                break
    return sealed(np.array(out, np.uint64))


@lru_cache(maxsize=4)
def confusable(hierarchy: Hierarchy | None, L: int, chance: Chance) -> Ints:
    """(L, CONFUSABLE) classes that each class may be taken for: siblings first, then any others
    that are neither above nor below it, both in a keyed order; where they do not suffice the class
    itself fills the row."""
    order = chance.permutation(L)
    ranks = np.arange(min(L, 4 * CONFUSABLE))
    others = order.at(ranks, np.arange(L)[:, None])
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
        chosen = _first_free(near.tolist(), others[c].tolist(), line)
        if len(chosen) < CONFUSABLE and len(ranks) < L:
            chosen = _first_free(near.tolist(), order.at(np.arange(L), c).tolist(), line)
        out[c, : len(chosen)] = chosen
    return sealed(out)


def _first_free(near: list[int], others: list[int], line: set[int]) -> list[int]:
    """Up to CONFUSABLE different ones, those of `others` that are not in `line`."""
    free = [other for other in others if other not in line]
    return list(dict.fromkeys([*near, *free]))[:CONFUSABLE]
