"""Assume negative with label smoothing (LSAN, LS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, reduce, wide
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Outputs


@register
@dataclass(frozen=True)
class SmoothedAssumeNegative(Method):
    """Take every unknown label for absent, and no label for quite sure.

    Mean cross-entropy against targets (..., b, L) of 1 - epsilon for present and epsilon for all
    else. On complete labels this is plain label smoothing. What Soft Exposure calls LS is another
    thing: `ls-constant`.
    """

    epsilon: float = 0.1  # of the targets; Verelst et al. WACV 2023 choose from 0.1 and 0.2
    eps_convention: Literal["whole", "half"] = "whole"  # code of Cole et al.; their paper: half
    smooth: Literal["all", "unknown_only"] = "all"  # unknown_only keeps known labels at 0 and 1
    log_epsilon: Epsilon | None = None
    reproduce: Literal["spml", "paper"] | None = None  # paper: the same targets, exact logs

    name: ClassVar[str] = "lsan"
    title: ClassVar[str] = "LSAN"
    gist: ClassVar[str] = "unknown = absent, softened"
    alternative: ClassVar = {"epsilon": 0.2}
    source: ClassVar[str] = "Cole et al. CVPR 2021, assume negative loss with label smoothing"
    presets: ClassVar = {
        "spml": {"eps_convention": "whole", "smooth": "all", "log_epsilon": "spml"},
        "paper": {"eps_convention": "whole", "smooth": "all", "log_epsilon": None},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        end = 1 if self.eps_convention == "half" else 0.5  # where present and absent meet
        if not 0 <= self.epsilon < end:
            raise BadInput(
                f"lsan: epsilon is {self.epsilon}; a smoothing from 0 to below {end} is expected"
            )

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        epsilon = self.epsilon / 2 if self.eps_convention == "half" else self.epsilon
        present = (batch.labels == PRESENT).to(wide(out.logits).dtype)
        if self.smooth == "all":
            target = epsilon + (1 - 2 * epsilon) * present
        else:
            target = torch.where(batch.labels == UNKNOWN, epsilon, present)
        return reduce(bce(out.logits, target, self.log_epsilon), "mean_all")
