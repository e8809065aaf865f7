"""Curriculum labelling: known labels first, then confident pseudo-labels as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN
from simkit.learn.losses import bce, kth_largest, reduce, wide
from simkit.learn.method import Method, register, scores_of
from simkit.learn.methods.known_labels import few_weigh_more, warn_without_negatives
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import Count, NonNegative, Share, setting

_CLOSED = 2  # never a pseudo-label: known, or of an image that was not asked about


@register
@dataclass(frozen=True)
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
    alternative: ClassVar = {"theta": 1.0}
    source: ClassVar[str] = "Durand et al. CVPR 2019, section 3.3"

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
        """`pseudo` (N, L) int8: +1, -1, 0 for none yet, another code for never."""
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
        x = wide(scores_of(self, scores))
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
        """The share of the unknown labels with the largest |x|, and ties with the last one."""
        k = (self.share * unknown.sum((-2, -1)).double()).round().long()
        limit = kth_largest(x.abs().flatten(-2), k, among=unknown.flatten(-2))
        return unknown & (x.abs() >= limit[..., None, None])
