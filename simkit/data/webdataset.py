"""Tar shards of images with their labels, as webdataset writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from simkit.data.dataset import Dataset, register
from simkit.data.folder import NONE, UNLABELLED
from simkit.data.images import with_depths
from simkit.data.label_table import Content, content_of
from simkit.data.lists import class_names
from simkit.data.shards import LABELS, Member, Shard, ShardPictures, contents, shards_of
from simkit.data.splits import Part, SplitFiles, Unknown, assemble, divided, spell
from simkit.errors import BadInput, located, note, unknown
from simkit.files import parse_json
from simkit.labels.cells import Minus
from simkit.labels.formats.base import text_ids
from simkit.labels.names import key, plain
from simkit.labels.tables import USUAL, from_records
from simkit.labels.truth import Truth
from simkit.registry import setting


@register
class WebDataset(SplitFiles):
    """Tar shards of images and labels in the form of webdataset, local or on object storage.

    A shard is an uncompressed tar. Files with the same name up to the first dot are one sample: an
    image, and its labels in a file .json, .cls or .txt. Each image is read from its place in the
    shard when it is needed; listing a shard takes one pass through it.

    train, val, test: the shards of each split: a path, or an address that fsspec reads, such as
    s3://bucket/train-{000..099}.tar or gs://bucket/train-*.tar (pip install
    'simkit-annotation[remote]'). Without `val` the published split takes a fifth of `train` for
    validation.
    labels: the ending of the labels, if samples have several: json, cls or txt. "none": images
    without labels, for features, scores and orders.
    json: a list of classes, or an object, which is read as a row of a table (see `folder`): with a
    key such as class, labels or tags, or a key for each class with 1, 0 or null (unknown). A key
    split is optional.
    cls: numbers of classes.  txt: one class per line, not a caption.
    classes: a file with the names of the classes, in the order of their numbers; classes without
    an image are absent.
    between, minus, unknown: as of `folder`.
    hierarchy: a JSON file or the name of a shipped one, such as coco-80.
    """

    name: ClassVar[str] = "webdataset"
    title: ClassVar[str] = "Tar shards"
    example: ClassVar[str] = "webdataset:s3://bucket/train-{000..099}.tar,classes=names.txt"
    paths: ClassVar[tuple[str, ...]] = ("train", "val", "test", "classes", "hierarchy")
    packed: ClassVar[bool] = True

    train: str = setting(..., "shards for training, such as s3://bucket/train-{000..099}.tar")
    labels: Literal["", "json", "cls", "txt", "none"] = setting(
        "", "json, cls or txt: where samples have several; none: images without labels"
    )
    classes: str = setting("", "file with the names of the classes, which numbers stand for")
    between: str = setting("", "separator of several classes in one text, such as | or comma")
    minus: Minus = setting("", "absent or unknown: what -1 means in labels without 0")
    unknown: Unknown = setting("keep", "keep unknown labels, or assume them absent")
    hierarchy: str = setting("", "a JSON file or a shipped name, such as coco-80")

    def open(self) -> Dataset:
        """Read the labels; images are decoded on use. Raises BadInput."""
        read = {split: contents(shards_of(file)) for split, file in self.files.items()}
        shards = [shard for of_split in read.values() for shard in of_split]
        members = tuple(member for shard in shards for member in shard.images)
        left_out = [name for shard in shards for name in shard.left_out]
        note(self.train, left_out, "files in shards left out because they are neither named images "
             "nor labels of one: {}",
             total=len(members) + len(left_out))  # fmt: skip
        if not members:
            raise BadInput(f"{self.train} holds no images; give tars of images and labels")
        name = PurePosixPath(self.train).name.partition("-")[0].partition(".")[0] or self.name
        with located(self.train):
            _check_different(members)
            ids = text_ids([plain(member.name) for member in members])
        pictures = ShardPictures(members)
        if self.labels == NONE:
            nothing = csr_array((len(members), 1), dtype=bool)
            unlabelled = {"train": Truth.of(nothing, ids, UNLABELLED, nothing)}
            return Dataset(name, unlabelled, with_depths({"train": pictures}), spec=spell(self))
        content = self._content(read)
        truth = Truth.of(content.present, ids, content.classes, content.known)
        parts = divided(Part(truth, pictures=pictures), content.splits, self.unknown)
        if "train" not in parts:
            raise BadInput(f"{self.train} marks no image as train; give some of them that split")
        return assemble(name, parts, self)

    def _content(self, read: dict[str, list[Shard]]) -> Content:
        """The labels of all splits, as one table."""
        every = [texts for shards in read.values() for shard in shards for texts in shard.labels]
        held = [ending for ending in LABELS if any(ending in texts for texts in every)]
        ending = self.labels or (held[0] if len(held) == 1 else "")
        if ending not in held:
            odd = f"samples have labels in {', '.join(held)}" if held else "no sample has labels"
            mend = " or ".join(f"labels={each}" for each in held or [NONE])
            raise BadInput(f"{self.train}: {odd}; add {mend}")
        rows: list[dict[str, Any]] = []
        for split, shards in read.items():
            pairs = (zip(shard.images, shard.labels, strict=True) for shard in shards)
            for member, texts in chain.from_iterable(pairs):
                with located(str(member)):
                    for row in _rows(member, ending, texts):
                        if len(read) > 1 and {*map(key, row)} & {*USUAL["split"]}:
                            raise BadInput("it names its split; leave val and test out")
                        rows.append(row | ({"split": split} if len(read) > 1 else {}))
        with located(self.train):
            table = from_records(rows, self.train)
            content = content_of(table, between=self.between, minus=self.minus)
        return _over(content, class_names(self.classes)) if self.classes else content


def _check_different(members: tuple[Member, ...]) -> None:
    first: dict[str, Member] = {}
    for member in members:
        if (other := first.setdefault(plain(member.name), member)) is not member:
            raise BadInput(f"{other} and {member} have the same name; rename one")


def _rows(member: Member, ending: str, texts: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The rows of an image in the table of labels."""
    if ending not in texts:
        raise BadInput(f"it has no labels in a file .{ending}; add one, or remove the image")
    text, image = texts[ending].strip(), {"file": member.name}
    if ending == "json":
        try:
            value = parse_json(text)
        except ValueError as error:
            raise BadInput(f"its labels are no JSON ({error}); correct them") from None
        if isinstance(value, dict):
            yield value | image
            return
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(each, str | int) for each in values):
            expected = "a list of classes or an object is expected"
            raise BadInput(f"its labels are {text[:60]}; {expected}")
    else:
        values = text.split() if ending == "cls" else [*map(str.strip, text.split("\n"))]
        odd = next((each for each in values if ending == "cls" and not each.isdecimal()), None)
        if odd is not None:
            raise BadInput(f"its file .cls holds {odd[:60]!r}; numbers of classes are expected")
    yield from ({**image, "class": str(each)} for each in values or [""])


def _over(content: Content, names: tuple[str, ...]) -> Content:
    """Labels for all classes of a list; numbers are places in it."""
    numbers = all(map(str.isdecimal, content.classes)) and not {*content.classes} & {*names}
    places = []
    for name in content.classes:
        if numbers and int(name) >= len(names):
            raise BadInput(
                f"class {name} is none of the {len(names)} in the list of classes, which are "
                "numbered from 0; correct the list"
            )
        if not numbers and name not in names:
            raise unknown("class", name, names)
        places.append(int(name) if numbers else names.index(name))
    wide = (content.present.shape[0], len(names))
    present, known = (
        None if matrix is None else _spread(matrix, places, wide)
        for matrix in (content.present, content.known)
    )
    return replace(content, classes=[*names], present=present, known=known)


def _spread(matrix: csr_array, places: list[int], shape: tuple[int, int]) -> csr_array:
    """The columns of a matrix at other places."""
    return csr_array((matrix.data, np.array(places)[matrix.indices], matrix.indptr), shape=shape)
