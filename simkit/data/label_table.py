"""Tables of labels in CSV files: one row per label (long), or one column per class (wide)."""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.data.images import ENDINGS
from simkit.errors import BadInput
from simkit.files import reading
from simkit.labels.formats.base import encoded
from simkit.labels.truth import from_indices

FILE = ("file", "file_name", "filename", "image", "image_name", "image_id", "path", "picture")
CLASS = ("class", "label", "labels", "category", "class_name", "tags")
SPLIT = ("split", "set", "subset", "partition")
_SPLITS = {
    "train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val",
    "dev": "val", "test": "test", "testing": "test",
}  # fmt: skip
_STATES = {
    "1": 1, "1.0": 1, "true": 1, "yes": 1, "0": 0, "0.0": 0, "false": 0, "no": 0,
    "": -1, "-1": -1, "-1.0": -1, "nan": -1, "?": -1,
}  # fmt: skip
_WHAT = "labels of images (CSV with file and class)"
_ROWS = 20  # first rows, from which the delimiter is detected


@dataclass(frozen=True, eq=False)
class Content:
    """The content of a table: N files, the split of each, L classes and labels (N, L).

    present, known: bool CSR; known is None if all labels are known.
    """

    files: list[str]
    splits: NDArray[np.str_]
    classes: list[str]
    present: csr_array
    known: csr_array | None


@dataclass(frozen=True)
class Column:
    """One column: its unique texts, and for each row the index of its text among them."""

    name: str
    texts: list[str]
    codes: NDArray[np.integer]

    def cleaned(self, clean: Callable[[str], str]) -> Column:
        """The column with cleaned texts, equal ones merged, in order of first appearance."""
        texts = np.array([clean(text) for text in self.texts], object)
        codes, names = pd.factorize(texts[self.codes])
        return Column(self.name, names.tolist(), codes)

    def row(self, text: str) -> int:
        """The first row of the file that holds `text`; the header is row 1."""
        return int(np.argmax(self.codes == self.texts.index(text))) + 2

    def one_of(self, names: tuple[str, ...]) -> bool:
        """Whether its name is one of these, ignoring case, spaces and hyphens."""
        return self.name.lower().replace(" ", "_").replace("-", "_") in names


def read_content(path: Path, *, between: str = "", suffix: str = "") -> Content:
    """Read a long or wide table.

    A table is long if a column called class (label, category, tags ...) is the only one besides
    file and split, or holds anything but 0, 1, -1 and empty cells. Files are in the order of their
    first row, classes in the order of their first row (long) or of the columns (wide). a.jpg and
    ./a.jpg are the same file.

    Parameters
    ----------
    path : Path
        CSV in UTF-8; the delimiter, a comma, semicolon or tab, is detected from the first rows.
    between : str
        Separator of several classes in one cell.
    suffix : str
        Appended to file names without an image ending.

    Returns
    -------
    Content

    Raises
    ------
    BadInput
        For an invalid table, naming column and row.
    """
    with reading(path, _WHAT) as file:
        columns = _columns(file)
        files = _the(columns, FILE, "the image files")
        if files is None:
            has = ", ".join(repr(column.name[:30]) for column in columns[:6])
            raise BadInput(f"no column is called file, but {has}; call one {' or '.join(FILE)}")
        files = files.cleaned(lambda text: _file_name(text, suffix))
        if "" in files.texts:
            raise BadInput(f"row {files.row('')} names no file; fill it in or remove the row")
        split = _the(columns, SPLIT, "the split")
        used = [files.name] + ([split.name] if split is not None else [])
        others = [column for column in columns if column.name not in used]
        splits = _splits(split, files)
        named = [column for column in others if column.one_of(CLASS)]
        kind = next((c for c in named if any(t.lower() not in _STATES for t in c.texts)), None)
        if kind is None and named == others and len(named) == 1:
            kind = named[0]
            names = " and ".join(repr(text) for text in kind.texts if text)
            if names:  # which may have been meant as 0 and 1
                warnings.warn(
                    f"{path}: the classes are called {names}, as in column {kind.name!r}; "
                    "rename the column if it marks the presence of a single class",
                    stacklevel=1,
                )
        if kind is None:
            return _wide(files, splits, others)
        if len(others) > 1:
            odd = next(column.name for column in others if column is not kind)[:60]
            raise BadInput(
                f"column {odd!r} is not understood beside {kind.name!r}; keep file, class and "
                "split only, or give every class a column with 0 and 1"
            )
        return _long(files, splits, kind, between)


def _columns(path: Path) -> list[Column]:
    """All columns with a name, as text, without white space around cells."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    header, delimiter = _header(path)
    keys = [str(place) for place in range(len(header))]
    coded = pa.dictionary(pa.int32(), pa.string())
    table = arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(keys, coded), strings_can_be_null=False
        ),
        read_options=arrow_csv.ReadOptions(use_threads=False, column_names=keys, skip_rows=1),
    )
    if not len(table):
        raise BadInput("it has no rows below the first; add one per image")
    columns = [
        Column(name, *encoded(table[key])).cleaned(str.strip)
        for name, key in zip(header, keys, strict=True)
    ]
    for place, column in enumerate(columns):
        if not column.name and column.texts != [""]:
            raise BadInput(f"column {place + 1} has no name in the first row; name it or remove it")
    return [column for column in columns if column.name]


def _header(path: Path) -> tuple[list[str], str]:
    """The names in the first row, and the delimiter."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        lines = list(islice(stream, _ROWS))

    def cells(mark: str) -> list[list[str]]:
        try:
            return [row for row in csv.reader(lines, delimiter=mark) if row]
        except csv.Error:  # a cell as long as a whole row
            return []

    def quality(mark: str) -> tuple[bool, bool, int]:
        counts = [len(row) for row in cells(mark)] or [0]
        return counts[0] > 1, len(set(counts)) == 1, counts[0]

    delimiter = max(",;\t", key=quality)
    header = [name.strip() for name in (cells(delimiter) or [[]])[0]]
    names = [name for name in header if name]
    if len(names) < 2 or len(set(names)) != len(names):
        first = "".join(lines[:1]).strip()[:60]
        raise BadInput(f"its first row is {first!r}; different names, as in file,class, are needed")
    return header, delimiter


def _the(columns: list[Column], names: tuple[str, ...], what: str) -> Column | None:
    """The column with one of these names, or None. Raises BadInput where there are several."""
    named = [column for column in columns if column.one_of(names)]
    exact = [column for column in named if column.name.lower() == names[0]]
    if len(named) > 1 and len(exact) != 1:
        both = f"{named[0].name!r} and {named[1].name!r}"
        mend = f"call one {names[0]} and remove the other"
        raise BadInput(f"columns {both} could both name {what}; {mend}")
    return next(iter(exact or named), None)


def _file_name(text: str, suffix: str) -> str:
    """A normalised file name, with slashes and, if it has no image ending, the suffix."""
    if not text:
        return text
    name = str(PurePosixPath(text.replace("\\", "/")))
    return name if name.lower().endswith((*ENDINGS, suffix.lower())) else f"{name}{suffix}"


def _splits(split: Column | None, files: Column) -> NDArray[np.str_]:
    """(N,) the split of each file; "train" without a split column."""
    if split is None:
        return np.full(len(files.texts), "train")
    known = pd.Series(split.texts).str.lower().map(_SPLITS)
    if known.isna().any():
        text = split.texts[int(known.isna().argmax())]
        where = f"column {split.name!r} holds {text[:40]!r} in row {split.row(text)}"
        raise BadInput(f"{where}; train, val or test is expected")
    pairs = pd.DataFrame({"file": files.codes, "split": known.to_numpy()[split.codes]})
    pairs = pairs.drop_duplicates()
    torn = pairs["file"].duplicated()
    if torn.any():
        name = files.texts[pairs["file"][torn].iloc[0]]
        raise BadInput(f"{name[:100]!r} is in two splits; keep it in one")
    return pairs.sort_values("file")["split"].to_numpy().astype(str)


def _long(files: Column, splits: NDArray[np.str_], kind: Column, between: str) -> Content:
    """A long table: one row per present class of an image; all other classes are absent."""
    parts = [text.split(between) if between else [text] for text in kind.texts]
    listed = [[name for name in map(str.strip, names) if name] for names in parts]
    index = {name: c for c, name in enumerate(dict.fromkeys(chain.from_iterable(listed)))}
    if not index:
        raise BadInput(f"column {kind.name!r} names no class; fill it in")
    # Names may be one class spelled twice, or several classes in one cell.
    spellings: dict[str, str] = {}
    for name in index:
        first = spellings.setdefault(" ".join(name.casefold().split()), name)
        if first != name:
            warnings.warn(
                f"classes {first!r} and {name!r} differ only in case or spaces and count as two; "
                "spell them alike if they are one",
                stacklevel=1,
            )
    for sign in "|;":
        counts = Counter(p for name in index for p in {part.strip() for part in name.split(sign)})
        joined = [name for name in index if sign in name]
        if joined and max(counts[part.strip()] for n in joined for part in n.split(sign)) > 1:
            warnings.warn(
                f"{joined[0]!r} in column {kind.name!r} counts as one class; add between={sign} if "
                "it names several",
                stacklevel=1,
            )
    of_text = from_indices([[index[name] for name in names] for names in listed], len(index))
    entries = (np.ones(len(files.codes), np.int32), (files.codes, kind.codes))
    rows = csr_array(entries, shape=(len(files.texts), len(kind.texts)))
    present = csr_array(rows @ of_text.astype(np.int32)).astype(bool)
    return Content(files.texts, splits, list(index), present, None)


def _wide(files: Column, splits: NDArray[np.str_], classes: list[Column]) -> Content:
    """A wide table: one column per class, 1 present, 0 absent, empty or -1 unknown."""
    if not classes:
        raise BadInput("it has no column with classes; add a column class, or one per class")
    if len(files.codes) != len(files.texts):
        twice = files.texts[int(np.argmax(np.bincount(files.codes) > 1))]
        raise BadInput(f"file {twice[:100]!r} has two rows; keep one")
    codes = np.empty((len(files.texts), len(classes)), np.int8)
    for c, column in enumerate(classes):
        for text in column.texts:
            if text.lower() not in _STATES:
                where = f"column {column.name[:60]!r} holds {text[:40]!r} in row {column.row(text)}"
                raise BadInput(
                    f"{where}; 1 (present), 0 (absent) and an empty cell or -1 (unknown) are "
                    "expected, or a column called class with names"
                )
        codes[:, c] = np.array([_STATES[t.lower()] for t in column.texts], np.int8)[column.codes]
    known = None if (codes >= 0).all() else csr_array(codes >= 0)
    names = [column.name for column in classes]
    return Content(files.texts, splits, names, csr_array(codes == 1), known)
