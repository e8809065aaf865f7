"""A share of all present labels, and absent ones in proportion to it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from simkit.annotate.schemes import Crowd, Scheme, register
from simkit.chance import Chance
from simkit.registry import Range, Share, setting


@register
class FractionOfPositives(Scheme):
    """Name a share of all present labels of the data set, and verify absent ones in proportion.

    round(keep * P) of the P present (image, class) pairs are named, uniformly over the data set and
    not image by image, and for each of them `ratio` absent pairs are verified, uniformly over all.
    By default the ratio is drawn between 1 and 1.5 for each seed and draw, and keep=1 means every
    label. Absent pairs are found by verifying random pairs; present ones on the way are paid for
    and, unless named, dropped.

    Example: simkit simulate --scheme fraction-of-positives --keep 0.3 --ratio 0
    """

    name: ClassVar[str] = "fraction-of-positives"
    title: ClassVar[str] = "Fraction of positives"
    gist: ClassVar[str] = "some of the present classes"
    source: ClassVar[str] = (
        "Kundu & Tighe, NeurIPS 2020, section 4.1.1; ratio 0: Verelst et al., WACV 2023"
    )
    amount: ClassVar[str | None] = "keep"
    caution: ClassVar[str] = (
        "Present labels are an even sample of what is there and absent ones of what is not, but "
        "how many there are of each is set: shares among the labels are not those among the images."
    )

    # The papers: 0.05 to 0.9.
    keep: Share = setting(0.1, "share of all present (image, class) pairs that is named")
    ratio: Annotated[float, Range(0, 10**6)] | None = setting(
        None,
        "absent labels for each present one; none: 1 to 1.5, drawn by the seed",
    )

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        kept = crowd.name_share(self.keep, chance=chance.of("present"))
        if self.keep == 1 and self.ratio is None:
            absent = len(crowd.images) * crowd.shape[1]
        elif self.ratio is None:  # kept * (1 + number / 2) in whole numbers, halves up
            number = int(chance.of("ratio")(0))
            absent = kept + ((kept * number + (1 << 64)) >> 65)
        else:
            absent = round(self.ratio * kept)
        crowd.rule_out_pairs(absent, chance=chance.of("absent"))
