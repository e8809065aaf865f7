"""Entropy maximisation (EM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.methods.base import Batch, Method, Outputs, register
from simkit.learn.methods.pieces.losses import Epsilon, bce, entropy, reduce


@register
@dataclass(frozen=True)
class EntropyMaximisation(Method):
    """Learn from known labels, and stay undecided about unknown ones.

    Known negatives, which the published code cannot take, are learned from.
    """

    alpha: float = 0.1  # COCO and NUS in the published code; VOC has 0.2, CUB 0.01
    epsilon: Epsilon | None = None
    # em: logs as in Cole et al.'s code, whence it comes; paper: exact logs
    reproduce: Literal["em", "paper"] | None = None

    name: ClassVar[str] = "em"
    title: ClassVar[str] = "EM"
    gist: ClassVar[str] = "stay undecided on unknown"
    alternative: ClassVar = {"alpha": 0.01}
    source: ClassVar[str] = "Zhou et al. ECCV 2022, entropy-maximisation loss"

    def __post_init__(self) -> None:
        if self.reproduce == "em":
            self._preset(epsilon="spml")
        elif self.reproduce == "paper":
            self._preset(epsilon=None)
        super().__post_init__()
        if self.alpha < 0:
            raise BadInput(f"em: alpha is {self.alpha}; a number of at least 0 is expected")

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        known = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        undecided = -self.alpha * entropy(out.logits, self.epsilon)
        return reduce(torch.where(batch.labels == UNKNOWN, undecided, known), "mean_all")
