"""Some images labelled completely, the others weakly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simkit.annotate.schemes.base import Scheme, by_image, make, register, schemes, spell
from simkit.annotate.schemes.single_positive import SinglePositive
from simkit.chance import Chance, below
from simkit.errors import BadInput
from simkit.registry import Share, setting, settle

if TYPE_CHECKING:
    from simkit.annotate.crowd import Crowd


@register
@dataclass(frozen=True)
class Mixed(Scheme):
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

    def __post_init__(self) -> None:
        settle(self)
        rest = self._rest()
        if not by_image(rest):
            possible = ", ".join(part.name for part in schemes if by_image(part))
            raise BadInput(
                f"mixed: rest is {self.rest!r}; a scheme that decides image by image is expected, "
                f"such as {possible}"
            )
        object.__setattr__(self, "rest", spell(rest))

    @property
    def needs_hierarchy(self) -> bool:
        return self._rest().needs_hierarchy

    @property
    def needs_boxes(self) -> bool:
        return self._rest().needs_boxes

    @property
    def caution(self) -> str:
        caution = (
            "Images are of two kinds, some known completely and the others weakly, and models can "
            "tell them apart by their labels. Of the others:"
        )
        return f"{caution} {getattr(self._rest(), 'caution', '')}".strip()

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        complete = below(chance.of("complete")(crowd.images), self.share)
        crowd.sweep(crowd.images[complete])
        others = crowd.images[~complete]
        if len(others):
            rest = self._rest()
            rest.ask(crowd.among(others), chance.of("rest", rest.name))

    def _rest(self) -> Scheme:
        return make(self.rest)
