"""Runs that are trained together: sorted into parts of equal method and learning rate."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.learn.feeding.feed import Fed, Feed
from simkit.learn.heads.heads import HeadStack, Model, Share, initial
from simkit.learn.machines.devices import keyed
from simkit.learn.method import Method, stack_states, state_of_run
from simkit.learn.steps.optim import Settings
from simkit.learn.steps.optimiser import joined, without_decay
from simkit.learn.task import Batch, Outputs, Task

Run = tuple[Task, Method]
CPU = torch.device("cpu")


class RunWarning(UserWarning):
    """A warning about one run of a stack; run: its place in what the caller gave."""

    def __init__(self, text: str, run: int) -> None:
        super().__init__(text)
        self.run = run


@dataclass(eq=False)
class Part:
    """Runs of one method (equal values) at one learning rate; tensors carry a leading run axis.

    runs: their places in what the caller gave.  labels (r, n, L) int8 of the asked images, or
    (1, n, L) where all runs learn from the same.  state: stacked.  share: of the heads.
    """

    method: Method
    runs: tuple[int, ...]
    lr: float
    labels: Tensor
    state: nn.Module
    share: Share = field(init=False)

    def batch(
        self,
        index: Tensor,
        place: Tensor,
        flips: Tensor | None,
        boxes: Tensor | None = None,
        share: float = 1.0,
    ) -> Batch:
        """The batch of all runs of this part; share: of the images of a step."""
        chosen = self.labels.index_select(1, place)
        return Batch(index, chosen.expand(len(self.runs), -1, -1), boxes, flips, share)

    @property
    def out(self) -> Outputs:
        """What the heads of this part said in this step."""
        return self.share.seen


@dataclass(frozen=True, eq=False)
class Begun:
    """Where a training goes on from: weight (L, D), bias (L), and a state of one run, stacked."""

    weight: Tensor
    bias: Tensor
    state: nn.Module


class Stack:
    """All parts, their heads in one memory, and the backbone where there is one.

    frozen: the backbone stays as it is.  before: epochs that the methods have seen already.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        lrs: Sequence[float],
        feed: Feed,
        *,
        settings: Settings,
        chance: Chance,
        backbone: nn.Module | None = None,
        device: torch.device = CPU,
        frozen: bool = False,
        begun: Begun | None = None,
        before: int = 0,
    ) -> None:
        self.runs, self.rows = runs, runs[0][0].rows
        self.feed, self.backbone, self.settings, self.chance = feed, backbone, settings, chance
        self.device, self.frozen, self.before = device, frozen, before
        grouped: dict[tuple[Method, float], list[int]] = {}
        for run, (_, method) in enumerate(runs):
            grouped.setdefault((method, lrs[run]), []).append(run)
        ordered = sorted(grouped.items(), key=lambda item: item[0][0].needs.maps)  # maps last
        dense: dict[str, Tensor] = {}
        self.parts = [
            _part(runs, members, method, lr, dense, chance, None if begun is None else begun.state)
            for (method, lr), members in ordered
        ]
        for part in self.parts:
            part.labels, part.state = part.labels.to(device), part.state.to(device)
        L = runs[0][0].sizes.classes
        weight, bias = initial(chance.of("head"), L, feed.width)
        if begun is not None:
            weight, bias = begun.weight, begun.bias
        shares = [(len(part.runs), part.method.needs.maps) for part in self.parts]
        self.heads = HeadStack(weight.to(device), bias.to(device), shares)
        for part, share in zip(self.parts, self.heads.shares, strict=True):
            part.share = share
        self.place = {run: (part, k) for part in self.parts for k, run in enumerate(part.runs)}

    def groups(self) -> list[dict[str, Any]]:
        """Parameter groups of every part, as its method wants them."""
        found, vectors = [], set()
        backbone = None if self.frozen else self.backbone
        for part in self.parts:
            model = Model(part.share.head, backbone=backbone, head_ratio=self.settings.head_ratio)
            found += part.method.groups(model, part.state, part.lr)
            own = [*part.share.head.parameters(), *part.state.parameters()]
            vectors |= {id(p) for p in own if p.ndim <= 2}  # the first dimension is that of runs
        if not self.settings.decay_vectors:
            if backbone is not None:
                vectors |= {id(p) for p in backbone.parameters() if p.ndim <= 1}
            found = without_decay(found, vectors)
        return joined(found)

    @contextmanager
    def training(self, epoch: int) -> Iterator[None]:
        """Training mode; torch's own generators (dropout) are keyed, and put back afterwards."""
        if self.backbone is None:
            yield
            return
        was_training = self.backbone.training
        with keyed(self.device, self.chance.of("step", epoch)):
            self.backbone.train(not self.frozen)
            yield
        self.backbone.train(was_training)

    def forward(self, fed: Fed) -> None:
        """Set the outputs of every part."""
        self.heads.forward(fed.pooled, fed.points, fed.shape)

    def backward(
        self, fed: Fed, losses: Sequence[Tensor], *, share: float = 1.0, add: bool = False
    ) -> None:
        """Gradients of the summed losses (r,) of every part, down to heads, states and backbone.

        share: of the images of a step that these losses are about; add: to gradients of others.
        """
        if not add:
            for part in self.parts:
                for parameter in part.state.parameters():
                    parameter.grad = None
            if self.backbone is not None:
                self.backbone.zero_grad(set_to_none=True)
        whole = [
            loss.sum() if share == 1 or part.method.sums else loss.sum() * share
            for part, loss in zip(self.parts, losses, strict=True)
        ]
        torch.autograd.backward(whole)
        found = self.heads.backward(fed.pooled, fed.points, add=add)
        below = zip((fed.pooled, fed.points), found, strict=True)
        pairs = [
            (tensor, grad) for tensor, grad in below if tensor is not None and grad is not None
        ]
        if pairs:
            torch.autograd.backward(*zip(*pairs, strict=True))

    def gradients(self) -> Iterator[Tensor]:
        """Those of the heads, of all states and of the backbone, to be changed in place."""
        yield from (self.heads.weight_grad, self.heads.bias_grad)
        modules = [part.state for part in self.parts]
        for module in modules if self.backbone is None else [*modules, self.backbone]:
            for parameter in module.parameters():
                if parameter.grad is not None:
                    yield parameter.grad

    def weights(self) -> dict[str, Tensor]:
        """Of heads and backbone, with its statistics, by name; not those of states."""
        found = {"heads.weight": self.heads.weight, "heads.bias": self.heads.bias}
        if self.backbone is not None and not self.frozen:
            found |= {f"backbone.{k}": v for k, v in self.backbone.state_dict().items()}
        return found

    def model(self, run: int) -> Model:
        """The model of one run, sharing memory with the stack."""
        part, k = self.place[run]
        head = type(part.share.head)(part.share.head.weight.data[k], part.share.head.bias.data[k])
        return Model(
            head,
            shift=self.feed.shift.to(self.device),
            scale=self.feed.scale.to(self.device),
            backbone=self.backbone,
            precision=self.settings.precision,
        )

    def state(self, run: int) -> nn.Module:
        """The state of one run, sharing memory with the stack."""
        part, k = self.place[run]
        return state_of_run(part.state, k)


def _part(
    runs: Sequence[Run],
    members: Sequence[int],
    method: Method,
    lr: float,
    dense: dict[str, Tensor],
    chance: Chance,
    begun: nn.Module | None,
) -> Part:
    tasks = [runs[run][0] for run in members]
    begin = (_start(method, *pair, chance) for pair in zip(tasks, members, strict=True))
    for task in tasks:
        if task.labels.id not in dense:
            dense[task.labels.id] = torch.from_numpy(task.labels.rows(task.rows))
    same = len({task.labels.id for task in tasks}) == 1
    labels = torch.stack([dense[task.labels.id] for task in (tasks[:1] if same else tasks)])
    state = stack_states(begin, len(tasks)) if begun is None else begun
    return Part(method, tuple(members), lr, labels, state)


def _start(method: Method, task: Task, run: int, chance: Chance) -> nn.Module:
    """The state of one run; what its method warns about is said of this run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state = method.start(task, chance.of("state", method.name))
    for one in caught:
        about = RunWarning(str(one.message), run) if one.category is UserWarning else one.message
        warnings.warn(about, stacklevel=4)
    return state
