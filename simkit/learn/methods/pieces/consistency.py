"""What CL and SCL share: a distance to what the model said of the same image before.

Source: Verelst et al., Spatial Consistency Loss for Training Multi-Label Classifiers from
Single-Label Annotations, WACV 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.methods.base import Around, Sizes, Task
from simkit.learn.methods.pieces.expected import check_mu

Distance = Literal["l1", "l2", "jsd"]
EPOCH_BYTES = 8


@dataclass(frozen=True)
class Consistency(Around):
    """Adds `weight` times the distance to a moving average of earlier predictions.

    distance l2 is squared, jsd the Jensen-Shannon divergence of the two answers (nats). The first
    `warmup` epochs go without the term, while the average is kept up to date.
    """

    # The paper takes 0.1 or 1 by validation. Its norm reads as a sum; a mean, which keeps the term
    # at the size of the losses it joins, is that many times smaller, so the larger one is default.
    weight: float = 1.0
    distance: Distance = "l1"
    reduction: Literal["mean", "sum"] = "mean"  # over what belongs to an image; images are averaged
    warmup: int = 5
    mu: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.weight >= 0:
            raise BadInput(f"{self.name}: weight is {self.weight}; a number from 0 on is expected")
        if self.warmup < 0:
            raise BadInput(f"{self.name}: warmup is {self.warmup}; epochs from 0 on are expected")
        check_mu(self.name, self.mu)

    def state_bytes(self, sizes: Sizes) -> int:
        return super().state_bytes(sizes) + EPOCH_BYTES

    @property
    def per_image(self) -> bool:
        """What was said before is kept, be it in a file or in the scores of EN and EP."""
        return True

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        found = super().notes(epochs=epochs, optimiser=optimiser)
        if self.warmup < epochs:
            return found
        return (
            *found,
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
