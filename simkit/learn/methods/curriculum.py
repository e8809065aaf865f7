"""Curriculum labelling: learn from known labels, then from one's own confident answers too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN
from simkit.learn.methods.base import Batch, Method, Needs, Outputs, Sizes, Task, register
from simkit.learn.methods.ignore import warn_without_negatives
from simkit.learn.methods.partial_bce import few_weigh_more
from simkit.learn.methods.pieces.kth import kth_largest
from simkit.learn.methods.pieces.losses import bce, reduce, wide
from simkit.learn.methods.task import scores_of

_CLOSED = 2  # no pseudo-label ever: known, or of an image that was not asked about


@register
@dataclass(frozen=True)
class Curriculum(Method):
    """Partial BCE; every few epochs the model labels what it finds easy, and learns from that too.

    Pseudo-labels are chosen anew each time, known labels are never changed, and the weight of an
    image goes by its known and pseudo-labels together.

    threshold: logits of at least `theta` are present, of at most -theta absent.  proportion: the
    `share` of all unknown labels whose logits are farthest from 0, by their sign.  positives:
    logits of at least theta are present, nothing is absent.

    Of the published strategies those with an ensemble, with Bayesian uncertainty and the graph
    network are left out. Where only positives are known everything becomes present; `start` warns.
    """

    strategy: Literal["threshold", "proportion", "positives"] = "threshold"
    theta: float = 2.0  # logits beyond it on either side are sure; for "threshold"
    share: float = 0.5  # of unknown labels; for "proportion"
    # Epochs of a round. The paper trains a round to its end; ten epochs then hold five rounds.
    every: int = 2
    # The weighting of partial-bce, with the constants of Durand et al.
    alpha: float = -4.45
    beta: float = 5.45  # a label of an image with a share p known weighs alpha p^gamma + beta
    gamma: float = 1.0  # the exponent of that share

    name: ClassVar[str] = "curriculum"
    title: ClassVar[str] = "Curriculum"
    gist: ClassVar[str] = "add confident guesses"
    alternative: ClassVar = {"theta": 1.0}
    source: ClassVar[str] = "Durand et al. CVPR 2019, section 3.3"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.theta < math.inf:
            raise BadInput(f"curriculum: theta is {self.theta}; a logit of at least 0 is expected")
        if not 0 <= self.share <= 1:
            raise BadInput(f"curriculum: share is {self.share}; a share from 0 to 1 is expected")
        if self.every < 1:
            raise BadInput(f"curriculum: every is {self.every}; at least 1 epoch is expected")

    @property
    def needs(self) -> Needs:
        return Needs(labels=True, epoch_scores=True)

    def state_bytes(self, sizes: Sizes) -> int:
        return sizes.images * sizes.classes

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        if self.every < epochs:
            return ()
        return (
            f"curriculum: the model labels at the end of every {self.every} epochs, and training "
            f"ends with epoch {epochs}, so that this is partial BCE; train longer, or set every "
            "lower",
        )

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        """`pseudo` (N, L) int8: +1, -1, 0 for none yet, another code where none shall be."""
        state = super().start(task, chance)
        assert isinstance(task, Task)
        warn_without_negatives(self.name, task)
        pseudo = np.full(task.labels.shape, _CLOSED, np.int8)
        pseudo[task.rows] = UNKNOWN
        codes = task.labels.codes.tocoo()
        pseudo[codes.row, codes.col] = _CLOSED
        state.register_buffer("pseudo", torch.from_numpy(pseudo))
        state.for_training = ("pseudo",)
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        own = state.pseudo.index_select(-2, batch.index)
        own = torch.where(own == _CLOSED, UNKNOWN, own)
        labels = torch.where(batch.labels == UNKNOWN, own, batch.labels)
        values = bce(out.logits, labels == PRESENT).masked_fill(labels == UNKNOWN, 0.0)
        weight = few_weigh_more(labels, self.alpha, self.beta, self.gamma)
        return reduce(values * weight.to(values.dtype), "mean_all")

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels that the model has answered itself."""
        own = state.pseudo.index_select(-2, batch.index)
        return (batch.labels == UNKNOWN) & (own.abs() == 1)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        x = wide(scores_of(self.name, scores))
        if epoch % self.every:
            return
        closed = state.pseudo == _CLOSED
        present, absent = x >= self.theta, x <= -self.theta
        if self.strategy == "positives":
            absent = torch.zeros_like(present)
        elif self.strategy == "proportion":
            easy = self._easiest(x, ~closed)
            present, absent = easy & (x >= 0), easy & (x < 0)
        codes = present.to(torch.int8) * PRESENT + (absent & ~present).to(torch.int8) * ABSENT
        state.pseudo.copy_(torch.where(closed, state.pseudo, codes))

    def _easiest(self, x: Tensor, unknown: Tensor) -> Tensor:
        """The share of the unknown labels with the largest |x|, and what ties with the last."""
        k = (self.share * unknown.sum((-2, -1)).double()).round().long()
        limit = kth_largest(x.abs().flatten(-2), k, among=unknown.flatten(-2))
        return unknown & (x.abs() >= limit[..., None, None])
