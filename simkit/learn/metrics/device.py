"""Ranks of present images from tensors, sorted on the device that holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit.learn.metrics.blocks import is_tensor, places
from simkit.learn.metrics.ranks import Ranks, refuse_nan

_BLOCK_SCORES = 1 << 25  # torch's sort and the counts take about 50 bytes for each of them


def widest(images: int) -> int:
    """How many classes make a block."""
    return max(1, _BLOCK_SCORES // max(1, images))


def picked(scores: torch.Tensor, rows: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Single entries of scores, as an array."""
    at = [torch.from_numpy(np.asarray(i, np.int64)).to(scores.device) for i in (rows, classes)]
    return _array(scores[at[0], at[1]])


def ranks_of_block(scores: torch.Tensor, present: Any, known: Any, classes: slice) -> Ranks:
    """Ranks of these classes: one sort, two running counts; only present images come back.

    Everything is counted in integers, so that any device gives the same as numpy.
    """
    block = scores[:, classes].t()
    L, N = block.shape
    block, order = block.contiguous().sort(dim=1)
    shown = _block(present, classes, block.device).gather(1, order)
    counts = None
    if known is not None:
        counts = _block(known, classes, block.device).gather(1, order)
        shown &= counts
    del order
    nan = block.isnan() if counts is None else block.isnan() & counts
    if nan.any():
        refuse_nan()
    at = shown.flatten().nonzero().flatten()
    left = _first_of_ties(block, at)
    rows = at // max(1, N)
    hits_before = _before(shown, left)
    hits_up_to = shown.sum(1).cumsum(0)[rows]
    if counts is None:
        sizes = torch.full((L,), N, device=block.device)
        images = N - left % max(1, N)
    else:
        sizes = counts.sum(1)
        images = sizes.cumsum(0)[rows] - _before(counts, left)
    return Ranks(
        classes,
        np.append(0, np.cumsum(_array(shown.sum(1)))),
        _array(block.flatten()[at]),
        _array(hits_up_to - hits_before),
        _array(images),
        _array(sizes),
        _top(block, counts),
    )


def _first_of_ties(block: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """Where, in the flattened sorted block, the scores begin that equal those at these places."""
    begins = torch.ones_like(block, dtype=torch.bool)
    begins[:, 1:] = block[:, 1:] != block[:, :-1]
    run = begins.flatten().cumsum(0, dtype=torch.int32)[at]
    return begins.flatten().nonzero().flatten()[run.long() - 1]


def _before(marks: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """How many marks stand before these places of the flattened block."""
    flat = marks.flatten()
    return flat.cumsum(0, dtype=torch.int32)[at].long() - flat[at].long()


def _top(block: torch.Tensor, counts: torch.Tensor | None) -> NDArray[np.float64]:
    if block.shape[1] == 0:
        return np.full(len(block), -np.inf)
    if counts is None:
        return _array(block[:, -1]).astype(np.float64)
    # An index rather than the scores with -inf elsewhere, which whole numbers do not have.
    place = torch.arange(1, block.shape[1] + 1, device=block.device, dtype=torch.int32)
    last = torch.where(counts, place, 0).amax(1).long()
    top = _array(block.gather(1, (last - 1).clamp(min=0)[:, None])[:, 0]).astype(np.float64)
    return np.where(_array(last) > 0, top, -np.inf)


def _block(labels: Any, classes: slice, device: torch.device) -> torch.Tensor:
    """(classes, N) bool on the device."""
    if is_tensor(labels):
        return labels[:, classes].t().to(device).bool()
    if not issparse(labels):
        return torch.from_numpy(np.array(labels[:, classes] != 0)).to(device).t()
    N, width = labels.shape[0], classes.stop - classes.start
    block = torch.zeros(width * N, dtype=torch.bool, device=device)
    block[torch.from_numpy(places(labels, classes)).to(device)] = True
    return block.view(width, N)


def _array(values: torch.Tensor) -> NDArray[Any]:
    values = values.float() if values.dtype == torch.bfloat16 else values
    return values.cpu().numpy()
