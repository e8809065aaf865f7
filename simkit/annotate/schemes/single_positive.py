"""One present class for each image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simkit.annotate.schemes.base import register
from simkit.chance import Chance

if TYPE_CHECKING:
    from simkit.annotate.crowd import Crowd


@register
@dataclass(frozen=True)
class SinglePositive:
    """Name one class that is in the image, uniformly among those present; nothing else is known.

    An image with nothing in it costs its question and stays without a label.
    """

    name: ClassVar[str] = "single-positive"
    title: ClassVar[str] = "Single positive"
    source: ClassVar[str] = "Cole et al., CVPR 2021"
    amount: ClassVar[str | None] = None
    needs_hierarchy: ClassVar[bool] = False

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        crowd.name(crowd.images, chance=chance)
