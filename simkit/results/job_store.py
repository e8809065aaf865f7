"""Finished jobs on disk, a file for each, and the plan of the comparison under way in a folder.

A file is named after the key of the job and the hash of the code that ran it: KEY-CODE.arrows. The
finished trainings of a job under way are files KEY-CODE.ID.stack, until the job is stored.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from simkit.errors import BadInput, unknown
from simkit.files import reading, whole
from simkit.history import content_id
from simkit.registry import convert
from simkit.results.method_facts import FACTS, parsed

PLAN = "plan.json"  # the comparison under way in a folder; removed once its results are written
JOB, STACK = ".arrows", ".stack"  # endings of a finished job, and of finished trainings of one
CHECKSUM = "checksum"  # of the facts, in tables of version 0.2.0 and later
_DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True, eq=False)
class Result:
    """The runs of a finished job, one row each, and a sentence for each method that failed.

    lasting: whether the failures would repeat; otherwise the job is not stored as finished.
    """

    table: pa.Table
    failures: Mapping[str, str] = field(default_factory=dict)
    lasting: bool = True


def save(result: Result, folder: Path, stem: str, ending: str = JOB) -> None:
    """Write a finished job as `folder/STEM.arrows`; the file appears whole.

    It is an Arrow stream (polars.read_ipc_stream opens it), followed by the SHA-256 of its bytes:
    thousands of files are read in a second, ten times as fast as JSON or parquet.
    """
    metadata = {"key": stem, "failures": json.dumps(dict(result.failures), ensure_ascii=False)}
    table = result.table.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content = sink.getvalue().to_pybytes()
    with whole(folder / f"{stem}{ending}") as part:
        part.write_bytes(content + hashlib.sha256(content).digest())


def load(folder: Path, stem: str, *schemas: pa.Schema, ending: str = JOB) -> Result | None:
    """A finished job with one of these selections of columns, or None if it is missing.

    A damaged file causes a warning and None, so that the job runs again.
    """
    path = folder / f"{stem}{ending}"
    try:
        content = memoryview(path.read_bytes())
        content, digest = content[:-_DIGEST], content[-_DIGEST:]
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("the content does not match its checksum")
        table = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
        metadata = table.schema.metadata
        if metadata[b"key"] != stem.encode() or not any(map(table.schema.equals, schemas)):
            raise ValueError("the content is that of another job")
        return Result(table.replace_schema_metadata(None), json.loads(metadata[b"failures"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, pa.ArrowException):
        warnings.warn(f"{path} is damaged; its runs are repeated", stacklevel=2)
        return None


def stacks(folder: Path, stem: str) -> list[Path]:
    """The files of the finished stacks of a job under way: `folder/STEM.ID.stack`."""
    return sorted(folder.glob(f"{stem}.*{STACK}"))


def trainings(folder: Path, stem: str, *schemas: pa.Schema) -> list[str]:
    """The environment, as JSON, of each finished training of a job under way."""
    stems = (file.stem for file in stacks(folder, stem))
    results = (load(folder, stack, *schemas, ending=STACK) for stack in stems)
    return [text for one in results if one for text in one.table["environment"].to_pylist()]


def finished(folder: Path, stem: str) -> bool:
    """Whether a job is stored; its content is not checked."""
    return (folder / f"{stem}.arrows").is_file()


def codes(folder: Path) -> dict[str, list[str]]:
    """For the key of each stored job the hashes of the code that ran it, the newest first."""
    by_key: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*-*.arrows"), key=lambda path: -path.stat().st_mtime_ns):
        key, _, code = path.stem.rpartition("-")
        by_key.setdefault(key, []).append(code)
    return by_key


def check_codes(folder: Path, codes: Iterable[str]) -> None:
    """Raise BadInput for a hash of code that ran none of the stored jobs."""
    stored = {path.stem.rpartition("-")[2] for path in folder.glob("*-*.arrows")}
    for code in codes:
        if code not in stored:
            raise BadInput(f"accept: {unknown(f'code with results in {folder}', code, stored)}")


def begin(
    folder: Path,
    *,
    grid: str,
    keys: Sequence[str],
    about: Mapping[str, Any],
) -> None:
    """Write the plan of the comparison under way: its grid as TOML, and the stems of its files.

    about: the facts of its table, classes and leaves at least.
    """
    plan = {"grid": grid, "keys": list(keys), **about}
    with whole(folder / PLAN) as part:
        part.write_text(json.dumps(plan, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def ended(folder: Path) -> None:
    """Remove the plan: no comparison is under way."""
    (folder / PLAN).unlink(missing_ok=True)


def under_way(folder: Path) -> dict[str, Any]:
    """Grid, keys and facts of the comparison under way, or empty values."""
    if not (folder / PLAN).is_file():
        return {"grid": "", "keys": (), "classes": (), "leaves": ()}
    with reading(folder / PLAN, "the plan of a comparison", "compare again") as file:
        values = json.loads(file.read_text(encoding="utf-8"))
        if missing := {"grid", "keys", "classes", "leaves"}.difference(values):
            raise BadInput(f"it has no {min(missing)}")
        plan = _checked({name: values[name] for name in _KINDS if name in values})
        tomllib.loads(plan["grid"])
        return plan


_KINDS = {
    "grid": str, "keys": tuple[str, ...], "classes": tuple[str, ...], "leaves": tuple[int, ...],
    "failures": tuple[str, ...], "planned": int, "zero_shot": float, "scored_by": str, FACTS: str,
    "left_out": str, "zero_shot_over": tuple[int, ...],
    "test_images": int, "test_present": tuple[int, ...], "test_absent": tuple[int, ...],
    "compared": str, "schemes": tuple[str, ...], "assumes": tuple[str, ...],
    "paid": str, "tried": str, "untried": str, "tuned_at": str, "fit": str, "trainings": int,
    "val_images": int,
}  # fmt: skip
# Version 0.2.0 expects no others in the checksum; those of methods have one of their own.
_SUMMED = [*_KINDS][: [*_KINDS].index(FACTS)]


def facts(table: pa.Table) -> dict[str, Any]:
    """The facts of a comparison in the metadata of its table. Raises BadInput if damaged."""
    metadata = {key.decode(): text for key, text in (table.schema.metadata or {}).items()}
    try:
        if metadata.get(CHECKSUM, _checksum(metadata).encode()) != _checksum(metadata).encode():
            raise ValueError("they do not match their checksum")
        return _checked({name: json.loads(metadata[name]) for name in _KINDS if name in metadata})
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the metadata of the table are damaged ({error}); restore it") from None


def with_checksum(table: pa.Table) -> pa.Table:
    """The table with a checksum of its facts, which `facts` verifies."""
    metadata = {key.decode(): text for key, text in (table.schema.metadata or {}).items()}
    return table.replace_schema_metadata({**metadata, CHECKSUM: _checksum(metadata)})


def _checksum(metadata: Mapping[str, bytes]) -> str:
    return json.dumps(content_id(*(metadata.get(name) for name in _SUMMED)))  # all are JSON


def _checked(facts: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: convert(facts[name], _KINDS[name], name, spelled=False) for name in facts}
    if not {*values.get("leaves", ())} <= {*range(len(values.get("classes", ())))}:
        raise BadInput("leaves are no indices of the classes")
    parsed(values.get(FACTS, ""))  # raises ValueError if they are damaged
    json.dumps(values, ensure_ascii=False).encode()  # refuses half characters
    return values
