"""Assume negative: take every unknown label for absent (AN, "Negative", naive AN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.labels.partial import PRESENT
from simkit.learn.losses import Epsilon, Reduction, bce, reduce
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Outputs
from simkit.registry import Positive


@dataclass(frozen=True)
class AssumedNegatives(Method):
    """Unknown labels count as absent, with a weight on what is present: what AN and FE share."""

    pos_weight: Positive = 1.0
    reduction: Reduction = "mean_all"  # sum_classes: Soft Exposure
    epsilon: Epsilon | None = None

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        values = bce(out.logits, present, self.epsilon)
        if self.pos_weight != 1:
            values = torch.where(present, self.pos_weight * values, values)
        return reduce(values, self.reduction)


@register
@dataclass(frozen=True)
class AssumeNegative(AssumedNegatives):
    """Take every unknown label for absent.

    The loss is the mean over all labels (..., b, L) of -log p where a label is present and of
    -log(1 - p) elsewhere. Kim et al. CVPR 2022 print a weight of 0 for assumed negatives, a
    misprint for 1.
    """

    reproduce: Literal["spml", "paper"] | None = None  # paper: exact logs

    name: ClassVar[str] = "an"
    title: ClassVar[str] = "AN"
    gist: ClassVar[str] = "unknown = absent"
    source: ClassVar[str] = "Cole et al. CVPR 2021, eq. 3; naive AN of Kim et al., CVPR 2022"
    presets: ClassVar = {
        "spml": {"pos_weight": 1.0, "reduction": "mean_all", "epsilon": "spml"},
        "paper": {"pos_weight": 1.0, "reduction": "mean_all", "epsilon": None},
    }
