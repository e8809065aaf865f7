"""A moving average of all weights (EMA): of heads, and of a backbone with its statistics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from simkit.learn.heads.stack import Stack


class Averages:
    """What the weights of a stack were on average, the newest counting most.

    After step t (from 1) this much of the average stays: `decay`, or with `warm_up` no more than
    (1 + t) / (10 + t), so that the weights at the start are forgotten soon. Whole numbers (batch
    normalisation counts its batches) are taken over as they are; method states are not averaged.
    """

    def __init__(self, stack: Stack, decay: float, *, warm_up: bool = True) -> None:
        self.decay, self.warm_up, self.step = decay, warm_up, 0
        self._live = stack.weights()
        self.values = {name: value.detach().clone() for name, value in self._live.items()}

    @classmethod
    def of(cls, stack: Stack) -> Averages | None:
        """Those that the settings of a stack ask for, if any."""
        settings = stack.settings
        if settings.ema is None:
            return None
        return cls(stack, settings.ema, warm_up=settings.ema_warm_up)

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights as they are after a step; nothing waits for the device."""
        self.step += 1
        stays = self.decay
        if self.warm_up:
            stays = min(stays, (1 + self.step) / (10 + self.step))
        floats = [name for name, value in self.values.items() if value.is_floating_point()]
        torch._foreach_lerp_(
            [self.values[name] for name in floats],
            [self._live[name].detach() for name in floats],
            1 - stays,
        )
        for name in self.values.keys() - floats:
            self.values[name].copy_(self._live[name])

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Inside the block the stack has the averaged weights."""
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
        """Take up again what `tensors` gave after `step` steps."""
        self.step = step
        for name, value in self.values.items():
            value.copy_(tensors[f"average.{name}"])
