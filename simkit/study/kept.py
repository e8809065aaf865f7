"""Finished work on disk: one file for each bundle, and a note of what is under way in a folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from simkit.errors import BadInput
from simkit.files import whole

PLAN = "plan.json"  # what is under way in a folder; gone once its results are written
_DIGEST = hashlib.sha256().digest_size
_OLD = 3600.0  # seconds: nobody takes as long to write one file


@dataclass(frozen=True, eq=False)
class Kept:
    """The runs of a finished bundle, one row each, and a sentence for each method that failed."""

    table: pa.Table
    failures: Mapping[str, str] = field(default_factory=dict)


def place(folder: Path, key: str) -> Path:
    """Where the bundle of that key is kept."""
    return folder / f"{key}.arrows"


def save(kept: Kept, *, folder: Path, key: str) -> None:
    """Write one finished bundle as `folder/KEY.arrows`; the file appears whole.

    It is an Arrow stream (polars.read_ipc_stream opens it) and the SHA-256 of its bytes behind it:
    thousands of them are read in a second, which JSON or parquet would take ten for.
    """
    about = {"key": key, "failures": json.dumps(dict(kept.failures), ensure_ascii=False)}
    table = kept.table.replace_schema_metadata(about)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content = sink.getvalue().to_pybytes()
    with whole(place(folder, key)) as part:
        part.write_bytes(content + hashlib.sha256(content).digest())


def load(folder: Path, key: str, schema: pa.Schema) -> Kept | None:
    """A finished bundle with these columns; None where there is none, or a warning and None where
    the file is damaged: then its bundle runs again. Raises BadInput for a folder of that name."""
    path = place(folder, key)
    try:
        return _read(path, key, schema)
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise _folder(path) from None
    except (OSError, ValueError, KeyError, pa.ArrowException):
        if path.is_dir():  # other platforms' error for it
            raise _folder(path) from None
        warnings.warn(f"{path} is damaged; its runs are repeated", stacklevel=2)
        return None


def _folder(path: Path) -> BadInput:
    return BadInput(f"{path} is a folder where a file with results belongs; move it away")


def _read(path: Path, key: str, schema: pa.Schema) -> Kept:
    whole_file = memoryview(path.read_bytes())
    content, digest = whole_file[:-_DIGEST], whole_file[-_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError("the content is not what was written")
    table = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
    about = table.schema.metadata
    if about[b"key"] != key.encode() or not table.schema.equals(schema):
        raise ValueError("the content is that of another bundle")
    return Kept(table.replace_schema_metadata(None), json.loads(about[b"failures"]))


def is_there(folder: Path, key: str) -> bool:
    """Whether a bundle is kept; its content is not looked at."""
    return place(folder, key).is_file()


def begin(
    folder: Path,
    *,
    grid: str,
    keys: Sequence[str],
    classes: Sequence[str],
    leaves: Sequence[int] = (),
) -> None:
    """Note what is under way in a folder: the grid as TOML and the keys of its bundles.

    leaves: the places of the classes without children; none: nobody says. What processes that were
    killed had half written is removed.
    """
    with whole(folder / PLAN) as part:
        plan = {"grid": grid, "keys": list(keys), "classes": list(classes), "leaves": list(leaves)}
        part.write_text(json.dumps(plan, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for half in [*folder.glob(".*.part"), *(folder / "bundles").glob(".*.part")]:
        # Another process may be writing in this folder now, so what is young is left alone.
        with contextlib.suppress(OSError):
            if time.time() - half.stat().st_mtime > _OLD:
                half.unlink()


def ended(folder: Path) -> None:
    """Note that nothing is under way any more."""
    (folder / PLAN).unlink(missing_ok=True)


def under_way(folder: Path) -> dict[str, Any]:
    """Grid, keys, classes and leaves of what is under way; empty where nothing is."""
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        return {name: plan[name] for name in ("grid", "keys", "classes", "leaves")}
    except (OSError, ValueError, KeyError, TypeError):
        return {"grid": "", "keys": [], "classes": [], "leaves": []}
