"""Expected positive regularisation (EPR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.methods.base import Batch, Outputs, Sizes, Task, register
from simkit.learn.methods.pieces.losses import Epsilon, bce, reduce, wide
from simkit.learn.methods.pieces.positives import ExpectedCount


@register
@dataclass(frozen=True)
class ExpectedPositives(ExpectedCount):
    """Learn from known labels, while an image shall have `expected` positives on average.

    The average is over the batch, and squared afterwards: a small batch is a stricter rule, and a
    batch that is split over devices another one. Known negatives, which the source does not have,
    are learned from.
    """

    epsilon: Epsilon | None = None
    reproduce: Literal["spml", "paper"] | None = None  # paper: exact logs

    name: ClassVar[str] = "epr"
    title: ClassVar[str] = "EPR"
    gist: ClassVar[str] = "match classes per image"
    source: ClassVar[str] = "Cole et al. CVPR 2021, expected positive regularisation"

    def __post_init__(self) -> None:
        if self.reproduce == "spml":
            self._preset(epsilon="spml")
        elif self.reproduce == "paper":
            self._preset(epsilon=None)
        super().__post_init__()

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        classes = (task if isinstance(task, Sizes) else task.sizes).classes
        if self.expected != "auto" and self.expected > classes:
            raise BadInput(
                f"epr: expected is {self.expected} positives in an image, and there are {classes} "
                "classes; give at most as many"
            )
        return super().start(task, chance)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        known = reduce(values.masked_fill(batch.labels == UNKNOWN, 0.0), "mean_all")
        return known + expected_positives(out.logits, state.positives)


def expected_positives(logits: Tensor, expected: Tensor) -> Tensor:
    """The regulariser of each run, (...): squared share by which a batch's mean number is off."""
    count = torch.sigmoid(wide(logits)).sum(-1).mean(-1)
    return ((count - expected.to(count.dtype)) / logits.shape[-1]) ** 2
