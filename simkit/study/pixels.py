"""Pictures and backbones of a comparison that trains whole networks."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch.utils.flop_counter import FlopCounterMode

from simkit.data import Dataset
from simkit.embed.backbones import backbone
from simkit.embed.networks.base import Backbone
from simkit.learn.inputs import ImageInputs
from simkit.learn.pictures import SizedPictures
from simkit.study.shown import Shown, check_pictures, decoded

Side = int | None  # of pictures in pixels; None: the backbone's own


@dataclass(frozen=True, eq=False)
class Pixels:
    """The pictures of some splits, and the network as it begins for every side of them."""

    data: Dataset
    splits: tuple[str, ...]
    networks: Mapping[Side, Backbone]
    _decoded: dict[tuple[str, int], SizedPictures] = field(default_factory=dict, repr=False)

    @staticmethod
    def open(
        data: Dataset,
        *,
        splits: tuple[str, ...],
        network: str,
        weights: str,
        sizes: tuple[Side, ...],
    ) -> Pixels:
        """Raises BadInput for splits without pictures and for weights that do not fit."""
        for split in splits:
            check_pictures(data, split)
        found = {size: backbone(network, weights or None, size=size) for size in sizes}
        return Pixels(data, splits, found)

    def inputs(self, split: str, shown: Shown) -> ImageInputs:
        """The pictures of a split; decoded once, whatever is shown of them."""
        side = self.networks[shown.size].size
        if (split, side) not in self._decoded:
            self._decoded[split, side] = decoded(self.data, split, side)
        return shown.inputs(self._decoded[split, side])

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
    blank = torch.empty(1, 3, net.size, net.size, dtype=torch.uint8, device="meta")
    there = copy.deepcopy(net).to("meta")  # where nothing is computed but shapes
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        there(there.prepare(blank))
    return int(counter.get_total_flops())


def network_key(size: Side) -> str:
    """What the network for pictures of this side is called among ids."""
    return f"backbone {size or 'of its own size'}"
