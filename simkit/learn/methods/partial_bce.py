"""Cross-entropy on known labels, weighted by how many an image has (weighted NE, wCE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Reduction, focused, reduce
from simkit.learn.method import Method, register, sizes_of
from simkit.learn.methods.asl import Clip, Gamma
from simkit.learn.methods.ignore import warn_without_negatives
from simkit.learn.methods.p_asl import Weight
from simkit.learn.task import Batch, Outputs, Sizes, Task

_REDUCTION = {"durand": "mean_all", "csl": "sum"}


@register
@dataclass(frozen=True)
class PartialBCE(Method):
    """Learn from known labels alone; an image with few of them gives each a larger weight.

    Cross-entropy of the known labels (..., b, L) times a weight of their image. durand: alpha *
    share ** gamma + beta, of the share of classes that are known; mean over all entries. Far below
    a share of 0.1 the weight hardly grows any more; (alpha, beta, gamma) = (1, 0, -1) is the mean
    over what is known.  csl: 1 + 1 / (1 + number of known), summed, on the asymmetric losses of
    that code; as its baseline wCE, without focusing.
    """

    # The constants of Durand et al.; Soft Exposure does not say which it takes.
    alpha: float = -4.45
    beta: float = 5.45  # the weight of a label where the share p is known: alpha p^gamma + beta
    gamma: float = 1.0  # the exponent of that share
    normalise: Literal["durand", "csl"] = "durand"
    gamma_pos: Gamma = 0.0  # focusing, weights and clip as in p-asl
    gamma_neg: Gamma = 0.0
    alpha_pos: Weight = 1.0
    alpha_neg: Weight = 1.0
    clip: Clip = 0.0
    reduction: Reduction | None = None  # none: mean_all with durand, sum with csl
    epsilon: Literal["csl"] | None = None
    reproduce: Literal["csl", "paper"] | None = None  # paper: Durand et al., exact logs

    name: ClassVar[str] = "partial-bce"
    title: ClassVar[str] = "Partial BCE"
    gist: ClassVar[str] = "known labels, reweighted"
    source: ClassVar[str] = "Durand et al. CVPR 2019; wCE of Ben-Baruch et al., CVPR 2022"

    presets: ClassVar = {
        "csl": {"normalise": "csl", "reduction": "sum", "epsilon": "csl"},
        "paper": {"normalise": "durand", "reduction": "mean_all", "epsilon": None},
    }

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        self._check_weights(sizes_of(task).classes)
        warn_without_negatives(self.name, task)
        return state

    def _check_weights(self, classes: int) -> None:
        # They rise or fall with the share that is known: the two ends bound them all.
        for known in (1, classes):
            labels = torch.zeros(1, classes, dtype=torch.int8)
            labels[:, :known] = PRESENT
            weight = self.weights(labels).item()
            if not 0 <= weight <= 1e12:
                raise BadInput(
                    f"partial-bce: an image with {known} of {classes} labels known would weigh "
                    f"{weight:.6g}; change alpha, beta or gamma until it is from 0 to 1e12"
                )

    def weights(self, labels: Tensor) -> Tensor:
        """(..., b, 1) weight of every known label of an image, whatever where none is known."""
        if self.normalise == "csl":
            return 1 / (1 + _known(labels)) + 1
        return few_weigh_more(labels, self.alpha, self.beta, self.gamma)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        values = focused(
            out.logits,
            present,
            gamma_pos=self.gamma_pos,
            gamma_neg=self.gamma_neg,
            clip=self.clip,
            epsilon=self.epsilon,
        )
        if self.alpha_pos != 1 or self.alpha_neg != 1:
            values = torch.where(present, self.alpha_pos * values, self.alpha_neg * values)
        values = values.masked_fill(batch.labels == UNKNOWN, 0.0)
        weighted = values * self.weights(batch.labels).to(values.dtype)
        return reduce(weighted, self._reduction)

    @property
    def sums(self) -> bool:
        return self._reduction == "sum"

    @property
    def _reduction(self) -> str:
        return self.reduction or _REDUCTION[self.normalise]

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        return (batch.labels == UNKNOWN).expand_as(out.logits)


def few_weigh_more(labels: Tensor, alpha: float, beta: float, gamma: float) -> Tensor:
    """(..., b, 1) weight of an image: alpha * share ** gamma + beta, of the share that is known."""
    # Without known labels nothing is weighted, but a negative gamma would divide by zero.
    share = _known(labels).clamp(min=1) / labels.shape[-1]
    return alpha * share**gamma + beta


def _known(labels: Tensor) -> Tensor:
    return (labels != UNKNOWN).sum(-1, keepdim=True).double()
