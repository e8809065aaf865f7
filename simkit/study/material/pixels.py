"""Pictures and backbones of a comparison that trains whole networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from simkit.data import Dataset
from simkit.embed.backbones import backbone
from simkit.embed.features.features import cache_folder
from simkit.embed.networks.base import Backbone
from simkit.learn.feeding.inputs import ImageInputs
from simkit.learn.feeding.pictures import SizedPictures
from simkit.study.material.shown import Shown, check_pictures, decoded

Side = int | None  # of pictures in pixels; None: the backbone's own


@dataclass(frozen=True, eq=False)
class Pixels:
    """The network as it begins for every side of pictures, and by split and side the pictures."""

    data: Dataset
    splits: tuple[str, ...]
    networks: Mapping[Side, Backbone]
    pictures: Mapping[tuple[str, int], SizedPictures]

    @staticmethod
    def open(
        data: Dataset,
        *,
        splits: tuple[str, ...],
        network: str,
        weights: str,
        sizes: tuple[Side, ...],
        progress: Callable[[int, int], None] = lambda done, of: None,
    ) -> Pixels:
        """Pictures are decoded into the cache folder, where any other process finds them.

        progress gets (pictures done, pictures). Raises BadInput for splits without pictures, for
        pictures that cannot be read and for weights that do not fit.
        """
        for split in splits:
            check_pictures(data, split)
        found = {size: backbone(network, weights or None, size=size) for size in sizes}
        how: dict[str, Any] = {"cache": cache_folder(), "progress": progress}
        sides = dict.fromkeys(net.size for net in found.values())
        pictures = {
            (split, side): decoded(data, split, side, **how) for split in splits for side in sides
        }
        return Pixels(data, splits, found, pictures)

    def inputs(self, split: str, shown: Shown) -> ImageInputs:
        """The pictures of a split as they are shown."""
        return shown.inputs(self.pictures[split, self.networks[shown.size].size])

    @cached_property  # the weights are read through for it
    def ids(self) -> dict[str, str]:
        """Content ids of the pictures and of the networks."""
        names = {f"pictures {split}": self.data.pictures[split].id for split in self.splits}
        return names | {network_key(size): net.id for size, net in self.networks.items()}

    @cached_property
    def work(self) -> dict[Side, int]:
        """For each side, how many multiplications and additions the network takes for a picture."""
        return {size: _counted(net) for size, net in self.networks.items()}


def _counted(net: Backbone) -> int:
    """Of convolutions and linear layers: nearly all of it, but for the attention of a ViT."""
    found = 0

    def count(layer: Any, given: Any, out: Tensor) -> None:
        nonlocal found
        found += 2 * out.numel() * layer.weight[0].numel()

    layers = [layer for layer in net.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    hooks = [layer.register_forward_hook(count) for layer in layers]
    try:
        with torch.no_grad():
            net(net.prepare(torch.zeros(1, 3, net.size, net.size, dtype=torch.uint8)))
    finally:
        for hook in hooks:
            hook.remove()
    return found


def network_key(size: Side) -> str:
    """What the network for pictures of this side is called among ids."""
    return f"backbone {size or 'of its own size'}"
