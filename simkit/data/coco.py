"""Data sets of COCO-like annotation files, one per split: instances, panoptic and LVIS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from simkit.data.dataset import CC_BY_4, Dataset, Terms, register
from simkit.data.splits import (
    Part,
    SplitFiles,
    Unknown,
    assemble,
    published_order,
    settled,
    with_pictures,
)
from simkit.errors import BadInput, note
from simkit.files import expanded
from simkit.labels.formats.coco import read_instances, read_panoptic
from simkit.labels.formats.coco_json import Instances, with_classes
from simkit.labels.formats.lvis import read_lvis
from simkit.registry import setting


@dataclass(frozen=True)
class AnnotationFiles(SplitFiles):
    """The common settings of COCO-like data sets.

    To get the published split and partial labels, set drop_empty and order=published.
    """

    name: ClassVar[str]
    paths: ClassVar[tuple[str, ...]] = (
        "train", "val", "test", "images", "val_images", "test_images", "hierarchy",
    )  # fmt: skip

    train: str = setting(..., "annotation file of the training set")
    images: str = setting("", "folder that file names start in")
    val_images: str = setting("", "folder of val, where it is another one")
    test_images: str = setting("", "folder of test, where it is another one")
    drop_missing: bool = setting(False, "leave out images whose file is missing")
    drop_empty: bool = setting(False, "leave out images without annotation, as the papers do")
    order: Literal["", "published"] = setting(
        "", "published: ids sorted as text, as in the single-positive papers"
    )
    hierarchy: str = setting("", "a JSON file or the name of a shipped one")

    read: ClassVar[Callable[..., Instances]]

    def open(self) -> Dataset:
        """Read all splits; image files are decoded on use. Raises BadInput."""
        parts = {}
        contents = {file: self.read(expanded(file)) for file in self.files.values()}
        contents = with_classes(contents)
        for split, file in self.files.items():
            content = contents[file]
            truth = settled(content.truth, getattr(self, "unknown", "keep"), split)
            names = content.file_names
            part = Part(truth, content.difficult, content.boxes, files=names)
            if self.drop_empty:
                kept = np.flatnonzero(np.diff(truth.present.indptr))
                if not len(kept):
                    raise BadInput(f"{file}: no image has an annotation; leave drop_empty out")
                empty = np.delete(truth.images, kept).tolist()
                left_out = "images without an annotation, left out because of drop_empty: {}"
                note(file, empty, left_out, total=truth.shape[0])
                part, names = part.select(kept), tuple(names[i] for i in kept)
            if self.folder(split) and "" in names:
                image = part.truth.images[names.index("")].item()
                raise BadInput(
                    f"{file}: image {image!r} has no file_name; add it, or leave the folder of "
                    "images out"
                )
            part = with_pictures(part, self.folder(split), names, drop_missing=self.drop_missing)
            ordered = published_order(part.truth.images) if self.order else None
            parts[split] = part if ordered is None else part.select(ordered)
        return assemble(Path(self.train).stem, parts, self)


@register
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

    read = staticmethod(read_instances)


@register
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

    read = staticmethod(read_panoptic)


@register
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

    read = staticmethod(read_lvis)
