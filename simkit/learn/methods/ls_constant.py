"""Soft Exposure with one temperature for all unknown labels: its baseline LS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Reduction, bce, reduce
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Outputs
from simkit.registry import Positive, Range


@register
@dataclass(frozen=True)
class ConstantTemperature(Method):
    """Take every unknown label for absent, the more softly the lower the temperature.

    Soft Exposure calls this LS, but no target is smoothed (that is `lsan`): an unknown label adds
    -log sigmoid(x / temperature) (eq. 3), which at -1 is assume negative.
    """

    temperature: Annotated[float, Range(most=-1e-6)] = -2.0  # the paper gives no number
    pos_weight: Positive = 1.0
    reduction: Reduction = "sum_classes"

    name: ClassVar[str] = "ls-constant"
    title: ClassVar[str] = "LS (constant temperature)"
    gist: ClassVar[str] = "unknown = half absent"
    alternative: ClassVar = {"temperature": -1.0}
    source: ClassVar[str] = "Soft Exposure, baseline LS"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = out.logits
        scaled = torch.where(batch.labels == UNKNOWN, x / -self.temperature, x)
        present = batch.labels == PRESENT
        values = bce(scaled, present)
        if self.pos_weight != 1:
            values = torch.where(present, self.pos_weight * values, values)
        return reduce(values, self.reduction)
