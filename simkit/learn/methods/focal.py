"""Focal loss on assumed negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.labels.partial import PRESENT
from simkit.learn.methods.base import Batch, Method, Outputs, register
from simkit.learn.methods.pieces.focusing import check_focus, focused
from simkit.learn.methods.pieces.losses import Reduction, reduce


@register
@dataclass(frozen=True)
class Focal(Method):
    """Take every unknown label for absent, and look away from what is well answered.

    The loss is a sum: a learning rate that suits it is far below that of a mean.
    """

    gamma: float = 2.0  # the larger, the less what is well answered counts
    alpha: float | None = None  # weight of present labels, 1 - alpha of absent; 0.25 in Lin et al.
    detach_focus: bool = False  # true: the weight has no gradient of its own
    reduction: Reduction = "sum"

    name: ClassVar[str] = "focal"
    title: ClassVar[str] = "Focal"
    gist: ClassVar[str] = "unknown = absent, hard ones count more"
    alternative: ClassVar = {"gamma": 1.0}
    source: ClassVar[str] = "Lin et al. ICCV 2017, eq. 4-5"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_focus(self.name, gamma=self.gamma)
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise BadInput(
                f"focal: alpha is {self.alpha}; a weight between 0 and 1, or none, is expected"
            )

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
