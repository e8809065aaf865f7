"""Tables of labels: one row per label (long), or one column per class (wide)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.data.images import ENDINGS
from simkit.errors import BadInput
from simkit.files import reading
from simkit.labels import cells
from simkit.labels.cells import Minus, damaged_list, listed, means_state, offered
from simkit.labels.formats.base import note_classes_of
from simkit.labels.names import SHEET_ERROR, key
from simkit.labels.tables import USUAL, Column, Table, presence, read_table
from simkit.labels.truth import from_indices

_SPLITS = {
    "train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val",
    "validate": "val", "dev": "val", "test": "test", "testing": "test",
}  # fmt: skip
_WHAT = "labels of images (a table with file and class)"
_HALF = 0.5  # of the different cells of a column
_UNTIDY = ("\\", "//", "./", "/\n")  # one of these is in any name that can be shortened


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


def read_content(path: Path, *, between: str = "", suffix: str = "", minus: Minus = "") -> Content:
    """Read a long or wide table.

    A table is long if a column called class (label, category, tags ...) is the only one besides
    file and split, or holds names; it is wide if its cells say present, absent or unknown. Files
    are in the order of their first row, classes in the order of their first row (long) or of the
    columns (wide). a.jpg and ./a.jpg are the same file.

    Parameters
    ----------
    path : Path
        Any table that `simkit.labels.tables` reads.
    between : str
        Separator of several classes in one cell, or its name.
    suffix : str
        Appended to file names without an image ending.
    minus : {"", "absent", "unknown"}
        Meaning of -1 in a wide table without 0.

    Returns
    -------
    Content

    Raises
    ------
    BadInput
        For an invalid table, naming column and row.
    """
    with reading(path, _WHAT) as file:
        return content_of(read_table(file), between=between, suffix=suffix, minus=minus)


def content_of(table: Table, *, between: str = "", suffix: str = "", minus: Minus = "") -> Content:
    """The content of a table, as of `read_content`. Raises BadInput."""
    between = cells.separator(between)
    table.by_name()  # no name occurs twice
    files = _files(table, suffix)
    split = table.optional_column(USUAL["split"], "the split", fits=_no_states)
    splits = _splits(split, files)
    others = [c for c in table.columns if c.name not in (files.name, split and split.name)]
    named = [column for column in table.named(USUAL["class"]) if column in others]
    of_names = [column for column in named if not all(map(means_state, column.texts))]
    codes = [column for column in of_names if all(map(str.isdigit, column.texts))]
    codes = codes if len(codes) < len(of_names) else []  # numbers of classes that others name
    kind = next((column for column in of_names if column not in codes), None)
    if kind is None and named == others and len(named) == 1:
        kind = named[0]
        names = " and ".join(repr(text) for text in kind.texts if text)
        if names:  # which may have been meant as 0 and 1
            table.note(f"column {kind.name!r} holds {names}, which count as names of classes; "
                       "call it as its class if it says where that is present")  # fmt: skip
    if kind is None:
        for text, column in ((text, c) for c in others for text in c.texts):
            if len(listed(text) or ()) > 1:
                raise column.refused(text, "call the column class if these are the "
                                     "classes, or remove it")  # fmt: skip
        return _wide(table, files, splits, table.classes(others, 0.0), minus)
    if codes:
        table.note(f"column {kind.name!r} names the classes, and {codes[0].name!r} is left "
                   f"out; remove {kind.name!r} if the other is right")  # fmt: skip
    others = [c for c in others if c is not kind and c not in codes and any(c.texts)]
    for odd in table.classes(others, _HALF):
        raise BadInput(
            f"column {odd.name[:60]!r} may say whether the class in column {kind.name!r} is "
            "present; keep the rows of present classes, without this column, or give every "
            "class a column with 0 and 1"
        )
    return _long(table, files, splits, kind, between)


def read_splits(path: Path, without: NDArray[np.str_]) -> NDArray[np.str_]:
    """(N,) the splits in a table with one row for each image; `without` if it has none."""
    with reading(path, _WHAT) as file:
        table = read_table(file)
        split = table.optional_column(USUAL["split"], "the split", fits=_no_states)
        return without if split is None else _splits(split, _files(table, ""))


def _files(table: Table, suffix: str) -> Column:
    """The column of image files, with tidy names."""
    names = ("file", *USUAL["image"])
    columns = table.named(names)
    unclear = len(columns) > 1 and key(columns[0].name) != "file"
    pictures = [
        column for column in columns
        if unclear and all(text.lower().endswith(ENDINGS) for text in column.texts)
    ]  # fmt: skip
    fits = _no_states if len(pictures) != 1 else lambda column: column is pictures[0]
    files = table.column(names, "the image files", fits=fits)
    files.note_shortened()
    if "" in files.texts:
        raise BadInput(f"row {files.row('')} names no file; fill it in or remove the row")
    text = "\n".join([*files.texts, ""])
    if suffix or any(part in text for part in _UNTIDY):
        return files.cleaned(lambda text: _file_name(text, suffix))
    return files


def _no_states(column: Column) -> bool:
    """Whether it is no column of a class that is called file or set."""
    return not all(map(means_state, column.texts))


def _file_name(text: str, suffix: str) -> str:
    """A normalised file name, with slashes and, if it has no image ending, the suffix."""
    name = text.replace("\\", "/")
    name = name if "://" in name else str(PurePosixPath(name))
    return name if name.lower().endswith((*ENDINGS, suffix.lower())) else f"{name}{suffix}"


def _splits(split: Column | None, files: Column) -> NDArray[np.str_]:
    """(N,) the split of each file; "train" without a split column."""
    if split is None:
        return np.full(len(files.texts), "train")
    import pandas as pd  # every command loads this module, and hardly any needs pandas

    known = pd.Series(split.texts).str.lower().map(_SPLITS)
    if known.isna().any():
        raise split.refused(split.texts[int(known.isna().argmax())],
                            "train, val or test is expected; correct it, or remove the column if "
                            "it is no split")  # fmt: skip
    pairs = pd.DataFrame({"file": files.codes, "split": known.to_numpy()[split.codes]})
    pairs = pairs.drop_duplicates()
    torn = pairs["file"].duplicated()
    if torn.any():
        name = files.texts[pairs["file"][torn].iloc[0]]
        raise BadInput(f"{name[:100]!r} is in two splits; keep it in one")
    return pairs.sort_values("file")["split"].to_numpy().astype(str)


def _long(
    table: Table, files: Column, splits: NDArray[np.str_], kind: Column, between: str
) -> Content:
    """A long table: one row per present class of an image; all other classes are absent."""
    lists = [_several(kind, text, between) for text in kind.texts]
    for text, names in zip(kind.texts, lists, strict=True):
        if not between and len(names) > 1:
            table.note(f"column {kind.name!r} has lists of classes, such as {text[:60]!r}; remove "
                       "the brackets if one is the name of a class")  # fmt: skip
            break
    index = {name: c for c, name in enumerate(dict.fromkeys(chain.from_iterable(lists)))}
    if not index:
        raise BadInput(f"column {kind.name!r} names no class; fill it in")
    if {*index} <= {"0", "1"} and any(len({*names}) < len(names) for names in lists):
        raise kind.refused(kind.texts[0], "names of classes are expected; if the list has a "
                           "number for each class, give every class a column")  # fmt: skip
    if (joined := offered([*index])) is not None:
        mend = (
            "write one name in each row"
            if between
            else f"add between={cells.SEPARATORS[joined[0]]}"
        )
        table.note(f"cells of column {kind.name!r} that may name several classes and count as one: "
                   f"{joined[1]!r}; {mend} if they do")  # fmt: skip
    of_text = from_indices([[index[name] for name in names] for names in lists], len(index))
    of_row = of_text[kind.codes]  # faster than a product
    entries = (np.repeat(files.codes, np.diff(of_row.indptr)), of_row.indices)
    present = csr_array((np.ones(of_row.nnz, bool), entries), (len(files.texts), len(index)))
    note_classes_of(table.path, [*index], present)
    return Content(files.texts, splits, [*index], present, None)


def _several(kind: Column, text: str, between: str) -> list[str]:
    """The classes in a cell."""
    if (names := listed(text)) is not None:
        return names
    if SHEET_ERROR.fullmatch(text):
        raise kind.refused(text, "it is an error or a formula of a spreadsheet: write the "
                           "class, or empty the cell if none is present")  # fmt: skip
    if damaged_list(text):
        expected = 'a list of names in quotation marks, as in ["cat", "dog"], is expected'
        raise kind.refused(text, expected)
    return [name for name in map(str.strip, text.split(between) if between else [text]) if name]


def _wide(
    table: Table, files: Column, splits: NDArray[np.str_], classes: list[Column], minus: Minus
) -> Content:
    """A wide table: one column per class, whose cells say present, absent or unknown."""
    if not classes:
        raise BadInput("it has no column of classes; add one called class, or one for each class")
    files.check_different("file")
    names = [column.name for column in classes]
    codes = presence(classes, minus)
    known, present = None if (codes >= 0).all() else csr_array(codes >= 0), csr_array(codes == 1)
    note_classes_of(table.path, names, present)
    return Content(files.texts, splits, names, present, known)
