"""For each class a set of images with it and one without it, of long-tailed sizes."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.annotators import Ints
from simkit.annotate.schemes import MOST, Count, Crowd, Precision, Searching, register
from simkit.chance import Chance
from simkit.registry import Range, setting


@register
class Federated(Searching):
    """For each class two disjoint sets of images, with it and without it; the rest unknown.

    The class of rank r has up to per_class / r ** exponent images with it (at least one) and
    `ratio` times as many without. Ranks depend on the seed, not on class frequencies. A class with
    fewer images keeps all of them. Every look in the search for them is billed.

    With `search=scores` images with the highest scores are looked at first, as in an order with
    scores: until enough show the class, or 50 in a row do not.

    Example: simkit simulate --scheme federated --per-class 500 --ratio 2
    """

    name: ClassVar[str] = "federated"
    title: ClassVar[str] = "Federated"
    gist: ClassVar[str] = "a few classes complete, the rest partly"
    # The data set defines the form; the long tail of goals and the ratio are ours.
    source: ClassVar[str] = "Gupta et al., CVPR 2019 (LVIS)"
    amount: ClassVar[str | None] = "per_class"
    caution: ClassVar[str] = (
        "As far as there are so many, the number of a class's labels follows a rank drawn by the "
        "seed and not its frequency: shares among the labels are then not those among the images. "
        "The simulated "
        "machine of search=proposals finds hard examples as readily as easy ones, which real ones "
        "do not."
    )

    per_class: Count = setting(
        100, "present labels sought for the class of rank 1; fewer for the others"
    )
    # Assumption: a tail like that of word frequencies.
    exponent: Annotated[float, Range(0, 10)] = setting(
        1.0, "how fast the goals fall with the rank of the class; 0: all are equal"
    )
    ratio: Annotated[float, Range(0, 10**6)] = setting(
        1.0, "absent labels for each present one that is sought"
    )
    search: Literal["proposals", "random", "scores"] = setting(
        "proposals",
        "look through an assumed machine's candidates, through images as they come, or through "
        "those with the highest scores of a given model",
    )
    # Assumption: every second candidate of a good detector is right.
    precision: Precision = setting(
        0.5, "share of the candidates that show the class (search=proposals)"
    )
    keep_looks: bool = setting(False, "keep all paid answers, not only those sought")

    def goals_by_class(self, shape: tuple[int, int], chance: Chance) -> tuple[Ints, Ints]:
        images, L = shape
        ranks = chance.of("ranks").permutation(L).rank(np.arange(L))
        present, absent = self.goals(L, images)
        return present[ranks], absent[ranks]

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        self.ask_all(crowd, chance, "images than wanted")

    def largest(self, images: int, classes: int) -> int:
        """The per_class at which all images are wanted even for the last class of the tail."""
        tail = classes**self.exponent / min(1.0, self.ratio or 1.0)
        return math.ceil(min(MOST, (images + 1) * tail))

    def goals(self, L: int, images: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(L,) numbers of images with and without the class of rank 0 .. L-1."""
        with localcontext() as context:
            context.prec = 30  # decimal powers are the same on every machine
            power, ratio = Decimal(repr(self.exponent)), Decimal(repr(self.ratio))
            with_it = [max(1, int(self.per_class / Decimal(r) ** power)) for r in range(1, L + 1)]
            without = [int((n * ratio).to_integral_value(ROUND_HALF_EVEN)) for n in with_it]
        # Goals are capped at the number of images plus one, which cannot be met.
        goals = np.minimum([with_it, without], images + 1)
        return goals[0], goals[1]
