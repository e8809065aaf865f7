"""Data sets of COCO-like annotation files, one per split: instances and panoptic."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from simkit.data.dataset import CC_BY_4, SPLITS, Boxes, Dataset, Terms, register
from simkit.data.splits import Part, assemble, published_order, spell, with_pictures
from simkit.files import expanded
from simkit.labels.formats.coco import read_instances
from simkit.labels.formats.coco_json import Instances
from simkit.labels.formats.coco_panoptic import read_panoptic
from simkit.labels.truth import Truth
from simkit.registry import setting


@dataclass(frozen=True)
class AnnotationFiles:
    """The common settings of COCO-like data sets.

    To get the published split and partial labels, set drop_empty and order=published.
    """

    name: ClassVar[str]
    paths: ClassVar[tuple[str, ...]] = (
        "train", "val", "test", "images", "val_images", "test_images", "hierarchy",
    )  # fmt: skip

    train: str = setting(..., "annotation file of the training set")
    val: str = setting("", "file for validation; without one the published split takes a fifth")
    test: str = setting("", "file for testing; without one validation is reported")
    images: str = setting("", "folder that file names start in")
    val_images: str = setting("", "folder of val, where it is another one")
    test_images: str = setting("", "folder of test, where it is another one")
    drop_missing: bool = setting(False, "leave out images whose file is missing")
    drop_empty: bool = setting(False, "leave out images without annotation, as the papers do")
    order: Literal["", "published"] = setting(
        "", "published: ids sorted as text, as in the single-positive papers"
    )
    hierarchy: str = setting("", "a JSON file or the name of a shipped one")

    @abstractmethod
    def read(self, file: Path) -> Instances:
        """The content of one file. Raises BadInput."""

    def open(self) -> Dataset:
        """Read all splits; image files are decoded on use. Raises BadInput."""
        files = {split: getattr(self, split) for split in SPLITS if getattr(self, split)}
        parts = {split: self._part(split, file) for split, file in files.items()}
        return assemble(Path(self.train).stem, parts, hierarchy=self.hierarchy, spec=spell(self))

    def _part(self, split: str, file: str) -> Part:
        content = self.read(expanded(file))
        boxes = Boxes(
            content.box_images, content.box_classes, content.corners, content.sizes, content.areas
        )
        part = Part(self.settled(content.truth, split), content.difficult, boxes)
        folder = getattr(self, f"{split}_images", "") or self.images
        part = with_pictures(part, folder, content.file_names, drop_missing=self.drop_missing)
        return part.select(published_order(part.truth.images)) if self.order else part

    def settled(self, truth: Truth, split: str) -> Truth:
        """The truth of a split; a source may assume unknown labels absent."""
        return truth


@register
@dataclass(frozen=True)
class Coco(AnnotationFiles):
    """COCO, or any data set with one instances file per split.

    The shipped hierarchy is coco-80.
    """

    name: ClassVar[str] = "coco"
    title: ClassVar[str] = "COCO instances files"
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


@register
@dataclass(frozen=True)
class CocoPanoptic(AnnotationFiles):
    """COCO panoptic; the PNG files with the masks are not needed.

    The shipped hierarchy is coco-panoptic-133.
    """

    name: ClassVar[str] = "coco-panoptic"
    title: ClassVar[str] = "COCO panoptic files"
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
