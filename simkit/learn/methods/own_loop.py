"""The epochs of a training loop of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from simkit.errors import BadInput, whole_number
from simkit.learn.methods.base import Method


def epochs(
    count: int, method: Method, state: nn.Module, scores: Callable[[], Tensor] | None = None
) -> Iterator[int]:
    """1 to `count`; after the body of each the method brings its state up to date (`after_epoch`).

    count: a whole number from 0; anything else raises BadInput.
    scores: gives the (N, L) logits of all images. It is called, without gradients, where
    `method.needs.epoch_scores`; without it such a method raises BadInput. A `break` in the body
    ends the training, and its epoch counts for nothing.
    """
    whole = whole_number(count, "the number of epochs")
    if whole < 0:
        raise BadInput(f"the number of epochs is {whole}; give 0 or more")
    return _epochs(whole, method, state, scores)


def _epochs(
    count: int, method: Method, state: nn.Module, scores: Callable[[], Tensor] | None
) -> Iterator[int]:
    for epoch in range(1, count + 1):
        yield epoch
        with torch.no_grad():
            read = scores() if scores and method.needs.epoch_scores else None
            method.after_epoch(epoch, read, state)
