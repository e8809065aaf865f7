"""Focal loss on assumed negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from simkit.labels.partial import PRESENT
from simkit.learn.losses import Reduction, focused, reduce
from simkit.learn.method import Method, register
from simkit.learn.methods.asl import Gamma
from simkit.learn.task import Batch, Outputs
from simkit.registry import Range


@register
@dataclass(frozen=True)
class Focal(Method):
    """Take every unknown label for absent, and look away from what is well answered.

    A label (..., b, L) to whose target the model gives q adds -(1 - q)^gamma log q. The loss is a
    sum: a learning rate that suits it is far below that of a mean.
    """

    gamma: Gamma = 2.0  # the larger, the less what is well answered counts
    # weight of present labels, 1 - alpha of absent; 0.25 in Lin et al.
    alpha: Annotated[float, Range(above=0, below=1)] | None = None
    detach_focus: bool = False  # true: the weight has no gradient of its own
    reduction: Reduction = "sum"

    name: ClassVar[str] = "focal"
    title: ClassVar[str] = "Focal"
    gist: ClassVar[str] = "unknown = absent, hard ones count more"
    alternative: ClassVar = {"gamma": 1.0}
    source: ClassVar[str] = "Lin et al. ICCV 2017, eq. 4-5"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        values = focused(
            out.logits,
            present,
            gamma_pos=self.gamma,
            gamma_neg=self.gamma,
            detach=self.detach_focus,
        )
        if self.alpha is not None:
            values = torch.where(present, self.alpha * values, (1 - self.alpha) * values)
        return reduce(values, self.reduction)
