"""LL-Ct with an absolute threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from simkit.labels.partial import PRESENT
from simkit.learn.methods.base import Batch, Outputs, register
from simkit.learn.methods.pieces.large_loss import Absolute, correcting


@register
@dataclass(frozen=True)
class AbsoluteCorrection(Absolute):
    """Assume negative, but take unknown labels whose loss is above a falling threshold for present.

    The threshold in epoch t is r0 - t * delta, and when it has fallen to 0 every unknown label is
    corrected; a warning says so then. There is no published code.
    """

    name: ClassVar[str] = "ll-ct-abs"
    title: ClassVar[str] = "LL-Ct (abs)"
    gist: ClassVar[str] = "suspicious absents corrected"
    alternative: ClassVar = {"delta": 0.02}
    source: ClassVar[str] = "Kim et al., CVPR 2022, supplement B"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        corrected = self.selected(batch, out, state)
        return correcting(out.logits, batch.labels == PRESENT, corrected)
