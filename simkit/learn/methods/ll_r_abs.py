"""LL-R with an absolute threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from simkit.labels.partial import PRESENT
from simkit.learn.methods.base import Batch, Outputs, register
from simkit.learn.methods.pieces.large_loss import Absolute, rejecting


@register
@dataclass(frozen=True)
class AbsoluteRejection(Absolute):
    """Assume negative, but leave out unknown labels whose loss is above a falling threshold.

    The threshold in epoch t is r0 - t * delta, and when it has fallen to 0 every unknown label is
    rejected; a warning says so then. There is no published code.
    """

    name: ClassVar[str] = "ll-r-abs"
    title: ClassVar[str] = "LL-R (abs)"
    gist: ClassVar[str] = "suspicious absents left out"
    alternative: ClassVar = {"delta": 0.02}
    source: ClassVar[str] = "Kim et al., CVPR 2022, supplement B"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        rejected = self.selected(batch, out, state)
        return rejecting(out.logits, batch.labels == PRESENT, rejected)
