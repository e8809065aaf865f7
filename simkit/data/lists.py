"""Folders and lists in text files, as in published data sets."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from string import punctuation
from typing import Any

from simkit.errors import BadInput, counted, noting, printable
from simkit.files import AnyPath, expanded, parse_json, reading
from simkit.labels.cells import listed
from simkit.labels.formats.base import text_ids
from simkit.labels.names import SHEET_ERROR, key, note_classes, plain
from simkit.labels.tables import ENDINGS, USUAL, Column, Table, read_table, text_of


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
        return _lines(text_of(file, noting(file)))


def unique_lines(path: AnyPath, what: str) -> list[str]:
    """The nonempty lines of a published list, each once. Raises BadInput."""
    with reading(path, what):
        return different(lines(path, what))


def _lines(text: str) -> list[str]:
    if entries := [line for each in text.splitlines() if (line := each.strip())]:
        return entries
    raise BadInput("it is empty; write one name per line, or download it again")


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


# -- class names ----------------------------------------------------------------------------------

_CLASS = (*USUAL["class"], "name", "names", "classes", "categories", "display_name")
_CODE = r"/[a-z]/\w+|n\d{8}"  # of a class in Open Images or ImageNet, before its name
_NUMBERED = (
    re.compile(r"(?P<n>\d+)(\s*[:;,|=\t]\s*|[.)]?\s+)(?P<name>\S.*)"),
    re.compile(r"(?P<name>\S.*?)\s*[:;,|=\t]\s*(?P<n>\d+)"),
    re.compile(rf"({_CODE})[:;,|=\s]\s*(?P<name>\S.*)"),
)
_MARKED = re.compile(r"[-*•]\s+(?P<name>.*)")
_QUOTED = re.compile(r"""^"([^"]*)",?$|^'([^']*)',?$""")
_BETWEEN = re.compile(r"[,;|\t]")
_TABLES = (".csv", ".tsv")


def class_names(path: AnyPath) -> tuple[str, ...]:
    """Read class names, each once.

    Parameters
    ----------
    path : path
        Text with one name per line, where numbers, codes, a header and comments are left out; a
        table with a column class; JSON (a list of names, numbers and names, or categories); or a
        YAML file with names.

    Returns
    -------
    tuple of str

    Warns
    -----
    UserWarning
        Where something in the file is not read as a name, or a name may be none.

    Raises
    ------
    BadInput
        If the file names no classes, or one of them twice.
    """
    with reading(path, "class names") as file:
        note = noting(file)
        names = [*map(plain, _names(file, note))]
        for name in names:
            odd = not {*name} - {*punctuation} or name.endswith("{") or name[0] == "<"
            if odd or SHEET_ERROR.fullmatch(name):
                raise BadInput(f"{name[:60]!r} is not a class name; write one name per line")
        different(names)
        note_classes(names, note, alone=names)
        return tuple(names)


def _names(file: Path, note: Callable[[str], None]) -> list[str]:
    """The names in a file of any kind."""
    kind = file.suffix.lower()
    if kind in ENDINGS and kind not in (*_TABLES, ".txt", ".json"):
        return _column(read_table(file))
    notes: list[str] = []
    text = text_of(file, notes.append)
    entries = _lines(text)
    if text.lstrip().startswith("['") and (names := listed(text.strip())):
        return names  # as Python writes them
    cells = _BETWEEN.split(entries[0])
    header = bool({*map(key, cells)} & {*map(key, _CLASS)}) and len(entries) > 1
    in_yaml = kind in (".yaml", ".yml") or re.search(r"^names\s*:", text, re.MULTILINE)
    in_json = kind == ".json" or re.match(r"\s*(\[\s*[\"{\]]|\{\s*\")", text)
    if header and (len(cells) > 1 or kind in _TABLES) and not in_yaml and not in_json:
        return _column(read_table(file))
    for each in notes:
        note(each)
    if in_yaml or in_json:
        return _of_yaml(text) if in_yaml else _of_json(parse_json(text))
    if len(entries) == 1 and len(cells) > 1:
        raise BadInput("it is one line with several names; write one name per line")
    comments = [line for line in entries if line.startswith("#")]
    if 0 < len(comments) < len(entries):
        note(f"lines with # are comments, such as {comments[0][:60]!r}")
        entries = [line for line in entries if line not in comments]
    if header:
        note(f"the first line, {entries[0]!r}, is read as a header")
    names = _bare(entries[header:], note)
    if kind in _TABLES and names[0] == entries[0]:
        note(f"the first row, {names[0]!r}, counts as a class; call it class if it is a "
                   "header")  # fmt: skip
    several = [name for name in names if _BETWEEN.search(name)]
    if several and kind in _TABLES:
        raise BadInput("several columns, of which none is called class; call one class")
    if several:
        note(f"lines that may name several classes and count as one: {counted(several)}; write "
             "one name per line if they do")  # fmt: skip
    return names


def _bare(entries: list[str], note: Callable[[str], None]) -> list[str]:
    """The names in lines, without numbers, codes or marks that all of them have."""
    names = [_QUOTED.sub(r"\1\2", entry) for entry in entries]
    if len(names) > 1 and all(name.endswith(",") for name in names[:-1]):
        names = [name.removesuffix(",") for name in names]
    for pattern in (_MARKED, *_NUMBERED):
        parts = [part for name in names if (part := pattern.fullmatch(name))]
        if len(parts) == len(names):
            inner = [_QUOTED.sub(r"\1\2", part["name"]) for part in parts]
            numbers = [int(part["n"]) for part in parts] if "n" in pattern.groupindex else [0]
            rising = numbers[0] < 2 and all(a < b for a, b in pairwise(numbers))
            if len(numbers) < len(names) or (rising and len({*inner}) == len(inner)):
                names = inner
    if names != entries:
        note(f"{entries[0]!r} names class {names[0]!r}; give a table with a column class if the "
             "rest is part of the names")  # fmt: skip
    return names


def _column(table: Table) -> list[str]:
    """The column of class names in a table."""

    def fits(column: Column) -> bool:
        return not all(text.isdigit() or re.fullmatch(_CODE, text) for text in column.texts)

    return table.column(("class", "display_name", *_CLASS), "the class", fits=fits).cells()


def _of_json(value: Any) -> list[str]:
    """The names in JSON: a list, numbers with names, names with numbers, or categories."""
    if isinstance(value, dict):
        for name in ("names", "classes", "categories", "labels"):
            if isinstance(value.get(name), list | dict):
                return _of_json(value[name])
        if value and all(number.isdigit() for number in value):
            value = [value[number] for number in sorted(value, key=int)]
        elif value and all(type(number) is int for number in value.values()):
            value = sorted(value, key=value.__getitem__)
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        value = [next((each[name] for name in _CLASS if name in each), None) for each in value]
    if value and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    raise BadInput("it is JSON without a list of class names; write one name per line")


def _of_yaml(text: str) -> list[str]:
    """The names in the YAML file of a data set: a list or numbers with names."""
    text = re.sub(r"(^|[ \t])#.*$", "", text, flags=re.MULTILINE)
    block = re.search(
        r"^names[ \t]*:[ \t]*\n((?:[ \t]*\n|[ \t]+\S.*\n|-.*\n)*)", text + "\n", re.MULTILINE
    )
    flow = re.search(r"^names[ \t]*:\s*[\[{]([^\]}]*)[\]}]", text, re.MULTILINE)
    parts = re.findall(r"""((?:"[^"]*"|'[^']*'|[^,"'])+)(?:,|$)""", flow[1]) if flow else []
    entries = [each.strip() for each in parts or (block[1] if block else "").splitlines()]
    if not (entries := [*filter(None, entries)]):
        raise BadInput("it has no list called names; write one name per line")
    names = _bare([re.sub(r"^\d+\s*:\s*", "", entry) for entry in entries], lambda _: None)
    number = re.search(r"^nc\s*:\s*(\d+)", text, re.MULTILINE)
    if number and int(number[1]) != len(names):
        raise BadInput(f"nc is {number[1]}, and there are {len(names)} names; correct it")
    return names
