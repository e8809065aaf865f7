"""Optimisers, schedules and averaged weights."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from simkit.learn.settings import Settings

_FIRST, _LAST = 1 / 25, 1e-4 / 25  # initial and final rate of one cycle, as shares of its rate
_HIGH, _LOW = 0.95, 0.85  # range of the momentum in one cycle


def _without_compiler(kind: Any) -> Any:
    """A class of torch.optim that does not load torch's compiler.

    Decorators of these two methods import it, which takes 2 to 4 seconds in every process, longer
    than many trainings of heads. The methods below the decorators compute the same bits.
    """
    plain = {name: inspect.unwrap(getattr(kind, name)) for name in ("add_param_group", "step")}
    return type(kind.__name__, (kind,), plain)


_KINDS = {
    "adam": _without_compiler(torch.optim.Adam),
    "adamw": _without_compiler(torch.optim.AdamW),
    "sgd": _without_compiler(torch.optim.SGD),
}


class Optimiser:
    """Adam, AdamW or SGD of torch, with its fused step.

    groups: dictionaries of `params` and their options: `lr` and, by default from the settings,
    `weight_decay` (L2; decoupled in adamw) and `momentum` or `betas`. Runs with another learning
    rate are further groups. Each keeps its initial rate as `base_lr`, for the schedule.
    """

    def __init__(self, groups: list[dict[str, Any]], settings: Settings) -> None:
        own = {"momentum": settings.momentum} if settings.optimiser == "sgd" else {}
        groups = [{**group, "base_lr": group["lr"]} for group in groups]
        common: dict[str, Any] = {"weight_decay": settings.weight_decay, "fused": True}
        self._optimiser = _KINDS[settings.optimiser](groups, **common, **own)
        self.param_groups: list[dict[str, Any]] = self._optimiser.param_groups
        for p in self._parameters() if own else ():
            # torch's fused step fails where a parameter gets its first gradient after others.
            self._optimiser.state[p]["momentum_buffer"] = torch.zeros_like(p)

    def schedule(self, settings: Settings, step: int, steps: int) -> None:
        """Set rates, and momentum in a one-cycle, for `step` from 0, with `steps` in an epoch."""
        if settings.schedule == "constant":
            return
        share = factor(settings, step, steps)
        for group in self.param_groups:
            group["lr"] = group["base_lr"] * share
            if settings.cycle_momentum:
                momentum = _cycle(settings, step, steps, (_HIGH, _LOW, _HIGH))
                if "betas" in group:
                    group["betas"] = (momentum, group["betas"][1])
                else:
                    group["momentum"] = momentum

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        self._optimiser.step()

    def tensors(self) -> dict[str, Tensor]:
        """The state between steps, by the index of a parameter and a name: "3.exp_avg"."""
        return {
            f"{place}.{name}": value
            for place, p in enumerate(self._parameters())
            for name, value in self._optimiser.state.get(p, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Load the state of another optimiser over the same groups."""
        params = self._parameters()
        for key, value in tensors.items():
            place, _, name = key.partition(".")
            p = params[int(place)]
            # Files are row-major, and a fused step follows the memory layout of its parameter.
            like = p if value.shape == p.shape else value.to(p.device)
            self._optimiser.state[p][name] = torch.empty_like(like).copy_(value)

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]


def regrouped(groups: list[dict[str, Any]], undecayed: set[int]) -> list[dict[str, Any]]:
    """The same parameters in as few groups as possible, as a step has a cost per group.

    undecayed: `id` of the parameters without weight decay.
    """
    merged: dict[Any, dict[str, Any]] = {}
    for group in groups:
        for plain in (False, True):
            how = {key: value for key, value in group.items() if key != "params"}
            how |= {"weight_decay": 0.0} if plain else {}
            params = [p for p in group["params"] if (id(p) in undecayed) == plain]
            if params:
                key = tuple(sorted(how.items()))
                merged.setdefault(key, {**how, "params": []})["params"].extend(params)
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
        return _cycle(settings, step, steps, (_FIRST, 1.0, _LAST))
    if settings.schedule == "step":
        passed = sum(step >= steps * epoch for epoch in settings.milestones or ())
        return settings.step_factor**passed
    return 1.0


def _cycle(settings: Settings, step: int, steps: int, values: tuple[float, float, float]) -> float:
    """From the first to the middle value in the share `warm_up` of all steps, then to the last."""
    first, middle, last = values
    end = steps * settings.epochs - 1
    turn = max(settings.warm_up * (end + 1) - 1, 0)
    if step <= turn or end <= turn:
        start, stop, share = first, middle, step / turn if turn > 0 else 1.0
    else:
        start, stop, share = middle, last, (step - turn) / (end - turn)
    return stop + (start - stop) * (1 + math.cos(math.pi * share)) / 2


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

        def swap() -> None:
            with torch.no_grad():
                for name, value in self.values.items():
                    kept = value.clone()
                    value.copy_(self._live[name])
                    self._live[name].copy_(kept)

        swap()
        try:
            yield
        finally:
            swap()

    def tensors(self) -> dict[str, Tensor]:
        """The averages, by name."""
        return {f"average.{name}": value for name, value in self.values.items()}

    def restore(self, step: int, tensors: dict[str, Tensor]) -> None:
        """Restore the averages after `step` steps from `tensors`."""
        self.step = step
        for name, value in self.values.items():
            value.copy_(tensors[f"average.{name}"])
