"""Devices: where networks compute, in which precision, and batches that fit into the memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from simkit.errors import BadInput

T = TypeVar("T")
Precision = Literal["fp32", "tf32", "bf16"]
_MARGIN = 0.9  # of the spare memory may be filled; the rest is for fragments
_FREED = (1 << 25) - (1 << 16)  # bytes, just below the largest limit of glibc
# Processes that train heads on one GPU, at most, and bytes of it for each. A step of heads sends
# more than a thousand small operations, and eight processes send as fast as a GPU computes them
# (benchmarks/grid_gpu.py).
_TOGETHER, _EACH = 8, 4 << 30


def device_of(name: str | torch.device, *, needed: bool = True, mps: bool = False) -> torch.device:
    """ "auto", "cpu", "cuda", "cuda:1", and "mps" where it is accepted. Raises BadInput for
    unavailable devices.

    auto: a CUDA GPU if there is one and it is `needed`, that is for backbones; heads on features
    stay on the CPU.
    """
    if isinstance(name, torch.device):
        return name
    if name == "auto":
        name = "cuda" if needed and torch.cuda.is_available() else "cpu"
    if name == "mps" and mps and torch.backends.mps.is_available():
        return torch.device(name)
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise BadInput(
            f"device is {name!r}; auto, cpu, cuda or a numbered GPU such as cuda:1 is expected, "
            "or for features and scores mps on a Mac that has it"
        )
    if kind == "cuda":
        count = torch.cuda.device_count()
        if not torch.cuda.is_available() or int(number or 0) >= count:
            raise BadInput(f"device is {name!r}, and torch sees {count} GPUs; use auto or cpu")
    return torch.device(name)


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """Within the block, GPUs multiply float32 numbers in full, or in TF32 for "tf32".

    By default convolutions on GPUs use TF32, which has no more digits than fp16. The switches of
    the process are restored: by torch's current attributes, since reading the older `allow_tf32`
    is an error where a process uses these. A switch that follows the one of all back ends still
    follows it afterwards.
    """
    wanted = "tf32" if precision == "tf32" else "ieee"
    switches: list[Any] = [torch.backends.cuda.matmul]
    switches += [torch.backends.cudnn.conv, torch.backends.cudnn.rnn]
    before = [switch.fp32_precision for switch in switches]
    try:
        for switch in switches:
            switch.fp32_precision = wanted
        yield
    finally:
        for switch, value in zip(switches, before, strict=True):
            switch.fp32_precision = "none"
            if switch.fp32_precision != value:
                switch.fp32_precision = value


def channels_last(images: Tensor) -> Tensor:
    """Images (b, C, H, W) with the channels last in memory; other inputs of networks, such as
    tokens, as they are."""
    return images.contiguous(memory_format=torch.channels_last) if images.ndim == 4 else images


def keep_memory() -> None:
    """Let the process keep freed memory for the next layers, up to 64 MB for each thread.

    glibc raises its limits to a block of up to 32 MB that it once freed. Below them it returns the
    memory of a layer to the system, which clears it again for the next one: 40 % of the time of
    MobileNetV2 (benchmarks/results/features.md). Other systems ignore it.
    """
    torch.empty(_FREED, dtype=torch.uint8)


def usable(precision: Precision, device: torch.device) -> Precision:
    """The precision, or "fp32" with a warning for "bf16" on a CPU without instructions for it,
    where bf16 was measured to take 5 to 23 times as long."""
    if precision != "bf16" or device.type != "cpu" or _multiplies_bf16():
        return precision
    warnings.warn(
        "precision is bf16, and this processor has no instructions for it, so that fp32 is many "
        "times faster; fp32 is used",
        stacklevel=3,
    )
    return "fp32"


def _multiplies_bf16() -> bool:
    """Whether the CPU has instructions for products in bf16."""
    flags = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    arm = torch.backends.cpu.get_cpu_capability().startswith("SVE")
    return arm or any(getattr(torch.cpu, flag, bool)() for flag in flags)


class Batches:
    """Computation in batches, which are halved where the memory of a GPU is too small.

    Parameters
    ----------
    size
        Items in a batch, also of later calls if it was halved.
    of
        Their name for messages, such as "images".
    """

    def __init__(self, size: int, device: torch.device, of: str = "images") -> None:
        self.size, self.device, self.of = size, device, of

    def over(self, n: int, compute: Callable[[slice], T]) -> Iterator[tuple[slice, T]]:
        """Results of `compute` for items 0 to n, a slice of them after the other.

        Raises BadInput if the memory is too small for a single item.
        """
        start = 0
        while start < n:
            part = slice(start, min(start + self.size, n))
            found = self._tried(compute, part)
            if found:
                yield part, found[0]
                start = part.stop
            else:
                # The failed computation has ended here and its tensors are released.
                torch.cuda.empty_cache()
                self._halve(part.stop - part.start)

    @staticmethod
    def _tried(compute: Callable[[slice], T], part: slice) -> tuple[T] | tuple[()]:
        try:
            return (compute(part),)
        except torch.OutOfMemoryError:
            return ()

    def _halve(self, count: int) -> None:
        if count == 1:
            raise BadInput(
                f"the memory of {self.device} is too small for one of the {self.of}; end other "
                "programs on it, use smaller images or a smaller network, or the device cpu"
            )
        self.size = count // 2
        warnings.warn(
            f"the memory of {self.device} is too small for {count:,} {self.of} at once; it goes "
            f"on with {self.size:,}",
            stacklevel=4,
        )


def heads_together(device: torch.device) -> int:
    """Number of processes that share a GPU to train heads."""
    return int(max(1, min(_TOGETHER, torch.cuda.mem_get_info(device)[1] // _EACH)))


def room_for(size: int, device: torch.device) -> bool:
    """Whether a GPU can hold so many bytes beside the largest need since `watch_memory`."""
    return device.type == "cuda" and size <= spare_memory(device)


def watch_memory(device: torch.device) -> None:
    """Begin to note the largest need of memory."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def spare_memory(device: torch.device) -> int:
    """Bytes of a GPU beyond the needs of other programs and this process at its peak."""
    torch.cuda.empty_cache()  # what torch keeps in reserve would not count as free
    free, kept = torch.cuda.mem_get_info(device)[0], torch.cuda.memory_reserved(device)
    return int(_MARGIN * (free + kept - torch.cuda.max_memory_allocated(device)))
