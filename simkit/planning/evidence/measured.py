"""What a comparison's folder says to a plan: its runs, one value each, and how they were made."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from simkit.annotate import schemes
from simkit.annotate.habits import Habits
from simkit.errors import BadInput
from simkit.labels.effort import Effort
from simkit.planning.evidence import bought_by
from simkit.planning.evidence.ways import Way
from simkit.study import runs

SAME = ("backbone", "weights", "features", "pictures", "train", "validation", "tuning")
_NEEDED = (
    *("scheme", "scheme_spec", "method", "reference", "budget", "draw", "seed", "dollars"),
    *("images", "present", "absent", "map", "labels_id", "truth_id", "test_id"),
)
_EVERYTHING = "everything was bought"  # how `amount_for` says that a scheme is exhausted


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: what was asked, what was known then, and how one method scored with it.

    nominal  names the amount that was meant: the budget and its price list, or the amount written.
    effort   the questions behind its labels; None in tables from before it was kept, and then
    dollars  says what they cost, set-up included, by the list called `prices`, with the content
             `price_list`; empty: its file is not there any more.
    images, labels  asked images, known labels;  amount  of the scheme; None: images are.
    present, absent  (L,) images each class is known to be in, and not in; empty: not on file.
    score    mAP, 0 to 1;  seconds  of training;  all  whether nothing was left to buy.
    """

    way: Way
    method: str
    reference: bool
    nominal: tuple[Any, ...]
    draw: tuple[int, int]  # seed and draw
    effort: Effort | None
    dollars: float
    set_up: float
    prices: str
    price_list: str
    images: int
    labels: int
    amount: float | None
    present: tuple[int, ...]
    absent: tuple[int, ...]
    score: float
    seconds: float
    all: bool
    labels_id: str


@dataclass(frozen=True, eq=False)
class Measured:
    """The runs of one folder, and what they have in common; lost: a sentence about the others."""

    folder: str
    runs: tuple[Run, ...]
    classes: tuple[str, ...]
    truth_id: str
    test_id: str
    grid: Mapping[str, Any]
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _About:
    """What the rows of a table share; `efforts` by their text, so that each is priced once."""

    where: str
    grid: Mapping[str, Any]
    habits: Habits
    set_up: float
    price_list: str
    efforts: dict[str, Effort]

    @property
    def list(self) -> str:
        """What tells the price list from others."""
        return self.price_list or f"{self.where}: {self.grid['prices']}"


def read(folder: str | PathLike[str]) -> Measured:
    """The finished runs of a comparison's folder, those of a sweep left out.

    Reads table.parquet and grid.toml, or what is finished of a comparison under way. Raises
    BadInput that names folder and field for what no comparison writes: scores outside 0 to 1,
    costs below 0, columns that are missing, runs of several data sets in one table.
    """
    table = runs.table(folder)
    missing = [name for name in _NEEDED if name not in table.column_names]
    if missing:
        raise BadInput(
            f"the table in {folder} has no column {missing[0]!r}; compare again with this version"
        )
    if not _classes(table):
        raise BadInput(
            f"the table in {folder} does not say what its classes are; compare again with this "
            "version"
        )
    grid = bought_by.grid(Path(folder))
    rows = [row for row in table.to_pylist() if row["draw"] != runs.SWEEP]
    truth_id, test_id = (_only(rows, name, folder) for name in ("truth_id", "test_id"))
    listed = bought_by.listed(grid)
    once = 0.0 if listed is None else listed.setup + listed.setup_class * len(_classes(table))
    content = "" if listed is None else bought_by.list_id(listed)
    about = _About(str(folder), grid, bought_by.habits(grid, folder), once, content, {})
    found = tuple(_run(row, about) for row in rows if row["map"] is not None)
    if not any(not run.reference for run in found):
        raise BadInput(
            f"{folder} holds no finished runs; give the folder that `simkit compare` wrote to"
        )
    lost = tuple(_lost(table, rows, str(folder)))
    return Measured(str(folder), found, _classes(table), truth_id, test_id, grid, lost)


def _lost(table: pa.Table, rows: list[dict[str, Any]], folder: str) -> Iterator[str]:
    """A sentence where runs are missing or have no score."""
    without = [row for row in rows if row["map"] is None]
    missing, why = max(0, runs.planned(table) - len(table)), runs.failures(table)
    if not without and not missing and not why:
        return
    count = missing + len(without) or len(why)
    own = dict.fromkeys(f"{row['scheme']} with {row['method']}" for row in without)
    which = f" ({', '.join([*own][:3])}{', ...' if len(own) > 3 else ''})" if own else ""
    more = f"the first that failed: {why[0].rstrip('.')}" if why else "compare again"
    has, them = ("have", "them") if count > 1 else ("has", "it")
    yield (
        f"{count:,} run{'s' * (count > 1)} of {folder} failed or {has} no score{which}, and no "
        f"curve knows of {them}; {more}"
    )


def _classes(table: pa.Table) -> tuple[str, ...]:
    """Their names; numbers where an older table does not say."""
    names = runs.class_names(table)
    if names or "ap" not in table.column_names or not len(table):
        return names
    return tuple(f"class {c}" for c in range(len(table["ap"][0].as_py() or ())))


def _only(rows: list[dict[str, Any]], name: str, folder: str | PathLike[str]) -> str:
    """The one value of a column. Raises BadInput where there are several."""
    values = {row[name] for row in rows}
    if len(values) > 1:
        raise BadInput(
            f"the table in {folder} has runs of different data ({name} is "
            f"{' and '.join(sorted(map(str, values))[:2])}); compare each in a folder of its own"
        )
    return str(next(iter(values), ""))


def _run(row: dict[str, Any], about: _About) -> Run:
    grid = about.grid
    what = f"{about.where}: {row['scheme']} with {row['method']}, draw {row['draw']}"
    score, dollars = float(row["map"]), row["dollars"]
    if not 0 <= score <= 1:
        cure = "divide percentages by 100" if 1 < score <= 100 else "compare again"
        raise BadInput(
            f"{what} has a map of {score:g}; a mean AP from 0 to 1 is expected, so {cure}"
        )
    if dollars is None or not 0 <= dollars < math.inf:
        raise BadInput(f"{what} has dollars {dollars!r}; a cost from 0 on is expected")
    text = row.get("effort")
    if text and text not in about.efforts:
        about.efforts[text] = _effort(text, what)
    # A reference labels all images, whatever the grid allows the schemes.
    images = 1.0 if row["reference"] else grid.get("images", 1.0)
    way = Way.of(row["scheme"], images, about.habits)
    amount = _amount(way, row["scheme_spec"])
    return Run(
        way=way,
        method=row["method"],
        reference=bool(row["reference"]),
        nominal=_nominal(row, about, amount),
        draw=(int(row["seed"] or 0), _count(row, "draw", 0, what)),
        effort=about.efforts[text] if text else None,
        dollars=float(dollars) - float(row.get("validation_dollars") or 0),
        set_up=about.set_up,
        prices=Path(grid["prices"]).stem,
        price_list=about.price_list,
        images=_count(row, "images", 1, what),
        labels=_count(row, "present", 0, what) + _count(row, "absent", 0, what),
        amount=amount,
        present=tuple(row.get("class_present") or ()),
        absent=tuple(row.get("class_absent") or ()),
        score=score,
        seconds=float(row.get("train_seconds") or 0),
        all=any(_EVERYTHING in note for note in row.get("notes") or ()),
        labels_id=str(row["labels_id"]),
    )


def _count(row: dict[str, Any], name: str, least: int, what: str) -> int:
    value = row[name]
    if type(value) is not int or value < least:
        raise BadInput(
            f"{what} has {name} {value!r}; a whole number from {least} on is expected, so compare "
            "again"
        )
    return value


def _effort(text: str, what: str) -> Effort:
    try:
        return Effort.from_json(json.loads(text))
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput(f"{what}: effort is no JSON ({error}); compare again") from None


def _amount(way: Way, spec: str) -> float | None:
    if way.grows == "images":
        return None
    return float(getattr(schemes.make(spec), way.grows))


def _nominal(row: dict[str, Any], about: _About, amount: float | None) -> tuple[Any, ...]:
    """What makes two runs the same size: the budget they were bought for, else their amount."""
    if row["budget"] is not None:
        return ("dollars", about.list, float(row["budget"]))
    if row.get("budget_hours") is not None:
        return ("hours", about.list, float(row["budget_hours"]))
    return ("written", str(about.grid.get("images", 1.0)), amount or 0.0)
