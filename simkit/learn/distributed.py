"""Execution of a training: device, precision, and several processes, one for each GPU.

torchrun --nproc-per-node 4 --no-python simkit train --fine-tune ...
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.task import Needs, Outputs

if TYPE_CHECKING:
    from simkit.learn.stack import Stack

T = TypeVar("T")
_PATIENCE = timedelta(days=1)  # torchrun ends all processes if one fails; validation may be long


@contextmanager
def keyed(device: torch.device, chance: Chance) -> Iterator[None]:
    """Within the block torch's generators (dropout) are keyed by `chance`; restored afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        seed = chance.seed()
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


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

    first: whether this process validates, writes files and reports progress.
    """

    def __init__(self, rank: int = 0, processes: int = 1, local: int = 0) -> None:
        self.rank, self.processes, self.local = rank, processes, local
        self.first = rank == 0

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

    def begin(self, stack: Stack, done: int) -> None:
        """Give all processes the weights and states of the first.

        Raises BadInput if processes have read different checkpoints.
        """
        if self.processes == 1:
            return
        epochs = self._all(torch.tensor([done])).tolist()
        if len(set(epochs)) > 1:
            raise BadInput(
                f"the processes go on after {', '.join(map(str, epochs))} epochs; keep the "
                "checkpoint where all of them can read it"
            )
        self.broadcast(stack.weights().values())
        for part in stack.parts:
            self.broadcast(part.state.state_dict().values())

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
            return Outputs(_Gather.apply(out.logits, images, -2, self), None, features)
        maps = _Gather.apply(out.maps, images, -4, self)
        return Outputs(maps.mean((-2, -1)), maps, features)

    def gathered(self, values: Tensor | None, images: int) -> Tensor | None:
        """The rows of all `images` of a batch from those of this part."""
        if values is None or self.processes == 1:
            return values
        local = values.detach().contiguous()
        if local.dtype == torch.bool:  # not every back end can send booleans
            return self._all(local.to(torch.uint8))[:images].bool()
        return self._all(local)[:images]

    def sum_gradients(self, stack: Stack) -> None:
        """Replace the gradients of this part by those of the whole batch.

        Those of heads and backbone are sent in one message; states have those of the whole batch
        already. Means of states' gradients and of the statistics of batch normalisation are sent as
        well, which keeps all processes identical; not those of parameters with a row for each image
        (role), which are large and depend on single entries.
        """
        if self.processes == 1:
            return
        summed = [x.grad for x in (stack.heads.weight, stack.heads.bias) if x.grad is not None]
        images = stack.runs[0][0].sizes.images
        states = [grad for part in stack.parts for grad in _gradients(part.state)]
        meant = [grad for grad in states if grad.shape[1:2] != (images,)]
        if stack.backbone is not None and not stack.frozen:
            summed += _gradients(stack.backbone)
            meant += [x for x in stack.backbone.buffers() if x.is_floating_point()]
        with torch.no_grad():
            for tensor in meant:
                tensor.div_(self.processes)
            _sum([*summed, *meant])

    def from_first(self, find: Callable[[], list[float]]) -> list[float]:
        """The result of `find` in the first process, which alone calls it."""
        if self.processes == 1:
            return find()
        found = [find() if self.first else None]
        dist.broadcast_object_list(found)
        assert found[0] is not None
        return found[0]

    def in_turn(self, make: Callable[[], T]) -> T:
        """Call `make` in the first process and then in the others, which read its files."""
        if not self.first:
            self.from_first(list)
        made = make()
        if self.first:
            self.from_first(list)
        return made

    def _all(self, local: Tensor) -> Tensor:
        """(p * m, ...) the rows of all processes from the (m, ...) of this one."""
        gathered = local.new_empty((self.processes * len(local), *local.shape[1:]))
        dist.all_gather_into_tensor(gathered, local)
        return gathered


class _Gather(torch.autograd.Function):
    """Rows of all processes along `dim`; each process gets the gradient of its own rows.

    Every process computes the same loss of all rows, so that the backward pass sends nothing.
    """

    @staticmethod
    def forward(ctx: Any, local: Tensor, images: int, dim: int, team: Team) -> Tensor:
        ctx.dim, ctx.each = dim, local.shape[dim]
        ctx.start = team.rank * ctx.each
        gathered = team.gathered(local.movedim(dim, 0), images)
        assert gathered is not None
        return gathered.movedim(0, dim)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        rows = grads[0].movedim(ctx.dim, 0)
        mine = rows[ctx.start : ctx.start + ctx.each]
        grad = rows.new_zeros((ctx.each, *rows.shape[1:]))  # repeated rows count once
        grad[: len(mine)] = mine
        return grad.movedim(0, ctx.dim), None, None, None


def _gradients(module: nn.Module) -> list[Tensor]:
    return [p.grad for p in module.parameters() if p.grad is not None]


def _sum(tensors: Sequence[Tensor]) -> None:
    """Sum tensors of one device over processes, in place; one message for each dtype."""
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
        group = [tensor for tensor in tensors if tensor.dtype == dtype]
        flat = torch.cat([tensor.reshape(-1) for tensor in group])
        dist.all_reduce(flat)
        parts = flat.split([tensor.numel() for tensor in group])
        for tensor, part in zip(group, parts, strict=True):
            tensor.copy_(part.view(tensor.shape))


@contextmanager
def together() -> Iterator[Team]:
    """Within the block, the processes started by torchrun; without torchrun a single process."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield Team()
        return
    gpu = torch.cuda.is_available()
    dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo", timeout=_PATIENCE)
    try:
        yield Team(dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"]))
    finally:
        dist.destroy_process_group()
