"""Results as files: one JSON file for each finished bundle, and the tidy table of them all."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
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
PLAN = "plan.json"  # what is under way in a folder; gone once its results are written


@dataclass(frozen=True)
class Done:
    """The rows of a bundle, and a sentence for each of its methods that failed.

    lasting: those would fail again; otherwise the bundle is not kept as finished.
    """

    rows: list[Row]
    failures: Mapping[str, str] = field(default_factory=dict)
    lasting: bool = True


SCHEMA = pa.schema(
    [
        ("scheme", pa.string()),  # as the grid says it
        ("scheme_spec", pa.string()),  # complete, with the amount that was bought
        ("method", pa.string()),
        ("method_spec", pa.string()),
        ("reference", pa.bool_()),  # everything labelled, at its own cost
        ("budget", pa.float64()),  # dollars
        ("budget_hours", pa.float64()),  # of people's time; no budget at all: amounts as written
        ("draw", pa.int64()),
        ("seed", pa.int64()),
        ("dollars", pa.float64()),  # what the training labels cost
        ("seconds", pa.float64()),  # of people's time; null: not known
        ("validation_dollars", pa.float64()),  # charged to the same budget
        ("images", pa.int64()),  # asked images; present + absent + unknown = images x classes
        ("present", pa.int64()),
        ("absent", pa.int64()),
        ("unknown", pa.int64()),
        ("class_present", pa.list_(pa.int64())),  # images each class is known to be present in
        ("class_absent", pa.list_(pa.int64())),
        ("map", pa.float64()),  # mean AP over leaf classes, 0 to 1, on the test split
        ("map_all", pa.float64()),  # over all classes
        ("map_o", pa.float64()),  # leaf classes weighted by their positives
        ("ap", pa.list_(pa.float64())),  # of every class; null: present nowhere in the test split
        ("epochs", pa.int64()),  # the epoch whose weights are scored
        ("lr", pa.float64()),
        ("select", pa.string()),
        ("validation", pa.string()),
        ("losses", pa.list_(pa.float64())),  # mean training loss of every epoch
        ("curve", pa.list_(pa.float64())),  # mAP after every epoch, empty where nobody asked
        ("curve_of", pa.string()),  # on val, or on test, by which nothing is chosen
        ("stack", pa.int64()),  # how many runs were trained together
        ("train_seconds", pa.float64()),  # of the stack, divided by its runs
        ("bundle_seconds", pa.float64()),  # of the whole bundle this run came with
        ("peak_memory_mb", pa.float64()),  # of the process so far
        ("environment", pa.string()),  # versions, platform, device: JSON
        ("notes", pa.list_(pa.string())),  # what annotation and training warned about
        ("labels_id", pa.string()),
        ("truth_id", pa.string()),
        ("test_id", pa.string()),
        ("features_id", pa.string()),
        ("key", pa.string()),
    ]
)
MEASURED = ("train_seconds", "bundle_seconds", "peak_memory_mb")  # others repeat bit for bit
LISTS = tuple(field.name for field in SCHEMA if pa.types.is_list(field.type))


def told(error: Exception) -> str:
    """An error as one sentence; what is no fault of the input has its type in front."""
    return str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"


def save(done: Done, *, folder: Path, key: str) -> None:
    """Write one finished bundle as `folder/KEY.json`; the file appears whole."""
    content = {"rows": list(done.rows), "failures": dict(done.failures)}
    record = {"key": key, **content, "check": _check(content)}
    with whole(folder / f"{key}.json") as part:
        part.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def load(folder: Path, key: str) -> Done | None:
    """A finished bundle; None where there is none, or a warning and None where the file is
    damaged: then its bundle runs again. Raises BadInput for a folder of that name."""
    path = folder / f"{key}.json"
    if path.is_dir():
        raise BadInput(f"{path} is a folder where a file with results belongs; move it away")
    if not path.is_file():
        return None
    try:
        return _read(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        warnings.warn(f"{path} is damaged; its runs are repeated", stacklevel=2)
        return None


def _read(path: Path) -> Done:
    record = json.loads(path.read_text(encoding="utf-8"))
    content = {name: record[name] for name in ("rows", "failures")}
    if record["key"] != path.stem or record["check"] != _check(content):
        raise ValueError("the content is not what was written")
    return Done(**content)


def _check(content: Mapping[str, Any]) -> str:
    return content_id("bundle", json.dumps(content, sort_keys=True))


def begin(folder: Path, *, grid: str, keys: Sequence[str], classes: Sequence[str]) -> None:
    """Note what is under way in a folder: the grid as TOML and the keys of its bundles."""
    with whole(folder / PLAN) as part:
        plan = {"grid": grid, "keys": list(keys), "classes": list(classes)}
        part.write_text(json.dumps(plan, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _under_way(folder: Path) -> dict[str, Any]:
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        return {"grid": plan["grid"], "keys": plan["keys"], "classes": plan["classes"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {"grid": "", "keys": [], "classes": []}


def table(folder: str | PathLike[str]) -> pa.Table:
    """All runs of a comparison's folder, one row each; the columns are those of `SCHEMA`.

    Reads the table that `compare` left, or, where none came to its end yet, the finished bundles
    of the grid that is under way. Raises BadInput where there is neither.
    """
    place = Path(folder)
    if (place / "table.parquet").is_file():
        return _stored(place / "table.parquet")
    if not place.is_dir():
        raise BadInput(f"{place} is not a folder; give the folder that `simkit compare` wrote to")
    plan = _under_way(place)
    found = (load(place / "bundles", key) for key in plan["keys"])
    rows = [row for done in found if done for row in done.rows]
    if not rows:
        raise BadInput(
            f"{place} holds no finished runs; give the folder that `simkit compare` wrote to"
        )
    return tidy(rows, classes=plan["classes"])


def _stored(path: Path) -> pa.Table:
    try:
        return pyarrow.parquet.read_table(path)
    except (OSError, pa.ArrowException):
        raise BadInput(
            f"{path} cannot be read as the table of a comparison; remove it and compare again"
        ) from None


def tidy(rows: Iterable[Row], *, classes: Sequence[str]) -> pa.Table:
    """Rows as a table with `SCHEMA`; the names of the classes of `ap` stand in its metadata."""
    metadata = {"classes": json.dumps(list(classes), ensure_ascii=False)}
    return pa.Table.from_pylist(list(rows), schema=SCHEMA.with_metadata(metadata))


def class_names(runs: pa.Table) -> tuple[str, ...]:
    """Names of the classes in the order of `ap`; empty where the table does not say."""
    stored: Mapping[bytes, bytes] = runs.schema.metadata or {}
    return tuple(json.loads(stored.get(b"classes", b"[]")))


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
    plan, finished = _under_way(place), place / "grid.toml"
    if plan["grid"] and not (finished.is_file() and finished.read_text("utf-8") == plan["grid"]):
        there = sum((place / "bundles" / f"{key}.json").is_file() for key in plan["keys"])
        facts["unfinished"] = f"{there} of {len(plan['keys'])} bundles"
    lines = [
        f"{facts['runs']} runs: {len(facts['schemes'])} schemes, {len(facts['methods'])} methods, "
        f"{facts['draws']} draws"
    ]
    if "unfinished" in facts:
        lines.append(f"a comparison did not come to its end here: {facts['unfinished']} are there")
    if (place / "summary.md").is_file():
        lines.append(readable(place / "summary.md", "a summary").read_text(encoding="utf-8"))
    return facts | {"text": "\n".join(lines)}
