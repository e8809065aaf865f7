"""Your own data: images in a folder and a CSV table of their labels."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from scipy.sparse import csr_array

from simkit.data.dataset import LABELS, Dataset, read_spec, register
from simkit.data.images import ENDINGS, FilePictures, flaw, with_depths
from simkit.data.label_table import Content, read_content, read_splits
from simkit.data.listing import NO_IMAGES, listed
from simkit.data.lists import class_names, folder
from simkit.data.splits import (
    FIFTH,
    Part,
    Unknown,
    assemble,
    divided,
    published_split,
    spell,
    with_pictures,
)
from simkit.errors import BadInput, examples, located, note
from simkit.files import expanded
from simkit.labels.cells import Minus
from simkit.labels.formats.base import complete, ends, text_ids
from simkit.labels.formats.hf import HuggingFace
from simkit.labels.names import plain
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth, places
from simkit.registry import setting

NONE = "none"  # the setting `labels` for images without a table
UNLABELLED = ("(no labels)",)  # the classes of such images


@register
class Folder:
    """A folder of images with a CSV table of labels, in long or wide form.

    Long: columns file and class, one row per present class of an image; an empty class marks an
    image without classes. Wide: a column file and one per class, with 1 (present), 0 (absent) and
    an empty cell (unknown); -1 is unknown in a table that also has 0. A column split (train, val,
    test) is optional; without it the published split takes a fifth of the images for validation.

    root: the folder; file names in the table are relative to it, and images without a row are left
    out.
    labels: the table (CSV, TSV, JSON Lines, .xlsx); by default labels.csv in the folder. A data
    set of Hugging Face is read too: metadata.jsonl or metadata.csv, the default if there is no
    labels.csv, parquet or a saved folder (see the label format hf). "none"
    takes all images in the folder and its subfolders without labels, for features and neighbours;
    files that are hidden, made by programs or not images are left out with a note.
    suffix: appended to names without an image ending, such as .jpg.
    between: separator of several classes in one cell of a long table, such as | or its name: comma,
    semicolon, bar, slash, plus, space, tab or line.
    minus: "absent" or "unknown": what -1 means in a wide table that has no 0.
    unknown: "keep" keeps unknown labels unknown: metrics leave them out, and a simulated crowd
    cannot answer questions about them. "absent" assumes them absent, "absent-in-train" only in the
    training set; the assumption is wrong where a class is present and was not labelled.
    drop_missing: leave out images whose file is missing.
    test: share of the images held out for testing, such as 0.2, if the table has no test images;
    drawn by row order, so always the same.
    val: the same for validation; 0 leaves all of them for training.
    hierarchy: a JSON file or the name of a shipped one, such as coco-80.
    part: the table lists a part of the images on purpose, so there is no note of the others.
    """

    name: ClassVar[str] = "folder"
    title: ClassVar[str] = "A folder of images and a CSV"
    example: ClassVar[str] = "folder:pictures,labels=labels.csv"
    paths: ClassVar[tuple[str, ...]] = ("root", "labels", "hierarchy")

    root: str = setting(..., "the folder; file names in the table are relative to it")
    labels: str = setting("", "the table; by default labels.csv; none: images without labels")
    suffix: str = setting("", "appended to names without an image ending, such as .jpg")
    between: str = setting("", "separator of several classes in one cell, such as | or comma")
    minus: Minus = setting("", "absent or unknown: what -1 means in a table without 0")
    unknown: Unknown = setting("keep", "keep unknown labels, or assume them absent")
    drop_missing: bool = setting(False, "leave out images whose file is missing")
    test: float = setting(0.0, "share of images for testing where the table marks none")
    val: float = setting(FIFTH, "share of images for validation where the table marks none; or 0")
    hierarchy: str = setting("", "a JSON file or a shipped name, such as coco-80")
    part: bool = setting(False, "the table lists a part of the images on purpose")

    def open(self) -> Dataset:
        """Read the table; image files are decoded on use. Raises BadInput."""
        place = folder(self.root, "the folder that holds the images")
        if self.labels == NONE:
            return self._unlabelled(place)
        table = self._table(place)
        suffixed = table.suffix.lower() in HuggingFace.suffixes
        if os.path.isdir(table) or (suffixed and re.search(HuggingFace.mark, ends(table))):
            labels = HuggingFace().read(table)
            files, known = list(map(str, labels.images.tolist())), None
            if labels.codes.nnz < labels.shape[0] * labels.shape[1]:  # classes in no list
                known = csr_array(labels.codes.astype(bool))
            present, splits = csr_array(labels.codes > 0), np.full(len(files), "train")
            if b"split" in ends(table).lower():
                splits = read_splits(table, splits)
            content = Content(files, splits, list(labels.classes), present, known)
        else:
            content = read_content(
                table, between=self.between, suffix=self.suffix, minus=self.minus
            )
        with located(str(table)):
            ids = text_ids(content.files)
        truth = Truth.of(content.present, ids, content.classes, content.known)
        whole = with_pictures(Part(truth), place, content.files, drop_missing=self.drop_missing)
        if not self.part:
            _note_unlisted(place, table, cast(FilePictures, whole.pictures).files)
        splits = content.splits[places(ids, whole.truth.images)]
        for split, share in {"test": self.test, "val": self.val * (self.val != FIFTH)}.items():
            if share and (splits == split).any():
                odd = f"{table} marks images as {split} already"
                raise BadInput(f"{odd}; leave {split}={share:g} out")
        if self.test:
            train = np.flatnonzero(splits == "train")
            splits = splits.astype("U5")
            splits[train[published_split(len(train), share=self.test)[1]]] = "test"
        parts = divided(whole, splits, self.unknown)
        if "train" not in parts:
            raise BadInput(f"{table} marks no image as train; give some of them that split")
        name = place.resolve().name or self.name
        return assemble(name, parts, self, val=self.val)

    def _unlabelled(self, place: Path) -> Dataset:
        """One split with all images, in the order of their names, and one class without labels.

        Without known labels the data set cannot be simulated, trained on or scored.
        """
        files, left_out = listed(place)
        reasons = [f"{len(names):,} {why} ({examples(names)})" for why, names in left_out.items()]
        mends = ["rename files and folders that are meant", "convert other formats to JPEG"]
        mends += [flaw(place / name)[1] for name in left_out.get(NO_IMAGES, [])[:1]]
        left = f"images left out: {'; '.join(reasons)}. To use them, {', '.join(mends)}"
        if not files:
            left = left if left_out else "give their folder"
            raise BadInput(f"{place} holds no images ({', '.join(ENDINGS)}); {left}")
        if left_out:
            warnings.warn(f"{place}: {left}", stacklevel=1)
        odd = next((name for name in files if not name.isprintable()), None)
        if odd is not None:  # line breaks, and bytes that are not UTF-8
            raise BadInput(f"the name {odd!r} in {place} has characters that no list of files can "
                           "hold; rename the image")  # fmt: skip
        none = csr_array((len(files), 1), dtype=bool)
        ids = [*map(plain, files)]
        twice = next((name for name, count in Counter(ids).items() if count > 1), None)
        if twice is not None:
            raise BadInput(f"{place} holds two files called {twice!r}, which differ only in outer "
                           "spaces, invisible characters or Unicode form; rename one")  # fmt: skip
        truth = Truth.of(none, text_ids(ids), UNLABELLED, none)
        pictures = with_depths({"train": FilePictures.of(place, files)})
        name = place.resolve().name or self.name
        return Dataset(name, {"train": truth}, pictures, spec=spell(self))

    def _table(self, place: Path) -> Path:
        if self.labels:
            table = expanded(self.labels)
            inside = not os.path.exists(table) and os.path.exists(place / table)
            return place / table if inside else table
        for name in (LABELS, "metadata.jsonl", "metadata.csv"):
            if os.path.exists(place / name):
                return place / name
        raise BadInput(
            f"{place} holds no {LABELS}; give a table with the columns file and class as "
            "labels=FILE.csv, or labels=none, which simkit order, features and neighbours accept"
        )


def classes_of(file: Path | None, data: Dataset) -> tuple[str, ...]:
    """The classes in a file, one per line, or those of the data. Raises BadInput."""
    if file is not None:
        return class_names(file)
    if data.classes == UNLABELLED:
        raise BadInput("the images have no classes; give --classes FILE, one class per line")
    return data.classes


def table_labels(table: Path, spec: str) -> PartialLabels:
    """A table of labels as partial labels of its training images.

    Parameters
    ----------
    table : Path
        A table as described by `Folder`.
    spec : str
        The text of the data set; its settings `between`, `suffix` and `minus` apply to the table.

    Returns
    -------
    PartialLabels

    Raises
    ------
    BadInput
        For a table of another form, or one without training images.
    """
    settings = read_spec(spec)[1]
    stated = {key: settings[key] for key in ("between", "suffix", "minus") if key in settings}
    content = read_content(table, **stated)
    rows = np.flatnonzero(content.splits == "train")
    if not len(rows):
        raise BadInput(f"{table} marks no image as train; give some of them that split")
    images = text_ids(content.files)
    return complete(Truth.of(content.present, images, content.classes, content.known).select(rows))


def _note_unlisted(place: Path, table: Path, files: Sequence[str]) -> None:
    """Warn of images in a folder that have no row in its table."""
    images = set(files)
    unlisted = [name for name in listed(place, images)[0] if name not in images]
    note(place, unlisted, f"images left out because they have no row in {table.name}: {{}}; add a "
         "row for each, with an empty class if it shows none",
         total=len(unlisted) + len(files))  # fmt: skip
