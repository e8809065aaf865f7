"""The epochs of a training loop of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from simkit.learn.methods.base import Method


def epochs(
    count: int, method: Method, state: nn.Module, scores: Callable[[], Tensor] | None = None
) -> Iterator[int]:
    """1 to `count`; after the body of each the method brings its state up to date (`after_epoch`).

    scores: gives the (N, L) logits of all images. It is called, without gradients, where
    `method.needs.epoch_scores`; without it such a method raises BadInput. A `break` in the body
    ends the training, and its epoch counts for nothing.
    """
    for epoch in range(1, count + 1):
        yield epoch
        with torch.no_grad():
            read = scores() if scores and method.needs.epoch_scores else None
            method.after_epoch(epoch, read, state)
