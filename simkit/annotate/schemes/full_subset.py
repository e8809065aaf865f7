"""All labels of the images that are asked about."""

from __future__ import annotations

from typing import ClassVar

from simkit.annotate.schemes import Crowd, Scheme, register
from simkit.chance import Chance


@register
class FullSubset(Scheme):
    """Label images completely, in pages of classes; the other images have no labels.

    The number of images is the setting `images` (a share or a number) or is found for a budget.

    Example: simkit simulate --scheme full-subset --images 0.1
    """

    name: ClassVar[str] = "full-subset"
    title: ClassVar[str] = "Full labels, fewer images"
    gist: ClassVar[str] = "all classes, fewer images"
    source: ClassVar[str] = "the usual way to label; baseline of Durand et al., CVPR 2019"
    amount: ClassVar[str | None] = None
    even: ClassVar[bool] = True
    complete_images: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "The images that were asked about are known completely and the others, if any, not at all. "
        "They are an even sample; a rare class may be in none of them."
    )

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        crowd.sweep(crowd.images)
