"""One present class for each image, or a few, and a few absent ones."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from simkit.annotate.schemes import MOST, Crowd, Scheme, register
from simkit.chance import Chance
from simkit.registry import Range, setting, settle

BY_BOXES = ("size", "centre")
Bias = Literal["none", "size", "centre", "typical", "rare"]


@register
class SinglePositive(Scheme):
    """Name present classes of each image, by default one; all other labels are unknown.

    An image without classes costs one question and gets no label, and one with fewer classes than
    wanted gets all of them. Absent labels, if wanted, come from verifying random classes one after
    another; present ones on the way are paid for. Labels of larger `positives` and `negatives`
    contain those of smaller ones.

    Which class is named can also depend on the class (semantic bias): of the classes in an image, c
    is named first with probability in proportion to a weight w_c, the same in all images and for
    all people. Arroyo et al. estimate the weights from clicks of COCO's annotators. Here they are
    in a .csv file (1 for other classes), such as `simkit habits --labels` fits. Without data,
    `typical` assumes that w_c is the number of images that show c, and `rare` its inverse: two
    extremes.

    Example: simkit simulate --scheme "single-positive(positives=2, negatives=5)"
    """

    name: ClassVar[str] = "single-positive"
    title: ClassVar[str] = "Single positive"
    gist: ClassVar[str] = "one present class per image"
    source: ClassVar[str] = "Cole et al., CVPR 2021; bias: Arroyo, Perona & Cole, ICLR 2023"
    amount: ClassVar[str | None] = None
    caution: ClassVar[str] = (
        "Classes that occur with many others are named less often than they are present. Without "
        "`negatives` no label says absent, and what is unknown is not absent. With a `bias`, large "
        "or central objects or the preferred classes are named first: frequencies of the labels "
        "are then those of people's preferences as well, and other classes lose labels."
    )

    positives: Annotated[int, Range(0, MOST)] = setting(1, "present classes named in each image")
    negatives: Annotated[int, Range(0, MOST)] = setting(0, "absent classes found in each image")
    bias: str | Bias = setting(
        "none",
        "what is named first: none (anything), size (large objects, by the file's area, else the "
        "box's), centre (central ones, by boxes), typical (frequent classes), rare, or a .csv file "
        "of class and weight",
    )
    keep_looks: bool = setting(
        False, "keep all paid answers, including present classes found on the way"
    )

    def __post_init__(self) -> None:
        settle(self)
        bias = self.bias.lower()
        if bias not in get_args(Bias):
            from simkit.annotate.label_preference import spelled

            bias = spelled(self.bias)  # the weights and no path, so that the history replays
        object.__setattr__(self, "bias", bias)

    @property
    def needs_boxes(self) -> bool:
        return self.bias in BY_BOXES

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        named = None
        if self.positives:
            most = min(self.positives, crowd.shape[1])
            named = crowd.name(crowd.images, chance=chance, most=most, bias=self.bias)
        if self.negatives:
            crowd.rule_out(
                self.negatives, chance=chance.of("absent"), named=named, keep_looks=self.keep_looks
            )
