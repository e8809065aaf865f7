"""Linear heads of several runs at once, over pooled features and over maps.

Pooling and a linear layer commute: the logits are the means of the class maps, the bias lies inside
the maps. So only methods that look at maps pay for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.learn.machines.devices import autocast, plain
from simkit.learn.task import Outputs


class Head(nn.Module):
    """Heads of some runs: weight (r, L, D), bias (r, L); a single run's has no r.

    Two heads may be views of the same memory; gradients are views likewise.
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias)

    def forward(self, features: Tensor, *, maps: bool = False) -> Outputs:
        """What the head says about pooled features (b, D) or maps as points (b, D, h, w).

        With `maps` the outputs hold class maps; without, maps are pooled first.
        """
        pooled = features if features.ndim == 2 else features.mean((-2, -1))
        if not maps:
            logits = pooled @ self.weight.mT + _row(self.bias)
            return Outputs(logits, None, pooled)
        b, D, h, w = features.shape
        points = features.flatten(2).mT.reshape(b * h * w, D)
        values = points @ self.weight.mT + _row(self.bias)
        found = values.unflatten(-2, (b, h, w)).movedim(-1, -3)
        return Outputs(found.mean((-2, -1)), found, pooled)


class Model(nn.Module):
    """A head on features that are standardised first, or on a backbone that learns with it.

    shift, scale (D): subtracted from and dividing cached features; 0 and 1 with a backbone.
    head_ratio: how much faster than the backbone the head learns.  precision: of the backbone.
    """

    def __init__(
        self,
        head: Head,
        *,
        shift: Tensor | None = None,
        scale: Tensor | None = None,
        backbone: nn.Module | None = None,
        head_ratio: float = 1.0,
        precision: str = "fp32",
    ) -> None:
        super().__init__()
        width = head.weight.shape[-1]
        self.head = head
        self.backbone = backbone
        self.head_ratio = head_ratio
        self.precision = precision
        self.register_buffer("shift", torch.zeros(width) if shift is None else shift)
        self.register_buffer("scale", torch.ones(width) if scale is None else scale)

    def forward(self, x: Tensor, *, maps: bool = False) -> Outputs:
        """Outputs for features (b, D), (b, D, h, w), or pictures (b, 3, H, W) uint8."""
        if self.backbone is not None:
            with autocast(x.device, self.precision), plain(self.backbone):
                features = self.backbone(self.backbone.prepare(x)).float()
        else:
            features = standardised(x, self.shift, self.scale)
        return self.head(features, maps=maps)


def standardised(features: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """(b, D) or (b, D, h, w) features with `shift` subtracted, divided by `scale`, both (D)."""
    if features.ndim == 4:
        shift, scale = shift[:, None, None], scale[:, None, None]
    return (features - shift) / scale


def initial(chance: Chance, classes: int, width: int) -> tuple[Tensor, Tensor]:
    """Weight (L, D) and bias (L): uniform in +-1/sqrt(D), as torch.nn.Linear; zero bias.

    The numbers depend on `chance` alone: every run of a draw starts at the same place.
    """
    bound = 1 / math.sqrt(width)
    weight = torch.rand(classes, width, generator=chance.torch())
    return (2 * weight - 1) * bound, torch.zeros(classes)


@dataclass(eq=False)
class Share:
    """The consecutive runs of a stack that one method serves, and what it sees in this step.

    maps: whether it looks at class maps.  head: views of the stack's memory.
    out: the outputs of the step, leaves of the gradient.
    """

    start: int
    stop: int
    maps: bool
    head: Head
    out: Outputs | None = None

    @property
    def seen(self) -> Outputs:
        """The outputs, once there are any."""
        assert self.out is not None
        return self.out


class HeadStack:
    """The heads of R runs in one memory: one matrix product forward, one for their gradients.

    Gradients stop at the outputs; from there the two products are written out, because autograd
    would copy the weights of all runs once for each method. Shares that see maps come last.
    """

    def __init__(self, weight: Tensor, bias: Tensor, shares: Sequence[tuple[int, bool]]) -> None:
        """weight (L, D) and bias (L) of every run at the start; shares: (runs, maps) in order."""
        assert [maps for _, maps in shares] == sorted(maps for _, maps in shares)
        R = sum(runs for runs, _ in shares)
        self.weight = weight.expand(R, *weight.shape).contiguous()  # (R, L, D)
        self.bias = bias.expand(R, *bias.shape).contiguous()  # (R, L)
        self.weight_grad = torch.zeros_like(self.weight)
        self.bias_grad = torch.zeros_like(self.bias)
        self.shares: list[Share] = []
        start = 0
        for runs, maps in shares:
            part = slice(start, start + runs)
            head = Head(self.weight[part], self.bias[part])
            head.weight.grad, head.bias.grad = self.weight_grad[part], self.bias_grad[part]
            self.shares.append(Share(start, start + runs, maps, head))
            start += runs
        self.pooled_runs = sum(runs for runs, maps in shares if not maps)

    def forward(self, pooled: Tensor, points: Tensor | None, shape: tuple[int, int]) -> None:
        """Set `out` of every share. pooled (b, D);  points (b, h * w, D) if any sees maps."""
        pooled = pooled.detach().float()
        if self.pooled_runs:
            logits = self._product(pooled, slice(0, self.pooled_runs))
            for share in self._of_kind(False):
                leaf = logits[:, share.start : share.stop].movedim(1, 0).requires_grad_()
                share.out = Outputs(leaf, None, pooled)
        for share in self._of_kind(True):
            assert points is not None
            b, _, D = points.shape
            rows = points.detach().float().reshape(-1, D)
            values = self._product(rows, slice(share.start, share.stop))
            maps = values.unflatten(0, (b, *shape)).permute(3, 0, 4, 1, 2).requires_grad_()
            share.out = Outputs(maps.mean((-2, -1)), maps, pooled)

    def backward(
        self, pooled: Tensor, points: Tensor | None, *, add: bool = False
    ) -> tuple[Tensor | None, Tensor | None]:
        """Fill the gradients of all heads from those of the outputs, or add to what they hold.

        Returns the gradients for `pooled` and `points`, each None unless it requires one.
        """
        into_pooled = into_points = None
        if self.pooled_runs:
            grads = [share.seen.logits.grad.movedim(0, 1) for share in self._of_kind(False)]
            grad = torch.cat(grads, 1) if len(grads) > 1 else grads[0]
            into_pooled = self._gradients(grad, pooled, slice(0, self.pooled_runs), add)
        for share in self._of_kind(True):
            assert points is not None and share.seen.maps is not None
            grad = share.seen.maps.grad.permute(1, 3, 4, 0, 2).flatten(0, 2)
            rows = points.reshape(-1, points.shape[-1])
            found = self._gradients(grad, rows, slice(share.start, share.stop), add)
            if found is not None:
                found = found.view(points.shape)
                into_points = found if into_points is None else into_points + found
        return _like(into_pooled, pooled), _like(into_points, points)

    def _of_kind(self, maps: bool) -> list[Share]:
        return [share for share in self.shares if share.maps == maps]

    def _product(self, rows: Tensor, runs: slice) -> Tensor:
        """(n, D) to (n, r, L)."""
        weight, bias = self.weight[runs], self.bias[runs]
        flat = torch.addmm(bias.flatten(), rows, weight.flatten(0, 1).T)
        return flat.view(len(rows), *bias.shape)

    def _gradients(self, grad: Tensor, rows: Tensor, runs: slice, add: bool) -> Tensor | None:
        """Fill those of weight and bias from grad (n, r, L), rows (n, D); return that of rows."""
        flat = grad.flatten(1)
        weight, bias = self.weight_grad[runs].flatten(0, 1), self.bias_grad[runs]
        if add:
            weight.addmm_(flat.T, rows.detach().float())
            bias.add_(grad.sum(0))
        else:
            torch.mm(flat.T, rows.detach().float(), out=weight)
            torch.sum(grad, 0, out=bias)
        return flat @ self.weight[runs].flatten(0, 1) if rows.requires_grad else None


def _row(bias: Tensor) -> Tensor:
    return bias if bias.ndim == 1 else bias[:, None]


def _like(grad: Tensor | None, tensor: Tensor | None) -> Tensor | None:
    """The gradient in the precision of what it is of."""
    return grad if grad is None or tensor is None else grad.to(tensor.dtype)
