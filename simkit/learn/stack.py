"""Stacks: runs that are trained together, with their heads in one memory and one product."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.learn.distributed import keyed, on_device
from simkit.learn.inputs import CPU, Loader, Places
from simkit.learn.method import Method, stack_states, state_of_run
from simkit.learn.model import (
    Head,
    Model,
    backbone_maps,
    batches,
    check_inputs,
    initial,
    put,
    room,
    scores,
    standardised,
)
from simkit.learn.optim import Settings, regrouped
from simkit.learn.task import Batch, Outputs, Task
from simkit.learn.trained import Trained

Run = tuple[Task, Method]
_LABEL_BYTES = 1 << 29  # larger labels of a part stay sparse and become dense batch by batch


class RunWarning(UserWarning):
    """A warning about one run of a stack; run: its index in the caller's list."""

    def __init__(self, text: str, run: int) -> None:
        super().__init__(text)
        self.run = run


class Heads:
    """The linear heads of R runs: weight (R, L, D), bias (R, L); all start with the same values.

    shares: number of runs of each method, and whether it uses class maps; those with maps come
    last, with one product for each method. The others are computed by one product.
    """

    def __init__(self, weight: Tensor, bias: Tensor, shares: Sequence[tuple[int, bool]]) -> None:
        R = sum(runs for runs, _ in shares)
        self.weight = nn.Parameter(weight.expand(R, *weight.shape[-2:]).contiguous())
        self.bias = nn.Parameter(bias.expand(R, bias.shape[-1]).contiguous())
        self._pooled = [runs for runs, maps in shares if not maps]
        self._products = [sum(self._pooled)] if self._pooled else []
        self._products += [runs for runs, maps in shares if maps]

    def forward(self, features: Tensor) -> list[Outputs]:
        """Outputs (r, b, L) of each share, for features (b, D) or maps of them (b, D, h, w)."""
        pooled = features if features.ndim == 2 else features.mean((-2, -1))
        outs = []
        weights, biases = [self.weight], [self.bias]
        if len(self._products) > 1:
            weights, biases = (x.split(self._products) for x in (self.weight, self.bias))
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            if k == 0 and self._pooled:
                logits = _product(pooled, weight, bias).movedim(1, 0)
                seen = pooled.detach()
                outs += [Outputs(part, None, seen) for part in logits.split(self._pooled)]
                continue
            maps = features if features.ndim == 4 else features[:, :, None, None]
            b, _, h, w = maps.shape
            values = _product(maps.flatten(2).mT.flatten(0, 1), weight, bias)
            values = values.unflatten(0, (b, h, w)).permute(3, 0, 4, 1, 2)
            # The means of the maps, without reading them.
            logits = _product(pooled, weight, bias).movedim(1, 0)
            outs.append(Outputs(logits, values, pooled.detach()))
        return outs


def _product(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(n, D) rows to (n, r, L)."""
    return F.linear(rows, weight.flatten(0, 1), bias.flatten()).unflatten(1, bias.shape)


@dataclass(eq=False)
class Part:
    """Runs of one method (equal values) at one learning rate; tensors have a leading run axis.

    runs: their indices in the caller's list.  labels (r, n, L) int8 of the asked images, or (1, n,
    L) if all runs have the same; large ones sparse, (n, L) each.  state: stacked.  head: views of
    the memory of all heads, whose rows begin at `start`.
    """

    method: Method
    runs: tuple[int, ...]
    lr: float
    labels: Tensor | list[csr_array]
    state: nn.Module
    start: int = 0
    head: Head = field(init=False)

    def batch(self, index: Tensor, place: Places, where: Tensor, **about: Any) -> Batch:
        """The batch of all runs of this part, at `place` among the asked images.

        index, where: rows of the task, and `place`, on the device.
        """
        if isinstance(self.labels, Tensor):
            labels = self.labels.index_select(1, where)
        else:
            dense = np.stack([codes[place].toarray() for codes in self.labels])
            labels = on_device(dense, index.device)
        return Batch(index, labels.expand(len(self.runs), -1, -1), **about)


@dataclass(frozen=True, eq=False)
class Setup:
    """Common arguments of the phases of a training.

    backbone: None for heads on features.  frozen: do not train it.  before: number of earlier
    epochs of the methods.
    """

    settings: Settings
    chance: Chance
    device: torch.device = CPU
    backbone: nn.Module | None = None
    frozen: bool = False
    before: int = 0


@dataclass(frozen=True, eq=False)
class Begun:
    """The start of a phase: weight (L, D), bias (L), and the stacked state of one run."""

    weight: Tensor
    bias: Tensor
    state: nn.Module


class Stack:
    """All parts, with their heads in one memory, and the backbone if there is one."""

    def __init__(
        self,
        runs: Sequence[Run],
        lrs: Sequence[float],
        loader: Loader,
        setup: Setup,
        begun: Begun | None = None,
    ) -> None:
        self.runs, self.rows, self.loader = runs, runs[0][0].rows, loader
        self.settings, self.chance, self.device = setup.settings, setup.chance, setup.device
        self.backbone, self.frozen, self.before = setup.backbone, setup.frozen, setup.before
        grouped: dict[tuple[Method, float], list[int]] = {}
        for run, (_, method) in enumerate(runs):
            grouped.setdefault((method, lrs[run]), []).append(run)
        labels: dict[str, csr_array] = {}  # of the asked images, each selected once
        self.parts: list[Part] = []
        for (method, lr), members in sorted(  # those with maps last
            grouped.items(), key=lambda item: item[0][0].needs.maps
        ):
            tasks = [runs[run][0] for run in members]
            for task in tasks:
                if task.labels.id not in labels:
                    labels[task.labels.id] = csr_array(task.labels.codes[task.rows])
            ids = [task.labels.id for task in tasks]
            codes: Any = [labels[id] for id in (ids if len(set(ids)) > 1 else ids[:1])]
            if len(codes) * codes[0].shape[0] * codes[0].shape[1] <= _LABEL_BYTES:
                dense = np.stack([each.toarray() for each in codes])
                codes = torch.from_numpy(dense).to(self.device)
            if begun is None:
                started = (self._start(method, runs[run][0], run) for run in members)
                state = stack_states(started, len(tasks))
            else:
                state = begun.state
            self.parts.append(Part(method, tuple(members), lr, codes, state.to(self.device)))
        classes = runs[0][0].sizes.classes
        weight, bias = initial(self.chance.of("head"), classes, loader.width)
        if begun is not None:
            weight, bias = begun.weight, begun.bias
        shares = [(len(part.runs), part.method.needs.maps) for part in self.parts]
        self.heads = Heads(weight.to(self.device), bias.to(self.device), shares)
        start = 0
        for part in self.parts:
            part.start, rows = start, slice(start, start + len(part.runs))
            part.head = Head(self.heads.weight.data[rows], self.heads.bias.data[rows])
            start = rows.stop
        self.place = {run: (part, k) for part in self.parts for k, run in enumerate(part.runs)}

    def _start(self, method: Method, task: Task, run: int) -> nn.Module:
        """The state of one run; warnings of its method name the run."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            state = method.start(task, self.chance.of("state", method.name))
        for warning in caught:
            text = warning.message
            named = RunWarning(str(text), run) if warning.category is UserWarning else text
            warnings.warn(named, stacklevel=4)
        return state

    def groups(self) -> list[dict[str, Any]]:
        """Parameter groups of every part, from its method."""
        groups, vectors = [], set()
        backbone = None if self.frozen else self.backbone
        for part in self.parts:
            model = Model(part.head, backbone=backbone, head_ratio=self.settings.head_ratio)
            groups += part.method.groups(model, part.state, part.lr)
            learned = [*part.head.parameters(), *part.state.parameters()]
            vectors |= {id(p) for p in learned if p.ndim <= 2}  # the first dimension is the run
        if not self.settings.decay_vectors:
            if backbone is not None:
                vectors |= {id(p) for p in backbone.parameters() if p.ndim <= 1}
        return regrouped(groups, set() if self.settings.decay_vectors else vectors)

    @contextmanager
    def training(self, epoch: int) -> Iterator[None]:
        """Training mode; torch's generators (dropout) are keyed, and restored afterwards."""
        if self.backbone is None:
            yield
            return
        was_training = self.backbone.training
        with keyed(self.device, self.chance.of("step", epoch)):
            self.backbone.train(not self.frozen)
            yield
        self.backbone.train(was_training)

    def forward(self, x: Tensor) -> list[Outputs]:
        """Outputs of every part, for features or, with a backbone, for uint8 images."""
        if self.backbone is not None:
            with torch.set_grad_enabled(not self.frozen):
                x = backbone_maps(self.backbone, x, self.settings.precision)
        return self.heads.forward(x)

    def zero_grad(self) -> None:
        """Reset all gradients."""
        self.heads.weight.grad = self.heads.bias.grad = None
        modules = [part.state for part in self.parts]
        for module in modules if self.backbone is None else [*modules, self.backbone]:
            module.zero_grad(set_to_none=True)

    def share_gradients(self) -> None:
        """Give every part its rows of the heads' gradients, as views."""
        assert self.heads.weight.grad is not None and self.heads.bias.grad is not None
        for part in self.parts:
            rows = slice(part.start, part.start + len(part.runs))
            part.head.weight.grad = self.heads.weight.grad[rows]
            part.head.bias.grad = self.heads.bias.grad[rows]

    def weights(self) -> dict[str, Tensor]:
        """Tensors of heads and backbone, with its statistics, by name; without states."""
        weights = {"heads.weight": self.heads.weight.data, "heads.bias": self.heads.bias.data}
        if self.backbone is not None and not self.frozen:
            weights |= {f"backbone.{k}": v for k, v in self.backbone.state_dict().items()}
        return weights

    def model(self, run: int) -> Model:
        """The model of one run, sharing memory with the stack."""
        part, k = self.place[run]
        return Model(
            Head(part.head.weight.data[k], part.head.bias.data[k]),
            shift=self.loader.shift.to(self.device),
            scale=self.loader.scale.to(self.device),
            backbone=self.backbone,
            precision=self.settings.precision,
        )

    def state(self, run: int) -> nn.Module:
        """The state of one run, sharing memory with the stack."""
        part, k = self.place[run]
        return state_of_run(part.state, k)

    @torch.no_grad()
    def scores(self, inputs: Any, known: csr_array | None = None) -> list[Tensor]:
        """(r, N, L) float32 logits of every part, on its device; or as in `room`."""
        if self.backbone is not None:  # a single run
            alone = self.model(0), self.parts[0].method, self.state(0)
            return [scores(*alone, inputs, known=known)[None]]
        check_inputs(self.model(0), inputs)
        shape = len(inputs), self.heads.bias.shape[1]
        logits = [room((len(part.runs), *shape), known, self.device) for part in self.parts]
        for rows, outs in _outputs(self.heads, inputs, self.loader.shift, self.loader.scale):
            for part, out, values in zip(self.parts, outs, logits, strict=True):
                put(values, rows, part.method.predict(out, part.state), known)
        return logits


@torch.no_grad()
def scores_of_all(trained: Sequence[Trained], inputs: Any) -> Tensor:
    """(R, N, L) float32 logits of heads that were trained together on features.

    Equal to those of `scores` of each to 1e-5; inputs are read once, with one product. Raises
    BadInput for inputs of another kind or width.
    """
    first = trained[0].model
    check_inputs(first, inputs)
    order = sorted(range(len(trained)), key=lambda k: trained[k].method.needs.maps)  # maps last
    weights, biases = zip(*(trained[k].model.head.parameters() for k in order), strict=True)
    shares = [(1, trained[k].method.needs.maps) for k in order]
    heads = Heads(torch.stack(weights), torch.stack(biases), shares)
    logits = torch.empty(len(trained), len(inputs), first.head.bias.shape[0])
    for rows, outs in _outputs(heads, inputs, first.shift, first.scale):
        for out, k in zip(outs, order, strict=True):
            logits[k, rows] = trained[k].method.predict(out.of_run(0), trained[k].state).float()
    return logits


def _outputs(
    heads: Heads, inputs: Any, shift: Tensor, scale: Tensor
) -> Iterator[tuple[slice, list[Outputs]]]:
    """Outputs of all heads, for one block of rows of the inputs after the other."""
    device = heads.weight.device
    shift, scale = shift.to(device), scale.to(device)
    for rows in batches(len(inputs)):
        x = inputs.batch(np.arange(rows.start, rows.stop)).to(device)
        yield rows, heads.forward(standardised(x, shift, scale))
