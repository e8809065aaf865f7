"""Where the cards of a label file are, and whether those that are there are about its labels."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

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


def _names(path: Path, content_id: bytes) -> bool:
    try:
        with path.open("rb") as stream:
            return content_id in stream.read(_MOST)
    except OSError:  # not there, or a folder
        return False
