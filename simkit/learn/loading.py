"""Data loading: features in memory, images on the device or prefetched."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.distributed import on_device
from simkit.learn.inputs import FeatureInputs, ImageInputs, Views, shown
from simkit.learn.model import batches, standardised

Places = NDArray[np.int64]
CPU = torch.device("cpu")
SHARE = 0.6  # largest share of the GPU's free memory for images; the rest is for the network
_RESIDENT_BYTES = 2 << 30  # larger maps stay on disk and are read batch by batch
_AHEAD = 3  # prefetched batches
_CHUNK = 256  # inputs read at a time


class Loader(Protocol):
    """Batches of the asked images; `place` is an index among them, not among all images.

    shift, scale (D): for the standardisation of features.
    """

    width: int
    shift: Tensor
    scale: Tensor

    def batches(self, places: Sequence[Places], epoch: int) -> Iterator[tuple[Tensor, Views]]:
        """Features (b, D) or (b, D, h, w), or images (b, 3, H, W) uint8, and their views."""
        ...


class FeatureLoader:
    """Standardised features of the asked images as float32: maps if `maps`, else pooled."""

    def __init__(
        self,
        inputs: FeatureInputs,
        rows: Places,
        *,
        maps: bool,
        standardise: bool,
        device: torch.device = CPU,
    ) -> None:
        self._inputs, self._rows, self._device = inputs, rows, device
        self.width = inputs.width
        chunks = [rows[part] for part in batches(len(rows), _CHUNK)]
        pooled = torch.cat([_pooled(inputs.batch(chunk)) for chunk in chunks])
        self.shift, self.scale = moments(pooled)
        if not standardise:
            self.shift, self.scale = torch.zeros(self.width), torch.ones(self.width)
        self._values: Tensor | None = None
        if not maps:
            self._values = standardised(pooled, self.shift, self.scale).to(device)
        elif 4 * len(rows) * int(np.prod(inputs.values.shape[1:])) <= _RESIDENT_BYTES:
            self._values = torch.cat([self._maps(chunk) for chunk in chunks]).to(device)

    def batches(self, places: Sequence[Places], epoch: int) -> Iterator[tuple[Tensor, Views]]:
        for place in places:
            if self._values is None:
                values = self._maps(self._rows[place]).to(self._device)
            else:
                values = self._values[on_device(place, self._device)]
            yield values if values.ndim == 2 else values.movedim(-1, 1), Views()

    def _maps(self, rows: Places) -> Tensor:
        """(n, h, w, D): channels last, as for one matrix product."""
        values = standardised(self._inputs.batch(rows), self.shift, self.scale)
        return values.movedim(1, -1).contiguous()


class ImageLoader:
    """Images of the asked rows, cropped and mirrored on the device.

    A GPU holds all of them if they take at most SHARE of its free memory; otherwise they are
    prefetched. Views are drawn for a whole epoch and sent to the device once.
    """

    def __init__(
        self,
        inputs: ImageInputs,
        rows: Places,
        width: int,
        *,
        chance: Chance,
        device: torch.device = CPU,
    ) -> None:
        self._inputs, self._rows, self._chance, self._device = inputs, rows, chance, device
        self.width, self.shift, self.scale = width, torch.zeros(width), torch.ones(width)
        self._resident: Tensor | None = None
        if room_for(len(rows) * self._read(np.arange(1)).numel(), device):
            self._resident = self._all()

    def batches(self, places: Sequence[Places], epoch: int) -> Iterator[tuple[Tensor, Views]]:
        drawn = self._inputs.views(self._rows, self._chance, epoch=epoch).to(self._device)
        images = iter(()) if self._resident is not None else self._streamed(places)
        for place in places:
            index = on_device(place, self._device)
            views = drawn.at(index)
            batch = next(images) if self._resident is None else self._resident[index]
            yield shown(batch, views), views

    def _read(self, place: Places) -> Tensor:
        return self._inputs.batch(self._rows[place])

    def _streamed(self, places: Sequence[Places]) -> Iterator[Tensor]:
        return streamed(self._read, places, self._device, _AHEAD * (self._device.type == "cuda"))

    def _all(self) -> Tensor:
        """All images on the device, uint8 (n, 3, H, W)."""
        n = len(self._rows)
        shape = self._read(np.arange(1)).shape[1:]
        images = torch.empty((n, *shape), dtype=torch.uint8, device=self._device)
        chunks = [np.arange(n)[part] for part in batches(n, _CHUNK)]
        for chunk, read in zip(chunks, self._streamed(chunks), strict=True):
            images[chunk[0] : chunk[-1] + 1] = read
        return images


def room_for(size: int, device: torch.device) -> bool:
    """Whether the bytes are at most SHARE of a GPU's free memory; False on a CPU."""
    if device.type != "cuda":
        return False
    torch.cuda.empty_cache()  # cached memory of an earlier training would not count as free
    return size <= SHARE * torch.cuda.mem_get_info(device)[0]


def streamed(
    read: Callable[[Places], Tensor], places: Sequence[Places], device: torch.device, ahead: int
) -> Iterator[Tensor]:
    """Batches on the device, of which a thread prefetches up to `ahead`.

    For a GPU they are read into pinned memory and copied asynchronously.
    """

    def pinned(place: Places) -> Tensor:
        images = read(place)
        if device.type != "cuda":
            return images
        with torch.cuda.device(device):  # the default of a new thread is the first GPU
            return images.pin_memory()

    pool = ThreadPoolExecutor(1, thread_name_prefix="images")
    waiting: deque[Future[Tensor]] = deque()
    try:
        for place in places:
            waiting.append(pool.submit(pinned, place))
            if len(waiting) > ahead:
                yield waiting.popleft().result().to(device, non_blocking=True)
        while waiting:
            yield waiting.popleft().result().to(device, non_blocking=True)
    finally:
        pool.shutdown(cancel_futures=True)


def moments(pooled: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of every feature over images, (n, D) to (D) and (D) float32.

    A constant feature gets deviation 1. Raises BadInput for nan and infinity.
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
