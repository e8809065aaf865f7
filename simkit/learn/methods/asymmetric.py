"""Losses focused on hard labels: Focal, ASL, P-ASL and CSL."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.annotate.similarities import Similarities
from simkit.chance import Chance
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Clip, Gamma, Reduction, Weight, focused, log_of, power, reduce, wide
from simkit.learn.method import Method, register, sizes_of
from simkit.learn.methods.known_labels import warn_without_negatives
from simkit.learn.side_info import ClassPrior
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import NonNegative, Range, Share, setting


@register
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
    family: ClassVar[str] = "focal"
    look: ClassVar = ("#FF9A1F", "v")
    unknown_as_absent: ClassVar[bool] = True
    alternative: ClassVar = {"gamma": 1.0}
    source: ClassVar[str] = "Lin et al. ICCV 2017, eq. 4-5"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = batch.labels == PRESENT
        values = focused(out.logits, present, (self.gamma, self.gamma), detach=self.detach_focus)
        if self.alpha is not None:
            values = torch.where(present, self.alpha * values, (1 - self.alpha) * values)
        return reduce(values, self.reduction)


@register
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
    family: ClassVar[str] = "focal"
    look: ClassVar = ("#F7B98A", "d")
    unknown_as_absent: ClassVar[bool] = True
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
        # times -log q
        if self.reproduce == "csl":
            q = torch.sigmoid(-against)
            if self.clip:
                q = (q + self.clip * (1 - present).to(q.dtype)).clamp(max=1)
            return weight * -log_of(q, "csl")
        plain = F.softplus(against, threshold=40)  # torch's cut-off at 20 is visible in float64
        if not self.clip:
            return weight * plain
        clipped = (torch.sigmoid(-against) + self.clip).clamp(max=1)
        return weight * torch.where(present.bool(), plain, -torch.log(clipped))


def _focus(base: Tensor, kind: Tensor, alpha: float, gamma: float) -> Tensor:
    """alpha * base ** gamma where `kind` (0 or 1) is 1, else 0."""
    weight = kind.to(base.dtype)
    if alpha != 1:
        weight *= alpha
    return weight.mul_(power(base, gamma)) if gamma else weight


@register
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
    family: ClassVar[str] = "focal"
    look: ClassVar = ("#A04E14", "s")
    alternative: ClassVar = {"gamma_unknown": 4.0}
    source: ClassVar[str] = "Ben-Baruch et al., CVPR 2022, eq. 2-3"

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        if self.mode != "negative":
            warn_without_negatives(self.name, task)

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


# The published code has eta = .5 for COCO: 5.06 times the mean of its published prior.
_TIMES_MEAN = 5.0
_BELOW_ALL = -1e30  # scores of known labels; float masks are several times slower
_DEGENERATE = (
    "csl: no label is absent, so the estimated prior is uninformative: with it every unknown label "
    "would be ignored. Labels are selected by likelihood alone; pass a ClassPrior estimated from "
    "other labels to use a prior"
)


@register
class ClassAwareSelective(Asymmetric):
    """P-ASL that ignores the unknown labels most likely to be present.

    By likelihood: in every step the top_k highest scores among the unknown labels of each image; of
    equal scores the first class. By prior: classes with an estimated prior above eta. The union is
    ignored, and the two may overlap. prior="none" uses the likelihood alone, top_k=0 the prior.

    eta is a share of images: .5 on COCO, .05 on OpenImages (with K=200 and gammas 1, 2, 7). Its
    value depends on the data and on the prior, which an early or small model overestimates. "auto"
    is 5 times the mean of the estimated prior, as .5 is for COCO's: it ignores classes far above
    the others, never more than a fifth of them, and possibly none if classes are few or similar.
    reproduce="csl" has .05 and uses the prior of the published code, a mean over all outputs of the
    temporary training, if the ClassPrior was built here.

    The prior of a class without known absent labels, estimated from these labels, is not
    informative: such a class is selected by likelihood alone. eta=0 selects every class; the
    published code then has no prior.
    """

    # The published code; the paper uses 200 of the 9,600 classes of OpenImages.
    top_k: Annotated[int, Range(0)] = setting(5, "number of likeliest unknown labels to ignore")
    # "batch": the top_k * b highest of the whole batch, as in the published code.
    top_k_scope: Literal["image", "batch"] = setting("image", "scope of top_k")
    # "soft": labels not selected by likelihood have weight exp(-a * prior) instead (appendix B).
    prior: Literal["threshold", "soft", "none"] = setting("threshold", "use of the class prior")
    prior_from: Literal["training", "scores"] = setting(
        "training", "origin of the prior: a first training, or an image-text model's scores"
    )
    eta: Share | Literal["auto"] = setting("auto", "threshold of the prior; auto: 5 times its mean")
    a: NonNegative = setting(10.0, "decay of the weights with the prior; for soft")

    name: ClassVar[str] = "csl"
    title: ClassVar[str] = "CSL"
    gist: ClassVar[str] = "likely positives ignored"
    family: ClassVar[str] = "focal"
    look: ClassVar = ("#EE5F02", "D")
    alternative: ClassVar = {"eta": 0.01}
    source: ClassVar[str] = "Ben-Baruch et al., CVPR 2022, eq. 4-9"
    presets: ClassVar = {"csl": {"top_k_scope": "batch"}, "paper": {"top_k_scope": "image"}}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reproduce and self.eta == "auto":
            object.__setattr__(self, "eta", 0.05)
        if self.reproduce == "csl" and not self.eta:  # in that code an eta of 0 means no prior
            self._preset({"prior": "none"})

    @property
    def needs(self) -> Needs:
        if self.prior == "none":
            return Needs()
        origin = Similarities if self.prior_from == "scores" else ClassPrior
        return Needs(labels=True, aids=(origin,))

    def shapes(self, sizes: Sizes) -> Any:
        if self.prior == "soft":
            return {"unknown_weight": (torch.float64, (sizes.classes,))}
        return {"common": (torch.bool, (sizes.classes,))} if self.prior == "threshold" else {}

    def estimates(self, task: Task | Sizes) -> dict[str, float]:
        if self.prior != "threshold" or self.eta != "auto" or isinstance(task, Sizes):
            return {}
        shares, blind = self._shares(task)
        mean = 1.0 if blind.all() else float(shares[~blind].mean())
        return {"eta": min(1.0, _TIMES_MEAN * mean)}

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        classes = sizes_of(task).classes
        if self.top_k >= classes:
            warnings.warn(
                f"csl: top_k is {self.top_k} and there are {classes} classes, so every unknown "
                "label is ignored; choose a smaller top_k, or p-asl(mode=ignore)",
                stacklevel=3,
            )
        if self.prior == "none":
            return
        shares, blind = self._shares(task)
        if blind.all() and self.top_k < classes:
            warnings.warn(_DEGENERATE, stacklevel=3)
        if self.prior == "soft":
            state.unknown_weight.copy_(torch.from_numpy(np.exp(-self.a * shares)))
            return
        eta = float(self.estimates(task).get("eta", self.eta))
        common = shares > eta
        if self.top_k < classes < 2 * common.sum():
            warnings.warn(
                f"csl: the prior puts {common.sum()} of {classes} classes above eta={eta:g}, and "
                "every unknown label of these is ignored, as with p-asl(mode=ignore); eta is a "
                "share of images: choose a higher one, or eta=auto",
                stacklevel=3,
            )
        state.common.copy_(torch.from_numpy(common))

    def _shares(self, task: Task) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(L,) prior of each class, 0 if uninformative, and (L,) bool mask of these classes."""
        if self.prior_from == "scores":
            scores = task.aid(Similarities)
            shares = scores.probabilities(task.labels.images, task.labels.classes).mean(axis=0)
            return shares, np.zeros(len(shares), bool)
        prior = task.aid(ClassPrior)
        blind = prior.lacks_label(task.labels)
        shares = prior.of(task.labels.classes, running=self.reproduce == "csl")
        return np.where(blind, 0.0, shares), blind

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        assumed = ~batch.labels.bool() & ~self.selected(batch, out, state)
        weight = state.unknown_weight[..., None, :] if self.prior == "soft" else None
        values = self.terms(batch, out, assumed=assumed, unknown_weight=weight)
        return reduce(values, self.reduction)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels without any weight; a soft prior reduces the weight of others too."""
        logits = wide(out.logits.detach())
        known = batch.labels.bool().expand(logits.shape)
        chosen = torch.zeros_like(known)
        if self.top_k:  # fewer if there are not enough
            b, L = logits.shape[-2:]
            scores = known.to(torch.int8).to(logits.dtype).mul_(_BELOW_ALL).add_(logits)
            if self.top_k_scope == "image":
                chosen = highest(scores, min(self.top_k, L))
            else:
                chosen = highest(scores.flatten(-2), min(self.top_k, L) * b).unflatten(-1, (b, L))
        if self.prior == "threshold":
            chosen = chosen | state.common[..., None, :]
        return chosen & ~known


def highest(scores: Tensor, k: int) -> Tensor:
    """(..., n) bool: the k highest along the last dimension; of ties the first."""
    best = scores.topk(k, dim=-1).values
    last = best[..., -1:]
    level = scores == last
    left = (best == last).sum(-1, keepdim=True, dtype=torch.int32)
    return (scores > last) | (level & (level.cumsum(-1, dtype=torch.int32) <= left))
