"""Execution of a training: device, precision, and several processes, one for each GPU.

torchrun --nproc-per-node 4 --no-python simkit train --fine-tune ...
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.learn.task import Needs, Outputs

T = TypeVar("T")
_PATIENCE = timedelta(days=1)  # torchrun ends all processes if one fails; validation may be long


def not_compiled(backbone: nn.Module | None) -> AbstractContextManager[Any]:
    """Within the block a compiled backbone runs uncompiled, which avoids recompilation.

    For inputs of another size or mode than the batches of training: the last batch, and evaluation.
    """
    if getattr(backbone, "_compiled_call_impl", None) is None:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")  # type: ignore[no-any-return]


def on_device(values: Any, device: torch.device) -> torch.Tensor:
    """An array as a tensor on the device, copied asynchronously from pinned memory."""
    on_cpu = torch.from_numpy(values)
    if device.type != "cuda":
        return on_cpu.to(device)
    return on_cpu.pin_memory().to(device, non_blocking=True)


@dataclass(frozen=True)
class Team:
    """The processes that train together, including this one; by default it trains alone.

    Every process has the same stack. It passes its own part of every batch through the backbone and
    the heads; their outputs are gathered, so that each process computes the loss of the whole
    batch, whatever a method selects in it, and learns from its own part. Every process also holds
    the whole state of a method and updates it by the whole batch: memory for a state is needed once
    per process, and heat maps in a file (scl) need one file per process.

    Results equal those of one process to about 1e-5, for every method, with three exceptions: batch
    normalisation uses the part of each process, as usual in data-parallel training (running
    statistics are averaged), dropout differs between processes, and where a method selects labels
    by a threshold, rounding may select another one, after which trainings differ more. Weights and
    checkpoints must be readable by all processes.
    """

    rank: int = 0
    processes: int = 1
    local: int = 0  # rank on this machine

    @property
    def first(self) -> bool:
        """Whether this process validates, writes files and reports progress."""
        return self.rank == 0

    def device(self, device: torch.device) -> torch.device:
        """The GPU of this process, if GPUs are used. Raises BadInput if there are too few."""
        if self.processes == 1 or device.type != "cuda":
            return device
        if self.local >= torch.cuda.device_count():
            raise BadInput(
                f"torchrun started more than {self.local} processes here, and torch sees "
                f"{torch.cuda.device_count()} GPUs; start one for each GPU, or use device='cpu'"
            )
        torch.cuda.set_device(self.local)
        return torch.device("cuda", self.local)

    def begin(self, done: int, tensors: Iterable[Tensor]) -> None:
        """Give all processes these tensors of the first.

        Raises BadInput if processes have read checkpoints with another number of epochs `done`.
        """
        if self.processes == 1:
            return
        epochs = self.gathered(torch.tensor([done]), self.processes).tolist()
        if len(set(epochs)) > 1:
            raise BadInput(
                f"the processes go on after {', '.join(map(str, epochs))} epochs; keep the "
                "checkpoint where all of them can read it"
            )
        self.broadcast(tensors)

    def broadcast(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite tensors by the first process's, as GPUs may differ in the last bit."""
        for tensor in tensors if self.processes > 1 else ():
            sent = tensor.to(torch.uint8) if tensor.dtype == torch.bool else tensor.contiguous()
            dist.broadcast(sent, 0)
            tensor.copy_(sent)

    def part(self, place: NDArray[np.int64]) -> NDArray[np.int64]:
        """The indices of a batch (b,) that this process works on.

        All processes have the same number; the last index is repeated if there are too few.
        """
        each = -(-len(place) // self.processes)
        places = np.arange(self.rank * each, (self.rank + 1) * each)
        return place[np.minimum(places, len(place) - 1)]

    def whole(self, out: Outputs, images: int, needs: Needs) -> Outputs:
        """The outputs of all `images` of a batch from those of this part, with gradients.

        needs: of the method that uses them; features that it does not need may be omitted.
        """
        if self.processes == 1:
            return out
        features = self.gathered(out.features, images) if needs.features else None
        if out.maps is None:
            return Outputs(self.gathered(out.logits, images, -2), None, features)
        maps = self.gathered(out.maps, images, -4)
        return Outputs(maps.mean((-2, -1)), maps, features)

    def gathered(self, values: Any, images: int, dim: int = 0) -> Any:
        """The rows of all `images` of a batch, along `dim`, from those of this part; or None."""
        if values is None or self.processes == 1:
            return values
        mine = values.movedim(dim, 0)
        # Not every back end can send booleans.
        sent = mine.detach().to(torch.uint8 if mine.dtype == torch.bool else mine.dtype)
        rows = sent.new_empty((self.processes * len(sent), *sent.shape[1:]))
        dist.all_gather_into_tensor(rows, sent.contiguous())
        rows = rows.to(mine.dtype)
        if mine.requires_grad:
            # Every process computes the same loss of all rows, so that each takes the gradient of
            # its own rows and the backward pass sends nothing.
            start = self.rank * len(mine)
            rows = torch.cat([rows[:start], mine, rows[start + len(mine) :]])
        return rows[:images].movedim(0, dim)

    def reduce(self, summed: Sequence[Tensor], meant: Sequence[Tensor]) -> None:
        """Replace tensors by their sums, or by their means, over the processes.

        They are on one device; one message is sent for each dtype.
        """
        if self.processes == 1:
            return
        with torch.no_grad():
            for tensor in meant:
                tensor.div_(self.processes)
            tensors = [*summed, *meant]
            for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
                group = [tensor for tensor in tensors if tensor.dtype == dtype]
                flat = torch.cat([tensor.reshape(-1) for tensor in group])
                dist.all_reduce(flat)
                parts = flat.split([tensor.numel() for tensor in group])
                for tensor, part in zip(group, parts, strict=True):
                    tensor.copy_(part.view(tensor.shape))

    def from_first(self, compute: Callable[[], T]) -> T:
        """The result of `compute` in the first process, which alone calls it."""
        if self.processes == 1:
            return compute()
        result: list[Any] = [compute() if self.first else None]
        dist.broadcast_object_list(result)
        return result[0]  # type: ignore[no-any-return]

    def in_turn(self, make: Callable[[], T]) -> T:
        """Call `make` in the first process and then in the others, which read its files."""
        if self.first:
            made = make()
        self.from_first(lambda: None)  # the others wait here
        return made if self.first else make()


_current = Team()


def current_team() -> Team:
    """The processes of the `together` block around, else this process alone."""
    return _current


@contextmanager
def together() -> Iterator[Team]:
    """Within the block, the processes started by torchrun train together.

    Without torchrun it is a single process.
    """
    global _current
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield _current
        return
    gpu = torch.cuda.is_available()
    dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo", timeout=_PATIENCE)
    _current = Team(dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"]))
    try:
        yield _current
    finally:
        _current = Team()
        dist.destroy_process_group()
