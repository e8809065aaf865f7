"""The main job: train every method on every scheme at equal cost, and say which suits which."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from simkit.annotate import schemes
from simkit.annotate.prices import prices
from simkit.errors import BadInput
from simkit.files import whole
from simkit.study import figures, runs, summary
from simkit.study.bundle import Bundle, ceilings, kind_of
from simkit.study.grid import Grid
from simkit.study.material import Material, Source, open_material
from simkit.study.runs import Row
from simkit.study.work import run
from simkit.study.workers import outcomes

Progress = Callable[[int, int], None]
_PICTURES = {"heat_map.png": "heat-map", "cost_curve.png": "cost-curve"}


@dataclass(frozen=True, eq=False)
class Comparison:
    """All finished runs of a grid.

    table     one row for each run; columns are those of `study.runs.SCHEMA`.
    failures  one sentence for each bundle that failed; the others are complete.
    notes     what was odd, such as a budget that a scheme could not spend.
    """

    table: pa.Table
    grid: Grid
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def summary(self) -> list[summary.Line]:
        """For each scheme and budget: means, intervals, costs and ranks of the methods."""
        return summary.lines(self.table)

    def text(self) -> str:
        """The sentences that a person wants to read."""
        return "\n".join(
            [*summary.sentences(self.table), *(f"note: {note}" for note in self.notes)]
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        cells = [
            {
                "scheme": cell.scheme,
                "method": cell.method,
                "budget": cell.budget,
                "map": cell.score.mean,
                "low": cell.score.low,
                "high": cell.score.high,
                "draws": cell.score.draws,
                "rank": line.ranking.ranks[cell.method],
                "dollars": cell.dollars,
                "hours": cell.hours,
            }
            for line in self.summary()
            for cell in line.cells
        ]
        return {
            "cells": cells,
            "sentences": summary.sentences(self.table),
            "runs": len(self.table),
            "failures": list(self.failures),
            "notes": list(self.notes),
        }


def compare(
    grid: Grid,
    *,
    out: str | os.PathLike[str],
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = lambda done, of: None,
) -> Comparison:
    """Work through a grid and leave everything in the folder `out`.

    Finished bundles in `out` are kept and not run again, so the same call goes on where an earlier
    one stopped. A bundle that fails is named in `failures`; the others run on. executor: any of
    concurrent.futures, whose workers see the same files; else `workers` local processes (by
    default one for each core; 1 works in this process). progress gets (bundles done, bundles).
    Raises BadInput for what no bundle could use.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; give a folder for the results")
    material = open_material(source_of(grid))
    _check(grid, material)
    bundles = plan(grid, material)
    with whole(folder / "grid.toml") as part:
        part.write_text(grid.to_toml(), encoding="utf-8")
    done, failures = _finish(bundles, folder / "bundles", executor, workers, progress)
    rows = [row for bundle in bundles for row in done.get(bundle.key, [])]
    if not rows:
        raise BadInput(f"every run failed; the first one said: {failures[0]}")
    table = runs.tidy(rows, classes=material.data.classes)
    result = Comparison(table, grid, tuple(failures), _notes(rows))
    _write(result, folder)
    return result


def plan(grid: Grid, material: Material) -> list[Bundle]:
    """The bundles of a grid, in the order of its schemes, budgets and draws; references last."""
    common: dict[str, Any] = {
        "source": source_of(grid),
        "seed": grid.seed,
        "habits": grid.habits,
        "train": grid.train,
        "prices": prices(grid.prices),
        "ids": material.ids,
    }
    made = [
        Bundle(
            scheme=scheme,
            methods=grid.methods,
            budget=budget,
            draw=draw,
            images=grid.images,
            validation=grid.validation,
            reference=False,
            **common,
        )
        for scheme in grid.schemes
        for budget in grid.budgets or (None,)
        for draw in range(grid.draws)
    ]
    if grid.reference:
        made += [
            Bundle(
                scheme="full-subset",
                methods=ceilings(grid.methods),
                budget=None,
                draw=draw,
                images=1.0,
                validation=grid.validation,
                reference=True,
                **common,
            )
            for draw in range(grid.draws)
        ]
    return made


def source_of(grid: Grid) -> Source:
    """Which truth and features a grid works on."""
    kinds = {kind_of(spec) for spec in grid.methods} | ({"pooled"} if grid.reference else set())
    splits = ("train", "test") if grid.validation == "none" else ("train", "val", "test")
    return Source(
        grid.data,
        splits,
        tuple(sorted(kinds, reverse=True)),
        "" if grid.features else grid.backbone,
        grid.weights,
        tuple(sorted(grid.features.items())),
    )


def _check(grid: Grid, material: Material) -> None:
    """Raise BadInput for what no bundle of a scheme could use."""
    for spec in grid.schemes:
        if schemes.make(spec).needs_hierarchy and material.hierarchy is None:
            raise BadInput(
                f"schemes lists {spec!r}, which asks along a class hierarchy, and {grid.data!r} "
                "has none; add one to data, such as ,hierarchy=coco-80 or ,hierarchy=FILE, or "
                "leave the scheme out"
            )


def _finish(
    bundles: Sequence[Bundle],
    folder: Path,
    executor: Executor | None,
    workers: int | None,
    progress: Progress,
) -> tuple[dict[str, list[Row]], list[str]]:
    """Rows by key of all bundles that are or become finished; a sentence for each that fails."""
    done: dict[str, list[Row]] = {}
    for bundle in bundles:
        rows = runs.load(folder, bundle.key)
        if rows is not None:
            done[bundle.key] = rows
    left = [bundle for bundle in bundles if bundle.key not in done]
    failures: list[str] = []
    progress(len(bundles) - len(left), len(bundles))
    for place, (bundle, outcome) in enumerate(
        outcomes(run, left, executor=executor, workers=workers), 1
    ):
        if isinstance(outcome, Exception):
            failures.append(f"{bundle}: {_told(outcome)}")
        else:
            runs.save(outcome, folder=folder, key=bundle.key)
            done[bundle.key] = outcome
        progress(len(bundles) - len(left) + place, len(bundles))
    return done, failures


def _notes(rows: Sequence[Row]) -> tuple[str, ...]:
    """Each kind of note once for each scheme, in its last form: that of the largest budget."""
    found = {}
    for row in rows:
        for note in row["notes"]:
            found[row["scheme"], re.sub(r"[\d.,]+", "", note)] = f"{row['scheme']}: {note}"
    return tuple(found.values())


def _told(error: Exception) -> str:
    if isinstance(error, BadInput):
        return str(error)
    if isinstance(error, BrokenProcessPool):
        return (
            "a worker process ended before its work did; it may have run out of memory (fewer "
            'workers help), or a script calls compare without `if __name__ == "__main__":`'
        )
    return f"{type(error).__name__}: {error}"


def _write(result: Comparison, folder: Path) -> None:
    runs.write(result.table, folder)
    with whole(folder / "summary.md") as part:
        notes = [f"- {note}" for note in result.notes]
        told = ["", "## Notes", "", *notes, ""] if notes else []
        part.write_text("\n".join([summary.markdown(result.table), *told]), encoding="utf-8")
    for file, name in _PICTURES.items():
        drawing = figures.make(name)(result.table)
        with whole(folder / file) as part:
            drawing.savefig(part, format="png")
