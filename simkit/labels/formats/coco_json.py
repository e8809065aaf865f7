"""Shared parts of COCO-like JSON files: reading their content, and writing labels."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput, examples, note
from simkit.files import AnyPath, reading, whole
from simkit.labels.cells import PRESENCE
from simkit.labels.formats import base
from simkit.labels.formats.json_stream import members
from simkit.labels.names import id_key, matches, path_key, plain
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Boxes, Truth, check_distinct, from_indices

Row = dict[str, Any]

LARGEST = 1e9  # pixels
TEXT_ID = "simkit_id"  # of an image whose id is text: other programs need numbers
_SIDE = 100_000  # pixels, of an image with outlines
_MARKS = {"ignore", "ignored", "difficult"}  # of annotations that count neither way
_KEPT = {
    "images": {
        "id", "file_name", "coco_url", "width", "height", "difficult_category_ids",
        "neg_category_ids", "not_exhaustive_category_ids", "annotated", TEXT_ID,
    },
    "categories": {"id", "name", "supercategory"},
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Instances:
    """The content of a COCO-like file.

    truth       (N, L): a class is present where it has an annotation, crowds included; classes in
                the order of their category ids, images in the order of the file.
    difficult   (N, L) bool: classes that are not present, and listed in `difficult_category_ids` or
                annotated only as ignored or difficult; None without any.
    file_names  one per image, "" where the file has none.
    boxes       of the annotations that have one; boxes marked as "whole image" are left out. Image
                sizes and areas are None unless all are given.
    parents     classes without an annotation that are the supercategory of another class.
    """

    truth: Truth
    difficult: csr_array | None
    file_names: tuple[str, ...]
    boxes: Boxes
    parents: frozenset[str] = frozenset()

    def without(self, parents: Collection[str]) -> Instances:
        """The content without these classes, which have no annotation."""
        kept = [c for c, name in enumerate(self.truth.classes) if name not in parents]
        present, known, difficult = (
            None if matrix is None else csr_array(matrix[:, kept])
            for matrix in (self.truth.present, self.truth.known, self.difficult)
        )
        names = [self.truth.classes[c] for c in kept]
        truth = Truth.of(present, self.truth.images, names, known)
        boxes = replace(self.boxes, classes=np.searchsorted(kept, self.boxes.classes))
        return replace(self, truth=truth, difficult=difficult, boxes=boxes)


@dataclass(frozen=True, eq=False)
class Content:
    """A file without its masks.

    entries     of 'images';  images: N of them, of several with the same file the first.
    categories  L entries in ascending order of their ids.
    ids         (N,) image ids in the order of the file.
    row         index of each image id, as any list of the file spells it;  column: index of each
                category id, likewise.
    annotated, hidden  (N, L) bool, the second by annotations marked as ignored or difficult.
    boxes       see `Instances`.
    """

    entries: list[Row]
    images: list[Row]
    categories: list[Row]
    ids: NDArray[Any]
    row: dict[Any, int]
    column: dict[Any, int]
    annotated: csr_array
    hidden: csr_array
    boxes: Boxes

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the order of their category ids."""
        return tuple(category["name"] for category in self.categories)

    def truth(self) -> Truth:
        """Complete: a class is present where it has an annotation."""
        return Truth.of(self.annotated, self.ids, self.classes)

    def listed(self, key: str) -> csr_array | None:
        """(N, L) bool: the categories listed under `key` by each image; None if no image has it."""
        if not any(key in image for image in self.entries):
            return None
        columns: list[list[int]] = [[] for _ in self.ids]
        for image in self.entries:
            listed = image.get(key) or []
            scalars = isinstance(listed, list) and {*map(type, listed)} <= {int, float, str}
            if not scalars or not self.column.keys() >= {*listed}:
                raise BadInput(
                    f"{key} is {str(listed)[:40]}; a list of ids in 'categories' is expected"
                )
            columns[self.row[image["id"]]] += [self.column[identity] for identity in listed]
        return from_indices(columns, len(self.categories))

    @property
    def difficult(self) -> csr_array | None:
        """See `Instances`."""
        listed = self.listed("difficult_category_ids")
        if listed is None and not self.hidden.nnz:
            return None
        either = self.hidden if listed is None else csr_array(self.hidden + listed)
        return csr_array(either > self.annotated)

    def instances(self, truth: Truth) -> Instances:
        """The whole content, with this truth."""
        difficult = self.difficult
        above = {
            plain(str(category.get("supercategory")))
            for category in self.categories
            if category.get("supercategory") != category["name"]
        } - {"none", "None", ""}  # which names no class
        seen = truth.counts if difficult is None else truth.counts + difficult.sum(axis=0)
        empty = [self.classes[c] for c in np.flatnonzero(seen == 0)]
        parents = frozenset(name for name in empty if plain(name) in above)
        files = tuple(image.get("file_name") or "" for image in self.images)
        return Instances(truth, difficult, files, self.boxes, parents)


def with_classes(contents: Mapping[str, Instances]) -> dict[str, Instances]:
    """Remove classes that are parents in all files from their contents, with notes.

    Programs such as Roboflow list the name of the project as a category without objects.
    """
    for path, content in contents.items():
        if not content.truth.present.nnz and content.truth.known is None:
            note(
                path,
                content.truth.images,
                "it has no annotations, so all classes count as absent in its images: {}; give the "
                "file that holds the annotations if there is one",
            )
    parents = frozenset.intersection(*(content.parents for content in contents.values()))
    if not parents or any(parents >= {*each.truth.classes} for each in contents.values()):
        return dict(contents)
    note(
        " and ".join(contents),
        sorted(map(repr, parents)),
        "supercategories without annotations, not counted as classes: {}; remove them from "
        "'supercategory' if they are classes",
    )
    return {path: content.without(parents) for path, content in contents.items()}


def read_content(
    path: Path, what: str, *, objects: Callable[[Row], Iterable[Row]] = lambda row: (row,)
) -> Content:
    """Read a COCO-like file, without masks.

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
    lists: dict[str, Any] = {}
    for key, value in members(path):
        if key in lists:  # the json module would keep the last
            raise BadInput(f"{key!r} occurs twice; join the lists")
        if key == "annotations":
            entries = enumerate(_rows(value, key, what))
            lists[key] = _objects((n, each) for n, entry in entries for each in objects(entry))
        elif key in _KEPT:
            lists[key] = [
                {k: entry[k] for k in _KEPT[key] if k in entry} for entry in _rows(value, key, what)
            ]
    for key in ("images", "annotations", "categories"):
        if key not in lists:
            next(_rows(None, key, what))
    ids, categories = _ids(lists["images"], "images"), _ordered(lists["categories"])
    row, first = _joined(lists["images"], ids, path)
    column = {base.as_integer(each["id"]): c for c, each in enumerate(categories)}
    (named, table), images = lists["annotations"], [lists["images"][place] for place in first]
    note(
        path,
        named["score"],
        "annotations with a score, as in predictions, all counted as present: {}; remove those "
        "with a low score",
    )
    note(
        path,
        [f"image {named['image_id'][place]}" for place in named["marked"]],
        "annotations marked as ignored or difficult: {}; where a class has no other in an image, "
        "it counts neither as present nor as absent; remove the mark if it is present",
    )
    rows = _places(named["image_id"], row, "image", path)
    columns = _places(named["category_id"], column, "category", path)
    shape, sure = (len(images), len(categories)), np.ones(len(rows), bool)
    sure[named["marked"]] = False
    annotated, hidden = (
        csr_array((np.ones(kept.sum(), bool), (rows[kept], columns[kept])), shape)
        for kept in (sure, ~sure)
    )
    _note_unopened(images, annotated, path)
    base.note_classes_of(path, [each["name"] for each in categories], annotated)
    single = [image.get(TEXT_ID) for image in images]
    if not all(isinstance(identity, str) for identity in single):
        single = [ids[place] for place in first]
    text = bool(single) and isinstance(single[0], str)
    return Content(
        entries=lists["images"],
        images=images,
        categories=categories,
        ids=base.text_ids(single) if text else np.array(single, np.int64),
        row=row,
        column=column,
        annotated=annotated,
        hidden=hidden,
        boxes=_boxes(table, rows, columns, images),
    )


def _note_unopened(images: list[Row], annotated: csr_array, path: Path) -> None:
    """A note of images without annotations that the file says nobody has annotated."""
    bare = [images[place] for place in np.flatnonzero(np.diff(annotated.indptr) == 0)]
    note(
        path,
        [image["id"] for image in bare if image.get("annotated") is False],
        "images without annotations and with annotated: false, which are read like the others: {}; "
        "remove them from 'images' if nobody looked at them",
    )


def _boxes(
    table: NDArray[np.float64], rows: NDArray[Any], columns: NDArray[Any], images: list[Row]
) -> Boxes:
    """The boxes of a table of `_objects`, given the row and column of every object."""
    places, corners, areas = table[:, 0].astype(np.int64), table[:, 1:5], table[:, 5].copy()
    corners[:, 2:] += corners[:, :2]
    sizes = [(image.get("width"), image.get("height")) for image in images]
    sized = all(type(v) is int and 0 < v <= LARGEST for size in sizes for v in size)
    return Boxes(
        rows[places],
        columns[places],
        corners.astype(np.float32),
        np.array(sizes, np.int64).reshape(-1, 2) if sized else None,
        areas if len(areas) and not np.isnan(areas).any() else None,
    )


def _ordered(categories: list[Row]) -> list[Row]:
    """The categories in ascending order of their ids. Raises BadInput."""
    for place, row in enumerate(categories):
        if not isinstance(row.get("name"), str):
            name = str(row.get("name"))[:40]
            raise BadInput(f"the name is {name} in entry {place} of 'categories'; write a string")
    ids = _ids(categories, "categories")
    keys: list[Any] = [id_key(identity) for identity in ids]
    if not all(type(each) is int for each in keys):  # not even as text
        keys = ids
    return [categories[place] for place in sorted(range(len(ids)), key=keys.__getitem__)]


def _ids(rows: list[Row], key: str) -> list[Any]:
    """The ids in a list: all numbers (7.0 is 7), or all text, and all different.

    Raises BadInput.
    """
    ids = [base.as_integer(row.get("id")) for row in rows]
    for place, identity in enumerate(ids):
        if type(identity) not in (int, str):
            shown = "null or missing" if identity is None else str(identity)[:40]
            raise BadInput(
                f"the id is {shown} in entry {place} of {key!r}; a whole number or text is expected"
            )
        if type(identity) is int and not -(2**63) <= identity < 2**63:
            raise BadInput(
                f"id {identity} in {key!r} needs more than 64 bits; write all ids as text, in "
                "quotes, also in 'annotations'"
            )
    texts = [type(identity) is str for identity in ids]
    if any(texts) and not all(texts):
        rarely = 2 * sum(texts) <= len(ids)
        kind, others = ("text", "numbers") if rarely else ("a number", "text")
        raise BadInput(
            f"id {ids[texts.index(rarely)]!r} in {key!r} is {kind} and the others are {others}; "
            "write all as numbers or all as text, also in 'annotations'"
        )
    what = {"images": "image id", "categories": "category id"}[key]
    check_distinct(np.array(ids, object if any(texts) else np.int64), what)
    return ids


def _joined(images: list[Row], ids: list[Any], path: Path) -> tuple[dict[Any, int], list[int]]:
    """The index of each image id, equal for entries with one file, and each image's first entry."""
    of_file: dict[str, int] = {}
    row, kept, again = dict[Any, int](), list[int](), list[str]()
    for place, (image, identity) in enumerate(zip(images, ids, strict=True)):
        file = image.get("file_name") or ""
        if not isinstance(file, str):
            raise BadInput("a file_name in 'images' is not text; write the name of the image file")
        row[identity] = of_file.setdefault(path_key(file), len(kept)) if file else len(kept)
        if row[identity] == len(kept):
            kept.append(place)
        else:
            again.append(f"{file!r} of ids {ids[kept[row[identity]]]!r} and {identity!r}")
    note(
        path,
        again,
        "entries of 'images' with the file of an earlier entry, counted as the same image with the "
        "labels of both: {}; remove them, or correct their file names",
    )
    return row, kept


def _places(named: list[Any], index: dict[Any, int], kind: str, path: Path) -> NDArray[np.int64]:
    """The index of each id in 'annotations'. Raises BadInput.

    Spellings that occur only there are added to the index.
    """
    ids = [*index]
    others = [identity for identity in dict.fromkeys(named) if identity not in index]
    spelled = []
    for other, place in zip(others, matches(ids, others).tolist(), strict=True):
        if place < 0:
            raise BadInput(
                f"{kind}_id is {str(other)[:40]} in 'annotations'; no {kind} has this id (the ids "
                f"are {examples(ids)}): correct it, or remove these annotations"
            )
        index[other] = index[ids[place]]
        spelled.append(f"{other!r} for {ids[place]!r}")
    note(
        path,
        spelled,
        f"{kind} ids that are spelled differently in 'annotations' and were matched: {{}}; correct "
        "them if they are different",
    )
    return np.array([index[identity] for identity in named], np.int64)


def _rows(value: Any, key: str, what: str) -> Iterator[Row]:
    """The entries of a list. Raises BadInput."""
    for row in value if isinstance(value, Iterator | list) else [value]:
        if not isinstance(row, dict) or row is value:
            raise BadInput(f"{key!r} is missing or not a list of objects; give {what}")
        yield row


def _objects(entries: Iterable[tuple[int, Row]]) -> tuple[dict[str, list[Any]], NDArray[Any]]:
    """Ids and scores of objects, and (n, 6) of those with a box: place, x, y, width, height, area.

    entries: the place in 'annotations' and the fields of each object. Objects marked as ignored or
    difficult are listed by place, without their boxes. An area is nan where the file has none.
    Raises BadInput.
    """
    named: dict[str, list[Any]] = {"image_id": [], "category_id": [], "score": [], "marked": []}
    table = array("d")
    for place, row in entries:
        for key in ("image_id", "category_id"):
            identity = row.get(key)
            if identity is None and "segments_info" in row:
                raise BadInput("the annotations have segments_info; open the file as coco-panoptic")
            if type(identity) not in (int, float, str):  # True is 1 for Python
                odd = f"{key} is {str(identity)[:40]} in entry {place} of 'annotations'"
                raise BadInput(
                    f"{odd}; an id is expected, as in files of instances (not of captions)"
                )
            named[key].append(identity)
        if "score" in row or "confidence" in row:
            named["score"].append(row.get("score", row.get("confidence")))
        if _marked(row):
            named["marked"].append(len(named["image_id"]) - 1)
            continue
        box, area = row.get("bbox"), row.get("area")
        if box in (None, []):
            box, area = _around(row.get("segmentation"))
        if box is None or row.get("bbox_is") == "whole image":
            continue
        numbers = isinstance(box, list) and len(box) == 4 and {*map(type, box)} <= {int, float}
        if not numbers or not all(abs(v) <= LARGEST for v in box) or min(box[2:]) < 0:
            shown = str(box)[:60]
            raise BadInput(f"a bbox is {shown}; [x, y, width, height] in pixels is expected")
        if not isinstance(area, int | float) or not 0 <= area <= LARGEST**2:
            area = math.nan
        table.extend((len(named["image_id"]) - 1, *box, area))
    return named, np.array(table).reshape(-1, 6)


def _around(outline: Any) -> tuple[list[float] | None, float | None]:
    """Box and area of an object that has polygons or a run-length code alone; None for others."""
    from pycocotools import mask

    def numbers(values: Any, least: int) -> bool:
        valid = isinstance(values, list) and len(values) >= least
        return valid and all(type(v) in (int, float) and 0 <= v <= _SIDE**2 for v in values)

    if isinstance(outline, dict):
        size: Any = outline.get("size")
        counts: Any = outline.get("counts")
        if not (numbers(size, 2) and numbers(counts, 1) and sum(counts) == math.prod(size)):
            return None, None  # compressed codes can be damaged in ways that nobody checks
        codes = mask.frPyObjects([outline], *size)
    elif isinstance(outline, list) and outline and all(numbers(part, 6) for part in outline):
        width, height = (max(v for part in outline for v in part[n::2]) for n in (0, 1))
        if max(width, height) >= _SIDE or any(len(part) % 2 for part in outline):
            return None, None
        codes = mask.frPyObjects(outline, math.ceil(height) + 1, math.ceil(width) + 1)
    else:
        return None, None
    whole = mask.merge(codes)
    return mask.toBbox(whole).tolist(), float(mask.area(whole))


def _marked(row: Row) -> bool:
    """Whether an annotation or its attributes say that it is ignored or difficult."""
    inner = row.get("attributes")
    marks = row | inner if isinstance(inner, dict) else row
    return any(PRESENCE.get(str(marks[mark]).lower()) == 1 for mark in _MARKS & marks.keys())


def write_labels(
    labels: PartialLabels,
    path: AnyPath,
    original: str,
    *,
    what: str,
    image: Callable[[Row, int, dict[int, Any]], Row],
    category: Callable[[Row], Row],
    file: str = "{}",
) -> None:
    """Write labels as a COCO-like file, completely or not at all.

    Without an `original`, categories, and images whose ids are text, are numbered from 1, and each
    present label has an annotation without a box. With one, everything in it is copied, with these
    exceptions: images that are not in the labels and annotations of labels that are not present are
    left out; a present label without an annotation gets one without a box.

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
    file : str
        Without an original, the names of image files; see `base.file_names`.

    Raises
    ------
    BadInput
        If an image or a class of the labels is not in the original.
    """
    identities: list[Any] = labels.images.tolist()
    text = labels.images.dtype.kind == "U"
    rows = {i + 1 if text else identity: i for i, identity in enumerate(identities)}
    columns = {c + 1: c for c in range(labels.shape[1])}
    categories = [{"id": c, "name": name} for c, name in zip(columns, labels.classes, strict=True)]
    images = (
        # A name without an extension is not a file name.
        {"id": identity}
        | ({TEXT_ID: identities[i]} if text else {})
        | ({"file_name": name} if PurePosixPath(name).suffix else {})
        for (identity, i), name in zip(
            rows.items(), base.file_names(labels.images, file), strict=True
        )
    )
    content: Iterable[tuple[str, Any]] = {
        "images": images, "annotations": iter(()), "categories": iter(categories)
    }.items()  # fmt: skip
    if original:
        with reading(original, what) as source:
            held = read_content(source, what)
            files = [image.get("file_name") or "" for image in held.images]
            of_image = matches(held.ids.tolist(), identities)
            if (of_image < 0).all():  # labels of a folder, whose ids are the names of files
                of_image = matches(files, [*map(str, identities)], path_key)
            of_class = matches(held.classes, labels.classes, plain)
            missing = [f"image {identities[i]}" for i in np.flatnonzero(of_image < 0)]
            missing += [f"class {labels.classes[c]}" for c in np.flatnonzero(of_class < 0)]
            if missing:
                raise BadInput(
                    f"{missing[-1][:50]} is missing; give a file with all images and classes"
                )
        rows, columns = (
            {identity: inner[place] for identity, place in index.items() if place in inner}
            for index, of in ((held.row, of_image), (held.column, of_class))
            for inner in [{place: i for i, place in enumerate(of.tolist())}]
        )
        content = members(Path(original))
    ids = {c: identity for identity, c in reversed(columns.items())}
    lists = {
        "images": lambda each: (image(v, rows[v["id"]], ids) for v in each if v["id"] in rows),
        "annotations": lambda each: _annotations(each, labels, rows, columns),
        "categories": lambda each: map(category, each),
    }
    _write(path, ((key, lists.get(key, lambda value: value)(value)) for key, value in content))


def _write(path: AnyPath, content: Iterable[tuple[str, Any]]) -> None:
    """Write a JSON object; the elements of iterators are written one per line."""
    encode = json.JSONEncoder(separators=(",", ":")).encode
    with whole(path) as part, part.open("w", encoding="ascii", newline="\n") as stream:
        stream.write("{")
        for number, (key, value) in enumerate(content):
            stream.write(f"{',' if number else ''}\n{encode(key)}:")
            if not isinstance(value, Iterator):
                stream.write(encode(value))
                continue
            stream.write("[")
            for place, row in enumerate(value):
                stream.write(f"{',' if place else ''}\n{encode(row)}")
            stream.write("\n]")
        stream.write("\n}\n")


def _annotations(
    entries: Iterable[Row], labels: PartialLabels, row: dict[Any, int], column: dict[Any, int]
) -> Iterator[Row]:
    """The entries of present labels, and a new one for each present label without an entry.

    row, column: the places in the labels of image and category ids.
    """
    L, codes = labels.shape[1], labels.codes.tocoo()
    rows, columns = (axis.astype(np.int64)[codes.data == PRESENT] for axis in codes.coords)
    present = set((rows * L + columns).tolist())
    without, last = set(present), 0
    images = {i: identity for identity, i in reversed(row.items())}
    categories = {c: identity for identity, c in reversed(column.items())}
    for each in entries:
        i, c = row.get(each["image_id"]), column.get(each["category_id"])
        if type(each.get("id")) is int:
            last = max(last, each["id"])
        if i is not None and c is not None and i * L + c in present:
            if not _marked(each):
                without.discard(i * L + c)
            yield each
    for number, pair in enumerate(sorted(without)):
        i, c = divmod(pair, L)
        # Area 0: pycocotools and multi-label loaders count it, detector training ignores it.
        without_box = {"area": 0, "iscrowd": 0, "segmentation": []}
        ids = {"image_id": images[i], "category_id": categories[c]}
        yield {"id": last + number + 1, **ids, **without_box}
