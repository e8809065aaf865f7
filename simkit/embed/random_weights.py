"""Random weights under which the features of every network are of order one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from simkit.embed.networks.base import Backbone

_PICTURES = 8
_SIDE = 96
_GRIDS = (2, 6, 24, 96)  # squares along a side, from large patches to single pixels
_SEED = 0


def balance(net: Backbone) -> None:
    """Set the statistics of every batch norm from eight generated pictures, as training would.

    Without them each layer scales what it gets by a constant, and in a deep network the constants
    multiply: features under random weights then vanish or leave the range of fp16. Networks that
    normalise otherwise stay as they are. Statistics are computed in float64 and kept to eight
    bits, so that threads and processors give the same weights. Source: Ioffe and Szegedy,
    ICML 2015, algorithm 1.
    """
    norms = [layer for layer in net.modules() if isinstance(layer, nn.BatchNorm2d)]
    if not norms:
        return
    hooks = [layer.register_forward_pre_hook(_settle) for layer in norms]
    try:
        with torch.no_grad():
            net.double().eval()(net.prepare(_pictures()).double())
    finally:
        for hook in hooks:
            hook.remove()
        net.float()


def _settle(layer: nn.BatchNorm2d, given: tuple[Tensor]) -> None:
    variance, mean = torch.var_mean(given[0], (0, 2, 3), correction=0)
    for own, found in ((layer.running_mean, mean), (layer.running_var, variance)):
        assert own is not None
        own.copy_(found.bfloat16())


def _pictures() -> Tensor:
    """(8, 3, 96, 96) uint8: patches of colour of four sizes, one size in a picture or all."""
    chance = torch.Generator().manual_seed(_SEED)
    shape = (_PICTURES, 3, _SIDE, _SIDE)
    layers = torch.empty(len(_GRIDS), *shape, dtype=torch.int64)
    for layer, squares in zip(layers, _GRIDS, strict=True):
        drawn = torch.randint(0, 256, (_PICTURES, 3, squares, squares), generator=chance)
        each = _SIDE // squares
        layer[:] = drawn.repeat_interleave(each, 2).repeat_interleave(each, 3)
    found = layers.sum(0) // len(_GRIDS)
    for picture, layer in enumerate(layers):
        found[picture] = layer[picture]
    return found.to(torch.uint8)
