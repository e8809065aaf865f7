"""The main job: train every method on every scheme at equal cost, and say which is best where."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from simkit.annotate.prices import cost
from simkit.errors import BadInput
from simkit.progress import Progress, notebook_bar, silent
from simkit.study import figures, runs, store
from simkit.study.cells import Line, lines
from simkit.study.estimate import Estimate, estimate_of
from simkit.study.frames import opened
from simkit.study.grid import REFERENCE, Grid
from simkit.study.jobs import Job, check, jobs, source_of, sweep
from simkit.study.limit import money
from simkit.study.report import (
    chapter_of_settings,
    choices,
    markdown,
    notes_of,
    sentences,
    verdicts,
)
from simkit.study.runs import Runs, write, writers
from simkit.study.scheduler import Finished, Part, Workers, finish, gpus, stem, stored, usable_cores
from simkit.study.sources import StudyData, open_source
from simkit.study.sweep import choose
from simkit.study.toml import toml, toml_key
from simkit.study.worker import tuning_labels

PICTURES = {"heat_map.png": "heat-map", "cost_curve.png": "cost-curve"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Runs):
    """All finished runs of a grid.

    table, reference  one row for each run: those that are compared, and those on complete labels;
              columns are those of `simkit list columns`.
    notes     what was odd, such as a budget that a scheme could not spend.
    validation_dollars  complete validation labels by which settings were chosen: one bill beside
              all budgets; None where nothing was chosen.
    left      jobs of other parts that are not there yet; then `table` has this part's runs.
    parts     with more parts than this (`part`), some have no job to work on.
    """

    grid: Grid = field(default=None)  # type: ignore[assignment]
    notes: tuple[str, ...] = ()
    validation_dollars: float | None = None
    left: int = 0
    parts: int = 1

    def summary(self) -> list[Line]:
        """For each scheme and budget the means of all methods, and which is best."""
        return lines(self)

    def text(self) -> str:
        """The sentences that a person wants to read: what to buy first."""
        every = [*verdicts(self), *sentences(self), *self.lacking(), *self.bill()]
        return "\n".join([*every, *(f"note: {note}" for note in self.notes)])

    def lacking(self) -> list[str]:
        """A sentence where runs failed."""
        planned, finished = self.planned, len(self.every)
        if finished >= planned:
            return []
        return [f"{planned - finished:,} of {planned:,} runs failed and are left out everywhere"]

    def bill(self) -> list[str]:
        """A sentence about the labels that chose settings."""
        if self.validation_dollars is None:
            return []
        return [
            "Settings were chosen by complete labels of the validation split, which cost "
            f"{money(self.validation_dollars)} beside every budget, once for all methods."
        ]

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
                "probability_best": line.best.probability.get(cell.method),
                "dollars": cell.dollars,
                "hours": cell.hours,
            }
            for line in self.summary()
            for cell in line.cells
        ]
        return {
            "cells": cells,
            "sentences": sentences(self),
            "verdicts": verdicts(self),
            "runs": len(self.every),
            "planned": self.planned,
            "validation_dollars": self.validation_dollars,
            "failures": list(self.failures),
            "notes": list(self.notes),
            "left": self.left,
        }


def compare(
    grid: Grid | str | os.PathLike[str] | Mapping[str, Any],
    *,
    out: str | os.PathLike[str],
    fair: bool = False,
    executor: Executor | None = None,
    workers: int | None = None,
    part: str | None = None,
    accept: str = "",
    progress: Progress | None = None,
    preparing: Progress | None = None,
    planned: Callable[[Estimate], None] | None = None,
) -> Comparison:
    """Work through a grid and leave everything in the folder `out`.

    Finished jobs in `out` are kept and not run again, so the same call goes on where an earlier one
    stopped; several at a time do no harm. A job that fails is named in `failures`; the others run
    on. Tables, pictures and grid.toml appear together at the end, in place of those of an earlier
    comparison.

    Parameters
    ----------
    grid
        A Grid, a TOML file with one, or its fields as plain values.
    out
        The folder for all results.
    fair
        Try four settings of every method and scheme first and compare the best ones; the same as
        the grid's field.
    executor
        Any of concurrent.futures whose workers see the same files; else local processes.
    workers
        How many: by default one for each core, or for each GPU where backbones are trained and
        there are GPUs; 1 works in this process.
    part
        Such as "3/16" for the third of sixteen shares of the jobs; whoever finds all of them
        finished writes the tables. A part helps with what others have not finished of a sweep,
        since nobody can go on without all of it.
    accept
        A hash of code, as a comparison names it: results of that code are kept as well.
    progress, preparing
        Get (runs done, runs) and, where features are computed or pictures decoded before,
        (pictures done, pictures). In notebooks bars are shown unless SIMKIT_PROGRESS is "off".
    planned
        Gets the plan of work before it starts.

    Raises
    ------
    BadInput
        For what no job could use, and where no run finishes.
    """
    grid, folder = _grid(grid, fair), Path(out)
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; give a folder for the results")
    share = None if part is None else Part.read(part)
    preparing = preparing or notebook_bar("computing features")
    data = open_source(source_of(grid), progress=preparing)
    check(grid, data)
    if planned is not None:
        # How many workers other executors have is not known.
        count = workers or getattr(executor, "workers", 1 if executor else None)
        planned(estimate_of(grid, data, folder=folder, workers=count, part=share, accept=accept))
    count = workers or (len(gpus()) or None if grid.pictures else None)
    work = _Work(grid, data, folder, share, Workers(executor, count, accept))
    return work.run(progress or notebook_bar("comparing"))


class _Work:
    """The work on one comparison."""

    def __init__(
        self, grid: Grid, data: StudyData, folder: Path, part: Part | None, workers: Workers
    ) -> None:
        self.grid, self.data, self.folder, self.part = grid, data, folder, part
        self.workers, self.bundles = workers, folder / "bundles"
        self.about: dict[str, Any] = {
            "classes": data.data.classes, "leaves": data.data.leaves.tolist(),
        }  # fmt: skip

    def run(self, progress: Progress) -> Comparison:
        every, tried = jobs(self.grid, self.data), sweep(self.grid, self.data)
        planned, failed = sum(job.runs for job in every), list[str]()
        others = self._other_code(tried or every)
        before = sum(job.runs for job in self._mine(tried))
        total = before + sum(job.runs for job in self._mine(every))
        if tried:
            self._begin(tried)
            swept = self._swept(tried, lambda done, of: progress(done, total))
            chosen, failed = choose(tried, swept)
            every = jobs(self.grid, self.data, chosen)
            others += self._other_code(every)
        self._begin(every)
        mine = self._mine(every)
        trained: Progress = lambda done, of: progress(before + done, total)  # noqa: E731
        finished = finish(mine, self.bundles, self.workers, trained)
        left = 0
        if self.part is not None:
            whole = stored(every, self.bundles, self.workers.accept)
            left = sum(job.key not in {**whole.done, **whole.failures} for job in every)
            mine, finished = (mine, finished) if left else (every, whole)
        tables = [finished.done[job.key].table for job in mine if job.key in finished.done]
        failures = (*failed, *finished.sentences(mine))
        rows = runs.together(tables, **self.about, failures=failures, planned=planned)
        result = Comparison(
            rows, self.grid, (*dict.fromkeys(others), *notes_of(opened(rows))),
            self._validation_dollars(tried), left, max(len(tried), len(every)),
        )  # fmt: skip
        return result if left else written(result, self.folder)

    def _mine(self, every: list[Job]) -> list[Job]:
        return every if self.part is None else self.part.share(every)

    def _begin(self, every: list[Job]) -> None:
        stems = [stem(job, self.bundles, self.workers.accept) for job in every]
        store.begin(self.folder, grid=self.grid.to_toml(), keys=stems, **self.about)

    def _other_code(self, every: list[Job]) -> list[str]:
        """Notes on results of the accepted code; warns where those of other code are not used."""
        left = [job.key for job in every if not store.finished(self.bundles, job.stem)]
        others, accept = store.codes(self.bundles, left), self.workers.accept
        if accept in others:
            return [f"results of code {accept} are used, as accepted"]
        for code, number in others.items():
            warnings.warn(
                f"results of other code ({code}) are there for {number:,} jobs that will run again;"
                f" accept {code!r} (--accept {code}) to use them",
                stacklevel=4,
            )
        return []

    def _swept(self, tried: list[Job], progress: Progress) -> Finished:
        """The sweep; a part works on its share first, and then on what others left."""
        mine = self._mine(tried)
        swept = finish(mine, self.bundles, self.workers, progress)
        if self.part is None:
            return swept
        done, failures = dict(swept.done), dict(swept.failures)
        start = tried.index(mine[-1]) if mine else 0
        others = [job for job in [*tried[start:], *tried[:start]] if job not in mine]
        some = self.workers.count or usable_cores()  # at a time, so that few do the same
        while others:
            done |= stored(others, self.bundles, self.workers.accept).done
            left = [job for job in others if job.key not in done]
            more = finish(left[:some], self.bundles, self.workers, silent)
            done |= more.done
            failures |= more.failures
            others = left[some:]
        return Finished(done, failures)

    def _validation_dollars(self, tried: list[Job]) -> float | None:
        if not tried or self.grid.validation == "complete":  # then each budget pays for them
            return None
        bill = cost(tuning_labels(tried[0], self.data), tried[0].prices.once_set_up())
        return float(bill.dollars)


def _grid(grid: Any, fair: bool) -> Grid:
    if isinstance(grid, str | os.PathLike):
        grid = Grid.load(grid)
    elif isinstance(grid, Mapping):
        grid = Grid.of(grid)
    elif not isinstance(grid, Grid):
        raise BadInput(
            f"grid is a {type(grid).__name__}; a simkit.Grid, a TOML file or a dictionary with its "
            "fields is expected"
        )
    return dataclasses.replace(grid, fair=True, settings={}) if fair and not grid.fair else grid


def written(result: Comparison, folder: Path) -> Comparison:
    """The comparison, with its files in the folder. Raises BadInput where no run finished."""
    if result.table.empty:
        store.ended(folder)
        raise BadInput(f"every run failed; the first one said: {result.failures[0]}")
    files = writers(result.rows)
    for file, text in _texts(result).items():
        files[file] = partial(Path.write_text, data=text, encoding="utf-8")
    for file, name in PICTURES.items():
        files[file] = partial(figures.make(name)(result).savefig, format="png")
    write(files, folder)
    earlier = {"reference.parquet", "reference.csv", "settings.toml"} - set(files)
    if result.grid.settings:  # may come from that very file
        earlier.discard("settings.toml")
    for name in earlier:
        (folder / name).unlink(missing_ok=True)
    store.ended(folder)
    return result


def _texts(result: Comparison) -> dict[str, str]:
    """The text files of a comparison."""
    failed = [f"- {text}" for text in result.failures]
    chapters = [markdown(result)]
    if failed:
        lacking = [f"{text}." for text in result.lacking()]
        chapters.insert(0, "\n".join(["# Failed", "", *lacking, "", *failed, ""]))
    if notes := [f"- {note}" for note in (*result.bill(), *result.notes)]:
        chapters.append("\n".join(["", "## Notes", "", *notes, ""]))
    files = {"grid.toml": result.grid.to_toml()}
    if chosen := list(choices(result.every)):
        chapters.append(chapter_of_settings(chosen))
        files["settings.toml"] = _settings_toml(chosen, result.grid)
    return files | {"summary.md": "\n".join(chapters)}


def _settings_toml(chosen: list[dict[str, Any]], grid: Grid) -> str:
    """What `settings = "settings.toml"` in a grid takes."""
    lines = [
        f"# Chosen on {grid.data} by complete validation labels, seed {grid.seed}: in a grid,",
        '# settings = "settings.toml" uses them again.',
    ]
    for row in chosen:
        scheme = REFERENCE if row["reference"] else row["scheme"]
        lines += ["", f"[{toml_key(scheme)}.{toml_key(row['method'])}]"]
        lines += [f"{toml_key(n)} = {toml(v)}" for n, v in json.loads(row["tuned"]).items()]
    return "\n".join(lines) + "\n"
