"""Stacks: runs that are trained together, with their heads in one memory and one product.

A stack is the model of a whole training. Its runs are grouped into shares, one for each method and
learning rate, whose tensors have a leading run axis; a method computes its losses for all runs of
its share at once.
"""

from __future__ import annotations

import copy
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
from simkit.embed.devices import Batches, device_of
from simkit.learn.distributed import current_team, on_device
from simkit.learn.inputs import CPU, FeatureLoader, ImageLoader, Loader, Places
from simkit.learn.method import Method, stack_states, state_of_run
from simkit.learn.model import (
    BATCH,
    Head,
    Model,
    allocate,
    backbone_maps,
    check_inputs,
    initial,
    scatter,
    scores,
    standardised,
)
from simkit.learn.optim import regrouped
from simkit.learn.settings import Settings
from simkit.learn.task import Outputs, Task
from simkit.learn.trained import Trained

Run = tuple[Task, Method]
_LABEL_BYTES = 1 << 29  # larger labels of a share stay sparse and become dense batch by batch


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
        if len(self._products) > bool(self._pooled):  # some use class maps
            maps = features if features.ndim == 4 else features[:, :, None, None]
            b, _, h, w = maps.shape
            points = maps.flatten(2).mT.flatten(0, 1)  # a copy, unless channels are last in memory
        weights, biases = [self.weight], [self.bias]
        if len(self._products) > 1:
            weights, biases = (x.split(self._products) for x in (self.weight, self.bias))
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            if k == 0 and self._pooled:
                logits = _product(pooled, weight, bias).movedim(1, 0)
                seen = pooled.detach()
                outs += [Outputs(some, None, seen) for some in logits.split(self._pooled)]
                continue
            values = _product(points, weight, bias)
            values = values.unflatten(0, (b, h, w)).permute(3, 0, 4, 1, 2)
            # The means of the maps, without reading them.
            logits = _product(pooled, weight, bias).movedim(1, 0)
            outs.append(Outputs(logits, values, pooled.detach()))
        return outs


def _product(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(n, D) rows to (n, r, L)."""
    return F.linear(rows, weight.flatten(0, 1), bias.flatten()).unflatten(1, bias.shape)


@dataclass(eq=False)
class Share:
    """Runs of one method (equal values) at one learning rate; tensors have a leading run axis.

    runs: their indices in the caller's list.  labels (r, n, L) int8 of the asked images, or (1, n,
    L) if all runs have the same; large ones sparse, (n, L) each.  state: stacked.  head: views of
    the memory of all heads, of its `rows`.
    """

    method: Method
    runs: tuple[int, ...]
    lr: float
    labels: Tensor | list[csr_array]
    state: nn.Module
    rows: slice = field(init=False)
    head: Head = field(init=False)

    def labels_at(self, places: Places, where: Tensor) -> Tensor:
        """(r, b, L) labels at `places` among the asked images, which `where` has on the device."""
        if isinstance(self.labels, Tensor):
            labels = self.labels.index_select(1, where)
        else:
            dense = np.stack([codes[places].toarray() for codes in self.labels])
            labels = on_device(dense, where.device)
        return labels.expand(len(self.runs), -1, -1)


@dataclass(frozen=True, eq=False)
class StackInputs:
    """The inputs of a stack besides its runs, which are the same in both stages of a training.

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
class WarmStart:
    """The result of training the head of one run alone, from which training continues.

    weight (L, D), bias (L) of the head.  state: of the method, stacked.  curves: losses and mAP of
    these epochs, by name.
    """

    weight: Tensor
    bias: Tensor
    state: nn.Module
    curves: dict[str, list[float]]


class Stack:
    """All shares, with their heads in one memory, and the backbone if there is one."""

    def __init__(
        self,
        runs: Sequence[Run],
        lrs: Sequence[float],
        made_of: StackInputs,
        start: WarmStart | None = None,
    ) -> None:
        self.runs, self.rows = runs, runs[0][0].rows
        self.settings, self.chance, self.device = made_of.settings, made_of.chance, made_of.device
        self.backbone, self.frozen, self.before = made_of.backbone, made_of.frozen, made_of.before
        self.team = current_team()
        inputs = runs[0][0].inputs
        self.loader: Loader
        if self.backbone is not None:
            width: Any = self.backbone.width
            self.loader = ImageLoader(inputs, self.rows, width, self.chance, self.device)
        else:
            maps = any(method.needs.maps for _, method in runs)
            standardise = self.settings.standardise
            self.loader = FeatureLoader(
                inputs, self.rows, self.device, maps=maps, standardise=standardise
            )
        self.shares = self._shares(lrs, start)

        if start is None:
            classes = runs[0][0].sizes.classes
            weight, bias = initial(self.chance.of("head"), classes, self.loader.width)
        else:
            weight, bias = start.weight, start.bias
        sizes = [(len(share.runs), share.method.needs.maps) for share in self.shares]
        self.heads = Heads(weight.to(self.device), bias.to(self.device), sizes)
        first = 0
        for share in self.shares:
            share.rows = rows = slice(first, first + len(share.runs))
            share.head = Head(self.heads.weight.data[rows], self.heads.bias.data[rows])
            first = rows.stop
        # (R,) in the order of the shares: whether the loss of a batch is a sum over its images
        sums = [share.method.sums for share in self.shares for _ in share.runs]
        self.sums = torch.tensor(sums, device=self.device)
        self.place = {run: (share, k) for share in self.shares for k, run in enumerate(share.runs)}

    def _shares(self, lrs: Sequence[float], start: WarmStart | None) -> list[Share]:
        """Runs of equal methods and rates together; those with class maps last, as `Heads` has it.

        Equal values of a method share one computation of the loss, whatever their labels are.
        """
        grouped: dict[tuple[Method, float], list[int]] = {}
        for run, (_, method) in enumerate(self.runs):
            grouped.setdefault((method, lrs[run]), []).append(run)
        selected: dict[str, csr_array] = {}  # labels of the asked images, each selected once
        shares = []
        for (method, lr), members in sorted(
            grouped.items(), key=lambda item: item[0][0].needs.maps
        ):
            labels = [self.runs[run][0].labels for run in members]
            for each in labels:
                if each.id not in selected:
                    selected[each.id] = csr_array(each.codes[self.rows])
            ids = [each.id for each in labels]
            codes: Any = [selected[id] for id in (ids if len(set(ids)) > 1 else ids[:1])]
            if len(codes) * codes[0].shape[0] * codes[0].shape[1] <= _LABEL_BYTES:
                dense = np.stack([each.toarray() for each in codes])
                codes = torch.from_numpy(dense).to(self.device)
            if start is None:
                # A generator, so that a large state is released before the next one is made.
                state = stack_states((self._started(run) for run in members), len(members))
            else:
                state = start.state
            shares.append(Share(method, tuple(members), lr, codes, state.to(self.device)))
        return shares

    def _started(self, run: int) -> nn.Module:
        """The initial state of one run; warnings of its method name the run."""
        task, method = self.runs[run]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            state = method.start(task, self.chance.of("state", method.name))
        for warning in caught:
            text = warning.message
            named = RunWarning(str(text), run) if warning.category is UserWarning else text
            warnings.warn(named, stacklevel=5)
        return state

    def groups(self) -> list[dict[str, Any]]:
        """Parameter groups of every share, from its method."""
        groups, vectors = [], set()
        backbone = None if self.frozen else self.backbone
        for share in self.shares:
            model = Model(share.head, backbone=backbone, head_ratio=self.settings.head_ratio)
            groups += share.method.groups(model, share.state, share.lr)
            learned = [*share.head.parameters(), *share.state.parameters()]
            vectors |= {id(p) for p in learned if p.ndim <= 2}  # the first dimension is the run
        if backbone is not None:
            vectors |= {id(p) for p in backbone.parameters() if p.ndim <= 1}
        return regrouped(groups, set() if self.settings.decay_vectors else vectors)

    @contextmanager
    def training(self, epoch: int) -> Iterator[None]:
        """Training mode of the backbone; torch's generators are restored afterwards.

        They (for dropout) are keyed by the epoch, so that a resumed training draws the same
        numbers. A frozen backbone stays in evaluation mode: its batch statistics are frozen too.
        """
        if self.backbone is None:
            yield
            return
        was_training, on_gpu = self.backbone.training, self.device.type == "cuda"
        seed = self.chance.of("step", epoch).seed()
        with torch.random.fork_rng(devices=[self.device] if on_gpu else []):
            torch.default_generator.manual_seed(seed)
            if on_gpu:
                with torch.cuda.device(self.device):
                    torch.cuda.manual_seed(seed)
            self.backbone.train(not self.frozen)
            yield
        self.backbone.train(was_training)

    def forward(self, x: Tensor) -> list[Outputs]:
        """Outputs of every share, for features or, with a backbone, for uint8 images."""
        if self.backbone is not None:
            with torch.set_grad_enabled(not self.frozen):
                x = backbone_maps(self.backbone, x, self.settings.precision)
        return self.heads.forward(x)

    def zero_grad(self) -> None:
        """Reset all gradients."""
        self.heads.weight.grad = self.heads.bias.grad = None
        modules = [share.state for share in self.shares]
        for module in modules if self.backbone is None else [*modules, self.backbone]:
            module.zero_grad(set_to_none=True)

    def share_gradients(self) -> None:
        """Give every share its rows of the heads' gradients, summed over the processes.

        An optimiser sees the views of each share, because their rates differ; the backward pass
        fills the gradient of the whole memory. Every process has a state's gradients of the whole
        batch already: they, and the statistics of batch normalisation, are averaged to keep all
        processes identical. Gradients with a row for each image (role) are not sent: they are large
        and depend on single entries.
        """
        weight, bias = self.heads.weight.grad, self.heads.bias.grad
        assert weight is not None and bias is not None
        for share in self.shares:
            share.head.weight.grad = weight[share.rows]
            share.head.bias.grad = bias[share.rows]
        if self.team.processes == 1:
            return
        images = self.runs[0][0].sizes.images
        of_states = [p.grad for share in self.shares for p in share.state.parameters()]
        means = [x for x in of_states if x is not None and x.shape[1:2] != (images,)]
        sums = [weight, bias]
        if self.backbone is not None and not self.frozen:
            sums += [p.grad for p in self.backbone.parameters() if p.grad is not None]
            means += [x for x in self.backbone.buffers() if x.is_floating_point()]
        self.team.reduce(sums, means)

    def weights(self) -> dict[str, Tensor]:
        """Tensors of heads and backbone, with its statistics, by name; without states."""
        weights = {"heads.weight": self.heads.weight.data, "heads.bias": self.heads.bias.data}
        if self.backbone is not None and not self.frozen:
            weights |= {f"backbone.{k}": v for k, v in self.backbone.state_dict().items()}
        return weights

    def tensors(self) -> dict[str, Tensor]:
        """All tensors that training changes, by name: weights and states."""
        tensors = self.weights()
        for k, share in enumerate(self.shares):
            tensors |= {f"part.{k}.{name}": x for name, x in share.state.state_dict().items()}
        return tensors

    def model(self, run: int) -> Model:
        """The model of one run, sharing memory with the stack."""
        share, k = self.place[run]
        return Model(
            Head(share.head.weight.data[k], share.head.bias.data[k]),
            shift=self.loader.shift.to(self.device),
            scale=self.loader.scale.to(self.device),
            backbone=self.backbone,
            precision=self.settings.precision,
        )

    def state(self, run: int) -> nn.Module:
        """The state of one run, sharing memory with the stack."""
        share, k = self.place[run]
        return state_of_run(share.state, k)

    @torch.no_grad()
    def scores(self, inputs: Any, known: csr_array | None = None) -> list[Tensor]:
        """(r, N, L) float32 logits of every share, on its device; or as in `allocate`."""
        if self.backbone is not None:  # a single run
            alone = self.model(0), self.shares[0].method, self.state(0)
            return [scores(*alone, inputs, known=known)[None]]
        check_inputs(self.model(0), inputs)
        shape = len(inputs), self.heads.bias.shape[1]
        logits = [allocate((len(each.runs), *shape), known, self.device) for each in self.shares]
        for rows, outs in _outputs(self.heads, inputs, self.loader.shift, self.loader.scale):
            for share, out, values in zip(self.shares, outs, logits, strict=True):
                scatter(values, rows, share.method.predict(out, share.state), known)
        return logits


@torch.no_grad()
def scores_of_all(
    trained: Sequence[Trained], inputs: Any, device: str | torch.device = "cpu"
) -> Tensor:
    """(R, N, L) float32 logits of heads that were trained together on features, on the device.

    Equal to those of `scores` of each to 1e-5; inputs are read once, with one product. Raises
    BadInput for inputs of another kind or width.
    """
    place = device_of(device, needed=False)
    first = trained[0].model
    check_inputs(first, inputs)
    order = sorted(range(len(trained)), key=lambda k: trained[k].method.needs.maps)  # maps last
    weights, biases = zip(*(trained[k].model.head.parameters() for k in order), strict=True)
    sizes = [(1, trained[k].method.needs.maps) for k in order]
    heads = Heads(torch.stack(weights).to(place), torch.stack(biases).to(place), sizes)
    states = [
        each.state if place == CPU else copy.deepcopy(each.state).to(place) for each in trained
    ]
    logits = torch.empty(len(trained), len(inputs), first.head.bias.shape[0], device=place)
    for rows, outs in _outputs(heads, inputs, first.shift, first.scale):
        for out, k in zip(outs, order, strict=True):
            logits[k, rows] = trained[k].method.predict(out.of_run(0), states[k]).float()
    return logits


def _outputs(
    heads: Heads, inputs: Any, shift: Tensor, scale: Tensor
) -> Iterator[tuple[slice, list[Outputs]]]:
    """Outputs of all heads, for one block of rows of the inputs after the other."""
    device = heads.weight.device
    shift, scale = shift.to(device), scale.to(device)

    def of_rows(rows: slice) -> list[Outputs]:
        x = inputs.batch(np.arange(rows.start, rows.stop)).to(device)
        return heads.forward(standardised(x, shift, scale))

    yield from Batches(BATCH, device).over(len(inputs), of_rows)
