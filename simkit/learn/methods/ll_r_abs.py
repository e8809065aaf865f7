"""LL-R with an absolute threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simkit.learn.large_loss import Absolute, Rejecting
from simkit.learn.method import register


@register
@dataclass(frozen=True)
class AbsoluteRejection(Rejecting, Absolute):
    """Assume negative, but leave out unknown labels whose loss is above a falling threshold.

    The threshold in epoch t is r0 - t * delta, and when it has fallen to 0 every unknown label is
    rejected; a warning says so then. There is no published code.
    """

    name: ClassVar[str] = "ll-r-abs"
    title: ClassVar[str] = "LL-R (abs)"
    gist: ClassVar[str] = "suspicious absents left out"
    alternative: ClassVar = {"delta": 0.02}
    source: ClassVar[str] = "Kim et al., CVPR 2022, supplement B"
