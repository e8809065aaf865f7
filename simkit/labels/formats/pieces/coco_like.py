"""Labels as files of COCO's family: bare ones, or like a file of the same images."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from simkit.errors import BadInput
from simkit.files import whole
from simkit.labels.formats.base import reading
from simkit.labels.formats.pieces.coco_json import Content, read_content
from simkit.labels.formats.pieces.json_stream import members
from simkit.labels.partial import PRESENT, PartialLabels

Row = dict[str, Any]


def write_json(path: str | PathLike[str], parts: Iterable[tuple[str, Any]]) -> None:
    """An object with these members; of a list each element stands in a line. Raises BadInput."""
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


def pictured(labels: PartialLabels) -> Iterator[Row]:
    """An image for each id; one that is a file's name, as in a folder of pictures, names it too."""
    for identity in labels.images.tolist():
        named = isinstance(identity, str) and PurePosixPath(identity).suffix
        yield {"id": identity} | ({"file_name": identity} if named else {})


def bare(labels: PartialLabels) -> Iterator[Row]:
    """An annotation without a box for each present label, numbered from 1."""
    here = labels.codes.data == PRESENT
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.codes.indptr))[here]
    ids, columns = labels.images[rows].tolist(), labels.codes.indices[here].tolist()
    for number, (identity, c) in enumerate(zip(ids, columns, strict=True)):
        yield _without_box(number + 1, identity, c + 1)


def like(
    labels: PartialLabels,
    path: str | PathLike[str],
    what: str,
    *,
    image: Callable[[Row, int, dict[int, Any]], Row] = lambda row, place, ids: row,
) -> Iterator[tuple[str, Any]]:
    """The members of a file like the one at `path`, which is about the same images and classes.

    Everything is taken over as it is, with these exceptions: images without a place in the labels
    are left out, and annotations other than of present labels; a present label without an
    annotation gets one without a box. image: what becomes of an image, given its row in the labels
    and the category id of each class. what: such a file in errors. Raises BadInput.
    """
    with reading(path, what) as found:
        content = read_content(found, what, keys=())
        column, ids = _columns(content, labels.classes, found)
        row = {identity: i for i, identity in enumerate(labels.images.tolist())}
        strange = set(row) - set(content.ids.tolist())
        if strange:
            raise BadInput(f"image {str(min(strange, key=str))[:40]} of the labels is not in it")
        for key, value in members(found):
            if key == "images":
                yield key, (image(v, row[v["id"]], ids) for v in value if v["id"] in row)
            elif key == "annotations":
                yield key, _annotations(value, labels, row=row, column=column, ids=ids)
            else:
                yield key, value


def _columns(
    content: Content, classes: tuple[str, ...], path: Path
) -> tuple[dict[Any, int], dict[int, Any]]:
    """The class of each category id, and the category id of each class."""
    place = {name: c for c, name in enumerate(classes)}
    missing = [name for name in classes if name not in content.classes]
    if missing:
        raise BadInput(
            f"class {missing[0]!r} of the labels is not among the categories of {path}; "
            "give a file with all classes"
        )
    names = ((identity, content.classes[c]) for identity, c in content.column.items())
    column = {identity: place[name] for identity, name in names if name in place}
    return column, {c: identity for identity, c in column.items()}


def _annotations(
    rows: Iterable[Row],
    labels: PartialLabels,
    *,
    row: dict[Any, int],
    column: dict[Any, int],
    ids: dict[int, Any],
) -> Iterator[Row]:
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
    # Area 0: pycocotools and multi-label loaders count it, trainers of detectors leave it out.
    row = {"id": number, "image_id": image, "category_id": category}
    return row | {"area": 0, "iscrowd": 0, "segmentation": []}
