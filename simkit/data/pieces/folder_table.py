"""Tables of labels as people keep them: one row for each label, or one column for each class."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.data.pieces.table_columns import Column, read_columns
from simkit.errors import BadInput
from simkit.labels.formats.base import reading

FILE = ("file", "file_name", "filename", "image", "image_name", "image_id", "path", "picture")
CLASS = ("class", "label", "labels", "category", "class_name", "tags")
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
_COUNTERS = ("index", "level_0", "unnamed:_0")  # what pandas calls the numbers of rows
SPLIT = ("split", "set", "subset", "partition")
_SPLITS = {
    "train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val",
    "dev": "val", "test": "test", "testing": "test",
}  # fmt: skip
_STATES = {
    "1": 1, "1.0": 1, "true": 1, "yes": 1, "0": 0, "0.0": 0, "false": 0, "no": 0,
    "": -1, "-1": -1, "-1.0": -1, "nan": -1, "?": -1,
}  # fmt: skip
_WHAT = "labels of pictures (CSV with file and class)"


@dataclass(frozen=True, eq=False)
class Content:
    """What a table says of N files and L classes: files, split of each, and labels (N, L).

    present, known: bool CSR; known is None where everything is known.
    """

    files: list[str]
    splits: NDArray[np.str_]
    classes: list[str]
    present: csr_array
    known: csr_array | None


def read_content(path: Path, *, between: str = "", suffix: str = "") -> Content:
    """Read a table of either shape; commas, semicolons and tabs are told apart by its first rows.

    It is long when a column called class (label, category, tags ...) is alone beside files and
    split, or holds anything but 0, 1, -1 and empty cells. Files come in the order of their first
    row, classes in that of their first row (long) or of the columns (wide). a.jpg and ./a.jpg are
    the same file. between: what parts several classes in one cell; suffix: what names of files
    without the ending of a picture end in. Raises BadInput naming column and row.
    """
    with reading(path, _WHAT) as found:
        columns = read_columns(found)
        files = _the(columns, FILE, "the picture files")
        if files is None:
            raise BadInput(
                f"no column is called file; the first row names {_shown(columns)}, and one of "
                f"them must be called {', '.join(FILE[:-1])} or {FILE[-1]}"
            )
        files = Column.of(
            files.name, files.texts, files.codes, lambda text: _file_name(text, suffix)
        )
        if "" in files.texts:
            raise BadInput(f"row {files.row('')} names no file; fill it in or take the row out")
        split = _the(columns, SPLIT, "the split")
        taken = [files.name] + ([split.name] if split is not None else [])
        rest = [column for column in columns if column.name not in taken]
        splits = _splits(split, files)
        kind = next((c for c in rest if c.one_of(CLASS) and _has_words(c)), None)
        if kind is None and len(rest) == 1 and rest[0].one_of(CLASS):
            kind = rest[0]
            _note_numbers(path, kind)
        if kind is not None:
            others = [column for column in rest if column is not kind]
            return _long(files, splits, kind, others, between)
        if between:
            raise BadInput("no column class holds names that could be parted; leave between out")
        return _wide(files, splits, rest)


def _the(columns: list[Column], names: tuple[str, ...], what: str) -> Column | None:
    """The column with one of these names, or None. Raises BadInput where there are several."""
    found = [column for column in columns if column.one_of(names)]
    exact = [column for column in found if column.name.lower() == names[0]]
    if len(found) > 1 and len(exact) != 1:
        raise BadInput(
            f"columns {found[0].name!r} and {found[1].name!r} could both name {what}; call the one "
            f"that does {names[0]} and take the other out"
        )
    return next(iter(exact or found), None)


def _shown(columns: list[Column]) -> str:
    return ", ".join(repr(column.name[:30]) for column in columns[:6])


def _file_name(text: str, suffix: str) -> str:
    """One spelling for each file, with slashes, and the ending that it was given without."""
    if not text:
        return text
    name = str(PurePosixPath(text.replace("\\", "/")))
    return name if name.lower().endswith((*ENDINGS, suffix.lower())) else f"{name}{suffix}"


def _note_numbers(path: Path, kind: Column) -> None:
    """The one column beside the files may be a class of its own name; say how it was taken."""
    some = " and ".join(repr(text) for text in kind.texts if text)
    if some:
        warnings.warn(
            f"{path}: the classes are called {some}, for so they stand in column {kind.name!r}; "
            "call the column otherwise if it says where one class is present",
            stacklevel=1,
        )


def _has_words(column: Column) -> bool:
    return any(text.lower() not in _STATES for text in column.texts)


def _splits(split: Column | None, files: Column) -> NDArray[np.str_]:
    """(N,) the split of each file, "train" where there is no such column."""
    if split is None:
        return np.full(len(files.texts), "train")
    for text in split.texts:
        if text.lower() not in _SPLITS:
            raise BadInput(
                f"column {split.name!r} holds {text[:40]!r} in row {split.row(text)}; train, val "
                "or test is expected"
            )
    of_text = np.array([_SPLITS[text.lower()] for text in split.texts])
    of_row = of_text[split.codes]
    found = np.empty(len(files.texts), of_text.dtype)
    found[files.codes] = of_row
    torn = np.flatnonzero(found[files.codes] != of_row)
    if len(torn):
        name = files.texts[files.codes[torn[0]]]
        raise BadInput(f"{name[:100]!r} stands in two splits; keep it in one")
    return found


def _long(
    files: Column, splits: NDArray[np.str_], kind: Column, others: list[Column], between: str
) -> Content:
    """One row for each class in a picture; what no row names is absent."""
    if others:
        raise BadInput(
            f"column {others[0].name[:60]!r} is not understood beside {kind.name!r}; keep file, "
            "class and split only, or give every class a column with 0 and 1"
        )
    index: dict[str, int] = {}
    pairs = [
        (place, index.setdefault(part, len(index)))
        for place, text in enumerate(kind.texts)
        for part in map(str.strip, text.split(between) if between else [text])
        if part
    ]
    if not index:
        raise BadInput(f"column {kind.name!r} names no class; fill it in")
    _note_doubtful_classes(kind.name, list(index))
    in_text, column = np.array(pairs, np.int64).reshape(-1, 2).T
    texts, N = len(kind.texts), len(files.texts)
    one = np.ones(len(files.codes), np.int32)
    rows = csr_array((one, (files.codes, kind.codes)), shape=(N, texts))
    of_text = csr_array((np.ones(len(pairs), np.int32), (in_text, column)), (texts, len(index)))
    return Content(files.texts, splits, list(index), csr_array(rows @ of_text).astype(bool), None)


def _note_doubtful_classes(column: str, classes: list[str]) -> None:
    """Warn of classes that seem to be one class, or several in one cell."""
    spellings: dict[str, str] = {}
    for name in classes:
        first = spellings.setdefault(" ".join(name.casefold().split()), name)
        if first != name:
            warnings.warn(
                f"classes {first!r} and {name!r} differ in case or spaces alone and count as two; "
                "spell them alike if they are one",
                stacklevel=1,
            )
    for sign in "|;":
        parts = Counter(p for name in classes for p in {part.strip() for part in name.split(sign)})
        joined = [name for name in classes if sign in name]
        if joined and max(parts[part.strip()] for n in joined for part in n.split(sign)) > 1:
            warnings.warn(
                f"{joined[0]!r} in column {column!r} counts as one class; add between={sign} if it "
                "names several",
                stacklevel=1,
            )


def _wide(files: Column, splits: NDArray[np.str_], classes: list[Column]) -> Content:
    """One column for each class: 1 present, 0 absent, empty or -1 unknown."""
    if not classes:
        raise BadInput("it has no column with classes; add a column class, or one for each class")
    if len(files.codes) != len(files.texts):
        twice = files.texts[int(np.argmax(np.bincount(files.codes) > 1))]
        raise BadInput(f"file {twice[:100]!r} has two rows; keep one")
    counter = next((column for column in classes if column.one_of(_COUNTERS)), None)
    if counter is not None:
        raise BadInput(
            f"column {counter.name!r} numbers the rows, as pandas calls it; take it out, or give "
            "it another name if it is a class"
        )
    codes = np.empty((len(files.texts), len(classes)), np.int8)
    for c, column in enumerate(classes):
        for text in column.texts:
            if text.lower() not in _STATES:
                raise BadInput(
                    f"column {column.name[:60]!r} holds {text[:40]!r} in row {column.row(text)}; "
                    "1 (present), 0 (absent) and an empty cell or -1 (unknown) are expected, or a "
                    "column called class with the names of the classes"
                )
        codes[:, c] = np.array([_STATES[t.lower()] for t in column.texts], np.int8)[column.codes]
    known = None if (codes >= 0).all() else csr_array(codes >= 0)
    names = [column.name for column in classes]
    return Content(files.texts, splits, names, csr_array(codes == 1), known)
