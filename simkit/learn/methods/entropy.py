"""Entropy maximisation: EM, and EM with asymmetric pseudo-labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, entropy, reduce, wide
from simkit.learn.method import Method, register, scores_of
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import NonNegative, Range, Share, setting


@register
@dataclass(frozen=True)
class EntropyMaximisation(Method):
    """Cross-entropy on known labels, entropy maximisation on unknown ones.

    The loss is the mean over all labels (..., b, L) of the cross-entropy of the known ones and of
    -alpha H(p) of the others, with the entropy H(p) = -p log p - (1 - p) log(1 - p). Known
    negatives, which the published code does not support, are learned from.
    """

    alpha: NonNegative = setting(0.1, "weight of the entropy; published: VOC 0.2, CUB 0.01")
    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    # em: logs as in Cole et al.'s code, on which it is based; paper: exact logs
    reproduce: Literal["em", "paper"] | None = setting(None, "paper: exact logs")

    name: ClassVar[str] = "em"
    title: ClassVar[str] = "EM"
    gist: ClassVar[str] = "entropy of unknown maximised"
    alternative: ClassVar = {"alpha": 0.01}
    source: ClassVar[str] = "Zhou et al. ECCV 2022, entropy-maximisation loss"
    presets: ClassVar = {"em": {"epsilon": "spml"}, "paper": {"epsilon": None}}

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        known_loss = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        undecided = -self.alpha * entropy(out.logits, self.epsilon)
        return reduce(torch.where(batch.labels == UNKNOWN, undecided, known_loss), "mean_all")


_OPEN, _CLOSED = -1.0, -2.0  # no pseudo-label yet; never: known, or of an image not asked about


@register
@dataclass(frozen=True)
class AsymmetricPseudoLabels(Method):
    """EM, with soft pseudo-labels for the least likely unknown labels, epoch by epoch.

    The loss is that of EM, plus beta times the cross-entropy against soft pseudo-labels (N, L).
    From the end of epoch `warmup` on, the same number of unknown labels of every class becomes
    pseudo-labels in each epoch, the lowest scores first, with their present probability as a
    permanent soft label. With `epochs` epochs a `share` of the unknown labels has pseudo-labels
    before the last one; those of the last epoch are not used. Known negatives, which the published
    code does not distinguish from pseudo-labels, are learned from unchanged.

    Published settings (alpha, share, warmup, beta): COCO .1, .9, 5, .9; VOC .2, .9, 5, .02; NUS .1,
    .9, 4, .2; CUB .01, .9, 3, .4. Scores are of unmirrored images; the published code scores images
    with the random flips of training.
    """

    # COCO's settings
    alpha: NonNegative = setting(0.1, "weight of the entropy of labels without pseudo-label")
    beta: NonNegative = setting(0.9, "weight of pseudo-labels")
    warmup: int = setting(5, "first epoch that ends with new pseudo-labels")
    share: Share = setting(0.9, "share of the unknown labels of every class to pseudo-label")
    epochs: Annotated[int, Range(2)] = setting(
        10, "epochs over which pseudo-labels are distributed"
    )
    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    reproduce: Literal["em"] | None = setting(None, "logs as in the published code")

    name: ClassVar[str] = "em-apl"
    title: ClassVar[str] = "EM+APL"
    gist: ClassVar[str] = "EM and pseudo-labels"
    alternative: ClassVar = {"alpha": 0.01}
    source: ClassVar[str] = "Zhou et al. ECCV 2022"
    presets: ClassVar = {"em": {"epsilon": "spml"}}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.warmup < self.epochs:
            raise BadInput(
                f"em-apl: warmup is {self.warmup}; an epoch from 1 to {self.epochs - 1}, before "
                "the last of `epochs`, is expected"
            )

    @property
    def needs(self) -> Needs:
        return Needs(labels=True, epoch_scores=True)

    def state_bytes(self, sizes: Sizes) -> int:
        return 4 * sizes.images * sizes.classes + 8 * sizes.classes

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        if epochs <= self.warmup:
            return (
                f"em-apl: labels are settled from the end of epoch {self.warmup} on (its warmup), "
                f"and training ends with epoch {epochs}, so that this is EM; train longer, or give "
                "em-apl its own warmup and epochs",
            )
        if epochs != self.epochs:
            return (
                f"em-apl: pseudo-labels are spread over {self.epochs} epochs (its epochs), and "
                f"training ends with epoch {epochs}; give em-apl(epochs={epochs})",
            )
        return ()

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        """`soft` (N, L): pseudo-labels from 0 to 1, negative for none; `quota` (L,) per epoch."""
        state = super().start(task, chance)
        assert isinstance(task, Task)
        soft = np.full(task.labels.shape, _CLOSED, np.float32)
        soft[task.rows] = _OPEN
        codes = task.labels.codes.tocoo()
        soft[codes.row, codes.col] = _CLOSED
        unknown = (soft == _OPEN).sum(0)
        rounds = self.epochs - self.warmup
        quota = [int(self.share * int(count) / rounds) for count in unknown]  # as published
        state.register_buffer("soft", torch.from_numpy(soft))
        state.register_buffer("quota", torch.tensor(quota, dtype=torch.int64))
        state.for_training = ("soft",)
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = wide(out.logits)
        soft = state.soft.index_select(-2, batch.index)
        known_loss = bce(x, batch.labels == PRESENT, self.epsilon)
        undecided = -self.alpha * entropy(x, self.epsilon)
        settled = self.beta * bce(x, soft.clamp(min=0).to(x.dtype), self.epsilon)
        unknown_loss = torch.where(soft >= 0, settled, undecided)
        return reduce(torch.where(batch.labels == UNKNOWN, unknown_loss, known_loss), "mean_all")

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Pseudo-labels, almost all of them absent."""
        soft = state.soft.index_select(-2, batch.index)
        return (batch.labels == UNKNOWN) & (soft >= 0)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        scores = scores_of(self, scores)
        if not self.warmup <= epoch <= self.epochs:
            return
        L = scores.shape[-1]
        for c in range(L):  # by class: sorting needs several times the memory of its input
            soft, x = state.soft[..., c], wide(scores[..., c].detach())
            ordered = torch.where(soft == _OPEN, x, torch.inf).argsort(dim=-1, stable=True)
            rank = torch.empty_like(ordered).scatter_(
                -1, ordered, torch.arange(x.shape[-1], device=x.device).expand_as(ordered)
            )
            chosen = (soft == _OPEN) & (rank < state.quota[..., c, None])
            soft.copy_(torch.where(chosen, torch.sigmoid(x).to(soft.dtype), soft))
