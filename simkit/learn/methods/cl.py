"""Consistency loss (CL), and the distance to earlier predictions that CL and SCL share.

Source: Verelst et al., Spatial Consistency Loss for Training Multi-Label Classifiers from
Single-Label Annotations, WACV 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.learn.method import Around, Method, register
from simkit.learn.methods.en import SCORE_BYTES, Expecting, Mu, start_scores, update_scores
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import NonNegative, Range

Distance = Literal["l1", "l2", "jsd"]


@dataclass(frozen=True)
class Consistency(Around):
    """Adds `weight` times the distance to a moving average of earlier predictions.

    distance l2 is squared, jsd the Jensen-Shannon divergence of the two answers (nats). The first
    `warmup` epochs go without the term, while the average is kept up to date.
    """

    # The paper takes 0.1 or 1 by validation. Its norm reads as a sum; a mean, which keeps the term
    # at the size of the losses it joins, is that many times smaller, so the larger one is default.
    weight: NonNegative = 1.0
    distance: Distance = "l1"
    reduction: Literal["mean", "sum"] = "mean"  # over what belongs to an image; images are averaged
    warmup: Annotated[int, Range(0)] = 5
    mu: Mu = 0.8

    def state_bytes(self, sizes: Sizes) -> int:
        return super().state_bytes(sizes) + 8  # the epoch

    @property
    def per_image(self) -> bool:
        """Earlier predictions are kept, be it in a file or in the scores of EN and EP."""
        return True

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        notes = super().notes(epochs=epochs, optimiser=optimiser)
        if self.warmup < epochs:
            return notes
        return (
            *notes,
            f"{self.name}: the first {self.warmup} epochs go without its term (its warmup), and "
            f"training ends with epoch {epochs}, so that it adds nothing; train longer, or set "
            "warmup lower",
        )

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        state.register_buffer("epoch", torch.ones((), dtype=torch.int64))  # the one in progress
        return state

    def term(self, logits: Tensor, before: Tensor, state: nn.Module) -> Tensor:
        """(...) the weighted distance of a batch, 0 in the warm-up.

        logits (..., b, places);  before, of the same shape, probabilities.
        """
        apart = distances(logits, before, self.distance)
        each = apart.mean(-1) if self.reduction == "mean" else apart.sum(-1)
        return self.weight * each.mean(-1) * (state.epoch > self.warmup)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        super().after_epoch(epoch, scores, state)
        state.epoch.fill_(epoch + 1)


@register
@dataclass(frozen=True)
class ConsistencyLoss(Consistency):
    """Hold what the model says of an image close to what it said of it in earlier epochs.

    Works around any method. Probabilities (..., b, L) are compared with scores (N, L), their moving
    averages, which start at the known positives. Around EN and EP with the same mu they are the
    scores that these keep; otherwise CL has its own table.
    """

    name: ClassVar[str] = "cl"
    title: ClassVar[str] = "CL"
    gist: ClassVar[str] = "crops must agree"
    alternative: ClassVar = {"weight": 0.1}
    source: ClassVar[str] = "Verelst et al., WACV 2023"

    own_needs: ClassVar[Needs] = Needs(labels=True)

    @property
    def _shares(self) -> bool:
        """Whether the scores are those of a method that consistency losses stand around."""
        keeper: Method = self.inner
        while isinstance(keeper, Consistency):
            keeper = keeper.inner
        return isinstance(keeper, Expecting) and keeper.mu == self.mu

    def state_bytes(self, sizes: Sizes) -> int:
        table = 0 if self._shares else SCORE_BYTES * sizes.images * sizes.classes
        return super().state_bytes(sizes) + table

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        if not self._shares:
            assert isinstance(task, Task)
            start_scores(state, task)
            state.for_training = ("scores",)
        return state

    def extra(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        logits = out.logits if out.logits.dtype.itemsize > 2 else out.logits.float()
        before = self._keeper(state).scores.index_select(-2, batch.index)
        return self.term(logits, before.to(logits.dtype), state)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        super().after_batch(batch, out, state)
        if not self._shares:
            update_scores(state, batch, out, self.mu)

    def _keeper(self, state: nn.Module) -> nn.Module:
        """The state that holds the scores."""
        method: Method = self
        while self._shares and isinstance(method, Consistency):
            method, state = method.inner, state.inner
        return state


def distances(logits: Tensor, before: Tensor, distance: Distance) -> Tensor:
    """How far sigmoid(logits) is from the probabilities `before`, entry by entry."""
    said = torch.sigmoid(logits)
    if distance == "l1":
        return (said - before).abs()
    if distance == "l2":
        return (said - before).square()
    denied = torch.sigmoid(-logits)
    entropy = said * F.softplus(-logits) + denied * F.softplus(logits)
    both = _less_log((said + before) / 2) + _less_log((denied + (1 - before)) / 2)
    return both - (entropy + _less_log(before) + _less_log(1 - before)) / 2


def _less_log(p: Tensor) -> Tensor:
    """-p log p, whose gradient stays finite at 0."""
    return -p * torch.log(p.clamp(min=torch.finfo(p.dtype).tiny))
