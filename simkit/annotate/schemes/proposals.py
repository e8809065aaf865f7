"""People verify what a machine proposes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

from simkit.annotate.schemes import MISSING, Crowd, Scheme, logits, register
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.registry import Range, Share, setting


@register
class Proposals(Scheme):
    """A machine proposes classes for each image, and people verify every one of them.

    The number for an image is Poisson with mean `per_image`. Wrong candidates are classes that a
    present one may be taken for: its siblings in the hierarchy, or else a fixed set of classes
    drawn by the seed. With `skew` above 0 some classes, whatever their frequency, are hardly ever
    proposed, so that frequent ones can stay nearly without labels. See `proposer.Proposer`. With
    `by=scores` the candidates are the classes with the highest scores of a given model instead.

    Example: simkit simulate --scheme proposals --per-image 7 --skew 2
    """

    name: ClassVar[str] = "proposals"
    title: ClassVar[str] = "Machine proposals"
    gist: ClassVar[str] = "check what a machine suggests"
    # OpenImages verifies so; no paper defines it as a simulator: the machine's make-up is ours.
    source: ClassVar[str] = "Kuznetsova et al., IJCV 2020 (OpenImages V4)"
    amount: ClassVar[str | None] = "per_image"
    by_image: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "People see what a machine proposed and nothing else: what it never proposes stays "
        "unknown, absent labels are of classes that look alike, and shares among the labels are "
        "those of the machine. With a `skew` some classes are hardly labelled at all."
    )

    # OpenImages V6: 59.9 M image-level labels of 9.2 M images.
    per_image: Annotated[float, Range(0, 10**6)] = setting(
        7.0, "candidates for an image, on average"
    )
    recall: Share = setting(0.8, "share of present classes that can be proposed (an assumption)")
    # Assumption: every second candidate of a good classifier is right.
    precision: Share = setting(
        0.5, "share of the candidates that are present, if enough classes are present"
    )
    skew: Annotated[float, Range(0, 100)] = setting(
        0.0,
        "how unequally classes are proposed; 0: all alike, 2: some hardly ever",
    )
    by: Literal["assumption", "scores"] = setting(
        "assumption", "source of candidates: recall, precision and skew, or a model's scores"
    )

    @property
    def needs_scores(self) -> bool:
        return self.by == "scores"

    def unassuming(self, scores: bool) -> Self:
        if not scores and self.by == "assumption":
            raise BadInput(
                "nobody has the machine that it assumes; give a model's scores, or compare again "
                "with a head on frozen features, which then scores the pilot's images"
            )
        return replace(self, by="scores")

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        from simkit.annotate.proposer import Proposer

        crowd.expect(len(crowd.images) * min(self.per_image, crowd.shape[1]) * 0.9)
        settings = self.per_image, self.recall, self.precision, self.skew
        proposer = Proposer(*settings, crowd.shape[1], chance)
        if self.by == "scores":
            scores = logits(crowd, self.name)
            crowd.pay_machine(crowd.images[(scores[crowd.images] > MISSING).any(axis=1)])
            for images, classes in proposer.highest(scores, crowd.images):
                scored = scores[images, classes] > MISSING
                crowd.verify(images[scored], classes[scored])
            return
        for images, classes in crowd.propose(proposer):
            crowd.verify(images, classes)

    def largest(self, images: int, classes: int) -> int:
        """The mean at which a Poisson number is below the number of classes in no image at all."""
        return math.ceil(classes + 10 * math.sqrt(classes) + 100)
