"""Data sets in COCO's instances format, with their pictures where a folder is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from simkit.data.annotation_files import AnnotationFiles
from simkit.data.dataset import register
from simkit.data.terms import CC_BY_4, Terms
from simkit.labels.formats.coco import read_instances
from simkit.labels.formats.coco_json import Instances


@register
@dataclass(frozen=True)
class Coco(AnnotationFiles):
    """COCO, or any data set whose annotations are instances files, one for each split.

    A shipped hierarchy is coco-80.
    """

    name: ClassVar[str] = "coco"
    title: ClassVar[str] = "COCO instances files"
    what: ClassVar[str] = "an instances file"
    example: ClassVar[str] = (
        "coco:instances_train2014.json,test=instances_val2014.json,images=train"
    )
    terms: ClassVar[Terms] = Terms(
        "MS-COCO",
        "cc-by-4.0",
        link=CC_BY_4,
        note="the photographs are under the terms of Flickr",
        page="https://cocodataset.org",
        cite="T.-Y. Lin and others: Microsoft COCO: Common Objects in Context, ECCV 2014",
        classes="coco-80",
    )

    def read(self, file: Path) -> Instances:
        """The content of an instances file. Raises BadInput."""
        return read_instances(file, drop_empty=self.drop_empty)
