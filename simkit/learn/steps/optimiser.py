"""Adam, AdamW and SGD over parameter groups: the fused steps of torch, without its classes.

A step of `torch.optim.Adam` gives the same numbers. The first one of a process also loads torch's
compiler, which takes seconds, more than many a training here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from simkit.learn.steps.optim import Settings

_BETAS, _EPS = (0.9, 0.999), 1e-8  # of Adam, as torch.optim has them


class Optimiser:
    """Moves the parameters of some groups by their gradients.

    param_groups: dictionaries of `params` and how they are moved: `lr` and, by default from the
    settings, `weight_decay` (L2; of adamw decoupled) and `momentum` or `betas`. Each remembers its
    own rate as `base_lr`, for the schedule.
    """

    def __init__(self, groups: list[dict[str, Any]], settings: Settings) -> None:
        self.kind = settings.optimiser
        moments = {"momentum": settings.momentum} if self.kind == "sgd" else {"betas": _BETAS}
        usual = {"weight_decay": settings.weight_decay, **moments}
        self.param_groups = [{**usual, **group, "base_lr": group["lr"]} for group in groups]
        self._kept: dict[Tensor, dict[str, Tensor]] = {}

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            if params:
                (self._descend if self.kind == "sgd" else self._adapt)(group, params)

    def _adapt(self, group: dict[str, Any], params: list[Tensor]) -> None:
        kept = [self._of(p, ("step", "exp_avg", "exp_avg_sq")) for p in params]
        adam(
            params,
            [p.grad for p in params],
            [one["exp_avg"] for one in kept],
            [one["exp_avg_sq"] for one in kept],
            [],
            [one["step"] for one in kept],
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
        # The first step has no momentum yet: torch fills the list.
        moments = [self._kept.get(p, {}).get("momentum_buffer") for p in params]
        sgd(
            params,
            [p.grad for p in params],
            moments,
            fused=True,
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            lr=group["lr"],
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )
        for p, moment in zip(params, moments, strict=True):
            if moment is not None:
                self._kept[p] = {"momentum_buffer": moment}

    def _of(self, parameter: Tensor, fields: tuple[str, ...]) -> dict[str, Tensor]:
        if parameter not in self._kept:
            like = parameter.detach()
            self._kept[parameter] = {
                name: torch.zeros((), device=like.device)
                if name == "step"
                else torch.zeros_like(like)
                for name in fields
            }
        return self._kept[parameter]

    def tensors(self) -> dict[str, Tensor]:
        """What it keeps between steps, by the place of a parameter and a name: "3.exp_avg"."""
        return {
            f"{place}.{name}": value
            for place, p in enumerate(self._params)
            for name, value in self._kept.get(p, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what another one over the same groups kept.

        Every moment is laid out in memory as what it moves: files hold rows one after another, and
        a fused step goes through memory as it lies.
        """
        params = self._params
        self._kept = {}
        for key, value in tensors.items():
            place, _, name = key.partition(".")
            like = params[int(place)].detach()
            own = torch.empty_like(like) if name != "step" else torch.zeros((), device=like.device)
            self._kept.setdefault(params[int(place)], {})[name] = own.copy_(value)

    @property
    def _params(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]


def without_decay(groups: list[dict[str, Any]], vectors: set[int]) -> list[dict[str, Any]]:
    """The same groups with those parameters apart, and free of decay, whose `id` is in vectors."""
    found = []
    for group in groups:
        apart = [p for p in group["params"] if id(p) in vectors]
        rest = [p for p in group["params"] if id(p) not in vectors]
        found += [{**group, "params": rest}] if rest else []
        found += [{**group, "params": apart, "weight_decay": 0.0}] if apart else []
    return found


def joined(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same parameters in as few groups: an optimiser takes its time for each of them."""
    found: list[dict[str, Any]] = []
    for group in groups:
        how = {key: value for key, value in group.items() if key != "params"}
        for other in found:
            if how == {key: value for key, value in other.items() if key != "params"}:
                other["params"] = [*other["params"], *group["params"]]
                break
        else:
            found.append({**group, "params": list(group["params"])})
    return found
