"""Optimisers, schedules and averaged weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from simkit.learn.settings import Settings

_BETAS, _EPS = (0.9, 0.999), 1e-8  # of Adam, as torch.optim has them
_FIRST, _LAST = 1 / 25, 1e-4 / 25  # initial and final rate of one cycle, as shares of its rate
_HIGH, _LOW = 0.95, 0.85  # range of the momentum in one cycle


class Optimiser:
    """Adam, AdamW and SGD by the fused steps of torch, without its classes.

    Results equal those of `torch.optim.Adam`, whose first step in a process also loads torch's
    compiler, which takes longer than many trainings of heads.

    param_groups: dictionaries of `params` and their options: `lr` and, by default from the
    settings, `weight_decay` (L2; decoupled in adamw) and `momentum` or `betas`. Each keeps its
    initial rate as `base_lr`, for the schedule.
    """

    def __init__(self, groups: list[dict[str, Any]], settings: Settings) -> None:
        self.kind = settings.optimiser
        moments = {"momentum": settings.momentum} if self.kind == "sgd" else {"betas": _BETAS}
        usual = {"weight_decay": settings.weight_decay, **moments}
        self.param_groups = [{**usual, **group, "base_lr": group["lr"]} for group in groups]
        self._kept: dict[Tensor, dict[str, Tensor]] = {}

    def schedule(self, settings: Settings, step: int, steps: int) -> None:
        """Set rates, and momentum in a one-cycle, for `step` from 0, with `steps` in an epoch."""
        if settings.schedule == "constant":
            return
        share = factor(settings, step, steps)
        for group in self.param_groups:
            group["lr"] = group["base_lr"] * share
            if settings.cycle_momentum:
                momentum = _cycle(settings, step, steps, _HIGH, _LOW, _HIGH)
                if "betas" in group:
                    group["betas"] = (momentum, group["betas"][1])
                else:
                    group["momentum"] = momentum

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            if params:
                (self._descend if self.kind == "sgd" else self._adapt)(group, params)

    def _adapt(self, group: dict[str, Any], params: list[Tensor]) -> None:
        kept = [self._moments(p) for p in params]
        adam(
            params,
            [p.grad for p in params],
            [moments["exp_avg"] for moments in kept],
            [moments["exp_avg_sq"] for moments in kept],
            [],
            [moments["step"] for moments in kept],
            fused=True,
            amsgrad=False,
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=_EPS,
            maximize=False,
            decoupled_weight_decay=self.kind == "adamw",
        )

    def _descend(self, group: dict[str, Any], params: list[Tensor]) -> None:
        sgd(
            params,
            [p.grad for p in params],
            [self._moments(p)["momentum_buffer"] for p in params],
            fused=True,
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            lr=group["lr"],
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )

    def _moments(self, parameter: Tensor) -> dict[str, Tensor]:
        if parameter not in self._kept:
            like = parameter.detach()
            names = ["momentum_buffer"] if self.kind == "sgd" else ["exp_avg", "exp_avg_sq"]
            self._kept[parameter] = {name: torch.zeros_like(like) for name in names}
            if self.kind != "sgd":
                self._kept[parameter]["step"] = torch.zeros((), device=like.device)
        return self._kept[parameter]

    def tensors(self) -> dict[str, Tensor]:
        """The state between steps, by the index of a parameter and a name: "3.exp_avg"."""
        return {
            f"{place}.{name}": value
            for place, p in enumerate(self._params)
            for name, value in self._kept.get(p, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Load the state of another optimiser over the same groups.

        Every moment gets the memory layout of its parameter: files are row-major, and a fused step
        follows the layout.
        """
        params = self._params
        self._kept = {}
        for key, value in tensors.items():
            place, _, name = key.partition(".")
            self._moments(params[int(place)])[name].copy_(value)

    @property
    def _params(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]


def without_decay(groups: list[dict[str, Any]], vectors: set[int]) -> list[dict[str, Any]]:
    """The same groups, split so that parameters with `id` in vectors have no weight decay."""
    split = []
    for group in groups:
        apart = [p for p in group["params"] if id(p) in vectors]
        others = [p for p in group["params"] if id(p) not in vectors]
        split += [{**group, "params": others}] if others else []
        split += [{**group, "params": apart, "weight_decay": 0.0}] if apart else []
    return split


def joined(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same parameters in fewer groups, as an optimiser step has a cost per group."""
    merged: dict[Any, dict[str, Any]] = {}
    for group in groups:
        how = tuple(sorted((key, value) for key, value in group.items() if key != "params"))
        merged.setdefault(how, {**group, "params": []})["params"].extend(group["params"])
    return list(merged.values())


def factor(settings: Settings, step: int, steps: int) -> float:
    """The factor of the learning rate in step `step`, from 0, of a whole training.

    constant   1.
    cosine     falls from 1 to 0 over all steps.
    one-cycle  rises from 1/25 to 1 in the first `warm_up` of all steps and falls to 4e-6, both
               along a cosine: Smith and Topin 2019, as torch's OneCycleLR has it. Where that is
               less than one step it begins at 1, and torch's somewhat lower.
    step       times `step_factor` after each epoch of `milestones`.
    """
    if settings.schedule == "cosine":
        return (1 + math.cos(math.pi * step / (steps * settings.epochs))) / 2
    if settings.schedule == "one-cycle":
        return _cycle(settings, step, steps, _FIRST, 1.0, _LAST)
    if settings.schedule == "step":
        passed = sum(step >= steps * epoch for epoch in settings.milestones or ())
        return settings.step_factor**passed
    return 1.0


def _cycle(
    settings: Settings, step: int, steps: int, first: float, middle: float, last: float
) -> float:
    """From `first` to `middle` in the share `warm_up` of all steps, then to `last`."""
    end = steps * settings.epochs - 1
    turn = max(settings.warm_up * (end + 1) - 1, 0)
    if step <= turn or end <= turn:
        return _between(first, middle, step / turn if turn > 0 else 1.0)
    return _between(middle, last, (step - turn) / (end - turn))


def _between(first: float, last: float, share: float) -> float:
    """A cosine from `first` at share 0 to `last` at share 1."""
    return last + (first - last) * (1 + math.cos(math.pi * share)) / 2


class Averages:
    """A moving average (EMA) of weights, by name: of heads, of a backbone and its statistics.

    The decay in step t (from 1) is `decay`, or with `warm_up` at most (1 + t) / (10 + t), so that
    initial weights are forgotten soon. Integers (batch counts of batch normalisation) are copied;
    method states are not averaged.
    """

    def __init__(self, weights: dict[str, Tensor], decay: float, *, warm_up: bool = True) -> None:
        self.decay, self.warm_up, self.step = decay, warm_up, 0
        self._live = weights
        self.values = {name: value.detach().clone() for name, value in weights.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Update the averages after a step, without waiting for the device."""
        self.step += 1
        stays = self.decay
        if self.warm_up:
            stays = min(stays, (1 + self.step) / (10 + self.step))
        for name, value in self.values.items():
            if value.is_floating_point():
                value.lerp_(self._live[name].detach(), 1 - stays)
            else:
                value.copy_(self._live[name])

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Within the block the averaged weights replace the plain ones."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, value in self.values.items():
            kept = value.clone()
            value.copy_(self._live[name])
            self._live[name].copy_(kept)

    def tensors(self) -> dict[str, Tensor]:
        """The averages, by name."""
        return {f"average.{name}": value for name, value in self.values.items()}

    def restore(self, step: int, tensors: dict[str, Tensor]) -> None:
        """Restore the averages after `step` steps from `tensors`."""
        self.step = step
        for name, value in self.values.items():
            value.copy_(tensors[f"average.{name}"])
