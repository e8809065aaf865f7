"""Finished jobs on disk: a file each, and a note of what is under way in a folder.

A file is named after the job's key and the hash of the code that ran it: KEY-CODE.arrows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from simkit.errors import BadInput
from simkit.files import whole

PLAN = "plan.json"  # what is under way in a folder; removed once its results are written
_DIGEST = hashlib.sha256().digest_size
_OLD = 3600.0  # seconds: no file takes as long to write
_NOTHING: dict[str, Any] = {"grid": "", "keys": [], "classes": [], "leaves": []}


@dataclass(frozen=True, eq=False)
class Result:
    """The runs of a finished job, one row each, and a sentence for each method that failed."""

    table: pa.Table
    failures: Mapping[str, str] = field(default_factory=dict)


def save(result: Result, folder: Path, stem: str) -> None:
    """Write one finished job as `folder/STEM.arrows`; the file appears whole.

    It is an Arrow stream (polars.read_ipc_stream opens it) and the SHA-256 of its bytes behind it:
    thousands of them are read in a second, which JSON or parquet would take ten for.
    """
    about = {"key": stem, "failures": json.dumps(dict(result.failures), ensure_ascii=False)}
    table = result.table.replace_schema_metadata(about)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content = sink.getvalue().to_pybytes()
    with whole(_path(folder, stem)) as part:
        part.write_bytes(content + hashlib.sha256(content).digest())


def load(folder: Path, stem: str, schema: pa.Schema) -> Result | None:
    """A finished job with these columns; None where there is none, or a warning and None where the
    file is damaged: then the job runs again. Raises BadInput for a folder of that name."""
    path = _path(folder, stem)
    try:
        content = memoryview(path.read_bytes())
        content, digest = content[:-_DIGEST], content[-_DIGEST:]
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("the content is not what was written")
        table = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
        about = table.schema.metadata
        if about[b"key"] != stem.encode() or not table.schema.equals(schema):
            raise ValueError("the content is that of another job")
        return Result(table.replace_schema_metadata(None), json.loads(about[b"failures"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, pa.ArrowException):
        if path.is_dir():
            raise BadInput(
                f"{path} is a folder where a file with results belongs; move it away"
            ) from None
        warnings.warn(f"{path} is damaged; its runs are repeated", stacklevel=2)
        return None


def finished(folder: Path, stem: str) -> bool:
    """Whether a job is stored; its content is not looked at."""
    return _path(folder, stem).is_file()


def codes(folder: Path, keys: Iterable[str]) -> Counter[str]:
    """How many of these jobs are stored, by the hash of the code that ran them."""
    wanted = set(keys)
    stems = (path.stem.rpartition("-") for path in folder.glob("*-*.arrows"))
    return Counter(code for key, _, code in stems if key in wanted)


def begin(
    folder: Path, *, grid: str, keys: Sequence[str], classes: Sequence[str], leaves: Sequence[int]
) -> None:
    """Note what is under way in a folder: the grid as TOML, and what its jobs' files are called.

    What processes that were killed left half written is removed.
    """
    plan = {"grid": grid, "keys": list(keys), "classes": list(classes), "leaves": list(leaves)}
    with whole(folder / PLAN) as part:
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
        return {name: plan[name] for name in _NOTHING}
    except (OSError, ValueError, KeyError, TypeError):
        return dict(_NOTHING)


def _path(folder: Path, stem: str) -> Path:
    return folder / f"{stem}.arrows"
