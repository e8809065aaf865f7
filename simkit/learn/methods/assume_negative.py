"""Methods that treat unknown labels as absent: AN, FE, WAN, LSAN and LS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, Reduction, bce, reduce, wide
from simkit.learn.method import Method, register
from simkit.learn.methods.known_labels import Full
from simkit.learn.task import Batch, Outputs
from simkit.registry import Positive, Range, setting


@dataclass(frozen=True)
class AssumedNegatives(Method):
    """Unknown labels count as absent, with a weight for present ones: the base of AN and FE."""

    pos_weight: Positive = setting(1.0, "weight of known positives")
    reduction: Reduction = setting("mean_all", "mean or sum; sum_classes: Soft Exposure")
    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")

    family: ClassVar[str] = "baselines"
    unknown_as_absent: ClassVar[bool] = True

    def on_complete(self) -> Method:
        mean = self.pos_weight == 1 and self.reduction == "mean_all"
        return Full(epsilon=self.epsilon) if mean else self

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        values = bce(out.logits, present, self.epsilon)
        if self.pos_weight != 1:
            values = torch.where(present, self.pos_weight * values, values)
        return reduce(values, self.reduction)


@register
class AssumeNegative(AssumedNegatives):
    """Assume negative: every unknown label counts as absent.

    The loss is the mean over all labels (..., b, L) of -log p where a label is present and of
    -log(1 - p) elsewhere. Kim et al. CVPR 2022 print a weight of 0 for assumed negatives, a
    misprint for 1.
    """

    reproduce: Literal["spml", "paper"] | None = setting(None, "paper: exact logs")

    name: ClassVar[str] = "an"
    title: ClassVar[str] = "AN"
    gist: ClassVar[str] = "unknown = absent"
    look: ClassVar = ("#0072B2", "o")
    source: ClassVar[str] = "Cole et al. CVPR 2021, eq. 3; naive AN of Kim et al., CVPR 2022"
    presets: ClassVar = {
        "spml": {"pos_weight": 1.0, "reduction": "mean_all", "epsilon": "spml"},
        "paper": {"pos_weight": 1.0, "reduction": "mean_all", "epsilon": None},
    }


@register
class FullExposure(AssumedNegatives):
    """Unknown labels count as absent, present ones five times (eq. 2).

    The loss is summed over classes: at the same learning rate it moves L times as far as AN.
    """

    pos_weight: Positive = setting(5.0, "weight of known positives")
    reduction: Reduction = setting("sum_classes", "mean or sum; sum_classes: Soft Exposure")

    name: ClassVar[str] = "fe"
    title: ClassVar[str] = "FE"
    gist: ClassVar[str] = "unknown = absent, present count more"
    look: ClassVar = ("#0A3A6B", "p")
    alternative: ClassVar = {"pos_weight": 10.0}
    source: ClassVar[str] = "Kundu & Tighe NeurIPS 2020, baseline Full Exposure"


@register
class WeakAssumeNegative(Method):
    """Weak assume negative: unknown labels count as absent, with weight 1 / (L - 1).

    All assumed negatives of an image with one known positive weigh as much as that positive. The
    loss is the mean over all labels (..., b, L).
    """

    # The published code does not have known negatives, and would give them the small weight as
    # well.
    weight_known_negatives: bool = setting(False, "give known negatives the small weight too")
    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    # paper: exact logs, and the small weight for assumed negatives only
    reproduce: Literal["spml", "paper"] | None = setting(None, "paper: exact logs")

    name: ClassVar[str] = "wan"
    title: ClassVar[str] = "WAN"
    gist: ClassVar[str] = "unknown = absent, weigh less"
    family: ClassVar[str] = "weights and smoothing"
    look: ClassVar = ("#BBA8F5", "v")
    source: ClassVar[str] = "Cole et al. CVPR 2021, weak assume negative loss"
    presets: ClassVar = {
        "spml": {"weight_known_negatives": True, "epsilon": "spml"},
        "paper": {"weight_known_negatives": False, "epsilon": None},
    }

    def on_complete(self) -> Method:
        return self if self.weight_known_negatives else Full(epsilon=self.epsilon)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        weak = ~present if self.weight_known_negatives else batch.labels == UNKNOWN
        values = bce(out.logits, present, self.epsilon)
        small = 1 / max(out.logits.shape[-1] - 1, 1)
        return reduce(torch.where(weak, small * values, values), "mean_all")


@register
class SmoothedAssumeNegative(Method):
    """Assume negative with label smoothing.

    Mean cross-entropy against targets (..., b, L) of 1 - epsilon for present and epsilon for all
    other labels. On complete labels this is plain label smoothing. LS in Soft Exposure is another
    method: `ls-constant`.
    """

    epsilon: Annotated[float, Range(0, below=0.5)] = setting(
        0.1, "smoothing of targets; Verelst et al. choose from 0.1 and 0.2"
    )
    eps_convention: Literal["whole", "half"] = setting("whole", "half: Cole et al.'s paper")
    smooth: Literal["all", "unknown_only"] = setting("all", "labels that are smoothed")
    log_epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    reproduce: Literal["spml", "paper"] | None = setting(None, "paper: half, exact logs")

    name: ClassVar[str] = "lsan"
    title: ClassVar[str] = "LSAN"
    gist: ClassVar[str] = "unknown = absent, smoothed"
    family: ClassVar[str] = "weights and smoothing"
    look: ClassVar = ("#836AFB", "p")
    unknown_as_absent: ClassVar[bool] = True
    alternative: ClassVar = {"epsilon": 0.02}
    source: ClassVar[str] = "Cole et al. CVPR 2021, assume negative loss with label smoothing"
    presets: ClassVar = {
        "spml": {"eps_convention": "whole", "smooth": "all", "log_epsilon": "spml"},
        "paper": {"eps_convention": "half", "smooth": "all", "log_epsilon": None},
    }

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        epsilon = self.epsilon / 2 if self.eps_convention == "half" else self.epsilon
        present = (batch.labels == PRESENT).to(wide(out.logits).dtype)
        if self.smooth == "all":
            target = epsilon + (1 - 2 * epsilon) * present
        else:
            target = torch.where(batch.labels == UNKNOWN, epsilon, present)
        return reduce(bce(out.logits, target, self.log_epsilon), "mean_all")


@register
class ConstantTemperature(Method):
    """Soft targets for unknown labels, with one temperature for all of them.

    Soft Exposure calls this LS, but it does not smooth targets (that is `lsan`): an unknown label
    adds -log sigmoid(x / temperature) (eq. 3), which is assume negative at a temperature of -1.
    """

    temperature: Annotated[float, Range(most=-1e-6)] = setting(-2.0, "of unknown labels; -1 is AN")
    pos_weight: Positive = setting(1.0, "weight of known positives")
    reduction: Reduction = setting("sum_classes", "reduction of the loss to a mean or a sum")

    name: ClassVar[str] = "ls-constant"
    title: ClassVar[str] = "LS (constant temperature)"
    gist: ClassVar[str] = "unknown = softly absent"
    family: ClassVar[str] = "weights and smoothing"
    look: ClassVar = ("#4A1870", "H")
    alternative: ClassVar = {"temperature": -4.0}
    source: ClassVar[str] = "Kundu & Tighe NeurIPS 2020, baseline LS"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = out.logits
        scaled = torch.where(batch.labels == UNKNOWN, x / -self.temperature, x)
        present = batch.labels == PRESENT
        values = bce(scaled, present)
        if self.pos_weight != 1:
            values = torch.where(present, self.pos_weight * values, values)
        return reduce(values, self.reduction)
