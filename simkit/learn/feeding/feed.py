"""What the loop is fed: features that lie ready in memory, or pictures through a backbone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.feeding.ahead import store_for
from simkit.learn.feeding.augment import Views, shown
from simkit.learn.feeding.inputs import FeatureInputs, ImageInputs
from simkit.learn.heads.heads import standardised
from simkit.learn.machines.devices import autocast as _autocast
from simkit.learn.machines.devices import on_device

_CHUNK = 512  # images worked on at a time
_CPU = torch.device("cpu")
_RESIDENT_BYTES = 2 << 30  # maps above this stay where they are and are read batch by batch


@dataclass(frozen=True, eq=False)
class Fed:
    """One batch: pooled (b, D), points (b, h * w, D) or None, shape (h, w).

    boxes (b, 4), flips (b,) and vertical (b,) say how the pictures were cropped and mirrored, left
    to right and top to bottom, each or None.
    """

    pooled: Tensor
    points: Tensor | None
    shape: tuple[int, int]
    boxes: Tensor | None = None
    flips: Tensor | None = None
    vertical: Tensor | None = None


class Feed(Protocol):
    """Batches of the asked images; `place` counts along them, not along all images."""

    width: int
    shift: Tensor
    scale: Tensor

    def expect(self, batches: Sequence[NDArray[np.int64]]) -> None:
        """The places of the batches that come next, in this order; reading them may begin."""
        ...

    def batch(self, place: NDArray[np.int64], *, epoch: int) -> Fed: ...


def feed_for(
    inputs: Any,
    rows: NDArray[np.int64],
    *,
    maps: bool,
    standardise: bool,
    backbone: nn.Module | None,
    chance: Chance,
    device: torch.device = _CPU,
    autocast: bool = False,
) -> Feed:
    """The feed for these inputs; maps: whether any method looks at them.

    device: where batches are wanted.  autocast: whether the backbone computes in bf16.
    """
    where: dict[str, Any] = {"maps": maps, "device": device}
    if backbone is not None:
        return PictureFeed(inputs, rows, backbone, chance=chance, autocast=autocast, **where)
    return FeatureFeed(inputs, rows, standardise=standardise, **where)


class FeatureFeed:
    """Standardised features of the asked images as float32 in memory."""

    def __init__(
        self,
        inputs: FeatureInputs,
        rows: NDArray[np.int64],
        *,
        maps: bool,
        standardise: bool,
        device: torch.device = _CPU,
    ) -> None:
        self._inputs, self._rows, self._device = inputs, rows, device
        self.width = inputs.width
        pooled = torch.cat([_pooled(inputs.batch(part)) for part in _chunks(rows)])
        self.shift, self.scale = moments(pooled)
        if not standardise:
            self.shift, self.scale = torch.zeros(self.width), torch.ones(self.width)
        self._pooled = standardised(pooled, self.shift, self.scale).to(device)
        self._points: Tensor | None = None
        self._maps = maps
        if maps and 4 * len(rows) * int(np.prod(inputs.values.shape[1:])) <= _RESIDENT_BYTES:
            self._points = torch.cat([self._read(part) for part in _chunks(rows)]).to(device)

    def expect(self, batches: Sequence[NDArray[np.int64]]) -> None:
        """Nothing is to be read."""

    def batch(self, place: NDArray[np.int64], *, epoch: int) -> Fed:
        index = on_device(place, self._device)
        shape = tuple(self._inputs.values.shape[2:]) or (1, 1)
        points = None
        if self._maps:
            resident = self._points
            read = self._read(self._rows[place]).to(self._device) if resident is None else None
            points = resident[index] if resident is not None else read
        return Fed(self._pooled[index], points, shape)

    def _read(self, rows: NDArray[np.int64]) -> Tensor:
        values = standardised(self._inputs.batch(rows), self.shift, self.scale)
        return values.flatten(2).mT.contiguous()


class PictureFeed:
    """Maps of the asked pictures under a backbone that learns.

    How pictures are shown is drawn ahead for an epoch and sent to the device once; cropping and
    mirroring happen there.
    """

    def __init__(
        self,
        inputs: ImageInputs,
        rows: NDArray[np.int64],
        backbone: nn.Module,
        *,
        maps: bool,
        chance: Chance,
        device: torch.device = _CPU,
        autocast: bool = False,
    ) -> None:
        self._device, self._autocast = device, autocast
        self._inputs, self._rows, self._backbone, self._maps = inputs, rows, backbone, maps
        self._chance = chance
        self._store = store_for(inputs, rows, device)
        self._drawn: tuple[int, Views] | None = None
        self.width: int = backbone.width
        self.shift, self.scale = torch.zeros(self.width), torch.ones(self.width)

    def expect(self, batches: Sequence[NDArray[np.int64]]) -> None:
        self._store.expect(batches)

    def batch(self, place: NDArray[np.int64], *, epoch: int) -> Fed:
        index = on_device(place, self._device)
        views = self._views(epoch).at(index)
        pictures = self._backbone.prepare(shown(self._store.take(place, index), views))
        if self._device.type == "cuda":  # as the backbone lies there
            pictures = pictures.contiguous(memory_format=torch.channels_last)
        with _autocast(self._device, "bf16" if self._autocast else "fp32"):
            maps = self._backbone(pictures)
        maps = maps.float()  # heads and losses are computed in fp32
        points = maps.flatten(2).mT if self._maps else None
        pooled, shape = maps.mean((-2, -1)), (maps.shape[-2], maps.shape[-1])
        return Fed(pooled, points, shape, views.boxes, views.flips, views.vertical)

    def _views(self, epoch: int) -> Views:
        if self._drawn is None or self._drawn[0] != epoch:
            drawn = self._inputs.views(self._rows, self._chance, epoch=epoch)
            self._drawn = (epoch, drawn.to(self._device))
        return self._drawn[1]


def moments(pooled: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation of every feature over images, (n, D) to (D) and (D) float32.

    A feature that does not vary gets deviation 1. Raises BadInput for nan and infinity.
    """
    values = pooled.double()
    mean = values.mean(0)
    deviation = (values - mean).square().mean(0).sqrt()
    if not bool(torch.isfinite(deviation).all()):
        raise BadInput("the features hold nan or infinity; compute them again or clean them first")
    flat = deviation <= 1e-6 * mean.abs().clamp(min=1e-6)
    return mean.float(), torch.where(flat, 1.0, deviation).float()


def _pooled(features: Tensor) -> Tensor:
    return features if features.ndim == 2 else features.mean((-2, -1))


def _chunks(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
