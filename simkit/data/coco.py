"""Data sets in COCO's instances format, with their pictures where a folder is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from simkit.data.assemble import Part, assemble, spell
from simkit.data.dataset import SPLITS, Boxes, Dataset, register
from simkit.data.pictures import FilePictures
from simkit.errors import BadInput
from simkit.labels.formats.coco import read_instances


@register
@dataclass(frozen=True)
class Coco:
    """COCO, or any data set whose annotations are instances files, one for each split.

    train, val, test: instances files. Without `val` the published split takes a fifth of `train`
    for validation; without `test` there is no test split, and what is reported is validation.
    images: the folder that file names start in; val_images, test_images: where it is another one.
    drop_empty: leave out images without annotation, as the papers on COCO do.
    hierarchy: a JSON file or the name of a shipped one, such as coco-80.
    """

    name: ClassVar[str] = "coco"
    title: ClassVar[str] = "COCO instances files"
    example: ClassVar[str] = (
        "coco:instances_train2014.json,test=instances_val2014.json,images=train"
    )
    paths: ClassVar[tuple[str, ...]] = (
        "train", "val", "test", "images", "val_images", "test_images", "hierarchy",
    )  # fmt: skip

    train: str = ""
    val: str = ""
    test: str = ""
    images: str = ""
    val_images: str = ""
    test_images: str = ""
    drop_empty: bool = False
    hierarchy: str = ""

    def open(self) -> Dataset:
        """Read all splits; pictures are decoded when they are read. Raises BadInput."""
        if not self.train:
            raise BadInput("coco needs an instances file; write coco:FILE")
        files = {split: getattr(self, split) for split in SPLITS if getattr(self, split)}
        parts = {split: self._part(split, file) for split, file in files.items()}
        return assemble(Path(self.train).stem, parts, hierarchy=self.hierarchy, spec=spell(self))

    def _part(self, split: str, file: str) -> Part:
        found = read_instances(Path(file).expanduser(), drop_empty=self.drop_empty)
        folder = getattr(self, f"{split}_images", "") or self.images
        pictures = FilePictures.of(folder, found.file_names) if folder else None
        boxes = Boxes(found.box_images, found.box_classes, found.corners)
        return Part(found.truth, found.difficult, boxes, pictures)
