"""Where a training runs, and with what precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from simkit.chance import Chance
from simkit.errors import BadInput

_COMPILER: Any = "inductor"


def device_of(name: str | torch.device, *, needed: bool = True) -> torch.device:
    """ "auto", "cpu", "cuda", "cuda:1". Raises BadInput for what there is not.

    auto: a GPU where there is one and it is `needed`, that is for backbones; heads on features
    stay on the CPU.
    """
    if isinstance(name, torch.device):
        return name
    if name == "auto":
        name = "cuda" if needed and torch.cuda.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise BadInput(
            f"device is {name!r}; auto, cpu, cuda or a GPU's number, as cuda:1, is meant"
        )
    if kind == "cuda":
        count = torch.cuda.device_count()
        if not torch.cuda.is_available() or int(number or 0) >= count:
            raise BadInput(f"device is {name!r}, and torch sees {count} GPUs; use auto or cpu")
    return torch.device(name)


def autocast(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """Inside the block a backbone computes in bf16 where its precision says so."""
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


@contextmanager
def keyed(device: torch.device, chance: Chance) -> Iterator[None]:
    """torch's own generators (dropout) are keyed by `chance` inside, and put back afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        seed = chance.seed()
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


def laid_out(backbone: nn.Module, device: torch.device) -> nn.Module:
    """The backbone on its device, convolutions with their channels last as GPUs like them best.

    On a CPU they stay as they are.
    """
    if device.type == "cuda":
        return backbone.to(device, memory_format=torch.channels_last)
    return backbone.to(device)


def compiled(backbone: nn.Module) -> None:
    """Let torch.compile work on a backbone, in place, at its first batch; for one batch size."""
    backbone.compile(dynamic=False, backend=_COMPILER)


def plain(backbone: nn.Module | None) -> AbstractContextManager[Any]:
    """Inside the block a compiled backbone runs as it is written, so that nothing is compiled anew.

    For what has another size or mode than the batches of training: their last one, and evaluation.
    """
    if getattr(backbone, "_compiled_call_impl", None) is None:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")  # type: ignore[no-any-return]


def on_device(values: Any, device: torch.device) -> torch.Tensor:
    """An array as a tensor on the device, by way of pinned memory so that nothing waits for it."""
    found = torch.from_numpy(values)
    if device.type != "cuda":
        return found.to(device)
    return found.pin_memory().to(device, non_blocking=True)
