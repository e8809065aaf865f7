"""The history of a value, and its content id.

A history holds no time, host or path: the same work has the same history on every machine.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from simkit.errors import BadInput

__version__ = "0.2.0"  # of simkit; pyproject.toml reads it here
_BLOCK = 1 << 15  # values made canonical at a time


@dataclass(frozen=True)
class History:
    """The call that made a value: `command` with `settings` and `seed` on the values `parents`."""

    command: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    parents: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    def to_json(self) -> str:
        """JSON with sorted keys, so that equal histories have equal texts."""
        return json.dumps(vars(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> History:
        """The history that `to_json` wrote. Raises BadInput for other text."""
        try:
            fields = json.loads(text)
            history = History(**{**fields, "parents": tuple(fields["parents"])})
            asdict(history)  # fails for settings nested so deeply that `to_json` might
            fine = isinstance(history.command, str) and isinstance(history.settings, dict)
            fine &= history.seed is None or type(history.seed) is int
            fine &= isinstance(history.versions, dict) and isinstance(fields["parents"], list)
            if not fine or not all(isinstance(parent, str) for parent in history.parents):
                raise TypeError("a field has another type")
            return history
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise BadInput(
                f"the history in this file cannot be read ({error}); write the file again"
            ) from None


def versions() -> dict[str, str]:
    """Versions of simkit, numpy and Python, which can change a result."""
    return {"simkit": __version__, "numpy": np.__version__, "python": platform.python_version()}


def content_id(*parts: np.ndarray | str | bytes | None) -> str:
    """Sixteen hexadecimal digits that depend only on the content of `parts`.

    Arrays count by shape, kind of number and values; the width of integers (two bytes and more) and
    the memory order do not matter.
    """
    digest = hashlib.sha256()
    for part in parts:
        kind = part.dtype.kind if isinstance(part, np.ndarray) else ""
        if part is None:
            digest.update(b"none;")
        elif not isinstance(part, np.ndarray) or kind in "US":
            if isinstance(part, np.ndarray):
                head, data = f"text{part.shape}", json.dumps(part.tolist()).encode()
            else:
                head = "text" if isinstance(part, str) else "bytes"
                data = part.encode() if isinstance(part, str) else part
            digest.update(f"{head}:{len(data)};".encode())
            digest.update(data)
        elif kind in "biuf":
            size = part.dtype.itemsize
            name, stored = f"float{size}", part.dtype
            if kind == "b":
                name, stored = "bool", np.dtype("u1")
            elif kind in "iu":
                name, stored = ("int8", np.dtype("i1")) if size == 1 else ("int", np.dtype("<i8"))
            digest.update(f"{name}{part.shape}:{part.size * stored.itemsize};".encode())
            flat = part.reshape(-1)
            for start in range(0, len(flat), _BLOCK):
                block = np.ascontiguousarray(flat[start : start + _BLOCK], dtype=stored)
                digest.update(block.data)
        else:
            raise TypeError(f"arrays of {part.dtype} have no content id")
    return digest.hexdigest()[:16]


def sha256(data: bytes) -> str:
    """The SHA-256 of bytes in hexadecimal digits, as other programs print it."""
    return hashlib.sha256(data).hexdigest()


def sealed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for a JSON file, with a checksum that `unsealed` verifies."""
    values = json.loads(json.dumps(facts))  # with the keys that a reader will see
    return {**values, "checksum": content_id(json.dumps(values, sort_keys=True))}


def unsealed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a JSON file without their checksum; files of version 0.1 have none.

    Raises ValueError if they do not match it.
    """
    values = {name: value for name, value in facts.items() if name != "checksum"}
    checksum = sealed(values)["checksum"]
    if facts.get("checksum", checksum) != checksum:
        raise ValueError("the content does not match its checksum")
    return values
