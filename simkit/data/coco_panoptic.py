"""Data sets in COCO's panoptic format: things and stuff, 133 classes in COCO."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from simkit.data.annotation_files import AnnotationFiles
from simkit.data.dataset import register
from simkit.data.terms import CC_BY_4, Terms
from simkit.labels.formats.coco_json import Instances
from simkit.labels.formats.coco_panoptic import read_panoptic


@register
@dataclass(frozen=True)
class CocoPanoptic(AnnotationFiles):
    """COCO panoptic; the PNG files with the masks are not needed.

    A shipped hierarchy is coco-panoptic-133.
    """

    name: ClassVar[str] = "coco-panoptic"
    title: ClassVar[str] = "COCO panoptic files"
    what: ClassVar[str] = "a panoptic file"
    example: ClassVar[str] = (
        "coco-panoptic:panoptic_train2017.json,test=panoptic_val2017.json,images=train2017,"
        "test_images=val2017"
    )
    terms: ClassVar[Terms] = Terms(
        "MS-COCO panoptic",
        "cc-by-4.0",
        link=CC_BY_4,
        note="the photographs are under the terms of Flickr",
        page="https://cocodataset.org",
        cite="A. Kirillov and others: Panoptic Segmentation, CVPR 2019",
        classes="coco-panoptic-133",
    )

    def read(self, file: Path) -> Instances:
        """The content of a panoptic file. Raises BadInput."""
        return read_panoptic(file, drop_empty=self.drop_empty)
