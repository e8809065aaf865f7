"""A fixed number of labels for each class."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from simkit.annotate.annotators import Ints
from simkit.annotate.schemes import Count, Crowd, Precision, Searching, register
from simkit.chance import Chance
from simkit.registry import setting


@register
class FixedPerClass(Searching):
    """For each class `per_class` images that show it and as many that do not; the rest unknown.

    With `search=scores` images with the highest scores are looked at first, as in an order with
    scores: until enough show the class, or 50 in a row do not.

    A class with fewer images keeps all of them, and its absent labels stay at `per_class`. The
    paper selects the labels from the ground truth; here they are searched for, and every look is
    billed.

    Images not asked about are left out of training (`unasked="skip"`). The papers train on all
    images, as `unasked="absent"` does: all labels of these images are unknown, and methods that
    assume unknown labels absent do so here, too. On photographs AN has 29.4, 37.5 and 42.0 mAP with
    the asked images and 27.0, 36.0 and 41.9 with all, at 10, 50 and 200 per class.
    """

    name: ClassVar[str] = "fpc"
    title: ClassVar[str] = "FPC"
    gist: ClassVar[str] = "a fixed number of images per class"
    source: ClassVar[str] = "Ben-Baruch et al., CVPR 2022, section 5.1"
    amount: ClassVar[str | None] = "per_class"
    caution: ClassVar[str] = (
        "As far as there are so many, classes have the same number of labels whatever their "
        "frequency: shares among the labels are then not those among the images. The simulated "
        "machine of search=proposals finds hard examples as readily as easy ones, which real ones "
        "do not."
    )

    # The paper: 20 to 2,000 on COCO, and 1,000 in the code's own example.
    per_class: Count = setting(100, "present and absent labels for each class")
    search: Literal["proposals", "random", "scores"] = setting(
        "proposals",
        "look through an assumed machine's candidates, through images as they come, or through "
        "those with the highest scores of a given model",
    )
    # Assumption: every second candidate of a good detector is right.
    precision: Precision = setting(
        0.5, "share of the candidates that show the class (search=proposals)"
    )
    # False: the paper's FPC.
    keep_looks: bool = setting(False, "keep all paid answers, not only per_class of each kind")

    def goals_by_class(self, shape: tuple[int, int], chance: Chance) -> tuple[Ints, Ints]:
        goal = np.full(shape[1], self.per_class)
        return goal, goal

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        self.ask_all(crowd, chance, f"than {self.per_class} images")
