"""Look up and draw entries of sparse label matrices, by random numbers keyed by (image, class).

Matrices are CSR arrays of images x classes; row i is about `images[i]`. All draws nest: a larger
draw contains a smaller one. Chunk sizes do not change results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.annotators import Bools, Ints
from simkit.chance import Chance, Permutation, below
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import sealed

CHUNK = 1 << 20  # entries or questions worked on at a time
HEAVIEST = (1 << 16) - 1  # weight of the heaviest class of an image
# Up to this many pairs have one keyed permutation. More are drawn with replacement, and a pair
# that was drawn before is skipped.
# The two give different labels, so this is part of the schemes: it depends on sizes alone.
PERMUTED = (1 << 32) - 1
_PARTS = 16  # of a square pixel
DENSEST = 32  # places for each of those looked up, up to which all are laid out
_NEAR = 1 << 32  # weight of an object in the centre

Answered = tuple[Ints, Ints, Bools]  # images, classes and yes or no, (n,) each
Answers = Callable[[Ints, Ints], Bools]


# -- entries ------------------------------------------------------------------------------------


def entries_of(matrix: csr_array, start: int, stop: int) -> tuple[Ints, NDArray[np.integer]]:
    """Rows, relative to `start`, and columns of all entries in rows start..stop."""
    pointers = matrix.indptr[start : stop + 1]
    rows = np.repeat(np.arange(stop - start), np.diff(pointers))
    return rows, matrix.indices[pointers[0] : pointers[-1]]


def row_blocks(matrix: csr_array, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows that cover the matrix, each of at most `limit` entries or one row."""
    start, N = 0, matrix.shape[0]
    while start < N:
        last = np.searchsorted(matrix.indptr, matrix.indptr[start] + limit, side="right") - 1
        stop = int(min(max(last, start + 1), N, start + limit))
        yield start, stop
        start = stop


def lookup(matrix: csr_array, rows: Ints, columns: Ints) -> Bools:
    """(n,) whether `matrix` (N, L) has an entry at each of n places."""
    L = matrix.shape[1]
    first, last = (int(rows.min()), int(rows.max())) if len(rows) else (0, -1)
    if (last + 1 - first) * L <= DENSEST * len(rows):
        there = np.zeros((last + 1 - first) * L, bool)
        owner, held = entries_of(matrix, first, last + 1)
        there[owner * L + held] = True
        return there[(rows - first) * L + columns]
    return np.asarray(matrix[rows, columns]) != 0 if len(rows) else np.zeros(0, bool)


def by_row(rows: Ints, columns: Ints, width: int) -> tuple[Ints, Ints]:
    """Pairs of row and column (below `width`) in any order, sorted."""
    bits = width.bit_length()
    keys = np.left_shift(rows, bits, dtype=np.int64)
    keys |= columns
    if keys.max(initial=0) < 1 << 32:  # which sort in half the time
        keys = keys.astype(np.uint32)
    keys.sort()
    return keys >> bits, keys & ((1 << bits) - 1)


def spread(counts: Ints) -> tuple[Ints, Ints]:
    """For g owners of `counts` (g,) items each: the owner of each item, and its index there."""
    owner = np.repeat(np.arange(len(counts)), counts)
    nth = np.arange(len(owner))
    nth -= (np.cumsum(counts) - counts)[owner]
    return owner, nth


def among(keys: Ints, others: Ints) -> Bools:
    """Which keys are among `others`, sorted except for a final -1."""
    return others[np.searchsorted(others[:-1], keys)] == keys


# -- present classes ----------------------------------------------------------------------------


def draw_present(matrix: csr_array, images: Ints, *, most: int, chance: Chance) -> Ints:
    """(n, most) up to `most` different entries of each row, in a random order; -1: none left.

    The j-th is drawn from those not drawn before (Fisher and Yates), with one number for (image,
    j).
    """
    pool = matrix.indices.copy() if most > 1 else matrix.indices
    out = np.full((len(images), most), -1, np.int64)
    counts = np.diff(matrix.indptr)
    for j in range(most):
        some = np.flatnonzero(counts > j)
        numbers = chance(images[some], j) >> np.uint64(32)
        left = (counts[some] - j).astype(np.uint64)
        first = matrix.indptr[some] + j
        drawn = first + ((numbers * left) >> np.uint64(32)).astype(np.int64)
        out[some, j] = pool[drawn]
        if j < most - 1:
            pool[drawn] = pool[first]
    return out


def boxes_by_class(
    boxes: Boxes, by: str, shape: tuple[int, int], hierarchy: Hierarchy | None
) -> csr_array:
    """(N, L) int64, above 0 where a class has boxes: its objects' area or nearness, added up.

    by: "size" or "centre". Under a hierarchy the boxes of a class are its ancestors' as well. All
    sums are of whole numbers. Raises BadInput for boxes of other data and without image sizes.

    Source: Arroyo, Perona & Cole, "Understanding Label Bias in Single Positive Multi-Label
    Learning", ICLR 2023 Tiny Papers. As in the published code a class weighs the sum over its
    objects of their areas, or of the inverse distances of their centres from the centre of the
    image. An area is the `area` of COCO's annotation, of the object's mask, and that of the box
    where the data state none. We take a distance below one pixel for one pixel (there an object
    exactly in the centre is as good as always named).
    """
    N, L = shape
    corners, sizes = boxes.corners.astype(np.float64), boxes.sizes
    if boxes.images.max(initial=0) >= N or boxes.classes.max(initial=0) >= L:
        raise BadInput(f"boxes are of more than {N} images x {L} classes; give those of the split")
    if by == "size":
        sides = np.clip(corners[:, 2:] - corners[:, :2], 0, 1 << 20)
        areas = sides[:, 0] * sides[:, 1] if boxes.areas is None else boxes.areas
        values = np.rint(np.clip(areas, 0, 1 << 40) * _PARTS)
    elif sizes is None or len(sizes) != N or not (np.asarray(sizes) > 0).all():
        raise BadInput(
            "bias=centre needs a width and height above 0 of each image; give "
            "Boxes(..., sizes=...) of the same split or choose bias=size"
        )
    else:
        across = (corners[:, :2] + corners[:, 2:] - sizes[boxes.images]) / 2
        far = np.sqrt(across[:, 0] * across[:, 0] + across[:, 1] * across[:, 1])
        values = np.rint(_NEAR / np.maximum(far, 1.0))
    whole = np.maximum(values.astype(np.int64), 1)
    sums = csr_array((whole, (boxes.images, boxes.classes)), shape=(N, L))
    if hierarchy is not None:
        sums = csr_array(sums @ csr_array(hierarchy.above.astype(np.int64)))
    sums.sum_duplicates()
    sums.sort_indices()
    return sums


def draw_weighted(
    matrix: csr_array, images: Ints, values: csr_array | Ints, *, most: int, chance: Chance
) -> Ints:
    """(n, most) up to `most` different entries of each row by weight, in order; -1: none left.

    values: (N, L) int64, of all images, or (L,), the same in all images. The j-th is drawn from
    those not drawn before, with one number for (image, j).
    """
    out = np.full((len(images), most), -1, np.int64)
    for start, stop in row_blocks(matrix, CHUNK):
        pointers = matrix.indptr[start : stop + 1] - matrix.indptr[start]
        rows, columns = entries_of(matrix, start, stop)
        value = values[columns] if values.ndim == 1 else values[images[start + rows], columns]
        # Weights 1 .. HEAVIEST in each image: whole numbers, whose sums are exact.
        boxed, largest = value > 0, np.zeros(stop - start, np.int64)
        np.maximum.at(largest, rows, value)
        left = np.maximum(value * HEAVIEST // np.maximum(largest[rows], 1), 1)
        if len(left) and not boxed.all():
            # A class without a box weighs as much as the (lower) median of the others.
            ordered = np.lexsort((left, ~boxed, rows))  # in each row the boxed ones first
            many = np.bincount(rows[boxed], minlength=stop - start)
            middle = np.minimum(pointers[:-1] + np.maximum(many - 1, 0) // 2, len(rows) - 1)
            median = np.where(many > 0, left[ordered[middle]], 1)
            left = np.where(boxed, left, median[rows])
        for j in range(most):
            ends = np.concatenate([[0], np.cumsum(left)])
            some = np.flatnonzero(ends[pointers[1:]] > ends[pointers[:-1]])
            first = ends[pointers[some]]
            numbers = chance(images[start + some], j)
            ahead = scaled(numbers, ends[pointers[some + 1]] - first)
            drawn = np.searchsorted(ends, first + ahead, side="right") - 1
            out[start + some, j] = columns[drawn]
            left[drawn] = 0
    return out


def scaled(numbers: NDArray[np.uint64], sizes: NDArray[np.integer] | int) -> Ints:
    """number * size >> 64: uniform whole numbers below `sizes` (up to 2**62) from 64-bit ones."""
    half = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    wide = np.asarray(sizes).astype(np.uint64)
    high, rest = wide >> half, wide & low
    top, bottom = numbers >> half, numbers & low
    middle = top * rest
    across = bottom * high + (middle & low) + (bottom * rest >> half)
    return (top * high + (middle >> half) + (across >> half)).astype(np.int64)


@lru_cache(maxsize=8)
def count_table(
    most: int, *, share: float | None = None, mean: float | None = None
) -> NDArray[np.uint64]:
    """(m,) P(X <= j) for j = 0 .. m - 1 in units of 2**-64, m at most `most`.

    X is the number of successes in `most` trials of probability `share`, or Poisson with `mean`.
    `searchsorted(table, number, side="right")` turns a uniform number into min(X, m), and a larger
    share or mean gives at least the same X.
    """
    if share is not None and share >= 1:
        return sealed(np.zeros(most, np.uint64))
    # Fifty digits of decimal arithmetic: the same integers on every machine.
    with localcontext() as context:
        context.prec, context.Emin = 50, -(10**9)
        if share is not None:
            odds, mass = Decimal(share) / (1 - Decimal(share)), (1 - Decimal(share)) ** most
        else:
            odds, mass = Decimal(mean or 0), (-Decimal(mean or 0)).exp()
        total, out = Decimal(0), []
        for j in range(most):
            total += mass
            out.append(min(int(total * 2**64), 2**64 - 1))
            # P(j + 1) / P(j) is odds * (most - j) / (j + 1), or mean / (j + 1).
            mass = mass * odds * (most - j if share is not None else 1) / (j + 1)
            if mean is not None and out[-1] >= 2**64 - 2 and j > mean:
                break
    return sealed(np.array(out, np.uint64))


def draw_pairs(
    matrix: csr_array, images: Ints, count: int, chance: Chance
) -> tuple[Ints, NDArray[np.integer]]:
    """Rows and columns of the `count` entries of `matrix` with the smallest keyed numbers."""
    # So large a share nearly always holds enough; where not, all numbers are taken.
    for share in ((count + 6 * math.sqrt(count) + 9) / max(matrix.nnz, 1), 1.0):
        parts = []
        for start, stop in row_blocks(matrix, CHUNK):
            rows, columns = entries_of(matrix, start, stop)
            numbers = chance(images[start + rows], columns)
            small = below(numbers, share)
            parts.append((numbers[small], start + rows[small], columns[small]))
        numbers, rows, columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        if len(numbers) >= count:
            break
    last = np.partition(numbers, count - 1)[count - 1] if count else 0
    kept = numbers < last
    ties = np.flatnonzero(numbers == last)  # the first of the equal ones
    kept[ties[: count - int(np.count_nonzero(kept))]] = True
    return rows[kept], columns[kept]


# -- absent classes -----------------------------------------------------------------------------
# Answers are looked up in blocks and cut where the goal is reached, so the questions are exactly
# those of asking one after another.


def ask_images(
    answers: Answers, order: Permutation, images: Ints, wanted: Ints, named: Ints | None = None
) -> Iterator[Answered]:
    """Ask about the classes of each image, in its own order, until `wanted` (n,) of them are denied
    or none is left. Yields some questions at a time.

    named (n, k) classes that need no question in that image, -1 for none.
    """
    L = order.size
    step = max(1, CHUNK // max(1, int(wanted.max(initial=1))))
    for start in range(0, len(images), step):
        block, need = images[start : start + step], wanted[start : start + step].copy()
        skip = None if named is None else named[start : start + step]
        live, done, width = np.flatnonzero(need), 0, int(need.max(initial=0))
        while len(live) and done < L:
            width = max(1, min(width, L - done, CHUNK // len(live)))
            classes = order.at(np.arange(done, done + width), block[live][:, None])
            free = np.ones(classes.shape, bool)
            if skip is not None:
                for column in skip[live].T:
                    free &= classes != column[:, None]
            rows = np.repeat(block[live], width)
            yes = answers(rows, classes.ravel()).reshape(classes.shape)
            denied = free & ~yes
            count = np.cumsum(denied, 1)
            asked = free & (count - denied < need[live][:, None])
            yield rows[asked.ravel()], classes[asked], yes[asked]
            need[live] -= np.minimum(count[:, -1], need[live])
            live = live[need[live] > 0]
            done, width = done + width, 2 * width


def ask_pairs(
    answers: Answers, images: Ints, L: int, wanted: int, chance: Chance
) -> Iterator[Answered]:
    """Ask about pairs of `images` (n,) and L classes in one random order, until `wanted` are denied
    or none is left. Yields some questions at a time.

    The order is a keyed permutation, or the order in which pairs first occur in repeated draws.
    """
    met: Ints = np.zeros(0, np.int64)
    pairs, start, least = len(images) * L, 0, 1 << 12
    order = chance.permutation(pairs) if pairs <= PERMUTED else None
    while wanted > 0 and (start < pairs if order is not None else len(met) < pairs):
        size = min(max(least, wanted + (wanted >> 6)), CHUNK)
        if order is not None:
            piece: Ints = order.at(np.arange(start, min(start + size, pairs)))
        else:
            piece, met = _first_met(scaled(chance(np.arange(start, start + size)), pairs), met)
        start, least = start + size, 2 * least
        rows = piece // L
        block, classes = images[rows], piece - rows * L
        yes = answers(block, classes)
        count = np.cumsum(~yes)
        stop = int(np.searchsorted(count, wanted)) + 1
        yield block[:stop], classes[:stop], yes[:stop]
        wanted -= int(count[-1]) if len(count) else 0


def _first_met(piece: Ints, met: Ints) -> tuple[Ints, Ints]:
    """The values that come for the first time in `piece` (n,), and all values met, ascending."""
    values = np.sort(np.concatenate([met, np.sort(piece)]), kind="stable")  # two runs are merged
    same = values[1:] == values[:-1]
    if not same.any():
        return piece, values
    again = np.flatnonzero(among(piece, np.append(np.unique(values[1:][same]), -1)))
    first = again[np.unique(piece[again], return_index=True)[1]]
    fresh = np.ones(len(piece), bool)
    fresh[again] = False
    fresh[first[~among(piece[first], np.append(met, -1))]] = True
    return piece[fresh], values[np.append(True, ~same)]
