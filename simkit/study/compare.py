"""Train every method on every scheme at equal cost, and report the best ones."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyarrow import Table

from simkit.annotate.prices import cost
from simkit.errors import BadInput
from simkit.progress import Progress, notebook_bar, silent, usable_cores
from simkit.quantities import money
from simkit.results import job_store, method_facts, runs, summary
from simkit.results.figures.base import figures
from simkit.results.result_tables import opened
from simkit.results.runs import Runs, write, writers
from simkit.study.estimate import Estimate, estimate_of
from simkit.study.grid import REFERENCE, Grid
from simkit.study.jobs import Job, check, choose, jobs, source_of, sweep
from simkit.study.scheduler import Finished, Part, Workers, finish, gpus, stem, stored
from simkit.study.sources import StudyData, open_source
from simkit.study.worker import Scored, scored_row, tuning_labels
from simkit.toml import toml_lines

EVERY = 15.0  # seconds between two pictures of a comparison under way, at least
PICTURES = {"heat_map.png": "heat-map", "cost_curve.png": "cost-curve"}


@dataclass(frozen=True)
class Hooks:
    """Functions that `compare` calls as its work goes on.

    Attributes
    ----------
    progress
        Called with (runs done, runs).
    preparing
        Called with (images done, images) while features are computed or images decoded.
    planned
        Called with the plan of work before it starts.
    pictured
        Called with the path of the first picture of a comparison under way.
    """

    progress: Progress = silent
    preparing: Progress = silent
    planned: Callable[[Estimate], None] | None = None
    pictured: Callable[[Path], None] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Runs):
    """All finished runs of a grid.

    Attributes
    ----------
    table, reference
        The compared runs and the runs on complete labels, one row each; `simkit list columns` has
        the columns.
    notes
        Unusual events, such as a budget that a scheme could not spend.
    validation_dollars
        Cost of the complete validation labels on which settings were chosen, in addition to every
        budget; None without tuning.
    left
        Number of unfinished jobs of other parts; if any, `table` has the runs of this part only.
    parts
        Largest number of parts (`part`) that all have a job to work on.
    """

    grid: Grid = field(default=None)  # type: ignore[assignment]
    notes: tuple[str, ...] = ()
    validation_dollars: float | None = None
    left: int = 0
    parts: int = 1

    def text(self, *, details: bool = True) -> str:
        """The results in sentences, purchases first.

        Without details the sentences on each scheme are left out, and the purchases come last.
        """
        verdicts, notes = summary.verdicts(self), [f"note: {note}" for note in self.notes]
        others = [*self.lacking(), *self.bill(), *notes]
        if not details and verdicts:
            return "\n".join([*others, *verdicts])
        return "\n".join([*verdicts, *summary.sentences(self), *others])

    def lacking(self) -> list[str]:
        """A sentence about failed runs, if any."""
        planned, finished = self.planned, len(self.every)
        if finished >= planned:
            return []
        return [f"{planned - finished:,} of {planned:,} runs failed and are left out everywhere"]

    def bill(self) -> list[str]:
        """A sentence about the cost of tuning, if any."""
        if self.validation_dollars is None:
            return []
        return [
            "Settings were chosen on complete labels of the validation split, which cost "
            f"{money(self.validation_dollars)} once for all methods, in addition to every budget."
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
            "sentences": summary.sentences(self),
            "verdicts": summary.verdicts(self),
            "runs": len(self.every),
            "planned": self.planned,
            "validation_dollars": self.validation_dollars,
            "zero_shot": self.every.attrs.get("zero_shot"),
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
    hooks: Hooks | None = None,
) -> Comparison:
    """Run the comparison of a grid and write its results to the folder `out`.

    Finished jobs in `out` are kept, so the same call resumes an interrupted comparison; several
    calls may run at the same time. `failures` names the jobs that failed; the others continue.
    Tables, figures and grid.toml appear together at the end and replace those of an earlier
    comparison. Before, in a folder without any, heat_map.png and summary.md show the draws that are
    complete.

    Parameters
    ----------
    grid
        A Grid, a TOML file, or a dictionary of the grid's fields.
    out
        Folder of the results.
    fair
        Try up to four settings of every method under every scheme first and compare the best
        ones, as with `fair = true` in the grid.
    executor
        An executor of concurrent.futures whose workers see the same files; by default local
        processes.
    workers
        Number of processes: by default one for each core, or for each GPU where backbones are
        trained; 1 trains in this process.
    part
        The share of the jobs to run, such as "3/16" for the third of sixteen; the part that
        finishes last writes the tables. Every part needs the whole sweep, so each also runs jobs
        of the sweep that other parts have not finished.
    accept
        Hash of other code (a warning names it) whose results are used as well.
    hooks
        Functions that are called as the work goes on. By default notebooks show bars, unless
        SIMKIT_PROGRESS is "off".

    Returns
    -------
    Comparison
        The finished runs.

    Raises
    ------
    BadInput
        If no job could work with the grid or the data, or if every run fails.
    """
    if isinstance(grid, str | os.PathLike):
        grid = Grid.load(grid)
    elif isinstance(grid, Mapping):
        grid = Grid.of(grid)
    if fair and not grid.fair:
        grid = dataclasses.replace(grid, fair=True, settings={})
    folder = Path(out)
    share = None if part is None else Part.read(part)
    hooks = hooks or Hooks(notebook_bar("comparing"), notebook_bar("computing features"))
    data = open_source(source_of(grid), progress=hooks.preparing)
    check(grid, data)
    if hooks.planned is not None:
        # The number of workers of other executors is unknown.
        count = workers or getattr(executor, "workers", 1 if executor else None)
        options: dict[str, Any] = {"folder": folder, "part": share, "accept": accept}
        hooks.planned(estimate_of(grid, data, workers=count, **options))
    count = workers or (len(gpus()) or None if grid.pictures else None)
    return _Work(grid, data, folder, share, Workers(executor, count, accept)).run(hooks)


@dataclass(frozen=True, eq=False)
class _Work:
    """The work on one comparison."""

    grid: Grid
    data: StudyData
    folder: Path
    part: Part | None
    workers: Workers

    @property
    def results(self) -> Path:
        return self.folder / "bundles"

    @property
    def about(self) -> dict[str, Any]:
        data = self.data.data
        facts = method_facts.written(self.grid.trained)
        return {"classes": data.classes, "leaves": data.leaves.tolist(), "methods": facts}

    def run(self, hooks: Hooks) -> Comparison:
        progress = hooks.progress
        job_store.check_code(self.results, self.workers.accept)
        planned_jobs, sweep_jobs = jobs(self.grid, self.data), sweep(self.grid, self.data)
        planned, sweep_failures = sum(job.runs for job in planned_jobs), list[str]()
        code_notes = self._other_code(sweep_jobs or planned_jobs)
        sweep_runs = sum(job.runs for job in self._share(sweep_jobs))
        total = sweep_runs + sum(job.runs for job in self._share(planned_jobs))
        if sweep_jobs:
            self._begin(sweep_jobs)
            swept = self._swept(sweep_jobs, lambda done, of: progress(done, total))
            chosen, unscored = choose(sweep_jobs, swept.done)
            sweep_failures = [*swept.sentences(sweep_jobs), *unscored]
            planned_jobs = jobs(self.grid, self.data, chosen)
            code_notes += self._other_code(planned_jobs)
        self._begin(planned_jobs)
        share = self._share(planned_jobs)
        preview = _Preview(self, share, hooks.pictured)

        def advance(done: int, of: int) -> None:
            progress(sweep_runs + done, total)
            if done < of:
                preview.update()

        finished = finish(share, self.results, self.workers, advance)
        left = 0
        if self.part is not None:
            of_all_parts = stored(planned_jobs, self.results, self.workers.accept)
            left = len(of_all_parts.without(planned_jobs))
            share, finished = (share, finished) if left else (planned_jobs, of_all_parts)
        dollars = None
        if sweep_jobs and self.grid.validation != "complete":  # else each budget pays for them
            labels = tuning_labels(sweep_jobs[0], self.data)
            dollars = float(cost(labels, sweep_jobs[0].prices.once_set_up()).dollars)
        failures = (*sweep_failures, *finished.sentences(share))
        rows = self.rows(share, finished, failures=failures, planned=planned)
        result = Comparison(
            rows, self.grid, (*dict.fromkeys(code_notes), *summary.notes_of(opened(rows))),
            dollars, left, max(len(sweep_jobs), len(planned_jobs)),
        )  # fmt: skip
        return result if left else written(result, self.folder)

    def rows(
        self,
        planned_jobs: list[Job],
        finished: Finished,
        *,
        failures: tuple[str, ...] = (),
        planned: int = 0,
    ) -> Table:
        """The runs of the finished ones among these jobs.

        Facts about the table are mAP and name of the image-text model, if any, from its scores of
        the test split.
        """
        tables = [finished.done[job.key].table for job in planned_jobs if job.key in finished.done]
        about, data = dict(self.about), self.data
        if (scores := data.similarities.get("test")) is not None:
            test = Scored(data.scores["test"], data.truth("test").present, data.known("test"))
            about["zero_shot"] = scored_row(test, data.data.leaves)["map"]
            about["scored_by"] = scores.history.settings.get("model", "a file")
        return runs.concat(tables, about | {"failures": failures, "planned": planned})

    def _share(self, every: list[Job]) -> list[Job]:
        """The jobs of this part."""
        return every if self.part is None else self.part.share(every)

    def _begin(self, planned_jobs: list[Job]) -> None:
        stems = [stem(job, self.results, self.workers.accept) for job in planned_jobs]
        job_store.begin(self.folder, grid=self.grid.to_toml(), keys=stems, **self.about)

    def _other_code(self, planned_jobs: list[Job]) -> list[str]:
        """Notes on the use of results of accepted code; warns of unused results of other code."""
        unfinished = [
            job.key for job in planned_jobs if not job_store.finished(self.results, job.stem)
        ]
        codes, accept = job_store.codes(self.results, unfinished), self.workers.accept
        if accept in codes:
            return [f"results of other code ({accept}) are used, as accepted"]
        for code, number in codes.items():
            have = "1 job has" if number == 1 else f"{number:,} jobs have"
            warnings.warn(
                f"{have} results of other code ({code}) and will run again; "
                f"accept {code!r} (--accept {code}) to use these results",
                stacklevel=4,
            )
        return []

    def _swept(self, sweep_jobs: list[Job], progress: Progress) -> Finished:
        """The sweep; a part runs its own share first, and then the unfinished jobs of others."""
        share = self._share(sweep_jobs)
        swept = finish(share, self.results, self.workers, progress)
        if self.part is None:
            return swept
        start = sweep_jobs.index(share[-1]) if share else 0
        others = [job for job in [*sweep_jobs[start:], *sweep_jobs[:start]] if job not in share]
        # A few at a time, so that parts seldom run the same job.
        at_once = self.workers.count or usable_cores()
        while others:
            swept.done |= stored(others, self.results, self.workers.accept).done
            unfinished = [job for job in others if job.key not in swept.done]
            finished = finish(unfinished[:at_once], self.results, self.workers, silent)
            swept.done |= finished.done
            swept.failures |= finished.failures
            others = unfinished[at_once:]
        return swept


class _Preview:
    """heat_map.png and summary.md of the complete draws of a comparison under way.

    A folder with the tables of a finished comparison keeps its files until the end, as in
    `open_runs`; parts write none, as they would replace each other's.
    """

    def __init__(
        self, work: _Work, planned_jobs: list[Job], pictured: Callable[[Path], None] | None
    ) -> None:
        self._work, self._jobs, self._pictured = work, planned_jobs, pictured
        self._draws = 0
        alone = work.part is None and not (work.folder / "table.parquet").exists()
        self._next = time.monotonic() + EVERY if alone else math.inf

    def update(self) -> None:
        """Write both again if more draws are complete, in at most 3 % of the time."""
        now, work = time.monotonic(), self._work
        if now < self._next:
            return
        start = time.process_time()
        finished = stored(self._jobs, work.results, work.workers.accept)
        unfinished = {draw for job in finished.without(self._jobs) for draw in job.draws}
        complete = [job for job in self._jobs if not unfinished.intersection(job.draws)]
        draws = len({draw for job in complete for draw in job.draws})
        result = Comparison(work.rows(complete, finished), work.grid)
        new = draws > self._draws and not result.table.empty
        if new:
            note = f"{draws} of {work.grid.draws} draws, running"
            figure = figures.make("heat-map", so_far=note)
            start = time.process_time()  # without the loading of libraries
            picture = work.folder / "heat_map.png"
            text = f"{note}\n\n{summary.markdown(result)}"
            files: dict[str, Callable[[Path], object]] = {
                picture.name: partial(figure(result).savefig, format="png"),
                "summary.md": partial(Path.write_text, data=text, encoding="utf-8"),
            }
            if (work.folder / "table.parquet").exists():  # of another process that has ended
                self._next = math.inf
                return
            first = not picture.exists()
            write(files, work.folder)
            if first and self._pictured is not None:
                self._pictured(picture)
            self._draws = draws
        took = time.process_time() - start
        self._next = now + max(EVERY if new else 0.0, 33 * took)


def written(result: Comparison, folder: Path) -> Comparison:
    """The comparison, after writing its files. Raises BadInput if every run failed."""
    if result.table.empty:
        job_store.ended(folder)
        raise BadInput(f"every run failed; the first error is: {result.failures[0]}")
    files = writers(result.rows)
    for file, text in _texts(result).items():
        files[file] = partial(Path.write_text, data=text, encoding="utf-8")
    for file, name in PICTURES.items():
        files[file] = partial(figures.make(name)(result).savefig, format="png")
    write(files, folder)
    outdated = {"reference.parquet", "reference.csv", "settings.toml"} - set(files)
    if result.grid.settings:  # may have been read from that very file
        outdated.discard("settings.toml")
    for name in outdated:
        (folder / name).unlink(missing_ok=True)
    job_store.ended(folder)
    return result


def _texts(result: Comparison) -> dict[str, str]:
    """The text files of a comparison."""
    failed = [f"- {text}" for text in runs.grouped(result.failures)]
    chapters = [summary.markdown(result)]
    if failed:
        lacking = [f"{text}." for text in result.lacking()]
        chapters.insert(0, "\n".join(["# Failed", "", *lacking, "", *failed, ""]))
    if notes := [f"- {note}" for note in (*result.bill(), *result.notes)]:
        chapters.append("\n".join(["", "## Notes", "", *notes, ""]))
    files = {"grid.toml": result.grid.to_toml()}
    if chosen := list(summary.choices(result.every)):
        chapters.append(summary.chapter_of_settings(chosen))
        settings: dict[str, dict[str, Any]] = {}
        for row in chosen:
            scheme = REFERENCE if row["reference"] else row["scheme"]
            settings.setdefault(scheme, {})[row["method"]] = json.loads(row["tuned"])
        lines = [
            f"# Chosen on complete validation labels of {result.grid.data}, "
            f"seed {result.grid.seed}.",
            '# A grid with settings = "settings.toml" uses them again.',
            *toml_lines(settings),
        ]
        files["settings.toml"] = "\n".join(lines) + "\n"
    return files | {"summary.md": "\n".join(chapters)}
