"""Soft Exposure with one temperature for all unknown labels: its baseline LS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.methods.base import Batch, Method, Outputs, register
from simkit.learn.methods.pieces.losses import Reduction, bce, reduce


@register
@dataclass(frozen=True)
class ConstantTemperature(Method):
    """Take every unknown label for absent, the more softly the lower the temperature.

    Soft Exposure calls this LS, but no target is smoothed (that is `lsan`): an unknown label adds
    -log sigmoid(x / temperature), which at -1 is assume negative.
    """

    temperature: float = -2.0  # the paper gives no number
    pos_weight: float = 1.0
    reduction: Reduction = "sum_classes"

    name: ClassVar[str] = "ls-constant"
    title: ClassVar[str] = "LS (constant temperature)"
    gist: ClassVar[str] = "unknown = half absent"
    alternative: ClassVar = {"temperature": -1.0}
    source: ClassVar[str] = "Soft Exposure, baseline LS"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.temperature <= -1e-6:  # nearer to 0 the logits have no end
            raise BadInput(
                f"ls-constant: temperature is {self.temperature}; a number of at most -1e-06 is "
                "expected"
            )
        if not self.pos_weight > 0:
            raise BadInput(
                f"ls-constant: pos_weight is {self.pos_weight}; a number above 0 is expected"
            )

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = out.logits
        scaled = torch.where(batch.labels == UNKNOWN, x / -self.temperature, x)
        present = batch.labels == PRESENT
        values = bce(scaled, present)
        if self.pos_weight != 1:
            values = torch.where(present, self.pos_weight * values, values)
        return reduce(values, self.reduction)
