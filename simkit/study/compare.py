"""The main job: train every method on every scheme at equal cost, and say which suits which."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from simkit.errors import BadInput
from simkit.study import figures, runs, summary
from simkit.study.agenda import check, plan, source_of
from simkit.study.bundle import Bundle
from simkit.study.grid import Grid
from simkit.study.material import open_material
from simkit.study.runs import Done, Row, told
from simkit.study.verdict import verdicts
from simkit.study.work import run
from simkit.study.workers import outcomes

Progress = Callable[[int, int], None]
_PICTURES = {"heat_map.png": "heat-map", "cost_curve.png": "cost-curve"}


@dataclass(frozen=True, eq=False)
class Comparison:
    """All finished runs of a grid.

    table     one row for each run; columns are those of `study.runs.SCHEMA`.
    failures  one sentence for each bundle, or method of a bundle, that failed.
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
        }


def compare(
    grid: Grid,
    *,
    out: str | os.PathLike[str],
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = lambda done, of: None,
    preparing: Progress = lambda done, of: None,
) -> Comparison:
    """Work through a grid and leave everything in the folder `out`.

    Finished bundles in `out` are kept and not run again, so the same call goes on where an earlier
    one stopped. A bundle that fails is named in `failures`; the others run on. executor: any of
    concurrent.futures, whose workers see the same files; else `workers` local processes (by
    default one for each core; 1 works in this process). progress gets (runs done, runs), and
    before that, where features are computed, preparing gets (pictures done, pictures).

    Tables, pictures and grid.toml appear together at the end, in place of those of an earlier
    comparison. Raises BadInput for what no bundle could use, and where only references finish.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; give a folder for the results")
    material = open_material(source_of(grid), progress=preparing)
    check(grid, material)
    bundles, classes = plan(grid, material), material.data.classes
    runs.begin(folder, grid=grid.to_toml(), keys=[b.key for b in bundles], classes=classes)
    done, failures = _finish(bundles, folder / "bundles", executor, workers, progress)
    rows = [row for bundle in bundles if bundle.key in done for row in done[bundle.key].rows]
    if all(row["reference"] for row in rows):
        (folder / runs.PLAN).unlink(missing_ok=True)
        raise BadInput(f"every run failed; the first one said: {failures[0]}")
    result = Comparison(runs.tidy(rows, classes=classes), grid, tuple(failures), _notes(rows))
    runs.write(_files(result), folder)
    (folder / runs.PLAN).unlink(missing_ok=True)
    return result


def _finish(
    bundles: Sequence[Bundle],
    folder: Path,
    executor: Executor | None,
    workers: int | None,
    progress: Progress,
) -> tuple[dict[str, Done], list[str]]:
    """By key all bundles that are or become finished; a sentence for each failure, in their order.

    Those of the references come last, as their bundles do.
    """
    done, failures = _stored(bundles, folder)
    left = [b for b in bundles if b.key not in done and b.key not in failures]
    every = sum(b.runs for b in bundles)
    ended = every - sum(b.runs for b in left)
    progress(ended, every)
    for bundle, outcome in outcomes(run, left, executor=executor, workers=workers):
        if isinstance(outcome, Exception):
            failures[bundle.key] = _told(outcome)
        else:
            if outcome.lasting:
                runs.save(outcome, folder=folder, key=bundle.key)
            done[bundle.key] = outcome
        ended += bundle.runs
        progress(ended, every)
    sentences = []
    for bundle in bundles:
        if bundle.key in failures:
            sentences.append(f"{bundle}: {failures[bundle.key]}")
        elif bundle.key in done:
            failed = done[bundle.key].failures.items()
            sentences += [f"{what}: {why}" for what, why in failed]
    return done, sentences


def _bought(table: pa.Table) -> list[str]:
    """The verdicts as a chapter of the summary, where there are any."""
    told = [f"- {text}" for text in verdicts(table)]
    return ["# What to buy", "", *told, ""] if told else []


def _stored(bundles: Sequence[Bundle], folder: Path) -> tuple[dict[str, Done], dict[str, str]]:
    """What is finished already, and why a bundle's file cannot even be written."""
    done: dict[str, Done] = {}
    failures: dict[str, str] = {}
    for bundle in bundles:
        try:
            found = runs.load(folder, bundle.key)
        except BadInput as error:
            failures[bundle.key] = str(error)
            continue
        if found is not None:
            done[bundle.key] = found
    return done, failures


def _notes(rows: Sequence[Row]) -> tuple[str, ...]:
    """Each kind of note once for each scheme, in its last form: that of the largest budget."""
    found = {}
    for row in rows:
        for note in row["notes"]:
            scheme = row["scheme"]
            name = scheme.partition("(")[0]
            # Some notes name their scheme, though never with its settings.
            text = re.sub(rf"^{re.escape(name)}(: | (?=can spend ))", "", note)
            found[scheme, re.sub(r"[\d.,]+", "", note)] = f"{scheme}: {text}"
    return tuple(found.values())


def _told(error: Exception) -> str:
    if isinstance(error, BrokenProcessPool):
        return (
            "a worker process ended before its work did; it may have run out of memory (fewer "
            'workers help), or a script calls compare without `if __name__ == "__main__":`'
        )
    return told(error)


def _files(result: Comparison) -> dict[str, Callable[[Path], object]]:
    """The files of a comparison by name, and what writes each of them."""
    notes = [f"- {note}" for note in result.notes]
    more = ["", "## Notes", "", *notes, ""] if notes else []
    texts = {
        "grid.toml": result.grid.to_toml(),
        "summary.md": "\n".join([*_bought(result.table), summary.markdown(result.table), *more]),
    }
    found = runs.writers(result.table)
    for name, text in texts.items():
        found[name] = partial(_write_text, text=text)
    for file, name in _PICTURES.items():
        found[file] = partial(figures.make(name)(result.table).savefig, format="png")
    return found


def _write_text(path: Path, *, text: str) -> None:
    path.write_text(text, encoding="utf-8")
