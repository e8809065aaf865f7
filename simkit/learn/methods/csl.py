"""Class-aware selective loss (CSL)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.aids.prior import ClassPrior
from simkit.learn.methods.base import Batch, Needs, Outputs, Sizes, Task, register
from simkit.learn.methods.pieces.asymmetric import Asymmetric
from simkit.learn.methods.pieces.losses import reduce, wide

_BELOW_ALL = -1e30  # scores of known labels; masks of floats are several times slower
_DEGENERATE = (
    "csl: the labels say of nothing that it is absent, so that the prior covers every class and "
    "would have every unknown label ignored; it goes by likelihood alone, unless a ClassPrior "
    "estimated from other labels is given"
)


@register
@dataclass(frozen=True)
class ClassAwareSelective(Asymmetric):
    """P-ASL that ignores those unknown labels which are most likely present.

    By likelihood: in every step the top_k highest scores among the unknown labels of each image;
    of equal scores the class that comes first. By prior: classes with an estimated prior above
    eta. The union is ignored, and both count the same labels, so they may overlap. prior="none"
    leaves the likelihood alone, top_k=0 the prior.

    Traps: eta is a share of images, and the right one depends on the data (.5 on COCO, .05 on
    OpenImages, which has K=200 and gammas 1, 2, 7); the fewer the classes and the shorter the
    training of the prior, the more of them are above it, and CSL comes near to Ignore. Of a class
    of which nothing is known absent, a prior estimated from these labels knows nothing: it goes by
    likelihood alone. eta=0 puts every class above it; the published code then has no prior.
    """

    top_k: int = 5  # the published code; the paper has 200 of the 9,600 classes of OpenImages
    # "batch": the top_k * b highest of the whole batch, as the published code does.
    top_k_scope: Literal["image", "batch"] = "image"
    # "soft": unknown labels that likelihood leaves weigh exp(-a * prior) instead (appendix B).
    prior: Literal["threshold", "soft", "none"] = "threshold"
    eta: float = 0.05  # unknown labels of classes with a larger prior are left out
    a: float = 10.0  # how fast weights fall with the prior; for "soft"

    name: ClassVar[str] = "csl"
    title: ClassVar[str] = "CSL"
    gist: ClassVar[str] = "unknown ignored where likely"
    alternative: ClassVar = {"eta": 0.01}
    source: ClassVar[str] = "Ben-Baruch et al., CVPR 2022, eq. 4-9"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.top_k >= 0:
            raise BadInput(f"csl: top_k is {self.top_k}; a whole number from 0 on is expected")
        if not 0 <= self.eta <= 1:
            raise BadInput(f"csl: eta is {self.eta}; a share of images from 0 to 1 is expected")
        if not self.a >= 0:
            raise BadInput(f"csl: a is {self.a}; a number from 0 on is expected")
        if self.reproduce == "csl":  # where an eta of 0 means no prior
            self._preset(top_k_scope="batch", prior=self.prior if self.eta else "none")
        elif self.reproduce == "paper":
            self._preset(top_k_scope="image")

    @property
    def needs(self) -> Needs:
        if self.prior == "none":
            return Needs()
        return Needs(labels=True, aids=(ClassPrior,))

    def state_bytes(self, sizes: Sizes) -> int:
        return {"threshold": 1, "soft": 8, "none": 0}[self.prior] * sizes.classes

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        classes = (task if isinstance(task, Sizes) else task.sizes).classes
        if self.top_k >= classes:
            warnings.warn(
                f"csl: top_k is {self.top_k} and there are {classes} classes, so every unknown "
                "label is ignored; choose a smaller top_k, or p-asl(mode=ignore)",
                stacklevel=2,
            )
        if self.prior == "none":
            return state
        assert isinstance(task, Task)
        prior = task.aid(ClassPrior)
        blind = torch.from_numpy(prior.blind(task.labels))
        shares = torch.tensor(prior.of(task.labels.classes)).masked_fill(blind, 0.0)
        if self.top_k < classes:
            self._warn_of(shares, bool(blind.all()))
        if self.prior == "soft":
            state.register_buffer("unknown_weight", torch.exp(-self.a * shares))
        else:
            state.register_buffer("common", shares > self.eta)
        return state

    def _warn_of(self, shares: Tensor, degenerate: bool) -> None:
        """Warn of a prior that says nothing, or that makes this Ignore for most classes."""
        classes, common = len(shares), int((shares > self.eta).sum())
        if degenerate:
            warnings.warn(_DEGENERATE, stacklevel=3)
        elif self.prior == "threshold" and common == classes:
            warnings.warn(
                f"csl: the prior puts all {classes} classes above eta={self.eta:g}, so that every "
                "unknown label is ignored, as with p-asl(mode=ignore); choose a higher eta, or "
                "prior=none",
                stacklevel=3,
            )
        elif self.prior == "threshold" and 2 * common > classes:
            warnings.warn(
                f"csl: the prior puts {common} of {classes} classes above eta={self.eta:g}, and "
                "every unknown label of these is ignored; eta is a share of images: choose a "
                "higher one, or estimate the prior by a longer training",
                stacklevel=3,
            )

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        assumed = ~batch.labels.bool() & ~self.selected(batch, out, state)
        weight = state.unknown_weight[..., None, :] if self.prior == "soft" else None
        values = self.terms(batch, out, assumed=assumed, unknown_weight=weight)
        return reduce(values, self.reduction)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels that count nothing; a soft prior takes weight from others too."""
        logits = wide(out.logits.detach())
        known = batch.labels.bool().expand(logits.shape)
        chosen = self._likely(logits, known) if self.top_k else torch.zeros_like(known)
        if self.prior == "threshold":
            chosen = chosen | state.common[..., None, :]
        return chosen & ~known

    def _likely(self, logits: Tensor, known: Tensor) -> Tensor:
        """(..., b, L) bool: the highest scores of unknown labels; known ones where these end."""
        images, classes = logits.shape[-2:]
        scores = known.to(torch.int8).to(logits.dtype).mul_(_BELOW_ALL).add_(logits)
        if self.top_k_scope == "image":
            return highest(scores, min(self.top_k, classes))
        chosen = highest(scores.flatten(-2), min(self.top_k, classes) * images)
        return chosen.unflatten(-1, (images, classes))


def highest(scores: Tensor, k: int) -> Tensor:
    """(..., n) bool: the k highest along the last dimension; of equal ones the first."""
    best = scores.topk(k, dim=-1).values
    last = best[..., -1:]
    level = scores == last
    left = (best == last).sum(-1, keepdim=True, dtype=torch.int32)
    return (scores > last) | (level & (level.cumsum(-1, dtype=torch.int32) <= left))
