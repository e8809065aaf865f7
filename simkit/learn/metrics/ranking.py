"""Where present images stand among the known ones, class by class: what AP and F1 are made from.

Only values are sorted, never their order, and only a block of classes at a time, so that nothing of
images x classes is ever copied whole. Tensors on a GPU are sorted there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit.errors import BadInput
from simkit.learn.metrics.blocks import (
    array,
    by_class,
    columns,
    is_tensor,
    known_marks,
    marks,
    places,
)
from simkit.learn.metrics.marks import check_marks
from simkit.learn.metrics.ranks import Ranks, refuse_nan

_CACHE_BYTES = 1 << 22  # blocks of about this size are transposed and sorted fastest
_LEAST_CLASSES = 32  # narrower blocks would waste most of every cache line of row-major scores
_BLOCK_BYTES = 1 << 26  # no block is larger, unless one class alone is
_FEW = 8  # known entries are picked one by one where fewer than one in so many is known


def ranked(scores: Any, present: Any, known: Any = None) -> Iterator[Ranks]:
    """Ranks of all classes, block by block.

    scores (N, L): an array or a tensor on any device;  present and known (N, L) bool: arrays,
    tensors or sparse, and known None for everything. What lies in memory class by class, as the
    transpose of an (L, N) array does, is used as it lies. Raises BadInput for shapes that differ,
    scores that are no numbers, and nan among the known ones.
    """
    scores, present, known = array(scores), marks(present), known_marks(present, known)
    check(scores, present, known)
    present, known = _sorted_by_class(present), _sorted_by_class(known)
    N, L = scores.shape
    few = issparse(known) and known.nnz * _FEW < N * L
    if is_tensor(scores) and scores.device.type != "cpu" and not few:
        from simkit.learn.metrics.device import ranks_of_block, widest

        width = widest(N)
    else:
        # What is a tensor here is bf16, of which blocks are float32.
        size = 4 if is_tensor(scores) else scores.dtype.itemsize
        ranks_of_block, width = _ranks_of_block, _width(N * size)
    for start in range(0, L, width):
        yield ranks_of_block(scores, present, known, slice(start, min(start + width, L)))


def _ranks_of_block(scores: Any, present: Any, known: Any, classes: slice) -> Ranks:
    """The same in numpy."""
    N = scores.shape[0]
    shown = places(present, classes)
    if known is None:
        values = columns(scores, classes)
        found, sizes = values.ravel()[shown], np.full(len(values), N)
    elif issparse(known) and known.nnz * _FEW < known.shape[0] * known.shape[1]:
        cells = places(known, classes)
        shown, _, at = np.intersect1d(shown, cells, assume_unique=True, return_indices=True)
        values = _picked(scores, cells % N, cells // N + classes.start)
        found, sizes = values[at], np.diff(known.indptr[classes.start : classes.stop + 1])
    else:
        counts = columns(known, classes).astype(bool, copy=False)
        shown = shown[counts.ravel()[shown]]
        values = columns(scores, classes)
        found, sizes = values.ravel()[shown], counts.sum(1)
        values = values[counts]
    width = classes.stop - classes.start
    pointers = np.searchsorted(shown, np.arange(width + 1) * N)
    return _sorted(values.ravel(), np.append(0, np.cumsum(sizes)), found, pointers, classes)


def _sorted(
    values: NDArray[Any],
    bounds: NDArray[np.int64],
    found: NDArray[Any],
    pointers: NDArray[np.int64],
    classes: slice,
) -> Ranks:
    """Sorts both in place, class by class, and counts."""
    images = np.empty(len(found), np.int64)
    top = np.full(len(bounds) - 1, -np.inf)
    for c in range(len(top)):
        ranking, own = values[bounds[c] : bounds[c + 1]], slice(*pointers[c : c + 2])
        if len(ranking):
            ranking.sort()
            found[own].sort()
            images[own] = len(ranking) - np.searchsorted(ranking, found[own], side="left")
            top[c] = ranking[-1]
    if np.isnan(top).any():  # sorting puts nan last
        refuse_nan()
    return Ranks(classes, pointers, found, _hits(found, pointers), images, np.diff(bounds), top)


def _hits(found: NDArray[Any], pointers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of a class's present images score at least as high; found: as in Ranks."""
    place = np.arange(len(found))
    first = np.ones(len(found), bool)  # of those that tie
    first[1:] = found[1:] != found[:-1]
    first[pointers[:-1][pointers[:-1] < len(found)]] = True
    first_place = np.maximum.accumulate(np.where(first, place, 0))
    return np.repeat(pointers[1:], np.diff(pointers)) - first_place


def _picked(scores: Any, rows: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    if not is_tensor(scores):
        return scores[rows, classes]
    from simkit.learn.metrics.device import picked

    return picked(scores, rows, classes)


def _width(row_bytes: int) -> int:
    """How many classes make a block, given the bytes of one class."""
    most = _BLOCK_BYTES // max(1, row_bytes)
    return max(1, min(_LEAST_CLASSES, most), _CACHE_BYTES // max(1, row_bytes))


def whole_number(value: Any) -> bool:
    """Whether it is one, and no boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _sorted_by_class(labels: Any) -> Any:
    return by_class(labels) if issparse(labels) else labels


def check(scores: Any, present: Any = None, known: Any = None, *, name: str = "present") -> None:
    """Raise BadInput for scores that are no matrix of numbers, and labels that do not fit them.

    name: what the caller's argument is called that came as `present`.
    """
    if is_tensor(scores):
        number = not scores.is_complex() and str(scores.dtype) != "torch.bool"
    else:
        number = scores.dtype.kind in "fiu"
    if scores.ndim != 2 or not number:
        raise BadInput(
            f"scores have shape {tuple(scores.shape)} of {scores.dtype}; numbers, images x "
            "classes, are expected"
        )
    for what, given in ((name, present), ("known", known)):
        if given is None:
            continue
        if tuple(given.shape) != tuple(scores.shape):
            raise BadInput(
                f"{what} has shape {tuple(given.shape)} and the scores {tuple(scores.shape)}; "
                "they must agree"
            )
        check_marks(given, what)
