"""Where pictures lie while a network learns from them: on the device, or read ahead of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.learn.feeding.inputs import ImageInputs

Places = NDArray[np.int64]
Read = Callable[[Places], Tensor]
SHARE = 0.6  # of the GPU's free memory that pictures may fill; the rest is for the network
_AHEAD = 3  # batches that are read before they are asked for
_CHUNK = 256


class Store(Protocol):
    """uint8 pictures (n, 3, H, W) of the asked images, by their places."""

    def expect(self, batches: Sequence[Places]) -> None:
        """The batches that will be taken next, in this order; reading them may begin."""
        ...

    def take(self, place: Places, index: Tensor) -> Tensor:
        """(b, 3, H, W) on the device, of the pictures at `place`; index: the same, there."""
        ...


def store_for(inputs: ImageInputs, rows: Places, device: torch.device) -> Store:
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
    """All pictures on the device; a batch is taken there."""

    def __init__(self, read: Read, n: int, device: torch.device) -> None:
        first = read(np.zeros(1, np.int64))
        self._pictures = torch.empty((n, *first.shape[1:]), dtype=torch.uint8, device=device)
        parts = [np.arange(s, min(s + _CHUNK, n)) for s in range(0, n, _CHUNK)]
        source = Streamed(read, device, ahead=_AHEAD)
        source.expect(parts)
        for part in parts:
            self._pictures[part[0] : part[-1] + 1] = source.take(part)

    def expect(self, batches: Sequence[Places]) -> None:
        """Nothing is to be read."""

    def take(self, place: Places, index: Tensor) -> Tensor:
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
