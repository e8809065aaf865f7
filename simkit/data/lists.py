"""Folders and lists in text files, as in published data sets."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from simkit.errors import BadInput, printable
from simkit.files import AnyPath, expanded, parse_json, reading
from simkit.labels.formats.base import note_alike, text_ids
from simkit.labels.tables import USUAL, listed, plain, read_table, text_of, text_rows
from simkit.labels.tables import key as column_key


def folder(path: AnyPath, what: str) -> Path:
    """`path` as a Path, checked to be a folder. Raises BadInput; `what` is expected there."""
    place = expanded(path)
    if os.path.isdir(place):
        return place
    problem = "is a file" if os.path.isfile(place) else "does not exist"
    raise BadInput(f"{place} {problem}; give {what}")


def inner(path: AnyPath, what: str, mark: str, name: str) -> Path:
    """A folder that holds the file `mark`, or else its subfolder `name`. Raises BadInput."""
    place = folder(path, what)
    below = place / name
    return below if not (place / mark).exists() and below.is_dir() else place


def lines(path: AnyPath, what: str) -> list[str]:
    """The nonempty lines, stripped. Raises BadInput if there are none."""
    with reading(path, what) as file:
        text = file.read_bytes().decode("utf-8-sig")
        entries = [line for each in text.split("\n") if (line := each.strip())]
        if not entries:
            raise BadInput("it is empty; write one entry per line, or download it again")
        return entries


def unique_lines(path: AnyPath, what: str) -> list[str]:
    """The nonempty lines of a published list, each once. Raises BadInput."""
    with reading(path, what):
        return different(lines(path, what))


def class_names(path: AnyPath) -> tuple[str, ...]:
    """The classes in a file, with notes about what is read otherwise than as a list of lines.

    Parameters
    ----------
    path : path
        Text with one name per line, a JSON list (or an object with one, such as a COCO file), or a
        table with a column of names.

    Returns
    -------
    tuple of str

    Raises
    ------
    BadInput
        For other files, lines that are more than a name, and names that occur twice.
    """

    def note(text: str) -> None:
        warnings.warn(f"{path}: {text}", stacklevel=3)

    with reading(path, "class names", f"write {_ONE_EACH}") as file:
        kind = file.suffix.lower()
        if kind in (".yaml", ".yml"):
            raise BadInput(f"it is YAML; write the names alone, {_ONE_EACH}")
        if kind in (".xlsx", ".xlsm", ".parquet", ".jsonl", ".ndjson"):
            names = read_table(file).column(_COLUMNS, "the class names").texts
        elif (text := text_of(file, note).strip())[:1] in ("[", "{") or kind == ".json":
            names = _of_json(text)
        elif text and (kind in (".csv", ".tsv") or all("\t" in s for s in text.splitlines())):
            names = _of_rows(text_rows(file), note)
        else:
            names = _of_lines([line for each in text.splitlines() if (line := plain(each))], note)
        if not names:
            raise BadInput(f"it is empty; write {_ONE_EACH}")
        if none := [name for name in names if _NO_CLASS.fullmatch(name)]:
            note(f"class {none[0]!r} is asked about and priced like all others; leave it out if it "
                 "is none")  # fmt: skip
        note_alike(names, file)
        return tuple(different(names))


_ONE_EACH = "one name per line"
_COLUMNS = ("display_name", *USUAL["class"], "classes", "name", "names")
_ID = re.compile(r"\d+|[/]?[mgn][/]?\w*\d\w*")  # of Open Images, of WordNet, or a number
_NO_CLASS = re.compile(r"_*(ignore|background|void)_*|\?+", re.IGNORECASE)
_NUMBERED = re.compile(r"(\d+)(?:\s*[:.)]\s*|\s+)\S")


def _of_json(text: str) -> list[str]:
    """The names in JSON, or in a list as Python writes it. Raises BadInput."""
    try:
        value = parse_json(text)
    except ValueError:
        value = listed(text)
    for key in ("categories", "names", "classes"):
        value = value.get(key, value) if isinstance(value, dict) else value
    if isinstance(value, dict) and all(map(str.isdigit, value)):  # as in id2label of transformers
        value = [value[key] for key in sorted(value, key=int)]
    if isinstance(value, list):
        value = [each.get("name") if isinstance(each, dict) else each for each in value]
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise BadInput(f'it is no list of names, as in ["cat", "dog"]; write {_ONE_EACH}')
    return [*map(plain, value)]


def _of_rows(rows: list[list[str]], note: Callable[[str], None]) -> list[str]:
    """The names in a table, with or without a header. Raises BadInput."""
    header = [*map(column_key, rows[0])]
    at = next((header.index(key) for key in map(column_key, _COLUMNS) if key in header), None)
    columns = [*zip(*rows, strict=False)]
    if at is not None and len(rows) > 1:
        note(f"column {rows[0][at]!r} is read as the class names")
        return [*dict.fromkeys(columns[at][1:])]
    if len(columns) == 2 and all(map(_ID.fullmatch, columns[0])):
        note(f"the second column is read as the class names, as in {columns[1][0]!r}")
        return [*columns[1]]
    if len(columns) > 1:
        raise BadInput(f"it has {len(columns)} columns and none is called class; write {_ONE_EACH}")
    return [*columns[0]]


def _of_lines(names: list[str], note: Callable[[str], None]) -> list[str]:
    """The names in lines of text. Raises BadInput for lines that are more than a name."""
    if comments := [name for name in names if name.startswith("# ")]:
        note(f"{len(comments)} lines that begin with # are left out, such as {comments[0][:60]!r}")
        names = [name for name in names if not name.startswith("# ")]
    if names and all(len(name) > 2 and name[0] == name[-1] in "\"'" for name in names):
        names = [name[1:-1] for name in names]
    if len(names) == 1 and "," in names[0]:
        raise BadInput(f"it is one line with commas; write {_ONE_EACH}")
    if len(names) > 1 and all(name.endswith(",") for name in names[:-1]):
        raise BadInput(
            f"line {names[0]!r} ends with a comma, like the others; leave the commas out"
        )
    if any(re.match(r"names\s*:", name) for name in names):
        raise BadInput(f"it looks like YAML; write the names alone, {_ONE_EACH}")
    numbers = [found[1] for name in names if (found := _NUMBERED.match(name))]
    if numbers in [[str(first + n) for n in range(max(2, len(names)))] for first in (0, 1)]:
        raise BadInput(
            f"line {names[0]!r} is a number and a name, like the others; leave the numbers out, or "
            "write a JSON list if they belong to the names"
        )
    return names


def different(names: list[str]) -> list[str]:
    """The names of images or classes, checked to be unique. Raises BadInput."""
    text_ids(names, "name")  # refuses far too long names
    odd = next((name for name in names if name != printable(name)), None)
    if odd is not None:
        raise BadInput(f"{odd[:100]!r} has control characters; remove them")
    if len(set(names)) != len(names):
        ((twice, _),) = Counter(names).most_common(1)
        raise BadInput(f"{twice[:100]!r} occurs twice; keep one line")
    return names
