"""Lists in text files and folders, as published data sets bring them."""

from __future__ import annotations

import os
from collections import Counter
from os import PathLike
from pathlib import Path

from simkit.errors import BadInput
from simkit.files import expanded
from simkit.labels.formats.base import reading, text_ids


def folder(path: str | PathLike[str], what: str) -> Path:
    """`path` as a Path, known to be a folder. Raises BadInput naming it and `what` it should be."""
    place = expanded(path)
    if os.path.isdir(place):
        return place
    raise BadInput(f"{place} is {'a file' if os.path.isfile(place) else 'not there'}; give {what}")


def lines(path: str | PathLike[str], what: str) -> list[str]:
    """The lines that hold something, without blanks at either end. Raises BadInput for none."""
    with reading(path, what) as file:
        text = file.read_bytes().decode("utf-8-sig")
        entries = [line for each in text.split("\n") if (line := each.strip())]
        if not entries:
            raise BadInput("it is empty; fetch it again")
        return entries


def different(names: list[str]) -> list[str]:
    """The names of images or classes, of which none occurs twice. Raises BadInput."""
    text_ids(names)  # no name is far too long
    if len(set(names)) != len(names):
        ((twice, _),) = Counter(names).most_common(1)
        raise BadInput(f"{twice[:100]!r} occurs twice; keep one line")
    return names
