"""Full exposure (FE): assume negative, with a larger weight on what is known to be present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simkit.learn.losses import Reduction
from simkit.learn.method import register
from simkit.learn.methods.an import AssumedNegatives
from simkit.registry import Positive


@register
@dataclass(frozen=True)
class FullExposure(AssumedNegatives):
    """Take every unknown label for absent, and count every present one five times (eq. 2).

    The loss is summed over classes: at the same learning rate it moves L times as far as AN.
    """

    pos_weight: Positive = 5.0
    reduction: Reduction = "sum_classes"

    name: ClassVar[str] = "fe"
    title: ClassVar[str] = "FE"
    gist: ClassVar[str] = "unknown = absent, present count more"
    alternative: ClassVar = {"pos_weight": 2.0}
    source: ClassVar[str] = "Soft Exposure, baseline Full Exposure"
