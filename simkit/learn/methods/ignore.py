"""Ignore unknown labels (NE in Soft Exposure, IU in Cole et al., Ignore in Ben-Baruch et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.methods.base import Batch, Method, Outputs, register
from simkit.learn.methods.losses import Epsilon, bce, reduce


@register
@dataclass(frozen=True)
class Ignore(Method):
    """Learn from what is known and from nothing else.

    Trap: where only positives are known the best answer is "everything is present". The code of
    Cole et al. stops at a batch without a positive or without a negative; small batches may be so.
    """

    # mean_all: code of Cole et al.; sum: code of Ben-Baruch et al.; sum_classes: Soft Exposure.
    reduction: Literal["mean_all", "mean_observed", "sum", "sum_classes"] = "mean_all"
    epsilon: Epsilon | None = None

    name: ClassVar[str] = "ignore"
    title: ClassVar[str] = "Ignore"
    source: ClassVar[str] = "IU of Cole et al. CVPR 2021; Ignore of Ben-Baruch et al., CVPR 2022"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        unknown = batch.labels == UNKNOWN
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon).masked_fill(unknown, 0.0)
        return reduce(values, self.reduction, ~unknown)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        return batch.labels == UNKNOWN
