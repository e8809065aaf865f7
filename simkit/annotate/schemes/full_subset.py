"""All labels of the images that are asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simkit.annotate.crowd import Crowd
from simkit.annotate.schemes.base import register
from simkit.chance import Chance


@register
@dataclass(frozen=True)
class FullSubset:
    """Label images completely; with fewer images the rest stay without any label."""

    name: ClassVar[str] = "full-subset"
    title: ClassVar[str] = "Full labels, fewer images"
    source: ClassVar[str] = "the usual way to label; baseline of Durand et al., CVPR 2019"
    amount: ClassVar[str | None] = None

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        crowd.sweep(crowd.images)
