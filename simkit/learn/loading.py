"""Data loading: features in memory, images on the device or read ahead of it."""

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
Read = Callable[[Places], Tensor]
CPU = torch.device("cpu")
SHARE = 0.6  # of the GPU's free memory that images may fill; the rest is for the network
_RESIDENT_BYTES = 2 << 30  # maps above this stay where they are and are read batch by batch
_AHEAD = 3  # batches that are read before they are asked for
_CHUNK = 256  # inputs read at a time


class Loader(Protocol):
    """Batches of the asked images; `place` counts along them, not along all images.

    shift, scale (D): what standardises the features.
    """

    width: int
    shift: Tensor
    scale: Tensor

    def expect(self, batches: Sequence[Places]) -> None:
        """The places of the batches that come next, in this order; reading them may begin."""

    def batch(self, place: Places, *, epoch: int) -> tuple[Tensor, Views]:
        """Features (b, D) or (b, D, h, w), or images (b, 3, H, W) uint8, and how they are shown."""
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

    def expect(self, batches: Sequence[Places]) -> None:
        """Nothing is to be read."""

    def batch(self, place: Places, *, epoch: int) -> tuple[Tensor, Views]:
        if self._values is None:
            values = self._maps(self._rows[place]).to(self._device)
        else:
            values = self._values[on_device(place, self._device)]
        return values if values.ndim == 2 else values.movedim(-1, 1), Views()

    def _maps(self, rows: Places) -> Tensor:
        """(n, h, w, D): the channels last, as one matrix product wants them."""
        values = standardised(self._inputs.batch(rows), self.shift, self.scale)
        return values.movedim(1, -1).contiguous()


class ImageLoader:
    """Images of the asked rows, cropped and mirrored on the device.

    How they are shown is drawn ahead for an epoch and sent to the device once.
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
        self._store = store_for(inputs, rows, device)
        self._drawn: tuple[int, Views] | None = None
        self.width, self.shift, self.scale = width, torch.zeros(width), torch.ones(width)

    def expect(self, batches: Sequence[Places]) -> None:
        self._store.expect(batches)

    def batch(self, place: Places, *, epoch: int) -> tuple[Tensor, Views]:
        if self._drawn is None or self._drawn[0] != epoch:
            drawn = self._inputs.views(self._rows, self._chance, epoch=epoch)
            self._drawn = (epoch, drawn.to(self._device))
        index = on_device(place, self._device)
        views = self._drawn[1].at(index)
        return shown(self._store.take(place, index), views), views


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


def store_for(inputs: ImageInputs, rows: Places, device: torch.device) -> Resident | Streamed:
    """On a GPU all pictures where they take at most SHARE of its free memory, else read ahead.

    On a CPU they are read when they are asked for, from wherever the inputs have them.
    """

    def read(place: Places) -> Tensor:
        return inputs.batch(rows[place])

    if device.type != "cuda":
        return Streamed(read, device, ahead=0)
    torch.cuda.empty_cache()  # what an earlier training left would not count as free
    free, _ = torch.cuda.mem_get_info(device)
    if len(rows) * read(np.zeros(1, np.int64)).numel() <= SHARE * free:
        return Resident(read, len(rows), device)
    return Streamed(read, device, ahead=_AHEAD)


class Resident:
    """All pictures on the device, uint8 (n, 3, H, W); a batch is taken there."""

    def __init__(self, read: Read, n: int, device: torch.device) -> None:
        first = read(np.zeros(1, np.int64))
        self._pictures = torch.empty((n, *first.shape[1:]), dtype=torch.uint8, device=device)
        parts = [np.arange(n)[rows] for rows in batches(n, _CHUNK)]
        source = Streamed(read, device, ahead=_AHEAD)
        source.expect(parts)
        for part in parts:
            self._pictures[part[0] : part[-1] + 1] = source.take(part)

    def expect(self, batches: Sequence[Places]) -> None:
        """Nothing is to be read."""

    def take(self, place: Places, index: Tensor) -> Tensor:
        """(b, 3, H, W) on the device, of the pictures at `place`; index: the same, there."""
        return self._pictures[index]


class Streamed:
    """Pictures are read batch by batch, `ahead` of them by a thread in the background.

    For a GPU they are read into pinned memory, from which they are sent without waiting.
    """

    def __init__(self, read: Read, device: torch.device, *, ahead: int) -> None:
        self._read, self._device, self._ahead = read, device, ahead
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="pictures") if ahead else None
        self._coming: Iterator[Places] = iter(())
        self._waiting: deque[tuple[Places, Future[Tensor]]] = deque()

    def expect(self, batches: Sequence[Places]) -> None:
        """The batches that will be taken next, in this order; reading them may begin."""
        self._forget()
        self._coming = iter(batches)
        self._fill()

    def take(self, place: Places, index: Tensor | None = None) -> Tensor:
        """As expected where this is the next batch; another one is read now."""
        if self._waiting and np.array_equal(self._waiting[0][0], place):
            pictures = self._waiting.popleft()[1].result()
            self._fill()
        else:
            self._forget()
            pictures = self._pinned(place)
        return pictures.to(self._device, non_blocking=True)

    def _fill(self) -> None:
        while self._pool is not None and len(self._waiting) < self._ahead:
            place = next(self._coming, None)
            if place is None:
                return
            self._waiting.append((place, self._pool.submit(self._pinned, place)))

    def _forget(self) -> None:
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()
        self._coming = iter(())

    def _pinned(self, place: Places) -> Tensor:
        pictures = self._read(place)
        if self._device.type != "cuda":
            return pictures
        with torch.cuda.device(self._device):  # a thread begins on the first GPU
            return pictures.pin_memory()
