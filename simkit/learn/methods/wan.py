"""Weak assume negative (WAN): an assumed negative weighs as little as it is sure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, reduce
from simkit.learn.method import Method, register, sizes_of
from simkit.learn.task import Batch, Outputs, Sizes, Task


@register
@dataclass(frozen=True)
class WeakAssumeNegative(Method):
    """Take every unknown label for absent, at a weight of 1 / (L - 1).

    All assumed negatives of an image with one known positive weigh as much as that positive. The
    loss is the mean over all labels (..., b, L).
    """

    # The published code knows no known negatives, and would give them the small weight as well.
    weight_known_negatives: bool = False
    epsilon: Epsilon | None = None
    # paper: exact logs, and the small weight for what is assumed alone
    reproduce: Literal["spml", "paper"] | None = None

    name: ClassVar[str] = "wan"
    title: ClassVar[str] = "WAN"
    gist: ClassVar[str] = "unknown = absent, weigh less"
    source: ClassVar[str] = "Cole et al. CVPR 2021, weak assume negative loss"
    presets: ClassVar = {
        "spml": {"weight_known_negatives": True, "epsilon": "spml"},
        "paper": {"weight_known_negatives": False, "epsilon": None},
    }

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        classes = sizes_of(task).classes
        if classes < 2:
            raise BadInput(
                f"wan: its weight is 1 / (classes - 1), and there are {classes} classes; "
                "give at least 2, or train 'an'"
            )
        return super().start(task, chance)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        weak = ~present if self.weight_known_negatives else batch.labels == UNKNOWN
        values = bce(out.logits, present, self.epsilon)
        small = 1 / (out.logits.shape[-1] - 1)
        return reduce(torch.where(weak, small * values, values), "mean_all")
