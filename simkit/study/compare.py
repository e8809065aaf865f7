"""The main job: train every method on every scheme at equal cost, and say which suits which."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simkit.errors import BadInput
from simkit.study import figures, kept, runs, summary, tuned
from simkit.study.agenda import check, plan, source_of, sweep
from simkit.study.bundle import Bundle
from simkit.study.edges import at_the_edge
from simkit.study.finish import Progress, finish, stored
from simkit.study.forecast import Forecast, forecast, gpu_workers
from simkit.study.grid import Grid
from simkit.study.material import open_material
from simkit.study.parts import Part
from simkit.study.sweep import swept
from simkit.study.verdict import verdicts

_PICTURES = {"heat_map.png": "heat-map", "cost_curve.png": "cost-curve"}


@dataclass(frozen=True, eq=False)
class Comparison:
    """All finished runs of a grid.

    table     one row for each run; columns are those of `study.runs.SCHEMA`.
    failures  one sentence for each bundle, or method of a bundle, that failed.
    notes     what was odd, such as a budget that a scheme could not spend.
    left      bundles of other parts that are not there yet; then `table` has this part's runs.
    """

    table: pa.Table
    grid: Grid
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left: int = 0

    def summary(self) -> list[summary.Line]:
        """For each scheme and budget: means, intervals, costs and ranks of the methods."""
        return summary.lines(self.table)

    def text(self) -> str:
        """The sentences that a person wants to read."""
        return "\n".join(
            [
                *summary.sentences(self.table),
                *verdicts(self.table),
                *(f"note: {note}" for note in self.notes),
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        cells = [
            {
                "scheme": cell.scheme,
                "method": cell.method,
                "budget": cell.limit.dollars,
                "budget_hours": cell.limit.hours,
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
            "verdicts": verdicts(self.table),
            "runs": len(self.table),
            "failures": list(self.failures),
            "notes": list(self.notes),
            "left": self.left,
        }


def compare(
    grid: Grid | str | os.PathLike[str] | Mapping[str, Any],
    *,
    out: str | os.PathLike[str],
    executor: Executor | None = None,
    workers: int | None = None,
    part: str | None = None,
    progress: Progress = lambda done, of: None,
    preparing: Progress = lambda done, of: None,
    planned: Callable[[Forecast], None] | None = None,
) -> Comparison:
    """Work through a grid and leave everything in the folder `out`.

    grid: a Grid, a TOML file with one, or its fields as plain values.
    Finished bundles in `out` are kept and not run again, so the same call goes on where an earlier
    one stopped; several at a time do no harm. A bundle that fails is named in `failures`; the
    others run on. executor: any of concurrent.futures, whose workers see the same files; else
    `workers` local processes (by default one for each core, or for each GPU where backbones are
    trained and there are GPUs; 1 works in this process). part: such as "3/16" for the third of
    sixteen shares of the bundles; whoever finds all of them finished writes the tables. progress
    gets (runs done, runs), and before that, where features are computed or pictures are decoded,
    preparing gets (pictures done, pictures). planned gets the plan of work before it starts, which
    takes a calibration of some seconds. A sweep comes first, and all of it is needed before
    anything else: a part helps with what others have not finished of it.

    Tables, pictures and grid.toml appear together at the end, in place of those of an earlier
    comparison. Raises BadInput for what no bundle could use, and where only references finish.
    """
    grid, folder = _grid(grid), Path(out)
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; give a folder for the results")
    share = None if part is None else Part.read(part)
    material = open_material(source_of(grid), progress=preparing)
    check(grid, material)
    if planned is not None:
        count = workers or (1 if executor else None)  # nobody knows how many an executor has
        planned(forecast(grid, material, folder=folder, workers=count, part=share))
    bundles, tried, data = plan(grid, material), sweep(grid, material), material.data
    named: dict[str, Any] = {"classes": data.classes, "leaves": data.leaves.tolist()}
    begin = partial(kept.begin, folder, grid=grid.to_toml(), **named)
    failed: tuple[str, ...] = ()
    team: dict[str, Any] = {"executor": executor, "workers": workers or gpu_workers(grid)}
    if tried:
        begin(keys=[bundle.key for bundle in tried])
        first, progress = _in_turn(progress, *(_runs(_mine(b, share)) for b in (tried, bundles)))
        best = swept(grid, tried, folder / "bundles", part=share, progress=first, **team)
        bundles, failed = plan(grid, material, best.chosen), best.failures
    keys = [bundle.key for bundle in bundles]
    begin(keys=keys)
    mine = _mine(bundles, share)
    found = finish(mine, folder / "bundles", progress=progress, **team)
    left = sum(not kept.is_there(folder / "bundles", key) for key in keys) if share else 0
    if share and not left:
        mine, found = bundles, stored(bundles, folder / "bundles")
    tables = [found.done[bundle.key].table for bundle in mine if bundle.key in found.done]
    table, failures = runs.together(tables, **named), (*failed, *found.sentences(mine))
    result = Comparison(table, grid, failures, _told(table, grid), left)
    return result if left else _written(result, folder)


def _grid(given: Any) -> Grid:
    if isinstance(given, Grid):
        return given
    if isinstance(given, str | os.PathLike):
        return Grid.load(given)
    if isinstance(given, Mapping):
        return Grid.of(given)
    raise BadInput(
        f"grid is a {type(given).__name__}; a simkit.Grid, a TOML file or a dictionary with its "
        "fields is expected"
    )


def _written(result: Comparison, folder: Path) -> Comparison:
    """The comparison, with its files in the folder."""
    if pc.all(result.table["reference"], min_count=0).as_py():
        kept.ended(folder)
        raise BadInput(f"every run failed; the first one said: {result.failures[0]}")
    runs.write(_files(result), folder)
    kept.ended(folder)
    return result


def _mine(bundles: list[Bundle], share: Part | None) -> list[Bundle]:
    return bundles if share is None else share.share(bundles, lambda bundle: bundle.runs)


def _runs(bundles: list[Bundle]) -> int:
    return sum(bundle.runs for bundle in bundles)


def _in_turn(progress: Progress, first: int, second: int) -> tuple[Progress, Progress]:
    """What two pieces of work of so many runs tell as one."""
    every = first + second
    return (
        lambda done, of: progress(done, every),
        lambda done, of: progress(first + done, every),
    )


def _bought(table: pa.Table) -> list[str]:
    """The verdicts as a chapter of the summary, where there are any."""
    told = [f"- {text}" for text in verdicts(table)]
    return ["# What to buy", "", *told, ""] if told else []


def _told(table: pa.Table, grid: Grid) -> tuple[str, ...]:
    """What was odd, of the sweep first."""
    return (*tuned.notes(table), *at_the_edge(table, grid.tuning), *_notes(table))


def _notes(table: pa.Table) -> tuple[str, ...]:
    """Each kind of note once for each scheme, in its last form: that of the largest budget."""
    found = {}
    for scheme, notes in zip(
        *(table[name].to_pylist() for name in ("scheme", "notes")), strict=True
    ):
        for note in notes or ():
            name = scheme.partition("(")[0]
            # Some notes name their scheme, though never with its settings.
            text = re.sub(rf"^{re.escape(name)}(: | (?=can spend ))", "", note)
            found[scheme, re.sub(r"[\d.,]+", "", note)] = f"{scheme}: {text}"
    return tuple(found.values())


def _files(result: Comparison) -> dict[str, Callable[[Path], object]]:
    """The files of a comparison by name, and what writes each of them."""
    notes = [f"- {note}" for note in result.notes]
    more = ["", "## Notes", "", *notes, ""] if notes else []
    texts = {
        "grid.toml": result.grid.to_toml(),
        "summary.md": "\n".join(
            [
                *_bought(result.table),
                summary.markdown(result.table),
                *more,
                *tuned.chapter(result.table),
            ]
        ),
    }
    found = runs.writers(result.table)
    for name, text in texts.items():
        found[name] = partial(_write_text, text=text)
    for file, name in _PICTURES.items():
        found[file] = partial(figures.make(name)(result.table).savefig, format="png")
    return found


def _write_text(path: Path, *, text: str) -> None:
    path.write_text(text, encoding="utf-8")
