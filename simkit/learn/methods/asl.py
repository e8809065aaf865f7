"""Asymmetric loss (ASL) on assumed negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from simkit.labels.partial import PRESENT
from simkit.learn.methods.base import Batch, Method, Outputs, register
from simkit.learn.methods.pieces.focusing import check_focus, focused
from simkit.learn.methods.pieces.losses import Reduction, reduce


@register
@dataclass(frozen=True)
class AsymmetricLoss(Method):
    """Take every unknown label for absent, and look away from easy absent ones above all.

    A negative below the probability `clip` has no loss at all. The loss is a sum: a learning rate
    that suits it is far below that of a mean.
    """

    gamma_pos: float = 1.0  # the published class; its training script for COCO has 0
    gamma_neg: float = 4.0
    clip: float = 0.05
    detach_focus: bool = True  # the published class; its optimised twin differentiates the weight
    reduction: Reduction = "sum"
    epsilon: Literal["csl"] | None = None
    # csl: logs as in the code of both ASL and CSL; paper: exact logs
    reproduce: Literal["csl", "paper"] | None = None

    name: ClassVar[str] = "asl"
    title: ClassVar[str] = "ASL"
    gist: ClassVar[str] = "unknown = absent, easy ones weigh less"
    alternative: ClassVar = {"gamma_neg": 2.0}
    source: ClassVar[str] = "Ridnik et al. ICCV 2021, eq. 4-7"

    def __post_init__(self) -> None:
        if self.reproduce == "csl":
            self._preset(reduction="sum", epsilon="csl")
        elif self.reproduce == "paper":
            self._preset(reduction="sum", epsilon=None)
        super().__post_init__()
        check_focus(self.name, gamma_pos=self.gamma_pos, gamma_neg=self.gamma_neg, clip=self.clip)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = focused(
            out.logits,
            batch.labels == PRESENT,
            gamma_pos=self.gamma_pos,
            gamma_neg=self.gamma_neg,
            clip=self.clip,
            detach=self.detach_focus,
            epsilon=self.epsilon,
        )
        return reduce(values, self.reduction)
