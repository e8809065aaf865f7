"""Temporary large loss correction (LL-Ct)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simkit.learn.large_loss import Correcting, Percent, Relative
from simkit.learn.method import register


@register
@dataclass(frozen=True)
class LargeLossCorrection(Correcting, Relative):
    """Assume negative, but take the unknown labels with the largest losses for present.

    In epoch t these are (t - 1) * delta percent of the labels (..., b, L) of the batch, and a
    correction holds for its step alone. Known labels are never corrected.
    """

    # Percent per epoch: Kim et al. CVPR 2023 on single positives; CVPR 2022 searches 0.1 to 0.5
    # (0.2 was best on COCO), and 0.005 and 0.01 on OpenImages.
    delta: Percent = 0.2

    name: ClassVar[str] = "ll-ct"
    title: ClassVar[str] = "LL-Ct"
    gist: ClassVar[str] = "suspicious absents corrected"
    alternative: ClassVar = {"delta": 0.05}
    source: ClassVar[str] = "Kim et al., CVPR 2022, eq. 3, 5-6"
