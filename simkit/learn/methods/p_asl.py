"""Partial asymmetric loss (P-ASL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import UNKNOWN
from simkit.learn.methods.base import Batch, Outputs, Sizes, Task, register
from simkit.learn.methods.ignore import warn_without_negatives
from simkit.learn.methods.pieces.asymmetric import Asymmetric
from simkit.learn.methods.pieces.losses import reduce


@register
@dataclass(frozen=True)
class PartialAsymmetric(Asymmetric):
    """Take unknown labels for absent, but focus harder on those the model disagrees with.

    mode "ignore" leaves unknown labels out. "ignore_normalize_classes", the weighted Ignore of the
    published code, also weighs known labels by 1 + 1 / (1 + known labels of their image). Trap:
    the loss is a sum; learning rates tuned on means do not carry over to it (with sgd).
    """

    mode: Literal["negative", "ignore", "ignore_normalize_classes"] = "negative"

    name: ClassVar[str] = "p-asl"
    title: ClassVar[str] = "P-ASL"
    gist: ClassVar[str] = "unknown weigh less"
    alternative: ClassVar = {"gamma_unknown": 4.0}
    source: ClassVar[str] = "Ben-Baruch et al., CVPR 2022, eq. 2-3"

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        if self.mode != "negative":
            warn_without_negatives(self.name, task)
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        nothing = torch.zeros_like(out.logits, dtype=torch.bool)
        values = self.terms(batch, out, assumed=None if self.mode == "negative" else nothing)
        if self.mode == "ignore_normalize_classes":
            known = (batch.labels != UNKNOWN).sum(-1, keepdim=True).to(values.dtype)
            values = values * (1 + 1 / (1 + known))
        return reduce(values, self.reduction)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        if self.mode == "negative":
            return torch.zeros_like(out.logits, dtype=torch.bool)
        return (batch.labels == UNKNOWN).expand_as(out.logits)
