"""Expected positives (EP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from simkit.labels.partial import PRESENT
from simkit.learn.losses import bce, reduce
from simkit.learn.method import register
from simkit.learn.methods.en import Expecting
from simkit.learn.task import Batch, Outputs


@register
@dataclass(frozen=True)
class ExpectedPositive(Expecting):
    """Take the unknown labels that are expected to be present for present, the others for absent.

    The loss is the mean cross-entropy over all labels (..., b, L). An ablation in the paper, which
    finds EN better: labels expected by mistake confirm themselves.
    """

    name: ClassVar[str] = "ep"
    title: ClassVar[str] = "EP"
    gist: ClassVar[str] = "likely ones are present"
    alternative: ClassVar = {"mu": 0.5}
    source: ClassVar[str] = "Verelst et al., WACV 2023"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = (batch.labels == PRESENT) | self.selected(batch, out, state)
        return reduce(bce(out.logits, present), "mean_all")
