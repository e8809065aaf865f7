"""PASCAL VOC as its owners publish it: VOC2007 and VOC2012, with boxes and difficult objects."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import ClassVar, Literal
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.data.dataset import Boxes, Dataset, Terms, register
from simkit.data.lists import different, folder, lines
from simkit.data.splits import Part, assemble, published_order, with_pictures
from simkit.errors import BadInput, note
from simkit.files import reading
from simkit.labels.formats.base import text_ids
from simkit.labels.names import plain
from simkit.labels.truth import Truth
from simkit.registry import setting

CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
    "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train",
    "tvmonitor",
)  # fmt: skip
_WHAT = "an image set of VOC (lines of an image and -1, 0 or 1)"
_OBJECTS = "objects of an image (VOC's XML)"
_STATES = {"-1": -1, "0": 0, "1": 1, "+1": 1, "-1.0": -1, "0.0": 0, "1.0": 1}
_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)  # of an image; it becomes part of a path
_DIFFICULT = Literal["ignore", "present", "absent"]


@register
class Voc:
    """PASCAL VOC: image sets per class, and images and boxes if their folders exist.

    root: the folder VOC2012 or VOC2007, or the VOCdevkit that holds it; year: the year to use, if
    the devkit holds several.
    splits: "papers" splits VOC's train as published and tests on its val (if test labels exist, as
    in 2007, it splits trainval and tests on test); "trainval" splits trainval; "own" uses VOC's
    train, val and, if labelled, test.
    difficult: the label of a class that is present only through difficult objects: "ignore" leaves
    it out of all metrics (simulated annotators call it absent), "present" or "absent" counts it so.
    hierarchy: a JSON file or the name of a shipped one, such as voc-20.
    Source: Everingham et al., The PASCAL Visual Object Classes Challenge 2012 (VOC2012)
    Development Kit, sections 4 and 8; the split of Cole et al., CVPR 2021.
    """

    name: ClassVar[str] = "voc"
    title: ClassVar[str] = "PASCAL VOC 2007 and 2012"
    example: ClassVar[str] = "voc:VOCdevkit/VOC2012"
    terms: ClassVar[Terms] = Terms(
        "PASCAL VOC",
        "other",
        "flickr-terms-of-use",
        "http://host.robots.ox.ac.uk/pascal/VOC/voc2012/",
        note="no licence of the labels is stated; the photographs are under the terms of Flickr",
        page="http://host.robots.ox.ac.uk/pascal/VOC/",
        cite="M. Everingham and others: The PASCAL Visual Object Classes Challenge, IJCV 2010",
        classes="voc-20",
    )
    paths: ClassVar[tuple[str, ...]] = ("root", "hierarchy")

    root: str = setting(..., "the folder VOC2012 or VOC2007, or the VOCdevkit that holds it")
    year: str = setting("", "the year, if the devkit holds several")
    splits: Literal["papers", "trainval", "own"] = setting("papers", "published split, or VOC's")
    difficult: _DIFFICULT = setting("ignore", "label of classes with difficult objects only")
    hierarchy: str = setting("", "a JSON file or a shipped name, such as voc-20")

    def open(self) -> Dataset:
        """Read lists and boxes; image files are decoded on use. Raises BadInput."""
        place = find_year(self.root, self.year)
        tested = (place / "ImageSets" / "Main" / f"{CLASSES[0]}_test.txt").exists()
        # The test lists of later years have no labels: they contain no 1.
        tested = tested and bool(_read(place, "test", "ignore")[1].any())
        lists = {"train": "trainval", "test": "test"}
        if self.splits == "own":
            lists = {"train": "train", "val": "val", "test": "test"}
        elif self.splits == "papers" and not tested:
            lists = {"train": "train", "test": "val"}
        annotations, pictures = place / "Annotations", place / "JPEGImages"
        parts = {}
        for split, name in lists.items():
            if name == "test" and not tested:
                continue
            images, present, difficult = _read(place, name, self.difficult)
            truth = Truth.of(present, images, CLASSES)
            hidden = csr_array(difficult) if self.difficult == "ignore" else None
            boxes = None
            if annotations.is_dir():
                boxes = read_boxes(annotations, truth, difficult=self.difficult == "present")
            part, files = Part(truth, hidden, boxes), [f"{image}.jpg" for image in images.tolist()]
            folder = pictures if pictures.is_dir() else ""
            parts[split] = with_pictures(part, folder, files, drop_missing=None)
        return assemble(place.resolve().name.lower(), parts, self)


def find_year(root: str, year: str) -> Path:
    """The folder of one year: `root` itself or the one below it. Raises BadInput."""
    what = "VOCdevkit or the folder VOC2012 or VOC2007 in it"
    place = folder(root, what)
    if (place / "ImageSets").is_dir():
        if year and not place.resolve().name.endswith(year):
            raise BadInput(f"{place} is not VOC{year}; leave year out or give the folder VOC{year}")
        return place
    devkit = place / "VOCdevkit" if (place / "VOCdevkit").is_dir() else place
    years = [path for path in sorted(devkit.glob("VOC*")) if (path / "ImageSets").is_dir()]
    wanted = [path for path in years if not year or path.name == f"VOC{year}"]
    if len(wanted) == 1:
        return wanted[0]
    has = ", ".join(path.name for path in years) or "no ImageSets"
    choice = f"add year={years[-1].name.removeprefix('VOC')}" if years else f"give {what}"
    if not years and any((place / "Annotations").glob("*.xml")):  # as labelImg and CVAT write them
        pictures = place / "JPEGImages" if (place / "JPEGImages").is_dir() else place
        choice = (
            "Annotations alone are not read: write a table with the columns file and class, one "
            f"row for each object, and open it with folder:{pictures},labels=TABLE.csv"
        )
    raise BadInput(f"{place} holds {has}{f' and no VOC{year}' if year else ''}; {choice}")


def _read(
    place: Path, name: str, difficult: _DIFFICULT
) -> tuple[NDArray[np.str_], NDArray[np.bool_], NDArray[np.bool_]]:
    """The (N,) images of an image set, and the present and the difficult classes, (N, 20) bool."""
    folder = place / "ImageSets" / "Main"
    states: list[dict[str, int]] = []
    for kind in CLASSES:
        path = folder / f"{kind}_{name}.txt"
        if not states and not path.exists():
            lists = sorted(file.stem.rpartition("_")[2] for file in folder.glob(f"{kind}_*.txt"))
            mend = (
                f"but {', '.join(lists)}; add splits=trainval"
                if "trainval" in lists
                else "and voc reads only the 20 classes of PASCAL VOC; write others as a COCO file "
                "(coco:FILE) or a table of file and class (folder:)"
            )
            raise BadInput(f"{path} does not exist, {mend}")
        with reading(path, _WHAT):
            pairs = [line.split() for line in lines(path, _WHAT)]
            for pair in pairs:
                if len(pair) != 2 or pair[1] not in _STATES or not _NAME.fullmatch(pair[0]):
                    odd = f"a line is {' '.join(pair)[:60]!r}"
                    raise BadInput(f"{odd}; the name of an image and -1, 0 or 1 are expected")
            names = different([image for image, _ in pairs])
            codes = [_STATES[state] for _, state in pairs]
            states.append(dict(zip(names, codes, strict=True)))
            for image in sorted({*states[-1]} ^ {*states[0]})[:1]:
                both = f"{path.name} and {CLASSES[0]}_{name}.txt"
                raise BadInput(f"image {image!r} is not in both {both}; download them again")
    images = [*states[0]]
    matrix = np.array([[state[image] for state in states] for image in images], np.int8)
    doubtful = (matrix == 0).any(0) & (matrix == 1).any(0) & (matrix != -1).all(0)
    if doubtful.all():
        raise BadInput(
            f"{folder}: no line of the lists of {name} is -1; write -1 for absent, because 0 marks "
            "objects that are difficult to see"
        )
    why = "0 is read as difficult, not as absent; write -1 for absent"
    note(folder, np.array(CLASSES)[doubtful], f"classes of {name} with 0 but no -1: {{}}; {why}")
    ids = text_ids(images)
    order = published_order(ids)
    ordered = matrix[order]
    unsure = ordered == 0
    present = (ordered == 1) | (unsure & (difficult == "present"))
    return ids[order], present, unsure


Corners = tuple[float, float, float, float]  # x0, y0, x1, y1 in pixels, half open


def read_objects(path: Path) -> tuple[tuple[int, int], list[tuple[str, bool, Corners]]]:
    """Width and height of an image in pixels, and its objects: class, whether difficult, corners.

    VOC's pixel indices start at 1 and include the last pixel; parts of an object (head, hand, foot)
    are not read. Raises BadInput. Source: the VOC2012 development kit, section 8.
    """
    with reading(path, _OBJECTS) as file:
        root = ElementTree.fromstring(file.read_bytes())
        size = root.find("size")
        width, height = (round(_number(size, key)) for key in ("width", "height"))
        objects = []
        for element in root.iterfind("object"):
            box = element.find("bndbox")
            x0, y0, x1, y1 = (_number(box, key) for key in ("xmin", "ymin", "xmax", "ymax"))
            if x1 < x0 or y1 < y0:
                corners = f"from {x0:g}, {y0:g} to {x1:g}, {y1:g}"
                raise BadInput(f"a bndbox goes {corners}; correct it")
            name, hard = (
                (element.findtext(key) or usual).strip()
                for key, usual in (("name", ""), ("difficult", "0"))
            )
            if not name or hard not in ("0", "1"):
                odd = f"the name {name[:40]!r} and difficult {hard[:40]!r}"
                raise BadInput(f"an object has {odd}; a class and 0 or 1 are expected")
            objects.append((name, hard == "1", (x0 - 1, y0 - 1, x1, y1)))
        return (width, height), objects


def read_boxes(folder: Path, truth: Truth, *, difficult: bool) -> Boxes:
    """The objects of all classes that `truth` has as present, from `folder`/IMAGE.xml.

    difficult: include difficult objects. Raises BadInput.
    """
    column = {name: c for c, name in enumerate(truth.classes)}
    kept, sizes, others = [], [], []
    present = truth.present.toarray()
    for i, image in enumerate(truth.images.tolist()):
        size, objects = read_objects(folder / f"{image}.xml")
        sizes.append(size)
        for name, hard, corners in objects:
            c = column.get(plain(name).lower(), -1)
            others += [f"{name!r} in {image}.xml"] * (c < 0)
            if c >= 0 and present[i, c] and (difficult or not hard):
                kept.append((i, c, *corners))
    note(folder, others, "objects of other classes, whose boxes are left out: {}")
    table = np.array(kept, np.float64).reshape(-1, 6)
    images, classes = (table[:, side].astype(np.int64) for side in (0, 1))
    return Boxes(images, classes, table[:, 2:].astype(np.float32), np.array(sizes, np.int64))


def _number(element: ElementTree.Element | None, key: str) -> float:
    text = None if element is None else element.findtext(key)
    try:
        number = float(text or math.nan)  # some boxes of VOC have fractions of pixels
    except ValueError:
        number = math.nan
    if not (key in ("width", "height")) <= number <= 1e6:
        raise BadInput(f"{key} is {str(text)[:40]!r}; a number of pixels is expected")
    return number
