"""Where the cards of a label file are, and whether those that are there are about its labels."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from simkit.errors import BadInput

_MOST = 1 << 26  # bytes that are looked through


def paths(file: str | PathLike[str]) -> tuple[Path, Path]:
    """For labels in `fpc.parquet`: `fpc.card.md`, to read, and `fpc.croissant.json`, for machines.

    They are beside the file, there or not.
    """
    labels = Path(file)
    return tuple(labels.with_name(labels.stem + end) for end in (".card.md", ".croissant.json"))  # type: ignore[return-value]


def about(file: str | PathLike[str], content_id: str) -> tuple[Path, ...]:
    """The cards beside `file` that are there and name these labels by their content id."""
    return tuple(path for path in paths(file) if _names(path, content_id.encode()))


def own(file: str | PathLike[str]) -> tuple[Path, ...]:
    """The cards beside `file` that name it: about labels that it holds, or held."""
    return tuple(path for path in paths(file) if _names(path, os.fsencode(Path(file).name)))


def check_free(file: str | PathLike[str], content_id: str) -> None:
    """Raise BadInput where the place of a card is taken by what is neither a card of this file nor
    of the same labels in another form."""
    for path in paths(file):
        if path.is_file() and path not in (*own(file), *about(file, content_id)):
            raise BadInput(
                f"{path} is there and is no card of {Path(file).name}; move it away, give --out "
                "another name, or leave cards away with --no-card"
            )


def _names(path: Path, text: bytes) -> bool:
    try:
        with path.open("rb") as stream:
            return text in stream.read(_MOST)
    except OSError:  # not there, or a folder
        return False
