"""One present class for each image, or a few, and a few absent ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from simkit.annotate.schemes.base import MOST, Scheme, register
from simkit.chance import Chance
from simkit.registry import Range, setting

if TYPE_CHECKING:
    from simkit.annotate.crowd import Crowd


@register
@dataclass(frozen=True)
class SinglePositive(Scheme):
    """Name present classes of each image, by default one; all other labels are unknown.

    An image without classes costs one question and gets no label, and one with fewer classes than
    wanted gets all of them. Absent labels, if wanted, come from verifying random classes one after
    another; present ones on the way are paid for. Labels of larger `positives` and `negatives`
    contain those of smaller ones.

    Example: simkit simulate --scheme "single-positive(positives=2, negatives=5)"
    """

    name: ClassVar[str] = "single-positive"
    title: ClassVar[str] = "Single positive"
    gist: ClassVar[str] = "one present class per image"
    source: ClassVar[str] = "Cole et al., CVPR 2021; bias: Arroyo, Perona & Cole, ICLR 2023"
    amount: ClassVar[str | None] = None
    caution: ClassVar[str] = (
        "Classes that come with many others are named less often than they are there. Without "
        "`negatives` no label says absent, and what is unknown is not absent. With a `bias` large "
        "or central objects are named first."
    )

    positives: Annotated[int, Range(0, MOST)] = setting(1, "present classes named in each image")
    negatives: Annotated[int, Range(0, MOST)] = setting(0, "absent classes found in each image")
    bias: Literal["none", "size", "centre"] = setting(
        "none",
        "what is named first: anything, large objects (by the file's area, else the box's) or "
        "central ones (boxes)",
    )
    keep_looks: bool = setting(
        False, "keep all answers that were paid for, the present ones met too"
    )

    @property
    def needs_boxes(self) -> bool:
        return self.bias != "none"

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        named = None
        if self.positives:
            most = min(self.positives, crowd.shape[1])
            named = crowd.name(crowd.images, chance=chance, most=most, bias=self.bias)
        if self.negatives:
            crowd.rule_out(
                self.negatives, chance=chance.of("absent"), named=named, keep_looks=self.keep_looks
            )
