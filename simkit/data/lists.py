"""Folders and lists in text files, as in published data sets."""

from __future__ import annotations

import os
from collections import Counter
from os import PathLike
from pathlib import Path

from simkit.errors import BadInput
from simkit.files import expanded, reading
from simkit.labels.formats.base import text_ids


def folder(path: str | PathLike[str], what: str) -> Path:
    """`path` as a Path, checked to be a folder. Raises BadInput; `what` is expected there."""
    place = expanded(path)
    if os.path.isdir(place):
        return place
    problem = "is a file" if os.path.isfile(place) else "does not exist"
    raise BadInput(f"{place} {problem}; give {what}")


def lines(path: str | PathLike[str], what: str) -> list[str]:
    """The nonempty lines, stripped. Raises BadInput if there are none."""
    with reading(path, what) as file:
        text = file.read_bytes().decode("utf-8-sig")
        entries = [line for each in text.split("\n") if (line := each.strip())]
        if not entries:
            raise BadInput("it is empty; write one entry per line, or download it again")
        return entries


def class_names(path: str | PathLike[str]) -> tuple[str, ...]:
    """The classes in a text file, one per line, each once. Raises BadInput."""
    with reading(path, "class names"):
        names = lines(path, "class names")
        if len(names) == 1 and "," in names[0]:
            raise BadInput("it is one line with commas; write one class per line")
        return tuple(different(names))


def different(names: list[str]) -> list[str]:
    """The names of images or classes, checked to be unique. Raises BadInput."""
    text_ids(names)  # refuses far too long names
    if len(set(names)) != len(names):
        ((twice, _),) = Counter(names).most_common(1)
        raise BadInput(f"{twice[:100]!r} occurs twice; keep one line")
    return names
