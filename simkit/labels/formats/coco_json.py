"""Shared parts of COCO-like JSON files: reading into pycocotools' index, and writing labels."""

from __future__ import annotations

import io
import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import AnyPath, reading, whole
from simkit.labels.formats.base import text_ids
from simkit.labels.formats.json_stream import members
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Boxes, Truth, check_distinct, from_indices

if TYPE_CHECKING:
    from pycocotools.coco import COCO

Row = dict[str, Any]

LARGEST = 1e9  # pixels
_KEPT = {
    "images": {
        "id", "file_name", "coco_url", "width", "height", "difficult_category_ids",
        "neg_category_ids",
    },
    "categories": {"id", "name"},
}  # fmt: skip
_LISTS = ("images", "annotations", "categories")


@dataclass(frozen=True, eq=False)
class Instances:
    """The content of a COCO-like file.

    truth       (N, L): a class is present where it has an annotation, crowds included; classes in
                the order of their category ids, images in the order of the file.
    difficult   (N, L) bool: classes listed in `difficult_category_ids` and not present; or None.
    file_names  one per image, "" where the file has none.
    boxes       of the annotations that have one; boxes marked as "whole image" are left out. Image
                sizes and areas are None unless all are given.
    """

    truth: Truth
    difficult: csr_array | None
    file_names: tuple[str, ...]
    boxes: Boxes


@dataclass(frozen=True, eq=False)
class Content:
    """A file in pycocotools' index.

    coco    images, categories and annotations with valid ids; masks are left out.
    ids     (N,) image ids in the order of the file.
    row     index of each image id;  column: index of each category id, in ascending order of ids.
    """

    coco: COCO
    ids: NDArray[Any]
    row: dict[Any, int]
    column: dict[Any, int]

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the order of their category ids."""
        return tuple(self.coco.cats[identity]["name"] for identity in self.column)

    def truth(self) -> Truth:
        """Complete: a class is present where it has an annotation."""
        shown = [self.coco.catToImgs.get(identity, []) for identity in self.column]
        return Truth.of(_indexed(shown, self.row).T, self.ids, self.classes)

    def listed(self, key: str) -> csr_array | None:
        """(N, L) bool: the categories listed under `key` by each image; None if no image has it."""
        images = self.coco.dataset["images"]
        if not any(key in image for image in images):
            return None
        lists = [image.get(key, []) for image in images]
        for listed in lists:
            numbers = isinstance(listed, list) and {*map(type, listed)} <= {int}
            if not numbers or not self.column.keys() >= set(listed):
                raise BadInput(f"{key} is {str(listed)[:40]}; a list of category ids is expected")
        return _indexed(lists, self.column)

    def instances(self, truth: Truth, difficult: csr_array | None = None) -> Instances:
        """The whole content, with this truth. Raises BadInput."""
        images = self.coco.dataset["images"]
        names = tuple(image.get("file_name", "") for image in images)
        if not all(isinstance(name, str) for name in names):
            raise BadInput("a file_name in 'images' is not text; write the name of the image file")
        sizes = [(image.get("width"), image.get("height")) for image in images]
        sized = all(type(v) is int and 0 < v <= LARGEST for size in sizes for v in size)
        boxed = [each for each in self.coco.dataset["annotations"] if "bbox" in each]
        corners = np.array([each["bbox"] for each in boxed], np.float64).reshape(-1, 4)
        corners[:, 2:] += corners[:, :2]
        areas: list[float | None] = [each.get("area") for each in boxed]
        return Instances(
            truth=truth,
            difficult=difficult,
            file_names=names,
            boxes=Boxes(
                np.array([self.row[each["image_id"]] for each in boxed], np.int64),
                np.array([self.column[each["category_id"]] for each in boxed], np.int64),
                corners.astype(np.float32),
                np.array(sizes, np.int64).reshape(-1, 2) if sized else None,
                np.array(areas, np.float64) if areas and None not in areas else None,
            ),
        )


def _indexed(lists: list[list[Any]], place: dict[Any, int]) -> csr_array:
    """(n, len(place)) bool: the ids in each of n lists."""
    return from_indices([[place[identity] for identity in ids] for ids in lists], len(place))


def read_content(
    path: Path, what: str, *, objects: Callable[[Row], Iterable[Row]] = lambda row: (row,)
) -> Content:
    """Read a COCO-like file into pycocotools' index, without masks.

    Parameters
    ----------
    path : Path
        The file. Its elements are read one at a time.
    what : str
        The kind of file, for error messages.
    objects : callable
        Gives the objects in an entry of 'annotations', each with image_id and category_id.

    Returns
    -------
    Content

    Raises
    ------
    BadInput, ValueError
        For an invalid file.
    """
    from pycocotools.coco import COCO

    coco = COCO()
    for key, value in members(path):
        if key in _LISTS:  # of repeated keys the last one counts, as in the json module
            entries = enumerate(_rows(value, key, what))
            if key == "annotations":
                kept = [_object(row, n) for n, entry in entries for row in objects(entry)]
            else:
                kept = [{k: row[k] for k in _KEPT[key] if k in row} for _, row in entries]
            coco.dataset[key] = kept
    for key in _LISTS:
        if key not in coco.dataset:
            list(_rows(None, key, what))
    numbers_or_text: list[Any] = [image.get("id") for image in coco.dataset["images"]]
    kinds = {type(identity) for identity in numbers_or_text}
    if not (kinds == {str} or kinds <= {int}):
        raise BadInput("the ids in 'images' must be all numbers or all text")
    ids = text_ids(numbers_or_text) if kinds == {str} else np.array(numbers_or_text, np.int64)
    check_distinct(ids, "image id")
    categories = coco.dataset["categories"]
    numbers = [row.get("id") for row in categories if isinstance(row.get("name"), str)]
    if not len({i for i in numbers if type(i) is int}) == len(numbers) == len(categories):
        raise BadInput("every entry of 'categories' needs a unique id (number) and a name (text)")
    column = {identity: c for c, identity in enumerate(sorted(numbers))}
    for number, row in enumerate(coco.dataset["annotations"]):
        row["id"] = number + 1  # the index needs unique ids, and files may omit or repeat them
    with redirect_stdout(io.StringIO()):
        coco.createIndex()
    row = {identity: i for i, identity in enumerate(ids.tolist())}
    for kind, named, ids_in_file in (
        ("image", coco.imgToAnns, row),
        ("category", coco.catToImgs, column),
    ):
        unknown = next((identity for identity in named if identity not in ids_in_file), None)
        if unknown is not None:
            odd = str(unknown)[:40]
            raise BadInput(f"{kind}_id is {odd} in 'annotations'; no {kind} has this id")
    return Content(coco, ids, row, column)


def _rows(value: Any, key: str, what: str) -> Iterator[Row]:
    """The entries of a list. Raises BadInput."""
    for row in value if isinstance(value, Iterator | list) else [value]:
        if not isinstance(row, dict) or row is value:
            raise BadInput(f"{key!r} is missing or not a list of objects; give {what}")
        yield row


def _object(row: Row, place: int) -> Row:
    """The fields kept of an object in entry `place` of 'annotations'. Raises BadInput."""
    kept = {}
    for key in ("image_id", "category_id"):
        kept[key] = row.get(key)
        if type(kept[key]) not in (int, float, str):  # True is 1 for Python
            shown = str(kept[key])[:40]
            raise BadInput(f"{key} is {shown} in entry {place} of 'annotations'; an id is expected")
    if "bbox" in row and row.get("bbox_is", "object") == "object":
        box = row["bbox"]
        numbers = isinstance(box, list) and len(box) == 4 and {*map(type, box)} <= {int, float}
        if not numbers or not all(abs(v) <= LARGEST for v in box) or min(box[2:]) < 0:
            shown = str(box)[:60]
            raise BadInput(f"a bbox is {shown}; [x, y, width, height] in pixels is expected")
        kept["bbox"] = array("d", box)
        area = row.get("area")
        if isinstance(area, int | float) and 0 <= area <= LARGEST**2:
            kept["area"] = area
    return kept


def write_labels(
    labels: PartialLabels,
    path: AnyPath,
    original: str,
    *,
    what: str,
    image: Callable[[Row, int, dict[int, Any]], Row],
    category: Callable[[Row], Row],
) -> None:
    """Write labels as a COCO-like file, completely or not at all.

    Without an `original`, categories are numbered from 1, and each present label has an annotation
    without a box. With one, everything in it is copied, with these exceptions: images that are not
    in the labels and annotations of labels that are not present are left out; a present label
    without an annotation gets one without a box.

    Parameters
    ----------
    labels : PartialLabels
        The labels to be written.
    path : path
        The new file.
    original : str
        A COCO-like file of the same images and classes, or "".
    what : str
        The kind of file, for error messages.
    image : callable
        Converts an image, given its row in the labels and the category id of each class.
    category : callable
        Converts a category.

    Raises
    ------
    BadInput
        If an image or a class of the labels is not in the original.
    """
    rows = {identity: i for i, identity in enumerate(labels.images.tolist())}
    ids: dict[int, Any] = {c: c + 1 for c in range(labels.shape[1])}
    categories = [{"id": ids[c], "name": name} for c, name in enumerate(labels.classes)]
    images = (
        # An id that is a file name, as in a folder, is also its file_name.
        {"id": identity} | ({"file_name": identity} if PurePosixPath(str(identity)).suffix else {})
        for identity in rows
    )
    plain = {"images": images, "annotations": iter(()), "categories": iter(categories)}
    if original:
        with reading(original, what) as file:
            held = read_content(file, what)
            of_name = dict(zip(held.classes, held.column, strict=True))
            strange = [name for name in labels.classes if name not in of_name]
            unknown = set(rows) - set(held.row)
            if strange or unknown:
                odd = f"class {strange[0]}" if strange else f"image {min(unknown, key=str)}"
                raise BadInput(f"{odd[:50]} is not in it; give a file with all images and classes")
            ids = {c: of_name[name] for c, name in enumerate(labels.classes)}
    lists = {
        "images": lambda found: (image(v, rows[v["id"]], ids) for v in found if v["id"] in rows),
        "annotations": lambda found: _annotations(found, labels, rows, ids),
        "categories": lambda found: map(category, found),
    }
    content = members(Path(original)) if original else plain.items()
    encode = json.JSONEncoder(separators=(",", ":")).encode
    with whole(path) as part, part.open("w", encoding="ascii", newline="\n") as stream:
        stream.write("{")
        for number, (key, value) in enumerate(content):
            stream.write(f"{',' if number else ''}\n{encode(key)}:")
            value = lists[key](value) if key in lists else value
            if not isinstance(value, Iterator):
                stream.write(encode(value))
                continue
            stream.write("[")  # the elements of lists are written one per line
            for place, row in enumerate(value):
                stream.write(f"{',' if place else ''}\n{encode(row)}")
            stream.write("\n]")
        stream.write("\n}\n")


def _annotations(
    rows: Iterable[Row], labels: PartialLabels, row: dict[Any, int], ids: dict[int, Any]
) -> Iterator[Row]:
    column = {identity: c for c, identity in ids.items()}
    L, codes = labels.shape[1], labels.codes.tocoo()
    places, columns = (axis.astype(np.int64)[codes.data == PRESENT] for axis in codes.coords)
    present = set((places * L + columns).tolist())
    without, last = set(present), 0
    for each in rows:
        i, c = row.get(each["image_id"]), column.get(each["category_id"])
        if type(each.get("id")) is int:
            last = max(last, each["id"])
        if i is not None and c is not None and i * L + c in present:
            without.discard(i * L + c)
            yield each
    for number, pair in enumerate(sorted(without)):
        i, c = divmod(pair, L)
        # Area 0: pycocotools and multi-label loaders count it, detector training ignores it.
        place = {"image_id": labels.images[i].item(), "category_id": ids[c]}
        without_box = {"area": 0, "iscrowd": 0, "segmentation": []}
        yield {"id": last + number + 1, **place, **without_box}
