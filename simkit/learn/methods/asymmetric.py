"""Losses focused on hard labels: Focal, ASL, P-ASL and CSL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Clip, Gamma, Reduction, Weight, focused, log_of, power, reduce, wide
from simkit.learn.method import Method, register
from simkit.learn.methods.known_labels import warn_without_negatives
from simkit.learn.task import Batch, Outputs, Sizes, Task
from simkit.registry import Range, setting


@register
@dataclass(frozen=True)
class Focal(Method):
    """Focal loss: unknown labels count as absent, and easy labels are down-weighted.

    A label (..., b, L) whose target has probability q adds -(1 - q)^gamma log q. The loss is a sum:
    suitable learning rates are far below those of a mean.
    """

    gamma: Gamma = setting(2.0, "focusing exponent: the larger, the less easy labels count")
    alpha: Annotated[float, Range(above=0, below=1)] | None = setting(
        None, "weight of present labels, 1 - alpha of absent; 0.25 in Lin et al."
    )
    detach_focus: bool = setting(False, "no gradient through the focusing weight")
    reduction: Reduction = setting("sum", "reduction of the loss to a mean or a sum")

    name: ClassVar[str] = "focal"
    title: ClassVar[str] = "Focal"
    gist: ClassVar[str] = "unknown = absent, hard ones count more"
    alternative: ClassVar = {"gamma": 1.0}
    source: ClassVar[str] = "Lin et al. ICCV 2017, eq. 4-5"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        values = focused(out.logits, present, (self.gamma, self.gamma), detach=self.detach_focus)
        if self.alpha is not None:
            values = torch.where(present, self.alpha * values, (1 - self.alpha) * values)
        return reduce(values, self.reduction)


@register
@dataclass(frozen=True)
class AsymmetricLoss(Method):
    """Asymmetric loss: unknown labels count as absent, and easy negatives are down-weighted.

    A present label (..., b, L) adds -(1 - p)^gamma_pos log p, an absent one -q^gamma_neg log(1 - q)
    with q = max(p - clip, 0): below the probability `clip` it has no loss. The loss is a sum:
    suitable learning rates are far below those of a mean.
    """

    gamma_pos: Gamma = setting(1.0, "exponent for present labels; 0 in the script for COCO")
    gamma_neg: Gamma = setting(4.0, "exponent for absent labels: if large, easy ones count less")
    clip: Clip = setting(0.05, "subtracted from probabilities of absent labels; no loss below it")
    # The published class; its optimised twin differentiates the weight.
    detach_focus: bool = setting(True, "no gradient through the focusing weight")
    reduction: Reduction = setting("sum", "reduction of the loss to a mean or a sum")
    epsilon: Literal["csl"] | None = setting(None, "finite logs as in this code; none: exact")
    # csl: logs as in the code of both ASL and CSL; paper: exact logs
    reproduce: Literal["csl", "paper"] | None = setting(None, "paper: exact logs")

    name: ClassVar[str] = "asl"
    title: ClassVar[str] = "ASL"
    gist: ClassVar[str] = "unknown = absent, easy ones weigh less"
    alternative: ClassVar = {"gamma_neg": 2.0}
    source: ClassVar[str] = "Ridnik et al. ICCV 2021, eq. 4-7"
    presets: ClassVar = {
        "csl": {"reduction": "sum", "epsilon": "csl"},
        "paper": {"reduction": "sum", "epsilon": None},
    }

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = focused(
            out.logits,
            batch.labels == PRESENT,
            (self.gamma_pos, self.gamma_neg),
            clip=self.clip,
            detach=self.detach_focus,
            epsilon=self.epsilon,
        )
        return reduce(values, self.reduction)


@dataclass(frozen=True)
class Asymmetric(Method):
    """Cross-entropy focused on hard labels, differently for each kind of label.

    A label (..., b, L) of one kind adds -alpha * (1 - q) ** gamma * log q, where q is the
    probability of its target (eq. 2-3). No gradient passes through the weight, as in the published
    code, the source of alphas and clip.
    """

    # Gammas, alphas and clip from the published code.
    gamma_pos: Gamma = setting(0.0, "exponent for known positives")
    gamma_neg: Gamma = setting(1.0, "exponent for known negatives: if large, easy ones count less")
    gamma_unknown: Gamma = setting(2.0, "exponent for unknown labels, usually the largest")
    alpha_pos: Weight = setting(1.0, "weight of known positives")
    alpha_neg: Weight = setting(1.0, "weight of known negatives")
    alpha_unknown: Weight = setting(1.0, "weight of unknown labels")
    clip: Clip = setting(0.0, "probability p below which negative and unknown labels have no loss")
    # sum: the published code, B * L times a mean. mean_all: over all B * L entries.
    reduction: Literal["sum", "sum_classes", "mean_all"] = setting("sum", "sum: as published")
    # "csl": clamp probabilities at 1e-8, so that beyond logits of 18.4 the gradient is 0.
    # "paper": exact logs, as by default.
    reproduce: Literal["csl", "paper"] | None = setting(None, "csl: p of at least 1e-8")

    def terms(
        self,
        batch: Batch,
        out: Outputs,
        *,
        assumed: Tensor | None = None,
        unknown_weight: Tensor | None = None,
    ) -> Tensor:
        """(..., b, L) losses of all entries.

        assumed (..., b, L) bool: unknown labels assumed absent (by default all); the others are
        ignored.  unknown_weight (..., 1, L): a factor for unknown labels.
        """
        logits = wide(out.logits)
        labels = batch.labels.expand(logits.shape)
        # Kinds of labels as int8 of 0 and 1: where() and float masks are several times slower.
        present = labels.clamp(min=0)
        absent = present - labels
        assumed = (~labels.bool() if assumed is None else assumed).to(torch.int8)
        against = logits * (1 - 2 * present).to(logits.dtype)  # the logit of 1 - q
        with torch.no_grad():
            missed = torch.sigmoid(against)
            others = (missed - self.clip).clamp(min=0) if self.clip else missed
            weight = _focus(others, assumed, self.alpha_unknown, self.gamma_unknown)
            if unknown_weight is not None:
                weight *= unknown_weight.to(logits.dtype)
            weight += _focus(others, absent, self.alpha_neg, self.gamma_neg)
            weight += _focus(missed, present, self.alpha_pos, self.gamma_pos)
        return weight * self._surprise(against, present)

    def _surprise(self, against: Tensor, present: Tensor) -> Tensor:
        """-log q."""
        if self.reproduce == "csl":
            q = torch.sigmoid(-against)
            if self.clip:
                q = (q + self.clip * (1 - present).to(q.dtype)).clamp(max=1)
            return -log_of(q, "csl")
        plain = F.softplus(against, threshold=40)  # torch's cut-off at 20 is visible in float64
        if not self.clip:
            return plain
        clipped = (torch.sigmoid(-against) + self.clip).clamp(max=1)
        return torch.where(present.bool(), plain, -torch.log(clipped))


def _focus(base: Tensor, kind: Tensor, alpha: float, gamma: float) -> Tensor:
    """alpha * base ** gamma where `kind` (0 or 1) is 1, else 0."""
    weight = kind.to(base.dtype)
    if alpha != 1:
        weight *= alpha
    return weight.mul_(power(base, gamma)) if gamma else weight


@register
@dataclass(frozen=True)
class PartialAsymmetric(Asymmetric):
    """Partial asymmetric loss: known and unknown labels have their own focus.

    mode "ignore" leaves unknown labels out. "ignore_normalize_classes", the weighted Ignore of the
    published code, also weighs known labels by 1 + 1 / (1 + known labels of their image). The loss
    is a sum: learning rates tuned for means are not suitable (with sgd).
    """

    mode: Literal["negative", "ignore", "ignore_normalize_classes"] = setting(
        "negative", "unknown labels: absent, ignored, or ignored with weights by known labels"
    )

    name: ClassVar[str] = "p-asl"
    title: ClassVar[str] = "P-ASL"
    gist: ClassVar[str] = "unknown weigh less"
    alternative: ClassVar = {"gamma_unknown": 4.0}
    source: ClassVar[str] = "Ben-Baruch et al., CVPR 2022, eq. 2-3"

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        if self.mode != "negative":
            warn_without_negatives(self.name, task)
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        nothing = torch.zeros_like(out.logits, dtype=torch.bool)
        values = self.terms(batch, out, assumed=None if self.mode == "negative" else nothing)
        if self.mode == "ignore_normalize_classes":
            known_count = (batch.labels != UNKNOWN).sum(-1, keepdim=True).to(values.dtype)
            values = values * (1 + 1 / (1 + known_count))
        return reduce(values, self.reduction)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        if self.mode == "negative":
            return torch.zeros_like(out.logits, dtype=torch.bool)
        return (batch.labels == UNKNOWN).expand_as(out.logits)
