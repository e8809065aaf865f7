"""Data sets of annotation files in COCO's manner, one for each split."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from simkit.data.assemble import Part, assemble, spell
from simkit.data.dataset import SPLITS, Boxes, Dataset
from simkit.data.pictures import FilePictures, is_file
from simkit.data.split import published_order
from simkit.errors import BadInput
from simkit.files import expanded
from simkit.labels.formats.coco_json import Instances
from simkit.labels.truth import Truth


@dataclass(frozen=True)
class AnnotationFiles:
    """What such data sets have in common; `what` is one of their files in errors.

    train: annotation file of the training set. val: its file; without one the published split
    takes a fifth of `train` for validation. test: its file; without one there is no test split,
    and what is reported is validation.
    images: the folder that file names start in; val_images: that of val, where it is another one;
    test_images: that of test.
    drop_missing: leave out images whose picture is not there.
    drop_empty: leave out images without annotation, as the papers on COCO do.
    order: "" as in the file, or "published": as in the label matrices of the single-positive
    papers, ids sorted as text. The published split and partial labels need it and drop_empty.
    hierarchy: a JSON file or the name of a shipped one.
    """

    name: ClassVar[str]
    what: ClassVar[str]
    paths: ClassVar[tuple[str, ...]] = (
        "train", "val", "test", "images", "val_images", "test_images", "hierarchy",
    )  # fmt: skip

    train: str = ""
    val: str = ""
    test: str = ""
    images: str = ""
    val_images: str = ""
    test_images: str = ""
    drop_missing: bool = False
    drop_empty: bool = False
    order: Literal["", "published"] = ""
    hierarchy: str = ""

    @abstractmethod
    def read(self, file: Path) -> Instances:
        """The content of one file. Raises BadInput."""

    def open(self) -> Dataset:
        """Read all splits; pictures are decoded when they are read. Raises BadInput."""
        if not self.train:
            raise BadInput(f"{self.name} needs {self.what}; write {self.name}:FILE")
        files = {split: getattr(self, split) for split in SPLITS if getattr(self, split)}
        parts = {split: self._part(split, file) for split, file in files.items()}
        return assemble(Path(self.train).stem, parts, hierarchy=self.hierarchy, spec=spell(self))

    def _part(self, split: str, file: str) -> Part:
        found = self.read(expanded(file))
        folder = getattr(self, f"{split}_images", "") or self.images
        boxes = Boxes(found.box_images, found.box_classes, found.corners, found.sizes)
        part, names = (
            Part(self.settled(found.truth, split), found.difficult, boxes),
            found.file_names,
        )
        if folder and self.drop_missing:
            place = expanded(folder)
            there = [row for row, name in enumerate(names) if is_file(place / name)]
            if there:  # else it will be said that none is
                part, names = part.select(np.array(there)), tuple(names[row] for row in there)
        if folder:
            part = replace(part, pictures=FilePictures.of(folder, names))
        return part.select(published_order(found.truth.images)) if self.order else part

    def settled(self, truth: Truth, split: str) -> Truth:
        """The truth of a split, for sources that may take what is not known for absent."""
        return truth
