"""Entropy maximisation and pseudo-labels: EM, EM with asymmetric ones, and curriculum labelling."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, kth_largest, reduce, wide
from simkit.learn.method import SCORES, Method, register, required
from simkit.learn.methods.known_labels import few_weigh_more, warn_without_negatives
from simkit.learn.task import Batch, Needs, Outputs, Task
from simkit.registry import Count, NonNegative, Range, Share, setting


@register
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
    family: ClassVar[str] = "entropy"
    look: ClassVar = ("#6E6300", "P")
    alternative: ClassVar = {"alpha": 0.01}
    source: ClassVar[str] = "Zhou et al. ECCV 2022, entropy-maximisation loss"
    presets: ClassVar = {"em": {"epsilon": "spml"}, "paper": {"epsilon": None}}

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x, unknown = wide(out.logits), batch.labels == UNKNOWN
        # Entropy is the cross-entropy against the own prediction.
        target = torch.where(unknown, torch.sigmoid(x), (batch.labels == PRESENT).to(x.dtype))
        weight = torch.where(unknown, -self.alpha, torch.ones_like(x))
        return reduce(weight * bce(x, target, self.epsilon), "mean_all")


def _unknown(task: Task) -> NDArray[np.bool_]:
    """(N, L) bool: the unknown labels of the asked images, which may get a pseudo-label."""
    return np.asarray((task.labels.codes.toarray() == UNKNOWN) & task.labels.asked[:, None])


_OPEN, _NEVER = -1.0, -2.0  # soft labels: none yet, and never one


@register
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
    epochs: Annotated[int, Range(2)] = setting(10, "epochs over which pseudo-labels are spread")
    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    reproduce: Literal["em"] | None = setting(None, "logs as in the published code")

    name: ClassVar[str] = "em-apl"
    title: ClassVar[str] = "EM+APL"
    gist: ClassVar[str] = "EM and pseudo-labels"
    family: ClassVar[str] = "entropy"
    look: ClassVar = ("#C9B574", "X")
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

    default_needs: ClassVar[Needs] = Needs(labels=True, epoch_scores=True)

    # (N, L) pseudo-labels from 0 to 1, negative for none, and the number of new ones in an epoch
    tensors: ClassVar = {
        "soft": (torch.float32, "images", "classes"),
        "quota": (torch.int64, "classes"),
    }
    for_training: ClassVar = ("soft",)

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        return self._late("warmup", epochs) or self._scheduled(self.epochs, epochs)

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        unknown = _unknown(task)
        rounds = self.epochs - self.warmup
        quota = [int(self.share * int(count) / rounds) for count in unknown.sum(0)]  # as published
        state.soft.fill_(_NEVER).masked_fill_(torch.from_numpy(unknown), _OPEN)
        state.quota.copy_(torch.tensor(quota))

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x, unknown = wide(out.logits), batch.labels == UNKNOWN
        soft = state.soft.index_select(-2, batch.index).to(x.dtype)
        settled = soft >= 0
        # As in EM, but against the pseudo-label where there is one.
        target = torch.where(settled, soft, torch.sigmoid(x))
        weight = torch.where(settled, self.beta, torch.full_like(x, -self.alpha))
        target = torch.where(unknown, target, (batch.labels == PRESENT).to(x.dtype))
        weight = torch.where(unknown, weight, 1.0)
        return reduce(weight * bce(x, target, self.epsilon), "mean_all")

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Pseudo-labels, almost all of them absent."""
        soft = state.soft.index_select(-2, batch.index)
        return (batch.labels == UNKNOWN) & (soft >= 0)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        scores = required(scores, self, SCORES)
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


_CLOSED = 2  # never a pseudo-label


@register
class Curriculum(Method):
    """Partial BCE with pseudo-labels: every few epochs the model adds the labels it is sure of.

    Pseudo-labels (N, L) are chosen anew each time, known labels are never changed, and the weight
    of an image depends on the number of its known and pseudo-labels together.

    threshold: logits of at least `theta` are present, of at most -theta absent.  proportion: the
    `share` of all unknown labels with the largest absolute logits, by their sign.  positives:
    logits of at least theta are present, none are absent.

    The published strategies with an ensemble, with Bayesian uncertainty and with the graph network
    are not implemented. With known positives only, everything is predicted present; `start` warns.
    """

    strategy: Literal["threshold", "proportion", "positives"] = setting(
        "threshold", "selection of pseudo-labels"
    )
    theta: NonNegative = setting(2.0, "smallest absolute logit of a pseudo-label; for threshold")
    share: Share = setting(0.5, "share of unknown labels to select; for proportion")
    # Epochs of a round. The paper trains a round to convergence; ten epochs then hold five rounds.
    every: Count = setting(2, "epochs of a round")
    # The weighting of partial-bce, with the constants of Durand et al.
    alpha: float = setting(-4.45, "weight alpha p^gamma + beta of a label if a share p is known")
    beta: float = setting(5.45, "weight alpha p^gamma + beta of a label if a share p is known")
    gamma: float = setting(1.0, "exponent of the known share p")

    name: ClassVar[str] = "curriculum"
    title: ClassVar[str] = "Curriculum"
    gist: ClassVar[str] = "confident predictions added"
    look: ClassVar = ("#9A9A9A", "<")
    alternative: ClassVar = {"theta": 1.0}
    source: ClassVar[str] = "Durand et al. CVPR 2019, section 3.3"

    default_needs: ClassVar[Needs] = Needs(labels=True, epoch_scores=True)

    # +1, -1, 0 for none yet, another code for never
    tensors: ClassVar = {"pseudo": (torch.int8, "images", "classes")}
    for_training: ClassVar = ("pseudo",)

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        return self._late("every", epochs)

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        warn_without_negatives(self.name, task)
        state.pseudo.fill_(_CLOSED).masked_fill_(torch.from_numpy(_unknown(task)), UNKNOWN)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        pseudo = state.pseudo.index_select(-2, batch.index)
        pseudo = torch.where(pseudo == _CLOSED, UNKNOWN, pseudo)
        labels = torch.where(batch.labels == UNKNOWN, pseudo, batch.labels)
        values = bce(out.logits, labels == PRESENT).masked_fill(labels == UNKNOWN, 0.0)
        weight = few_weigh_more(labels, self.alpha, self.beta, self.gamma)
        return reduce(values * weight.to(values.dtype), "mean_all")

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels with a pseudo-label."""
        pseudo = state.pseudo.index_select(-2, batch.index)
        return (batch.labels == UNKNOWN) & (pseudo.abs() == 1)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        x = wide(required(scores, self, SCORES))
        if epoch % self.every:
            return
        closed = state.pseudo == _CLOSED
        present, absent = x >= self.theta, x <= -self.theta
        if self.strategy == "positives":
            absent = torch.zeros_like(present)
        elif self.strategy == "proportion":
            k = (self.share * (~closed).sum((-2, -1)).double()).round().long()
            limit = kth_largest(x.abs().flatten(-2), k, among=~closed.flatten(-2))
            easy = ~closed & (x.abs() >= limit[..., None, None])  # and ties with the last one
            present, absent = easy & (x >= 0), easy & (x < 0)
        codes = present.to(torch.int8) * PRESENT + (absent & ~present).to(torch.int8) * ABSENT
        state.pseudo.copy_(torch.where(closed, state.pseudo, codes))
