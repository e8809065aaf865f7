"""Your own data: pictures in a folder and a table that says what they show."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from simkit.data.dataset import LABELS, SPLITS, Dataset, read_spec, register
from simkit.data.images import ENDINGS, FilePictures
from simkit.data.label_table import Content, read_content
from simkit.data.lists import folder
from simkit.data.splits import Part, Unknown, assemble, published_split, settled, spell
from simkit.errors import BadInput
from simkit.files import expanded
from simkit.labels.formats.base import complete, text_ids
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.registry import setting

NONE = "none"  # in the place of a table


@register
@dataclass(frozen=True)
class Folder:
    """A folder of pictures with a CSV table of labels, in one of two shapes.

    Long: columns file and class, one row for each class in a picture; an empty class says that the
    picture shows none. Wide: a column file and one for each class, with 1 (present), 0 (absent) and
    an empty cell or -1 (unknown). A column split (train, val, test) is optional; without it the
    published split takes a fifth of the pictures for validation.

    root: the folder; file names in the table start in it, and pictures without a row are left out.
    labels: the table, with commas, semicolons or tabs; by default labels.csv in the folder. "none"
    takes all pictures in the folder and below it without labels, for features and neighbours.
    suffix: what to append to names without the ending of a picture, such as .jpg.
    between: what parts several classes in one cell of the long shape, such as |.
    unknown: "keep" leaves what is not known so: metrics leave it out, and a crowd cannot be asked
    about it. "absent" takes it for absent, "absent-in-train" does so in the training set alone;
    that is an assumption, wrong wherever nobody looked.
    drop_missing: leave out images whose file is not there.
    test: the share of the pictures to keep for testing, such as 0.2, where the table marks none as
    test: drawn by place in the table, the same ones every time.
    hierarchy: a JSON file or the name of a shipped one, such as coco-80.
    """

    name: ClassVar[str] = "folder"
    title: ClassVar[str] = "A folder of pictures and a CSV"
    example: ClassVar[str] = "folder:pictures,labels=labels.csv"
    paths: ClassVar[tuple[str, ...]] = ("root", "labels", "hierarchy")

    root: str = setting(..., "the folder; file names in the table start in it")
    labels: str = setting("", "the table; by default labels.csv; none: images without labels")
    suffix: str = setting("", "appended to names without an image ending, such as .jpg")
    between: str = setting("", "separator of several classes in one cell, such as |")
    unknown: Unknown = setting("keep", "keep unknown labels, or assume them absent")
    drop_missing: bool = setting(False, "leave out images whose file is missing")
    test: float = setting(0.0, "share of images for testing where the table marks none")
    hierarchy: str = setting("", "a JSON file or a shipped name, such as coco-80")

    def open(self) -> Dataset:
        """Read the table; pictures are decoded when they are read. Raises BadInput."""
        place = folder(self.root, "the folder that holds the pictures")
        if self.labels == NONE:
            return self._unlabelled(place)
        table = self._table(place)
        content = read_content(table, between=self.between, suffix=self.suffix)
        _note_left_out(place, table, content.files)
        if self.drop_missing:
            content = _there(place, content)
        if self.test:
            content = _tested(table, content, self.test)
        pictures = FilePictures.of(place, content.files)
        ids = text_ids(content.files)
        truth = Truth.of(content.present, ids, content.classes, content.known)
        whole = Part(truth, pictures=pictures)
        parts = {}
        for split in SPLITS:
            rows = np.flatnonzero(content.splits == split)
            if len(rows):
                part = whole.select(rows)
                parts[split] = replace(part, truth=settled(part.truth, self.unknown, split))
        if "train" not in parts:
            raise BadInput(f"{table} marks no picture as train; give some of them that split")
        name = place.resolve().name or self.name
        return assemble(name, parts, hierarchy=self.hierarchy, spec=spell(self))

    def _unlabelled(self, place: Path) -> Dataset:
        """One split of all pictures, in the order of their names; its one class is nowhere known.

        A class that is nowhere known can be neither simulated nor trained or scored by.
        """
        files = _pictures_in(place)
        if not files:
            raise BadInput(f"{place} holds no pictures ({', '.join(ENDINGS)}); give their folder")
        none = csr_array((len(files), 1), dtype=bool)
        truth = Truth.of(none, text_ids(files), ["(no labels)"], none)
        pictures = FilePictures.of(place, files)
        name = place.resolve().name or self.name
        return Dataset(name, {"train": truth}, {"train": pictures}, spec=spell(self))

    def _table(self, place: Path) -> Path:
        if self.labels:
            table = expanded(self.labels)
            inside = not os.path.exists(table) and os.path.exists(place / table)
            return place / table if inside else table
        if os.path.exists(place / LABELS):
            return place / LABELS
        raise BadInput(
            f"{place} holds no {LABELS}, and labels are needed; write them into a table with the "
            f"columns file and class and give it as labels=FILE.csv, or give labels=none for "
            "pictures that are to be seen only, by simkit features and neighbours"
        )


def table_labels(table: Path, spec: str) -> PartialLabels:
    """A table of labels as partial labels of the pictures that it marks as train, or marks nowhere.

    Parameters
    ----------
    table : Path
        As `Folder` describes it.
    spec : str
        The text of the data set; its settings `between` and `suffix` hold for the table too.

    Returns
    -------
    PartialLabels

    Raises
    ------
    BadInput
        For a table of another form, or one without training pictures.
    """
    settings = read_spec(spec)[1]
    between, suffix = (str(settings.get(key, "")) for key in ("between", "suffix"))
    content = read_content(table, between=between, suffix=suffix)
    rows = np.flatnonzero(content.splits == "train")
    if not len(rows):
        raise BadInput(f"{table} marks no picture as train; give some of them that split")
    images = text_ids(content.files)
    return complete(Truth.of(content.present, images, content.classes, content.known).select(rows))


def _pictures_in(place: Path) -> list[str]:
    """Names of all pictures in a folder and below it, sorted."""
    return sorted(
        path.relative_to(place).as_posix()
        for path in place.rglob("*")
        if path.suffix.lower() in ENDINGS and os.path.isfile(path)
    )


def _note_left_out(place: Path, table: Path, files: list[str]) -> None:
    """Warn of pictures in the folder that the table does not name."""
    pictures = _pictures_in(place)
    left_out = sorted(set(pictures) - set(files))
    if left_out and len(left_out) < len(pictures):  # else names lack an ending, which is said later
        warnings.warn(
            f"{len(left_out):,} of {len(pictures):,} pictures in {place} have no row in "
            f"{table.name} and are left out, such as {left_out[0]}; give them rows, without a "
            "class where they show none",
            stacklevel=2,
        )


def _tested(table: Path, content: Content, share: float) -> Content:
    """With so large a share of the training pictures as the test split. Raises BadInput."""
    if (content.splits == "test").any():
        raise BadInput(f"{table} marks pictures as test already; leave test={share:g} out")
    train = np.flatnonzero(content.splits == "train")
    _, held_out = published_split(len(train), share=share)
    splits = content.splits.astype("U5")
    splits[train[held_out]] = "test"
    return replace(content, splits=splits)


def _there(place: Path, content: Content) -> Content:
    """The rows whose files are there; as they are where none is, which will be said."""
    rows = [row for row, name in enumerate(content.files) if os.path.isfile(place / name)]
    rows = rows or list(range(len(content.files)))
    return replace(
        content,
        files=[content.files[row] for row in rows],
        splits=content.splits[rows],
        present=csr_array(content.present[rows]),
        known=None if content.known is None else csr_array(content.known[rows]),
    )
