"""Where the cards of a label file are, and whether those that are there are about its labels."""

from __future__ import annotations

import json
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
    return tuple(path for path in paths(file) if content_id in _text(path))


def own(file: str | PathLike[str]) -> dict[Path, str]:
    """The cards beside `file` that name it, with their texts: about labels that it holds, or held.

    Both cards write the name as a JSON string.
    """
    texts = {path: _text(path) for path in paths(file)}
    return {path: text for path, text in texts.items() if _name(file) in text}


def check_free(file: str | PathLike[str], content_id: str) -> None:
    """Raise BadInput where the place of a card is taken by what is neither a card of this file nor
    of the same labels in another form."""
    for path in paths(file):
        if not path.is_file():
            continue
        text = _text(path)
        if _name(file) not in text and content_id not in text:
            raise BadInput(
                f"{path} is there and is no card of {Path(file).name}; move it away, give --out "
                "another name, or leave cards away with --no-card"
            )


def _name(file: str | PathLike[str]) -> str:
    quoted = json.dumps(Path(file).name, ensure_ascii=False)
    return quoted.encode("utf-8", "backslashreplace").decode()  # names may be no UTF-8


def _text(path: Path) -> str:
    """Empty where nothing is, or a folder."""
    try:
        with path.open("rb") as stream:
            return stream.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
