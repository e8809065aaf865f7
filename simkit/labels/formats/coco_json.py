"""Shared parts of COCO-like JSON files: reading into pycocotools' index, and writing labels."""

from __future__ import annotations

import io
import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import reading, whole
from simkit.labels.formats.base import text_ids
from simkit.labels.formats.json_stream import members
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Truth, check_distinct, image_ids

if TYPE_CHECKING:
    from pycocotools.coco import COCO

Row = dict[str, Any]

IN_MEMORY = 500 << 20  # bytes up to which a file is parsed at once; larger ones are streamed
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
    box_images, box_classes (n,) indices and corners (n, 4) float32 x0, y0, x1, y1 in pixels:
                annotations with a box; boxes marked as "whole image" are left out.
    sizes       (N, 2) int64 width and height of the images in pixels; None unless all are given.
    areas       (n,) float64 `area` of these annotations, of the mask in COCO; None unless all have
                one.
    """

    truth: Truth
    difficult: csr_array | None
    file_names: tuple[str, ...]
    box_images: NDArray[np.int64]
    box_classes: NDArray[np.int64]
    corners: NDArray[np.float32]
    sizes: NDArray[np.int64] | None = None
    areas: NDArray[np.float64] | None = None

    def without_empty(self) -> Instances:
        """The content without images that have no present class. Raises BadInput if none remain."""
        kept = np.flatnonzero(np.diff(self.truth.present.indptr))
        if not len(kept):
            raise BadInput("no image has an annotation; keep the empty images or give another file")
        place = np.full(self.truth.shape[0], -1, np.int64)
        place[kept] = np.arange(len(kept))
        return Instances(
            truth=self.truth.select(kept),
            difficult=None if self.difficult is None else csr_array(self.difficult[kept]),
            file_names=tuple(self.file_names[i] for i in kept),
            box_images=place[self.box_images],
            box_classes=self.box_classes,
            corners=self.corners,
            sizes=None if self.sizes is None else self.sizes[kept],
            areas=self.areas,
        )


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
        return Truth.of(self._matrix(shown, self.row).T, self.ids, self.classes)

    def listed(self, key: str) -> csr_array | None:
        """(N, L) bool: the categories listed under `key` by each image; None if no image has it."""
        images = self.coco.dataset["images"]
        if not any(key in image for image in images):
            return None
        lists = [image.get(key, []) for image in images]
        for listed in lists:
            if not isinstance(listed, list) or any(
                type(each) is not int or each not in self.column for each in listed
            ):
                raise BadInput(f"{key} is {str(listed)[:40]}; a list of category ids is expected")
        return self._matrix(lists, self.column)

    def _matrix(self, lists: list[list[Any]], place: dict[Any, int]) -> csr_array:
        """(n, len(place)) bool: the ids in each of n lists."""
        rows = np.repeat(np.arange(len(lists)), np.array(list(map(len, lists)), np.int64))
        columns = np.array([place[identity] for each in lists for identity in each], np.int64)
        ones = np.ones(len(rows), np.int32)
        return csr_array((ones, (rows, columns)), shape=(len(lists), len(place))).astype(bool)

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
            box_images=np.array([self.row[each["image_id"]] for each in boxed], np.int64),
            box_classes=np.array([self.column[each["category_id"]] for each in boxed], np.int64),
            corners=corners.astype(np.float32),
            sizes=np.array(sizes, np.int64).reshape(-1, 2) if sized else None,
            areas=np.array(areas, np.float64) if areas and None not in areas else None,
        )


def _itself(row: Row) -> Iterable[Row]:
    return (row,)


def read_content(
    path: Path, what: str, *, objects: Callable[[Row], Iterable[Row]] = _itself
) -> Content:
    """Read a COCO-like file into pycocotools' index, without masks.

    Parameters
    ----------
    path : Path
        The file. Above `IN_MEMORY` bytes its elements are read one at a time.
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
    for key, value in _members(path):
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
    ids, column = _ids(coco.dataset["images"]), _columns(coco.dataset["categories"])
    check_distinct(ids, "image id")
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
            raise BadInput(
                f"{kind}_id is {str(unknown)[:40]} in 'annotations'; no {kind} has this id"
            )
    return Content(coco, ids, row, column)


def _members(path: Path) -> Iterable[tuple[str, Any]]:
    """Key and value of each member of the object in the file."""
    if path.stat().st_size > IN_MEMORY:
        return members(path)
    values = json.loads(path.read_bytes(), object_hook=_without_mask)
    if not isinstance(values, dict):
        raise BadInput(f"it is a JSON {type(values).__name__}, but an object {{...}} is expected")
    return values.items()


def _without_mask(row: Row) -> Row:
    row.pop("segmentation", None)  # nine tenths of a file's size
    return row


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
            raise BadInput(
                f"a bbox is {str(box)[:60]}; [x, y, width, height] in pixels is expected, with "
                "nonnegative width and height"
            )
        kept["bbox"] = array("d", box)
        area = row.get("area")
        if isinstance(area, int | float) and 0 <= area <= LARGEST**2:
            kept["area"] = area
    return kept


def _columns(categories: list[Row]) -> dict[Any, int]:
    """The column of each category id, in the order of the ids. Raises BadInput."""
    ids: list[Any] = [row.get("id") for row in categories if isinstance(row.get("name"), str)]
    if not len({i for i in ids if type(i) is int}) == len(ids) == len(categories):
        raise BadInput("every entry of 'categories' needs a unique id (number) and a name (text)")
    return {identity: c for c, identity in enumerate(sorted(ids))}


def _ids(images: list[Row]) -> NDArray[Any]:
    ids: list[Any] = [image.get("id") for image in images]
    kinds = {type(identity) for identity in ids}
    if kinds == {str}:
        return text_ids(ids)
    if not kinds <= {int}:
        raise BadInput("the ids in 'images' must be all numbers or all text")
    return image_ids(np.array(ids, dtype=np.int64))


def write_json(path: str | PathLike[str], parts: Iterable[tuple[str, Any]]) -> None:
    """Write a JSON object of these members, list elements one per line. Raises BadInput."""
    encode = json.JSONEncoder(separators=(",", ":")).encode
    with whole(path) as part, part.open("w", encoding="ascii", newline="\n") as stream:
        stream.write("{")
        for number, (key, value) in enumerate(parts):
            stream.write(f"{',' if number else ''}\n{encode(key)}:")
            if not isinstance(value, Iterator):
                stream.write(encode(value))
                continue
            stream.write("[")
            for place, row in enumerate(value):
                stream.write(f"{',' if place else ''}\n{encode(row)}")
            stream.write("\n]")
        stream.write("\n}\n")


def plain_images(labels: PartialLabels) -> Iterator[Row]:
    """An image for each id; an id that is a file name, as in a folder, is also its file_name."""
    for identity in labels.images.tolist():
        named = isinstance(identity, str) and PurePosixPath(identity).suffix
        yield {"id": identity} | ({"file_name": identity} if named else {})


def plain_annotations(labels: PartialLabels) -> Iterator[Row]:
    """An annotation without a box for each present label, numbered from 1."""
    present = labels.codes.data == PRESENT
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.codes.indptr))[present]
    ids, columns = labels.images[rows].tolist(), labels.codes.indices[present].tolist()
    for number, (identity, c) in enumerate(zip(ids, columns, strict=True)):
        yield _without_box(number + 1, identity, c + 1)


def _same(row: Row, place: int, ids: dict[int, Any]) -> Row:
    return row


def like(
    labels: PartialLabels,
    path: str | PathLike[str],
    what: str,
    *,
    image: Callable[[Row, int, dict[int, Any]], Row] = _same,
) -> Iterator[tuple[str, Any]]:
    """The members of a file like the one at `path`, with these labels.

    Everything is copied, with these exceptions: images that are not in the labels and annotations
    of labels that are not present are left out; a present label without an annotation gets one
    without a box.

    Parameters
    ----------
    labels : PartialLabels
        The labels to be written.
    path : path
        A COCO-like file of the same images and classes.
    what : str
        The kind of file, for error messages.
    image : callable
        Converts an image, given its row in the labels and the category id of each class.

    Yields
    ------
    (str, value)
        Keys and values; a list as an iterator.

    Raises
    ------
    BadInput
        If an image or a class of the labels is not in the file.
    """
    with reading(path, what) as file:
        content = read_content(file, what)
        classes = content.classes
        strange = [name for name in labels.classes if name not in classes]
        unknown = set(labels.images.tolist()) - set(content.row)
        if strange or unknown:
            odd = strange[0] if strange else min(unknown, key=str)
            raise BadInput(
                f"{'class' if strange else 'image'} {str(odd)[:40]} of the labels is not in it; "
                "give a file with all images and classes of the labels"
            )
        of_name = dict(zip(classes, content.column, strict=True))
        ids = {c: of_name[name] for c, name in enumerate(labels.classes)}
        row = {identity: i for i, identity in enumerate(labels.images.tolist())}
        for key, value in members(file):
            if key == "images":
                yield key, (image(v, row[v["id"]], ids) for v in value if v["id"] in row)
            elif key == "annotations":
                yield key, _annotations(value, labels, row, ids)
            else:
                yield key, value


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
        yield _without_box(last + number + 1, labels.images[i].item(), ids[c])


def _without_box(number: int, image: Any, category: Any) -> Row:
    # Area 0: pycocotools and multi-label loaders count it, detector training ignores it.
    row = {"id": number, "image_id": image, "category_id": category}
    return row | {"area": 0, "iscrowd": 0, "segmentation": []}
