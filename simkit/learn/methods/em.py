"""Entropy maximisation (EM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, entropy, reduce
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Outputs
from simkit.registry import NonNegative


@register
@dataclass(frozen=True)
class EntropyMaximisation(Method):
    """Learn from known labels, and stay undecided about unknown ones.

    The loss is the mean over all labels (..., b, L) of the cross-entropy of the known ones and of
    -alpha H(p) of the others, with the entropy H(p) = -p log p - (1 - p) log(1 - p). Known
    negatives, which the published code cannot take, are learned from.
    """

    alpha: NonNegative = 0.1  # COCO and NUS in the published code; VOC has 0.2, CUB 0.01
    epsilon: Epsilon | None = None
    # em: logs as in Cole et al.'s code, whence it comes; paper: exact logs
    reproduce: Literal["em", "paper"] | None = None

    name: ClassVar[str] = "em"
    title: ClassVar[str] = "EM"
    gist: ClassVar[str] = "stay undecided on unknown"
    alternative: ClassVar = {"alpha": 0.01}
    source: ClassVar[str] = "Zhou et al. ECCV 2022, entropy-maximisation loss"
    presets: ClassVar = {"em": {"epsilon": "spml"}, "paper": {"epsilon": None}}

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        known = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        undecided = -self.alpha * entropy(out.logits, self.epsilon)
        return reduce(torch.where(batch.labels == UNKNOWN, undecided, known), "mean_all")
