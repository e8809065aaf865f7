"""Spatial consistency loss (SCL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.methods.base import Batch, Needs, Outputs, Sizes, Task, register
from simkit.learn.methods.pieces import heat_maps
from simkit.learn.methods.pieces.consistency import Consistency

_SIDE = 28  # of heat maps where that of the class maps is not known: twice 14, pictures of 448


@register
@dataclass(frozen=True)
class SpatialConsistencyLoss(Consistency):
    """Hold what the model says of each place of a picture close to what it said of it before.

    Works around any method. A heat map per image and class (`side` by `side`, by default twice the
    class maps, uint8) remembers what was said of every place through random crops and mirroring;
    without them a picture is compared with itself, which teaches little. mapped: keep the heat
    maps, 4.1 GB for COCO, in a file of the cache folder instead of memory. Trained models are
    without heat maps. The paper keeps ten classes an image on ImageNet; here all are kept.
    """

    side: int | None = None  # cells of a kept map in each direction; none: by the class maps
    mapped: bool = False  # keep the maps in a file, not in memory

    name: ClassVar[str] = "scl"
    title: ClassVar[str] = "SCL"
    gist: ClassVar[str] = "crops must agree in place"
    alternative: ClassVar = {"weight": 0.1}
    source: ClassVar[str] = "Verelst et al., WACV 2023"

    own_needs: ClassVar[Needs] = Needs(maps=True, views=True, labels=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.side is not None and self.side < 1:
            raise BadInput(f"scl: side is {self.side}; a number of cells from 1 on is expected")

    def state_bytes(self, sizes: Sizes) -> int:
        cells = 0 if self.mapped else self._side(sizes) ** 2
        return super().state_bytes(sizes) + sizes.images * sizes.classes * cells

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        assert isinstance(task, Task)
        maps = heat_maps.initial_maps(task, self._side(task.sizes), mapped=self.mapped)
        state.register_buffer("heat", maps)
        state.for_training = ("heat",)
        state.in_file = ("heat",) if self.mapped else ()
        return state

    def extra(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        maps = self._maps(out)
        h, w = maps.shape[-2:]
        kept = heat_maps.before(state.heat, batch, h, w, maps.dtype)
        return self.term(maps.flatten(-3), kept.flatten(-3), state)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        super().after_batch(batch, out, state)
        said = torch.sigmoid(self._maps(out).detach())
        changed = heat_maps.after(state.heat, batch, said, self.mu)
        state.heat.index_copy_(-4, batch.index, changed)

    def _side(self, sizes: Sizes) -> int:
        known = _SIDE if sizes.map_side is None else 2 * sizes.map_side
        return known if self.side is None else self.side

    def _maps(self, out: Outputs) -> Tensor:
        if out.maps is None:
            raise BadInput(
                "method 'scl' compares class maps, and the outputs hold none; train it on maps "
                '(features of kind "maps"), or give Outputs(maps=...)'
            )
        return out.maps if out.maps.dtype.itemsize > 2 else out.maps.float()
