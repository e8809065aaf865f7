"""Permanent large loss correction (LL-Cp)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.learn.large_loss import Percent, Relative, Remembering
from simkit.learn.losses import wide
from simkit.learn.method import register
from simkit.learn.task import Batch, Outputs


@register
@dataclass(frozen=True)
class LargeLossPermanentCorrection(Remembering, Relative):
    """Assume negative, and turn the unknown labels with the largest losses present for good.

    delta percent of the batch in every step from the second epoch on; the printed rate, read
    literally, would start in the first. Known labels are never corrected, and what was corrected is
    known from then on.
    The code of CVPR 2022, run from the command line, compares the name of the scheme by identity
    and then trains LL-Ct: `ll-ct(reproduce=cvpr22)` is what it ran, ours is what it meant.
    """

    # Percent of every batch: Kim et al. CVPR 2023 on single positives; CVPR 2022 searches 0.1 to
    # 0.5, and 0.005 and 0.01 on OpenImages.
    delta: Percent = 0.1
    # Which corrections stay: those at the threshold too (code of CVPR 2023), or only those above
    # it (code of CVPR 2022), whose label at the threshold is corrected in the step alone.
    update: Literal[">=", ">"] = ">="

    name: ClassVar[str] = "ll-cp"
    title: ClassVar[str] = "LL-Cp"
    gist: ClassVar[str] = "suspicious absents corrected for good"
    alternative: ClassVar = {"delta": 0.02}
    source: ClassVar[str] = "Kim et al., CVPR 2022, eq. 3, 7-9"
    grows: ClassVar[bool] = False
    presets: ClassVar = {
        "cvpr22": {"k_of": "batch", "update": ">"},
        "cvpr23": {"k_of": "batch", "update": ">="},
        "paper": {"k_of": "unknown", "update": ">="},
    }

    def lasting(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        if self.update == ">=":
            return self.selected(batch, out, state)
        logits = wide(out.logits.detach())
        unknown = self.open(batch, state).expand_as(logits)
        least = torch.where(unknown, logits, torch.inf).amin((-2, -1), keepdim=True)
        return unknown & (logits > self.threshold(logits, unknown, state).maximum(least))
