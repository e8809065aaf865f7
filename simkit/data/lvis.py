"""Data sets in LVIS's format, with partially known labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from simkit.data.coco import AnnotationFiles
from simkit.data.dataset import CC_BY_4, Terms, register
from simkit.data.splits import Unknown, settled
from simkit.labels.formats.coco_json import Instances
from simkit.labels.formats.lvis import read_lvis
from simkit.labels.truth import Truth
from simkit.registry import setting


@register
@dataclass(frozen=True)
class Lvis(AnnotationFiles):
    """LVIS v1, 1,203 classes: annotated ones are present, those in the negative lists absent.

    unknown: "keep" keeps all other labels unknown: metrics leave them out, and a simulated crowd
    cannot answer questions about them. "absent" assumes them absent, "absent-in-train" only in the
    training set; LVIS itself does not make this assumption.
    The shipped hierarchy is lvis-1203. File names are of the form train2017/000000391895.jpg, so
    `images` is the folder that holds train2017 and val2017.
    """

    name: ClassVar[str] = "lvis"
    title: ClassVar[str] = "LVIS files, known in part"
    example: ClassVar[str] = "lvis:lvis_v1_train.json,test=lvis_v1_val.json,images=coco"
    terms: ClassVar[Terms] = Terms(
        "LVIS",
        "cc-by-4.0",
        link=CC_BY_4,
        note="the photographs are those of COCO, under the terms of Flickr",
        page="https://www.lvisdataset.org",
        cite="A. Gupta, P. Dollar, R. Girshick: LVIS, CVPR 2019",
        classes="lvis-1203",
    )

    unknown: Unknown = setting("keep", "keep unknown labels, or assume them absent")

    def read(self, file: Path) -> Instances:
        """The content of an LVIS file. Raises BadInput."""
        return read_lvis(file, drop_empty=self.drop_empty)

    def settled(self, truth: Truth, split: str) -> Truth:
        """The truth of a split, unknown labels treated as in `unknown`."""
        return settled(truth, self.unknown, split)
