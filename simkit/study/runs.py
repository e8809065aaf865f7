"""What a run leaves: the columns of its row, and the tidy table of all rows.

The table is Arrow's, which other libraries take as it is, lists included:

    table = runs.table("runs/")          # or pyarrow.parquet.read_table("runs/table.parquet")
    table.to_pandas()                    # pandas
    polars.from_arrow(table)             # polars
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from simkit.errors import BadInput, unknown
from simkit.files import whole
from simkit.study import kept
from simkit.study.columns import COLUMNS

Row = dict[str, Any]
SWEEP = -1  # the draw in which settings are tried: those that are compared count from 0


@dataclass(frozen=True)
class Done:
    """The rows of a bundle, and a sentence for each of its methods that failed.

    lasting: those would fail again; otherwise the bundle is not kept as finished.
    """

    rows: list[Row]
    failures: Mapping[str, str] = field(default_factory=dict)
    lasting: bool = True


SCHEMA = pa.schema([(name, column.type) for name, column in COLUMNS.items()])
MEASURED = ("train_seconds", "bundle_seconds", "peak_memory_mb")  # others repeat bit for bit
LISTS = tuple(field.name for field in SCHEMA if pa.types.is_list(field.type))


def told(error: Exception) -> str:
    """An error as one sentence; what is no fault of the input has its type in front."""
    return str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"


def table(folder: str | PathLike[str], *, columns: Sequence[str] | None = None) -> pa.Table:
    """All runs of a comparison's folder, one row each.

    Columns: those of `study.columns.COLUMNS`, which says what each means; so does the command
    `simkit list columns`.

    Reads the table that `compare` left, or, where none came to its end yet, the finished bundles
    of the grid that is under way. columns: only these. Raises BadInput where there is neither.
    """
    place = Path(folder)
    if (place / "table.parquet").is_file():
        return _stored(place / "table.parquet", columns)
    if not place.is_dir():
        raise BadInput(f"{place} is not a folder; give the folder that `simkit compare` wrote to")
    plan = kept.under_way(place)
    found = [kept.load(place / "bundles", key, SCHEMA) for key in plan["keys"]]
    there = [one for one in found if one]
    compared = [one for one in there if one.table["draw"][:1].to_pylist() != [SWEEP]]
    parts = [one.table.select(list(columns or SCHEMA.names)) for one in compared]
    if not sum(map(len, parts)) and plan["keys"]:
        raise BadInput(
            f"{place} holds a comparison under way of which no runs are finished yet ({len(there)} "
            f"of {len(found)} bundles are there{_of_a_sweep(there)}); the same `simkit compare` "
            "goes on with it"
        )
    if not sum(map(len, parts)):
        raise BadInput(
            f"{place} holds no finished runs; give the folder that `simkit compare` wrote to"
        )
    why = [f"{what}: {why}" for one in compared for what, why in one.failures.items()]
    found_runs = together(parts, classes=plan["classes"], leaves=plan["leaves"])
    return with_failures(found_runs, why)


def _of_a_sweep(there: Sequence[kept.Kept]) -> str:
    of_sweep = any(SWEEP in one.table["draw"].to_pylist() for one in there)
    return ", those of the sweep that chooses settings" if of_sweep else ""


def _stored(path: Path, columns: Sequence[str] | None) -> pa.Table:
    for name in columns or ():
        if name not in SCHEMA.names:
            raise unknown("column of a table of runs", name, SCHEMA.names)
    try:
        return pyarrow.parquet.read_table(path, columns=list(columns) if columns else None)
    except (OSError, pa.ArrowException):
        raise BadInput(
            f"{path} cannot be read as the table of a comparison; remove it and compare again"
        ) from None


def together(
    parts: Sequence[pa.Table], *, classes: Sequence[str], leaves: Sequence[int] = ()
) -> pa.Table:
    """The rows of several tables as one; what `tidy` says of classes stands in its metadata."""
    found = pa.concat_tables(parts or [SCHEMA.empty_table()]).combine_chunks()
    return found.replace_schema_metadata(_metadata(classes, leaves))


def tidy(rows: Iterable[Row], *, classes: Sequence[str], leaves: Sequence[int] = ()) -> pa.Table:
    """Rows as a table with `SCHEMA`; the names of the classes of `ap` stand in its metadata.

    leaves: the places of those without children, whose mean AP is `map`; none: nobody says.
    """
    about = _metadata(classes, leaves)
    return pa.Table.from_pylist(list(rows), schema=SCHEMA.with_metadata(about))


def _metadata(classes: Sequence[str], leaves: Sequence[int]) -> dict[str, str]:
    return {
        "classes": json.dumps(list(classes), ensure_ascii=False),
        "leaves": json.dumps([int(place) for place in leaves]),
    }


def class_names(runs: pa.Table) -> tuple[str, ...]:
    """Names of the classes in the order of `ap`; empty where the table does not say."""
    stored: Mapping[bytes, bytes] = runs.schema.metadata or {}
    return tuple(json.loads(stored.get(b"classes", b"[]")))


def leaves(runs: pa.Table) -> tuple[int, ...]:
    """Places of the classes without children; empty where the table does not say."""
    stored: Mapping[bytes, bytes] = runs.schema.metadata or {}
    return tuple(json.loads(stored.get(b"leaves", b"[]")))


def with_failures(runs: pa.Table, why: Iterable[str], *, planned: int = 0) -> pa.Table:
    """The table with what failed in its metadata: a sentence for each failure, and how many runs
    there were to be (0: nobody says)."""
    about = {b"failures": json.dumps(list(why), ensure_ascii=False), b"planned": str(planned)}
    return runs.replace_schema_metadata({**(runs.schema.metadata or {}), **about})


def failures(runs: pa.Table) -> tuple[str, ...]:
    """A sentence for each bundle or method that failed."""
    stored: Mapping[bytes, bytes] = runs.schema.metadata or {}
    return tuple(json.loads(stored.get(b"failures", b"[]")))


def planned(runs: pa.Table) -> int:
    """How many runs there were to be; 0 where the table does not say."""
    stored: Mapping[bytes, bytes] = runs.schema.metadata or {}
    return int(stored.get(b"planned", b"0"))


def writers(runs: pa.Table) -> dict[str, Callable[[Path], object]]:
    """What writes table.parquet, and table.csv without the columns that hold lists."""
    flat = runs.drop_columns(list(LISTS))
    return {
        "table.parquet": lambda at: pyarrow.parquet.write_table(runs, at, compression="zstd"),
        "table.csv": lambda at: pyarrow.csv.write_csv(flat, at),
    }


def write(files: Mapping[str, Callable[[Path], object]], folder: Path) -> None:
    """Write files that belong together: none is put in place before all of them are ready."""
    with ExitStack() as ready:
        for name, writer in files.items():
            writer(ready.enter_context(whole(folder / name)))
