"""What was done to make a value, and the content id that names it.

A history holds no clock, host or path: the same work gives the same history anywhere.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from simkit.errors import BadInput


@dataclass(frozen=True)
class History:
    """The call that made a value: `command` with `settings` and `seed` on values `parents`."""

    command: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    parents: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    def to_json(self) -> str:
        """As JSON text with sorted keys, so that equal histories are equal texts."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> History:
        """Read back what `to_json` wrote. Raises BadInput for anything else."""
        try:
            fields = json.loads(text)
            history = History(**{**fields, "parents": tuple(fields["parents"])})
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise BadInput(
                f"the history in this file cannot be read ({error}); write the file again"
            ) from None
        fine = isinstance(history.command, str) and isinstance(history.settings, dict)
        fine &= history.seed is None or type(history.seed) is int
        fine &= isinstance(history.versions, dict) and isinstance(fields["parents"], list)
        if not fine or not all(isinstance(parent, str) for parent in history.parents):
            raise BadInput(
                "the history in this file cannot be read (a field has another type); "
                "write the file again"
            )
        return history


def versions() -> dict[str, str]:
    """Versions that can change a result: of simkit, numpy and Python."""
    return {"simkit": _own(), "numpy": np.__version__, "python": platform.python_version()}


@cache  # it is looked up among files
def _own() -> str:
    try:
        return metadata.version("simkit")
    except metadata.PackageNotFoundError:
        return "unknown"


def content_id(*parts: np.ndarray | str | bytes | None) -> str:
    """Sixteen hexadecimal digits that depend on the content of `parts` alone.

    Arrays count by shape, kind of number and values: the width in which integers are stored does
    not change the id, nor does memory order.
    """
    digest = hashlib.sha256()
    for part in parts:
        if part is None:
            digest.update(b"none;")
        elif isinstance(part, str):
            _feed(digest, b"text", part.encode())
        elif isinstance(part, bytes):
            _feed(digest, b"bytes", part)
        else:
            kind, data = _canonical(part)
            _feed(digest, f"{kind}{part.shape}".encode(), data)
    return digest.hexdigest()[:16]


def _feed(digest: Any, head: bytes, data: Any) -> None:
    digest.update(head + b":" + str(memoryview(data).nbytes).encode() + b";")
    digest.update(data)


def _canonical(array: np.ndarray) -> tuple[str, Any]:
    if array.dtype.kind in "US":
        return "text", json.dumps(array.tolist()).encode()
    if array.dtype.kind == "b":
        return "bool", np.ascontiguousarray(array).view(np.uint8).data
    if array.dtype.kind in "iu":
        if array.dtype.itemsize == 1:
            return "int8", np.ascontiguousarray(array, dtype=np.int8).data
        return "int", np.ascontiguousarray(array, dtype="<i8").data
    if array.dtype.kind == "f":
        return f"float{array.dtype.itemsize}", np.ascontiguousarray(array).data
    raise TypeError(f"arrays of {array.dtype} have no content id")
