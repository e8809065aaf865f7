"""Ignore unknown labels (NE in Soft Exposure, IU in Cole et al., Ignore in Ben-Baruch et al.)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, reduce
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Outputs, Sizes, Task


@register
@dataclass(frozen=True)
class Ignore(Method):
    """Learn from what is known and from nothing else.

    Binary cross-entropy of the known labels (..., b, L), reduced over all or over these. Trap:
    where only positives are known the best answer is "everything is present"; `start` warns of it.
    The code of Cole et al. stops at a batch without a positive or without a negative; small batches
    may be so.
    """

    # mean_all: code of Cole et al.; sum: code of Ben-Baruch et al.; sum_classes: Soft Exposure.
    reduction: Literal["mean_all", "mean_observed", "sum", "sum_classes"] = "mean_all"
    epsilon: Epsilon | None = None
    reproduce: Literal["spml", "csl", "paper"] | None = None  # paper: IU with exact logs

    name: ClassVar[str] = "ignore"
    title: ClassVar[str] = "Ignore"
    gist: ClassVar[str] = "unknown left out"
    source: ClassVar[str] = "IU of Cole et al. CVPR 2021; Ignore of Ben-Baruch et al., CVPR 2022"
    presets: ClassVar = {
        "spml": {"reduction": "mean_all", "epsilon": "spml"},
        "csl": {"reduction": "sum", "epsilon": "csl"},
        "paper": {"reduction": "mean_all", "epsilon": None},
    }

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        warn_without_negatives(self.name, task)
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        unknown = batch.labels == UNKNOWN
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon).masked_fill(unknown, 0.0)
        return reduce(values, self.reduction, ~unknown)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        return (batch.labels == UNKNOWN).expand_as(out.logits)


def warn_without_negatives(name: str, task: Task | Sizes) -> None:
    """Warn, on behalf of a `start`, when no known label says absent."""
    if isinstance(task, Task) and not task.labels.per_class(ABSENT).any():
        warnings.warn(
            f"method {name!r} learns from known labels alone, and none of these says absent: it "
            "will predict everything present; train 'an' or 'll-r' instead",
            stacklevel=3,
        )
