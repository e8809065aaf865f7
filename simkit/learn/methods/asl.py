"""Asymmetric loss (ASL) on assumed negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from torch import Tensor, nn

from simkit.labels.partial import PRESENT
from simkit.learn.losses import Reduction, focused, reduce
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Outputs
from simkit.registry import Range

Gamma = Annotated[float, Range(0, 100)]
Clip = Annotated[float, Range(0, below=1)]


@register
@dataclass(frozen=True)
class AsymmetricLoss(Method):
    """Take every unknown label for absent, and look away from easy absent ones above all.

    A present label (..., b, L) adds -(1 - p)^gamma_pos log p, an absent one
    -q^gamma_neg log(1 - q) with q = max(p - clip, 0): below the probability `clip` it has no loss
    at all. The loss is a sum: a learning rate that suits it is far below that of a mean.
    """

    gamma_pos: Gamma = 1.0  # the published class; its training script for COCO has 0
    gamma_neg: Gamma = 4.0
    clip: Clip = 0.05
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
    presets: ClassVar = {
        "csl": {"reduction": "sum", "epsilon": "csl"},
        "paper": {"reduction": "sum", "epsilon": None},
    }

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
