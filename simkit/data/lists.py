"""Folders and lists in text files, as in published data sets."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from simkit.errors import BadInput, printable
from simkit.files import AnyPath, expanded, reading
from simkit.labels.formats.base import text_ids


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


def class_names(path: AnyPath, what: str = "class names") -> tuple[str, ...]:
    """The classes (or images) in a text file, one per line, each once. Raises BadInput."""
    with reading(path, what):
        names = lines(path, what)
        if len(names) == 1 and "," in names[0]:
            raise BadInput("it is one line with commas; write one name per line")
        return tuple(different(names))


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
