"""Where present images stand among the known ones, class by class: what AP and F1 are made from.

Only values are sorted, never their order, and only a block of classes at a time, so that nothing of
images x classes is ever copied whole. Tensors on a GPU are sorted there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit.learn.metrics.arrays import (
    by_class,
    columns,
    is_tensor,
    on_host,
    places,
    refuse_nan,
    scores_and_marks,
)

_CACHE_BYTES = 1 << 22  # blocks of about this size are transposed and sorted fastest
_LEAST_CLASSES = 32  # narrower blocks would waste most of every cache line of row-major scores
_BLOCK_BYTES = 1 << 26  # no block is larger, unless one class alone is
_DEVICE_SCORES = 1 << 25  # torch's sort and the counts take about 50 bytes for each of them
_FEW = 8  # known entries are picked one by one where fewer than one in so many is known


@dataclass(frozen=True)
class Ranks:
    """Where the present images of a block of classes stand among their known ones.

    Parameters
    ----------
    pointers
        (classes + 1,): of each class c, entries pointers[c] to pointers[c + 1] are its present
        images, from the lowest score.
    scores
        (P,) theirs.
    hits, images
        (P,) int64: how many present and how many known images score at least as high.
    known
        (classes,) how many are known.
    top
        (classes,) their highest score, -inf without any.
    """

    pointers: NDArray[np.int64]
    scores: NDArray[Any]
    hits: NDArray[np.int64]
    images: NDArray[np.int64]
    known: NDArray[np.int64]
    top: NDArray[np.float64]

    @property
    def present(self) -> NDArray[np.int64]:
        """(classes,) how many images are present."""
        return np.diff(self.pointers)

    def reduce(self, how: np.ufunc, values: NDArray[Any], empty: float) -> NDArray[Any]:
        """(classes,) `how` over each class's values (P,), `empty` where it has none."""
        some = self.present > 0
        out = np.full(len(some), empty, values.dtype)
        if some.any():
            out[some] = how.reduceat(values, self.pointers[:-1][some])
        return out


def ranked(scores: Any, present: Any, known: Any = None) -> Iterator[Ranks]:
    """Ranks of all classes, block by block.

    Parameters
    ----------
    scores
        (N, L) array, or tensor on any device. What lies in memory class by class, as the transpose
        of an (L, N) array does, is used as it lies.
    present, known
        (N, L) bool: arrays, tensors or sparse; known None for everything.

    Raises
    ------
    BadInput
        For shapes that differ, scores that are no numbers, and nan among the known ones.
    """
    scores, present, known = scores_and_marks(scores, present, known)
    present, known = by_class(present), by_class(known)
    N, L = scores.shape
    few = issparse(known) and known.nnz * _FEW < N * L
    of_block = _on_host
    if is_tensor(scores) and scores.device.type != "cpu" and not few:
        of_block, width = _on_device, max(1, _DEVICE_SCORES // max(1, N))
    else:
        # What is a tensor here is bf16, of which blocks are float32.
        size = max(1, N * (4 if is_tensor(scores) else scores.dtype.itemsize))
        width = max(1, min(_LEAST_CLASSES, _BLOCK_BYTES // size), _CACHE_BYTES // size)
    for start in range(0, L, width):
        yield of_block(scores, present, known, slice(start, min(start + width, L)))


def _on_host(scores: Any, present: Any, known: Any, classes: slice) -> Ranks:
    """Ranks of these classes in numpy."""
    N = scores.shape[0]
    shown = places(present, classes)
    if known is None:
        values = columns(scores, classes)
        of_present, sizes = values.ravel()[shown], np.full(len(values), N)
    elif issparse(known) and known.nnz * _FEW < known.shape[0] * known.shape[1]:
        cells = places(known, classes)
        shown, _, at = np.intersect1d(shown, cells, assume_unique=True, return_indices=True)
        values = _picked(scores, cells % N, cells // N + classes.start)
        of_present, sizes = values[at], np.diff(known.indptr[classes.start : classes.stop + 1])
    else:
        counts = columns(known, classes).astype(bool, copy=False)
        shown = shown[counts.ravel()[shown]]
        values = columns(scores, classes)
        of_present, sizes = values.ravel()[shown], counts.sum(1)
        values = values[counts]
    values, bounds = values.ravel(), np.append(0, np.cumsum(sizes))
    pointers = np.searchsorted(shown, np.arange(classes.stop - classes.start + 1) * N)
    images = np.empty(len(of_present), np.int64)
    top = np.full(len(sizes), -np.inf)
    for c in range(len(top)):
        ranking, its = values[bounds[c] : bounds[c + 1]], slice(*pointers[c : c + 2])
        if len(ranking):
            ranking.sort()
            of_present[its].sort()
            images[its] = len(ranking) - np.searchsorted(ranking, of_present[its], side="left")
            top[c] = ranking[-1]
    if np.isnan(top).any():  # sorting puts nan last
        refuse_nan()
    return Ranks(pointers, of_present, _hits(of_present, pointers), images, sizes, top)


def _hits(scores: NDArray[Any], pointers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of a class's present images score at least as high; arguments as in Ranks."""
    place = np.arange(len(scores))
    first = np.ones(len(scores), bool)  # of those that tie
    first[1:] = scores[1:] != scores[:-1]
    first[pointers[:-1][pointers[:-1] < len(scores)]] = True
    first_place = np.maximum.accumulate(np.where(first, place, 0))
    return np.repeat(pointers[1:], np.diff(pointers)) - first_place


def _picked(scores: Any, images: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Single entries of scores, as an array."""
    if not is_tensor(scores):
        return scores[images, classes]
    import torch

    at = [torch.from_numpy(np.asarray(i, np.int64)).to(scores.device) for i in (images, classes)]
    return on_host(scores[at[0], at[1]])


def _on_device(scores: Any, present: Any, known: Any, classes: slice) -> Ranks:
    """Ranks of these classes on the device of the scores: one sort, two running counts.

    Only present images come back. Everything is counted in integers, so that any device gives the
    same as numpy.
    """
    import torch

    block = scores[:, classes].t()
    L, N = block.shape
    block, order = block.contiguous().sort(dim=1)
    shown = _marks_on(present, classes, block.device).gather(1, order)
    counts = torch.ones_like(shown)
    if known is not None:
        counts = _marks_on(known, classes, block.device).gather(1, order)
        shown &= counts
    del order
    if (block.isnan() & counts).any():
        refuse_nan()
    at = shown.flatten().nonzero().flatten()
    rows = at // max(1, N)
    # Where, in the flattened sorted block, the scores begin that equal those of present images.
    begins = torch.ones_like(block, dtype=torch.bool)
    begins[:, 1:] = block[:, 1:] != block[:, :-1]
    run = begins.flatten().cumsum(0, dtype=torch.int32)[at]
    left = begins.flatten().nonzero().flatten()[run.long() - 1]
    hits = shown.sum(1).cumsum(0)[rows] - _before(shown, left)
    images = N - left % max(1, N)
    if known is not None:
        images = counts.sum(1).cumsum(0)[rows] - _before(counts, left)
    top = np.full(L, -np.inf)
    if N:
        # An index rather than the scores with -inf elsewhere, which whole numbers do not have.
        place = torch.arange(1, N + 1, device=block.device, dtype=torch.int32)
        last = torch.where(counts, place, 0).amax(1).long()
        highest = block.gather(1, (last - 1).clamp(min=0)[:, None])[:, 0]
        top = np.where(on_host(last) > 0, on_host(highest).astype(np.float64), -np.inf)
    return Ranks(
        np.append(0, np.cumsum(on_host(shown.sum(1)))),
        on_host(block.flatten()[at]),
        on_host(hits),
        on_host(images),
        on_host(counts.sum(1)),
        top,
    )


def _before(marks: Any, at: Any) -> Any:
    """How many marks stand before these places of the flattened block."""
    import torch

    flat = marks.flatten()
    return flat.cumsum(0, dtype=torch.int32)[at].long() - flat[at].long()


def _marks_on(labels: Any, classes: slice, device: Any) -> Any:
    """(classes, N) bool on the device."""
    import torch

    if is_tensor(labels):
        return labels[:, classes].t().to(device).bool()
    if not issparse(labels):
        return torch.from_numpy(np.array(labels[:, classes] != 0)).to(device).t()
    N, width = labels.shape[0], classes.stop - classes.start
    block = torch.zeros(width * N, dtype=torch.bool, device=device)
    block[torch.from_numpy(places(labels, classes)).to(device)] = True
    return block.view(width, N)
