"""Methods that learn from known labels only: complete labels, Ignore and Partial BCE."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.learn.losses import Clip, Epsilon, Gamma, Reduction, Weight, bce, focused, reduce
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import setting


@register
class Full(Method):
    """Cross-entropy on complete labels of the asked images.

    The loss is the mean binary cross-entropy over all labels (..., b, L). Raises BadInput at the
    start if an entry is unknown. In a custom loop unknown entries are ignored.
    """

    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    reproduce: Literal["spml", "paper"] | None = setting(None, "paper: exact logs")

    name: ClassVar[str] = "full"
    title: ClassVar[str] = "Full labels"
    gist: ClassVar[str] = "all labels known"
    family: ClassVar[str] = "baselines"
    look: ClassVar = ("#222222", "*")
    source: ClassVar[str] = "binary cross-entropy; every paper's upper bound"
    presets: ClassVar = {"spml": {"epsilon": "spml"}, "paper": {"epsilon": None}}

    default_needs: ClassVar[Needs] = Needs(labels=True)

    def on_complete(self) -> Method:
        return Full(epsilon=self.epsilon)

    def check(self, labels: PartialLabels) -> None:
        entries = int(labels.asked.sum()) * labels.shape[1]
        unknown = entries - labels.codes.nnz
        if unknown:
            raise BadInput(
                f"method 'full' needs complete labels, but {unknown} of {entries} entries of the "
                "asked images are unknown; annotate with full-subset, or train 'an' or 'ignore'"
            )

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        return reduce(values.masked_fill(batch.labels == UNKNOWN, 0.0), "mean_all")


@dataclass(frozen=True)
class KnownLabels(Method):
    """The base of methods that ignore unknown labels; `start` warns of labels without negatives."""

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        warn_without_negatives(self.name, task)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        return (batch.labels == UNKNOWN).expand_as(out.logits)


@register
class Ignore(KnownLabels):
    """Cross-entropy on known labels alone.

    Binary cross-entropy of the known labels (..., b, L), averaged over all entries or over these.
    With known positives only, the optimum is to predict everything present; `start` warns of it.
    The code of Cole et al. stops at a batch without positives or without negatives, which may occur
    in small batches.
    """

    # mean_all: code of Cole et al.; sum: code of Ben-Baruch et al.; sum_classes: Soft Exposure.
    reduction: Literal["mean_all", "mean_observed", "sum", "sum_classes"] = setting(
        "mean_all", "reduction of the loss to a mean or a sum"
    )
    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    reproduce: Literal["spml", "csl", "paper"] | None = setting(None, "paper: IU with exact logs")

    name: ClassVar[str] = "ignore"
    title: ClassVar[str] = "Ignore"
    gist: ClassVar[str] = "unknown ignored"
    family: ClassVar[str] = "baselines"
    look: ClassVar = ("#6CBDF7", "s")
    known_alone: ClassVar[bool] = True
    source: ClassVar[str] = "IU of Cole et al. CVPR 2021; Ignore of Ben-Baruch et al., CVPR 2022"
    presets: ClassVar = {
        "spml": {"reduction": "mean_all", "epsilon": "spml"},
        "csl": {"reduction": "sum", "epsilon": "csl"},
        "paper": {"reduction": "mean_all", "epsilon": None},
    }

    def on_complete(self) -> Method:
        return Full(epsilon=self.epsilon) if self.reduction == "mean_all" else self

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        unknown = batch.labels == UNKNOWN
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon).masked_fill(unknown, 0.0)
        return reduce(values, self.reduction, ~unknown)


def warn_without_negatives(name: str, task: Task | Sizes) -> None:
    """Warn, in a `start`, if no known label is absent."""
    if isinstance(task, Task) and not task.labels.per_class(ABSENT).any():
        warnings.warn(
            f"method {name!r} learns from known labels alone, and none of these says absent: it "
            "will predict everything present; train 'an' or 'll-r' instead",
            stacklevel=4,
        )


_REDUCTION = {"durand": "mean_all", "csl": "sum"}


@register
class PartialBCE(KnownLabels):
    """Cross-entropy on known labels, weighted by the share of known labels of an image.

    Cross-entropy of the known labels (..., b, L) times a weight of their image. durand: alpha *
    share ** gamma + beta, of the share of known classes; mean over all entries. Far below a share
    of 0.1 the weight is nearly constant; (alpha, beta, gamma) = (1, 0, -1) is the mean over known
    labels.  csl: 1 + 1 / (1 + number of known labels), summed, on the asymmetric losses of that
    code; without focusing, as in its baseline wCE.
    """

    # The constants of Durand et al.; Soft Exposure does not state its own.
    alpha: float = setting(-4.45, "weight alpha p^gamma + beta of a label if a share p is known")
    beta: float = setting(5.45, "weight alpha p^gamma + beta of a label if a share p is known")
    gamma: float = setting(1.0, "exponent of the known share p")
    normalise: Literal["durand", "csl"] = setting("durand", "formula of the weights")
    gamma_pos: Gamma = setting(0.0, "exponent for known positives, as in p-asl")
    gamma_neg: Gamma = setting(0.0, "exponent for known negatives, as in p-asl")
    alpha_pos: Weight = setting(1.0, "weight of known positives")
    alpha_neg: Weight = setting(1.0, "weight of known negatives")
    clip: Clip = setting(0.0, "as in asl")
    reduction: Reduction | None = setting(None, "none: mean_all with durand, sum with csl")
    epsilon: Literal["csl"] | None = setting(None, "finite logs as in this code; none: exact")
    reproduce: Literal["csl", "paper"] | None = setting(None, "paper: Durand et al., exact logs")

    name: ClassVar[str] = "partial-bce"
    title: ClassVar[str] = "Partial BCE"
    gist: ClassVar[str] = "known labels, reweighted"
    family: ClassVar[str] = "weights and smoothing"
    look: ClassVar = ("#7438B8", "d")
    known_alone: ClassVar[bool] = True
    source: ClassVar[str] = "Durand et al. CVPR 2019; wCE of Ben-Baruch et al., CVPR 2022"

    presets: ClassVar = {
        "csl": {"normalise": "csl", "reduction": "sum", "epsilon": "csl"},
        "paper": {"normalise": "durand", "reduction": "mean_all", "epsilon": None},
    }

    def weights(self, labels: Tensor) -> Tensor:
        """(..., b, 1) weight of every known label of an image, arbitrary if none is known."""
        if self.normalise == "csl":
            return 1 / (1 + (labels != UNKNOWN).sum(-1, keepdim=True).double()) + 1
        return few_weigh_more(labels, self.alpha, self.beta, self.gamma)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        gammas = self.gamma_pos, self.gamma_neg
        values = focused(out.logits, present, gammas, clip=self.clip, epsilon=self.epsilon)
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


def few_weigh_more(labels: Tensor, alpha: float, beta: float, gamma: float) -> Tensor:
    """(..., b, 1) weight of an image: alpha * share ** gamma + beta, of the known share."""
    # Without known labels there is nothing to weight, but a negative gamma would divide by zero.
    known = (labels != UNKNOWN).sum(-1, keepdim=True).double()
    share = known.clamp(min=1) / labels.shape[-1]
    return alpha * share**gamma + beta
