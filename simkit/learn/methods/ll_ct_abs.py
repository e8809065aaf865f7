"""LL-Ct with an absolute threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simkit.learn.large_loss import Absolute, Correcting
from simkit.learn.method import register


@register
@dataclass(frozen=True)
class AbsoluteCorrection(Correcting, Absolute):
    """Assume negative, but take unknown labels whose loss is above a falling threshold for present.

    The threshold in epoch t is r0 - t * delta, and when it has fallen to 0 every unknown label is
    corrected; a warning says so then. There is no published code.
    """

    name: ClassVar[str] = "ll-ct-abs"
    title: ClassVar[str] = "LL-Ct (abs)"
    gist: ClassVar[str] = "suspicious absents corrected"
    alternative: ClassVar = {"delta": 0.02}
    source: ClassVar[str] = "Kim et al., CVPR 2022, supplement B"
