"""Partial asymmetric loss (P-ASL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import UNKNOWN
from simkit.learn.losses import log_of, power, reduce, wide
from simkit.learn.method import Method, register
from simkit.learn.methods.asl import Clip, Gamma
from simkit.learn.methods.ignore import warn_without_negatives
from simkit.learn.task import Batch, Outputs, Sizes, Task
from simkit.registry import Range

Weight = Annotated[float, Range(0, 1_000_000)]


@dataclass(frozen=True)
class Asymmetric(Method):
    """Cross-entropy focused on what the model gets wrong, differently for each kind of label.

    A label (..., b, L) of one kind adds -alpha * (1 - q) ** gamma * log q, where q is the
    probability that the model gives to its target (eq. 2-3). No gradient passes through the weight,
    as in the published code, from which alphas and clip are.
    """

    gamma_pos: Gamma = 0.0  # these three from the published code; meant to rise in this order
    gamma_neg: Gamma = 1.0
    gamma_unknown: Gamma = 2.0
    alpha_pos: Weight = 1.0
    alpha_neg: Weight = 1.0
    alpha_unknown: Weight = 1.0
    clip: Clip = 0.0  # added to the q of negative and unknown labels: those below it are dropped
    # sum: the published code, B * L times a mean. mean_all: over all B * L entries.
    reduction: Literal["sum", "sum_classes", "mean_all"] = "sum"
    # "csl": clamp probabilities at 1e-8, so that beyond logits of 18.4 the gradient is 0.
    # "paper": exact logs, as without.
    reproduce: Literal["csl", "paper"] | None = None

    def terms(
        self,
        batch: Batch,
        out: Outputs,
        *,
        assumed: Tensor | None = None,
        unknown_weight: Tensor | None = None,
    ) -> Tensor:
        """(..., b, L) losses of all entries.

        assumed (..., b, L) bool: unknown labels that are taken for absent (by default all), while
        the others count nothing.  unknown_weight (..., 1, L): a factor for those.
        """
        logits = wide(out.logits)
        labels = batch.labels.expand(logits.shape)
        # Kinds of labels as int8 of 0 and 1: where() and masks of floats are several times slower.
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
        plain = F.softplus(against, threshold=40)  # what torch leaves out above 20 shows in doubles
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
    """Take unknown labels for absent, but focus harder on those the model disagrees with.

    mode "ignore" leaves unknown labels out. "ignore_normalize_classes", the weighted Ignore of the
    published code, also weighs known labels by 1 + 1 / (1 + known labels of their image). Trap:
    the loss is a sum; learning rates tuned on means do not carry over to it (with sgd).
    """

    mode: Literal["negative", "ignore", "ignore_normalize_classes"] = "negative"

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
            known = (batch.labels != UNKNOWN).sum(-1, keepdim=True).to(values.dtype)
            values = values * (1 + 1 / (1 + known))
        return reduce(values, self.reduction)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        if self.mode == "negative":
            return torch.zeros_like(out.logits, dtype=torch.bool)
        return (batch.labels == UNKNOWN).expand_as(out.logits)
