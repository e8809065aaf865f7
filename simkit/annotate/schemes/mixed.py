"""Some images labelled completely, the others weakly."""

from __future__ import annotations

from typing import ClassVar

from simkit.annotate.schemes import Crowd, WithRest, make, register, spell
from simkit.annotate.schemes.single_positive import SinglePositive
from simkit.chance import Chance, below
from simkit.registry import Share, setting


@register
class Mixed(WithRest):
    """Label a share of the images completely, and the others by another scheme.

    Each image is labelled completely with probability `share`, by a random number per image, so
    that more images, or a larger share, contain the complete images of fewer. `rest` is any scheme
    that decides image by image. LOC also splits one budget over several kinds of labels; which
    mixture is best is an open question that this scheme can answer by simulation.

    Example: simkit simulate --scheme "mixed(share=0.3, rest=single-positive)" --images 0.5
    """

    name: ClassVar[str] = "mixed"
    title: ClassVar[str] = "Some complete, others weak"
    gist: ClassVar[str] = "some images complete, others not"
    source: ClassVar[str] = (
        "Mahmood et al., NeurIPS 2022 (LOC), for several sources; this one: ours"
    )
    amount: ClassVar[str | None] = None
    by_image: ClassVar[bool] = False
    complete_images: ClassVar[bool] = True

    share: Share = setting(0.2, "share of images labelled completely")
    rest: str = setting(spell(SinglePositive()), "the scheme by which the others are labelled")

    @property
    def caution(self) -> str:
        caution = (
            "Images are of two kinds, some known completely and the others weakly, and models can "
            "tell them apart by their labels. Of the others:"
        )
        return f"{caution} {getattr(make(self.rest), 'caution', '')}".strip()

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        complete = below(chance.of("complete")(crowd.images), self.share)
        crowd.sweep(crowd.images[complete])
        self.ask_rest(crowd, crowd.images[~complete], chance)
