"""Class-aware selective loss (CSL)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.embed.similarities import Similarities
from simkit.learn.losses import reduce, wide
from simkit.learn.method import register, sizes_of
from simkit.learn.methods.asymmetric import Asymmetric
from simkit.learn.side_info import ClassPrior
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import NonNegative, Range, Share, setting

# The published code has eta = .5 for COCO: 5.06 times the mean of its published prior.
_TIMES_MEAN = 5.0
_BELOW_ALL = -1e30  # scores of known labels; float masks are several times slower
_DEGENERATE = (
    "csl: no label is absent, so the estimated prior is uninformative: with it every unknown label "
    "would be ignored. Labels are selected by likelihood alone; pass a ClassPrior estimated from "
    "other labels to use a prior"
)


@register
@dataclass(frozen=True)
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

    def state_bytes(self, sizes: Sizes) -> int:
        return {"threshold": 1, "soft": 8, "none": 0}[self.prior] * sizes.classes

    def estimates(self, task: Task | Sizes) -> dict[str, float]:
        if self.prior != "threshold" or self.eta != "auto" or isinstance(task, Sizes):
            return {}
        shares, blind = self._shares(task)
        mean = 1.0 if blind.all() else float(shares[~blind].mean())
        return {"eta": min(1.0, _TIMES_MEAN * mean)}

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        classes = sizes_of(task).classes
        if self.top_k >= classes:
            warnings.warn(
                f"csl: top_k is {self.top_k} and there are {classes} classes, so every unknown "
                "label is ignored; choose a smaller top_k, or p-asl(mode=ignore)",
                stacklevel=2,
            )
        if self.prior == "none":
            return state
        assert isinstance(task, Task)
        shares, blind = self._shares(task)
        if blind.all() and self.top_k < classes:
            warnings.warn(_DEGENERATE, stacklevel=2)
        if self.prior == "soft":
            state.register_buffer("unknown_weight", torch.from_numpy(np.exp(-self.a * shares)))
            return state
        eta = float(self.estimates(task).get("eta", self.eta))
        common = shares > eta
        if self.top_k < classes < 2 * common.sum():
            warnings.warn(
                f"csl: the prior puts {common.sum()} of {classes} classes above eta={eta:g}, and "
                "every unknown label of these is ignored, as with p-asl(mode=ignore); eta is a "
                "share of images: choose a higher one, or eta=auto",
                stacklevel=2,
            )
        state.register_buffer("common", torch.from_numpy(common))
        return state

    def _shares(self, task: Task) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(L,) prior of each class, 0 if uninformative, and (L,) bool mask of these classes."""
        if self.prior_from == "scores":
            scores = task.aid(Similarities)
            shares = scores.probabilities(task.labels.images, task.labels.classes).mean(axis=0)
            return shares, np.zeros(len(shares), bool)
        prior = task.aid(ClassPrior)
        blind = prior.blind(task.labels)
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
        chosen = self._likely(logits, known) if self.top_k else torch.zeros_like(known)
        if self.prior == "threshold":
            chosen = chosen | state.common[..., None, :]
        return chosen & ~known

    def _likely(self, logits: Tensor, known: Tensor) -> Tensor:
        """(..., b, L) bool: the highest scores of unknown labels; fewer if there are not enough."""
        images, classes = logits.shape[-2:]
        scores = known.to(torch.int8).to(logits.dtype).mul_(_BELOW_ALL).add_(logits)
        if self.top_k_scope == "image":
            return highest(scores, min(self.top_k, classes))
        chosen = highest(scores.flatten(-2), min(self.top_k, classes) * images)
        return chosen.unflatten(-1, (images, classes))


def highest(scores: Tensor, k: int) -> Tensor:
    """(..., n) bool: the k highest along the last dimension; of ties the first."""
    best = scores.topk(k, dim=-1).values
    last = best[..., -1:]
    level = scores == last
    left = (best == last).sum(-1, keepdim=True, dtype=torch.int32)
    return (scores > last) | (level & (level.cumsum(-1, dtype=torch.int32) <= left))
