"""Results as files: one JSON file for each finished bundle, and the tidy table of them all."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from simkit.errors import BadInput
from simkit.files import readable, whole
from simkit.history import content_id

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        ("scheme", pa.string()),  # as the grid says it
        ("scheme_spec", pa.string()),  # complete, with the amount that was bought
        ("method", pa.string()),
        ("method_spec", pa.string()),
        ("reference", pa.bool_()),  # everything labelled, at its own cost
        ("budget", pa.float64()),  # dollars; null: the amounts as written
        ("draw", pa.int64()),
        ("seed", pa.int64()),
        ("dollars", pa.float64()),  # what the training labels cost
        ("seconds", pa.float64()),  # of people's time; null: not known
        ("validation_dollars", pa.float64()),  # charged to the same budget
        ("images", pa.int64()),  # asked images; present + absent + unknown = images x classes
        ("present", pa.int64()),
        ("absent", pa.int64()),
        ("unknown", pa.int64()),
        ("map", pa.float64()),  # mean AP over leaf classes, 0 to 1, on the test split
        ("map_all", pa.float64()),  # over all classes
        ("map_o", pa.float64()),  # leaf classes weighted by their positives
        ("ap", pa.list_(pa.float64())),  # of every class; null: present nowhere in the test split
        ("epochs", pa.int64()),  # the epoch whose weights are scored
        ("lr", pa.float64()),
        ("select", pa.string()),
        ("validation", pa.string()),
        ("train_seconds", pa.float64()),
        ("peak_memory_mb", pa.float64()),  # of the process so far
        ("notes", pa.list_(pa.string())),  # what annotation warned about
        ("labels_id", pa.string()),
        ("truth_id", pa.string()),
        ("test_id", pa.string()),
        ("features_id", pa.string()),
        ("key", pa.string()),
    ]
)
MEASURED = ("train_seconds", "peak_memory_mb")  # all other columns repeat bit for bit


def save(rows: Sequence[Row], *, folder: Path, key: str) -> None:
    """Write one finished bundle as `folder/KEY.json`; the file appears whole."""
    record = {"key": key, "rows": list(rows), "check": _check(rows)}
    with whole(folder / f"{key}.json") as part:
        part.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def load(folder: Path, key: str) -> list[Row] | None:
    """The rows of a finished bundle; None where there is none, or a warning and None where the
    file is damaged: then its bundle runs again."""
    path = folder / f"{key}.json"
    if not path.is_file():
        return None
    try:
        return _read(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        warnings.warn(f"{path} is damaged; its runs are repeated", stacklevel=2)
        return None


def _read(path: Path) -> list[Row]:
    record = json.loads(path.read_text(encoding="utf-8"))
    rows: list[Row] = record["rows"]
    if record["key"] != path.stem or record["check"] != _check(rows):
        raise ValueError("the content is not what was written")
    return rows


def _check(rows: Sequence[Row]) -> str:
    return content_id("rows", json.dumps(rows, sort_keys=True))


def table(folder: str | PathLike[str]) -> pa.Table:
    """All runs of a comparison's folder, one row each; the columns are those of `SCHEMA`.

    Reads the table that `compare` left, or, where it did not come to its end, the bundles that
    are there. Raises BadInput where the folder holds neither.
    """
    place = Path(folder)
    if (place / "table.parquet").is_file():
        return pyarrow.parquet.read_table(place / "table.parquet")
    if not place.is_dir():
        raise BadInput(f"{place} is not a folder; give the folder that `simkit compare` wrote to")
    found = (
        load(place / "bundles", path.stem) for path in sorted((place / "bundles").glob("*.json"))
    )
    rows = [row for one in found if one for row in one]
    if not rows:
        raise BadInput(
            f"{place} holds no finished runs; give the folder that `simkit compare` wrote to"
        )
    return tidy(rows, classes=())


def tidy(rows: Iterable[Row], *, classes: Sequence[str]) -> pa.Table:
    """Rows as a table with `SCHEMA`; the names of the classes of `ap` stand in its metadata."""
    metadata = {"classes": json.dumps(list(classes), ensure_ascii=False)}
    return pa.Table.from_pylist(list(rows), schema=SCHEMA.with_metadata(metadata))


def class_names(runs: pa.Table) -> tuple[str, ...]:
    """Names of the classes in the order of `ap`; empty where the table does not say."""
    stored: Mapping[bytes, bytes] = runs.schema.metadata or {}
    return tuple(json.loads(stored.get(b"classes", b"[]")))


def write(runs: pa.Table, folder: Path) -> None:
    """Write table.parquet, and table.csv without the lists: notes and the AP of each class."""
    with whole(folder / "table.parquet") as part:
        pyarrow.parquet.write_table(runs, part, compression="zstd")
    with whole(folder / "table.csv") as part:
        pyarrow.csv.write_csv(runs.drop_columns(["ap", "notes"]), part)


def describe(folder: str | PathLike[str]) -> dict[str, Any]:
    """Facts about a comparison's folder, and as `text` what a person wants to read."""
    place = Path(folder)
    runs = table(place)
    compared = runs.filter(pc.invert(runs["reference"]))  # references are not what is compared
    facts: dict[str, Any] = {
        "runs": len(runs),
        "schemes": compared["scheme"].unique().to_pylist(),
        "methods": compared["method"].unique().to_pylist(),
        "budgets": [b for b in compared["budget"].unique().to_pylist() if b is not None],
        "draws": len(runs["draw"].unique()),
    }
    lines = [
        f"{facts['runs']} runs: {len(facts['schemes'])} schemes, {len(facts['methods'])} methods, "
        f"{facts['draws']} draws"
    ]
    if (place / "summary.md").is_file():
        lines.append(readable(place / "summary.md", "a summary").read_text(encoding="utf-8"))
    return facts | {"text": "\n".join(lines)}
