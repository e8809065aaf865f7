"""Expected negatives (EN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from simkit.labels.partial import PRESENT
from simkit.learn.methods.base import Batch, Outputs, register
from simkit.learn.methods.pieces.expected import Expecting
from simkit.learn.methods.pieces.losses import bce, reduce


@register
@dataclass(frozen=True)
class ExpectedNegative(Expecting):
    """Assume negative, but leave out the unknown labels that are expected to be present.

    The paper counts the number of positives per image (`expected`) on complete validation labels.
    """

    name: ClassVar[str] = "en"
    title: ClassVar[str] = "EN"
    gist: ClassVar[str] = "likely ones are not absent"
    alternative: ClassVar = {"mu": 0.5}
    source: ClassVar[str] = "Verelst et al., WACV 2023"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT)
        return reduce(values.masked_fill(self.selected(batch, out, state), 0.0), "mean_all")
