"""Large loss rejection (LL-R)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simkit.learn.large_loss import Percent, Rejecting, Relative
from simkit.learn.method import register


@register
@dataclass(frozen=True)
class LargeLossRejection(Rejecting, Relative):
    """Assume negative, but leave out the unknown labels with the largest losses of the batch.

    In epoch t these are (t - 1) * delta percent of the labels (..., b, L); what is left out keeps
    its place in the denominator. Known labels are never left out. The selection depends on the
    batch as a whole, so a batch that is split over devices selects otherwise.
    """

    # Percent per epoch: Kim et al. CVPR 2023 on single positives; CVPR 2022 searches 0.1 to 0.5,
    # and 0.005 and 0.01 on OpenImages.
    delta: Percent = 0.5

    name: ClassVar[str] = "ll-r"
    title: ClassVar[str] = "LL-R"
    gist: ClassVar[str] = "suspicious absents left out"
    alternative: ClassVar = {"delta": 0.1}
    source: ClassVar[str] = "Kim et al., CVPR 2022, eq. 3-4"
