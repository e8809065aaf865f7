"""Assume negative: take every unknown label for absent (AN, "Negative", naive AN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.labels.partial import PRESENT
from simkit.learn.methods.base import Batch, Method, Outputs, register
from simkit.learn.methods.losses import Epsilon, bce, reduce


@register
@dataclass(frozen=True)
class AssumeNegative(Method):
    """Take every unknown label for absent.

    Kim et al. CVPR 2022 print a weight of 0 for assumed negatives, a misprint for 1.
    """

    pos_weight: float = 1.0  # 5 makes it the FE of Soft Exposure
    reduction: Literal["mean_all", "sum", "sum_classes"] = "mean_all"  # sum_classes: Soft Exposure
    epsilon: Epsilon | None = None

    name: ClassVar[str] = "an"
    title: ClassVar[str] = "AN"
    source: ClassVar[str] = "Cole et al. CVPR 2021, eq. 3; naive AN of Kim et al., CVPR 2022"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.pos_weight > 0:
            raise BadInput(f"an: pos_weight is {self.pos_weight}; a number above 0 is expected")

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        values = bce(out.logits, present, self.epsilon)
        if self.pos_weight != 1:
            values = values * (1 + (self.pos_weight - 1) * present)
        return reduce(values, self.reduction)
