"""Looking on while runs are trained: each run is shown as if it were trained alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from torch import Tensor, nn

from simkit.learn.heads.stack import Part, Stack
from simkit.learn.method import state_of_run
from simkit.learn.task import Batch, Outputs


class Watcher(Protocol):
    """Called in every step, after the optimiser and before the method's state is updated.

    What it is shown lies where training runs. It may also have `after_epoch(epoch, model, state)`,
    called when an epoch has ended.
    """

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None: ...


Watch = Mapping[int, Sequence[Watcher]]  # watchers by the place of their run


def show_batch(watch: Watch, epoch: int, part: Part, batch: Batch, out: Outputs) -> None:
    """Show one step of a part to the watchers of its runs."""
    for k, run in enumerate(part.runs):
        for watcher in watch.get(run, ()):
            seen = Batch(batch.index, batch.labels[k], batch.boxes, batch.flips)
            maps = None if out.maps is None else out.maps[k]
            watcher(
                epoch, seen, Outputs(out.logits[k], maps, out.features), state_of_run(part.state, k)
            )


def show_epoch(watch: Watch, epoch: int, stack: Stack) -> None:
    """Show the end of an epoch to the watchers that want to know."""
    for run, watchers in watch.items():
        for watcher in watchers:
            look = getattr(watcher, "after_epoch", None)
            if look is not None:
                look(epoch, stack.model(run), stack.state(run))


def detached(out: Outputs) -> Outputs:
    """The same outputs without gradients."""

    def free(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor.detach()

    return Outputs(out.logits.detach(), free(out.maps), free(out.features))
