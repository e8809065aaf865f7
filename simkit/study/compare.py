"""Train every method on every scheme at equal cost, and report the best ones."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pyarrow import Table

from simkit.annotate import schemes
from simkit.annotate.budget import assumed, free_scores
from simkit.annotate.prices import cost
from simkit.annotate.prices import prices as price_list
from simkit.annotate.simulate import how_many
from simkit.cache import cache_folder
from simkit.data.leaks import open_checked
from simkit.embed.decoding import FIT
from simkit.embed.devices import device_of, heads_together
from simkit.errors import BadInput
from simkit.files import toml_lines
from simkit.history import versions
from simkit.labels.effort import Effort
from simkit.learn import methods
from simkit.progress import Progress, notebook_bar, peak_memory, silent, usable_cores
from simkit.quantities import money, numbered
from simkit.results import job_store, method_facts, runs, summary
from simkit.results.cells import REFERENCE, listed
from simkit.results.figures.base import figures
from simkit.results.result_tables import opened
from simkit.study.cross_fitting import write_scores
from simkit.study.grid import COMPLETE, Grid
from simkit.study.jobs import (
    Job,
    LabelBatch,
    check,
    choice_of,
    jobs,
    label_batches,
    run_name,
    seconds,
    source_of,
    trainings,
)  # fmt: skip
from simkit.study.scheduler import (
    Finished,
    Part,
    Workers,
    adopt,
    check_classes,
    finish,
    gpus,
    kept_trainings,
    runs_here,
    stored,
)  # fmt: skip
from simkit.study.sources import StudyData, kind_of, open_source
from simkit.study.sweep import choose, further, sweep, tried_at, tried_values, untried_values
from simkit.study.worker import (
    Scored,
    left_out,
    refusals,
    run_bytes,
    scored_row,
    test_facts,
    tuning_labels,
)  # fmt: skip

START = 5.0  # seconds until local processes have loaded torch and the data, roughly
WORTH = 600.0  # seconds of work on one core from which a GPU is taken
EVERY = 15.0  # seconds between two pictures of a comparison under way, at least
NAMED = 4  # schemes in a sentence about failed runs, at most
PICTURES = {"heat_map.png": "heat-map", "cost_curve.png": "cost-curve"}


@dataclass(frozen=True)
class Estimate:
    """The work of a comparison; `jobs` and all later fields are of `part` alone, if any.

    Attributes
    ----------
    runs, references, tuning
        Number of compared trainings, of those on complete labels, and of those of the sweep that
        are known: the best settings decide whether others follow.
    part
        The share of the jobs, such as "3/16"; "" for all.
    parts
        Largest number of parts that all have unfinished jobs.
    jobs, finished
        Number of jobs, those of the sweep included, and of finished ones.
    trainings, kept, again, shared
        Number of trainings of these jobs, of finished ones that are kept, of those that were
        finished by other code, such as a method before an edit, and are trained again, and of those
        of unfinished jobs that are the same as another one, as methods are on complete labels.
    device
        Where heads are trained, "cpu" or "cuda".
    choosing
        Whether trials are left that choose settings: then all compared trainings count as left, and
        further trials may follow.
    failing, failures
        Number of runs of the grid that are certain to fail, and a sentence for each reason.
    hours
        Time of one worker for the unfinished jobs, from operation counts for one core of a recent
        laptop; a rough estimate.
    minutes
        Wall-clock time with `workers` workers and the start of their processes, without the
        figures.
    memory_mb
        Largest memory of one worker, roughly.
    features_mb, uncomputed, cache
        Size of the features, the number of images without any, and the folder that keeps them,
        "" for the user's own features.
    """

    schemes: int
    limits: int
    methods: int
    draws: int
    runs: int
    references: int
    tuning: int
    part: str
    parts: int
    jobs: int
    finished: int
    trainings: int
    kept: int
    again: int
    shared: int
    hours: float
    minutes: float
    workers: int
    memory_mb: float
    features_mb: float = 0.0
    uncomputed: int = 0
    cache: str = ""
    device: str = "cpu"
    choosing: bool = False
    failing: int = 0
    failures: tuple[str, ...] = ()

    def text(self) -> str:
        """The plan in two or three lines."""
        limits = f" x {numbered(self.limits, 'budget')}" if self.limits else ""
        also = [f"{self.references:,} with all labels"] if self.references else []
        more = " or more" * self.choosing
        also += [f"{self.tuning:,}{more} to choose settings"] if self.tuning else []
        to_train = self.trainings - self.kept
        counts = f", {self.kept:,} finished" if self.kept else ""
        counts += f", {to_train:,}{more} to train" if self.kept and to_train else ""
        counts += f", {self.again:,} of them again, as their code has changed" * (self.again > 0)
        if self.shared:
            counts += (
                f", {self.shared:,} of them shared (methods that are equal on complete labels are "
                "trained once)"
            )
        share = f"part {self.part}: " if self.part else ""
        parts = f"; work for at most {self.parts:,} parts (--part)" if self.parts > 1 else ""
        lines = [
            f"plan: {numbered(self.schemes, 'scheme')}{limits} x "
            f"{numbered(self.methods, 'method')} x {numbered(self.draws, 'draw')}: "
            f"{numbered(self.runs, 'training')}" + (f", and {' and '.join(also)}" if also else ""),
            f"{share}{numbered(self.trainings, 'training')} in {numbered(self.jobs, 'job')}"
            f"{counts}{parts}",
        ]
        if self.failing:
            lines.append(f"{self.failing:,} of these will fail, for the reasons in the note")
        if self.finished == self.jobs and not self.choosing:
            return "\n".join([*lines, "nothing is left to train"])
        if self.cache:
            left = f"; to compute: {numbered(self.uncomputed, 'image')}" * (self.uncomputed > 0)
            lines.append(f"features: {self.features_mb:,.1f} MB in {self.cache}{left}")
        work, wall = (timedelta(seconds=max(1, round(seconds)))
                      for seconds in (3600 * self.hours, 60 * self.minutes))  # fmt: skip
        lines.append(
            f"roughly {work} of processor time, {wall} if each of "
            f"{numbered(self.workers, 'worker')} has a free core, estimated from operation counts; "
            "with the start of processes and without the figures; a busy machine can "
            f"take twice as long; about {self.memory_mb:,.0f} MB per worker"
        )
        if self.device == "cuda":
            lines.append("heads are trained on the GPU, which takes a part of this time")
        return "\n".join(lines)


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
class Comparison(runs.Runs):
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
        Number of unfinished trainings of other parts; if any, `table` has the runs of this part
        only.
    errors
        The runs on complete labels with additional errors (`errors` of the grid), which only plans
        read.
    """

    grid: Grid = field(default=None)  # type: ignore[assignment]
    notes: tuple[str, ...] = ()
    validation_dollars: float | None = None
    left: int = 0
    errors: Table | None = None

    def text(self, *, details: bool = True, purchases: bool = True) -> str:
        """The results in sentences: first their conditions, then the purchases.

        Without details the sentences on each scheme are left out, and the purchases come last, or
        are left out too.
        """
        bought, notes = summary.purchases(self), [f"note: {note}" for note in self.notes]
        start = [*summary.conditions(self), *summary.assumptions(self)]
        others = [*self.lacking(), *self.bill(), *notes]
        free = summary.free_baseline(self)
        if not details and not purchases:
            return "\n".join([*start, *others, *free])
        if not details and bought:
            return "\n".join([*start, *others, "", *free, *bought])
        return "\n".join([*start, *free, *bought, *summary.sentences(self), *others])

    def _repr_html_(self) -> str:
        # Jupyter renders text between two dollar signs as a formula.
        text = escape(f"{self!r}\n{self.text()}").replace("$", "<span>$</span>")
        return f"<p>{text.replace(chr(10), '<br>')}</p>"

    def lacking(self) -> list[str]:
        """A sentence about failed runs, if any: how many, of which schemes and methods."""
        planned, finished = self.planned, len(self.every)
        if finished >= planned:
            return []
        named = [*self._failed()]
        more = f" and {numbered(len(named) - NAMED, 'more scheme')}" if len(named) > NAMED else ""
        return [
            f"{planned - finished:,} of {planned:,} runs failed and are left out everywhere: "
            f"{', '.join(named[:NAMED])}{more}"
        ]

    def _failed(self) -> Iterator[str]:
        """Each scheme with failed runs, and their methods."""
        counts = self.every.groupby(["reference", "scheme", "method"]).size()
        kinds = [(scheme, False, self.grid.methods) for scheme in self.grid.schemes]
        for scheme, reference, names in [*kinds, (COMPLETE, True, self.grid.references)]:
            planned = self.grid.draws * (1 if reference else len(self.grid.limits))
            done = {name: int(counts.get((reference, scheme, name), 0)) for name in names}
            failed = [name for name in names if done[name] < planned]
            if failed:
                what = listed(failed, len(failed)) if any(done.values()) else "every run"
                yield f"{'complete labels' if reference else scheme} ({what})"

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
                "low": cell.score.bounded.low,
                "high": cell.score.bounded.high,
                "draws": cell.score.draws,
                "behind": by and by.mean,
                "behind_low": by and by.low,
                "behind_high": by and by.high,
                "probability_best": line.best.probability.get(cell.method),
                "dollars": cell.dollars,
                "hours": cell.hours,
            }
            for line in self.summary()
            for cell in line.cells
            for by in [line.behind(cell.method)]
        ]
        return {
            "cells": cells,
            "conditions": [*summary.conditions(self)],
            "sentences": [*summary.free_baseline(self), *summary.sentences(self)],
            "verdicts": summary.purchases(self),
            "runs": len(self.every),
            "planned": self.planned,
            "validation_dollars": self.validation_dollars,
            "zero_shot": self.every.attrs.get("zero_shot"),
            "zero_shot_over": self.every.attrs.get("zero_shot_over"),
            "failures": list(self.failures),
            "notes": list(self.notes),
            "left": self.left,
            "assumes": summary.assumptions(self),
        }


def compare(
    grid: Grid | str | os.PathLike[str] | Mapping[str, Any],
    *,
    out: str | os.PathLike[str],
    fair: bool = False,
    executor: Executor | None = None,
    workers: int | None = None,
    part: str | None = None,
    accept: str | None = None,
    hooks: Hooks | None = None,
) -> Comparison:
    """Run the comparison of a grid and write its results to the folder `out`.

    Finished jobs in `out` are kept, so the same call resumes an interrupted comparison; several
    calls may run at the same time. Runs that fail do not stop the others: a warning says which,
    and `failures` has every error. Tables, figures and grid.toml appear together at the end and
    replace those of an earlier comparison. Before, in a folder without any, heat_map.png and
    summary.md show the draws that are complete.

    Parameters
    ----------
    grid
        A Grid, a TOML file, or a dictionary of the grid's fields.
    out
        Folder of the results.
    fair
        Try five or more settings of every method under every scheme first and compare the best
        ones, as with `fair = true` in the grid.
    executor
        An executor of concurrent.futures whose workers see the same files; by default local
        processes.
    workers
        Number of processes: by default one for each core; on GPUs one for each GPU where backbones
        are trained, and up to eight where heads are; 1 trains in this process.
    part
        The share of the jobs to run, such as "3/16" for the third of sixteen; the part that
        finishes last writes the tables. Every part needs the whole sweep, so each also runs jobs
        of the sweep that other parts have not finished.
    accept
        Hashes of other code (a warning names them), separated by commas, whose results are used as
        well.
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
    KeyboardInterrupt
        On Ctrl-C, with the number of jobs and trainings that are kept, and how to resume.
    """
    if isinstance(grid, str | os.PathLike):
        grid = Grid.load(grid)
    elif isinstance(grid, Mapping):
        grid = Grid.of(grid)
    if fair and not grid.fair:
        grid = dataclasses.replace(grid, fair=True, settings={})
    hooks = hooks or Hooks(notebook_bar("comparing"), notebook_bar("computing features"))
    with _interrupts_explained(Path(out)):
        work = _Work(
            grid, Path(out), part, Workers(executor, workers), hooks, accept=_codes(accept)
        )
        if hooks.planned is not None:
            hooks.planned(work.estimate())
        result = work.run()
    if result.failures:
        parts = [] if result.left else result.lacking()
        parts.append(f"the first error: {result.failures[0]}")
        place = "" if result.left else f"; all are in {Path(out) / 'summary.md'}"
        warnings.warn("; ".join(parts).rstrip(".") + place, stacklevel=2)
    return result


def estimate(
    grid: Grid,
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    part: str | None = None,
    accept: str | None = None,
) -> Estimate:
    """The work that `compare` would do with the same arguments; nothing is written to `out`.

    Features that the cache lacks are not computed.

    Raises
    ------
    BadInput
        As `compare` does before it starts.
    """
    of = Workers(None, workers)
    how: dict[str, Any] = {"accept": _codes(accept), "dry": True}
    return _Work(grid, Path(out), part, of, Hooks(), **how).estimate()


@contextmanager
def _interrupts_explained(out: Path) -> Iterator[None]:
    """On Ctrl-C within the block the message says how much work is kept, and how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        kept = runs.kept(out)
        text = "interrupted before any work began"
        if kept.trainings and not kept.finished:
            text = (
                "interrupted before a training was finished; the same call or command begins again"
            )
        elif kept.finished:
            text = f"interrupted; {kept} and kept in {out}; the same call or command runs the rest"
        raise KeyboardInterrupt(text) from None


def _codes(accept: str | None) -> tuple[str, ...]:
    """The hashes of accepted code."""
    return tuple(filter(None, map(str.strip, (accept or "").split(","))))


class _Work:
    """The work on one comparison. Raises BadInput if grid and data do not fit together."""

    def __init__(
        self,
        grid: Grid,
        folder: Path,
        part: str | None,
        workers: Workers,
        hooks: Hooks,
        *,
        accept: tuple[str, ...] = (),
        dry: bool = False,
    ) -> None:
        self.accept = accept
        self.grid, self.folder, self.hooks, self.dry = grid, folder, hooks, dry
        self.results = folder / "bundles"
        self.part = None if part is None else Part.read(part)
        source = source_of(grid)
        data = open_checked(source.data)
        none = {split: np.zeros(len(each.images), bool) for split, each in data.truth.items()}
        self.data = open_source(source, data=data, wanted=none, progress=hooks.preparing)
        check(grid, self.data)
        self.failures = self._certain_failures()
        if not dry:
            parts = [*map(schemes.make, grid.schemes), *map(methods.make, grid.trained)]
            check_classes(parts, workers)
        if not dry and any(each.uncomputed for each in self.data.features.values()):
            self.data = open_source(source, data=data, progress=hooks.preparing)
        self.left_out = [left_out(self.data, split) for split in source_of(grid).splits[1:]][-1]
        job_store.check_codes(self.results, accept)
        self.placed = self._placed(workers, part)
        self.workers = dataclasses.replace(workers, count=workers.count or self._on_gpus(workers))
        self.jobs, (self.sweep, self.swept) = jobs(self.placed, self.data), self._known_sweep()
        self.about = {
            "classes": self.data.data.classes,
            "leaves": self.data.data.leaves.tolist(),
            "methods": method_facts.written(grid.trained),
            **test_facts(self.data),
            "compared": _compared(grid, self.data),
            "paid": _paid(grid),
            "schemes": tuple(grid.schemes),
        }
        if grid.tuning is not None:
            self.about["tuned_at"] = str(tried_at(grid))
        if "val" in source.splits:
            self.about["val_images"] = self.data.truth("val").shape[0]
        if grid.pictures is not None or not grid.features:
            self.about["fit"] = FIT
        # Pictures of the work in progress; parts write none, as they would overwrite each other's.
        self.draws_shown = 0
        alone = self.part is None and not (folder / "table.parquet").exists()
        self.next_preview = time.monotonic() + EVERY if alone else math.inf

    def _known_sweep(self) -> tuple[list[Job], Finished]:
        """The jobs of the sweep, as far as finished ones tell which settings follow, and these."""
        tried, finished, following = list[Job](), Finished(), sweep(self.placed, self.data)
        while following:
            tried += following
            finished.done |= stored(following, self.results).done
            if finished.without(following):
                break
            following = further(self.placed, self.data, tried, finished.done)
        return tried, finished

    def _on_gpus(self, workers: Workers) -> int | None:
        """Number of local processes by the GPUs that they use, if any; None: one for each core."""
        if workers.executor is not None or not (count := len(gpus())):
            return None
        if self.grid.pictures is not None:
            return count
        if self.placed.device != "cuda":
            return None
        return min(count * heads_together(device_of("cuda")), usable_cores())

    def _placed(self, workers: Workers, part: str | None) -> Grid:
        """The grid with the device on which its heads are trained.

        Other machines may have no GPU: with an executor or a part, "auto" is the CPU, so that all
        results have the same keys.
        """
        grid, device = self.grid, self.grid.device
        if device == "auto":
            alone = workers.executor is None and part is None and grid.pictures is None
            work = sum(seconds(batch, grid, self.data) for batch in label_batches(grid))
            many = grid.draws * work > WORTH
            device = "cuda" if alone and many and torch.cuda.is_available() else "cpu"
        elif workers.executor is None:
            device_of(device)
        return dataclasses.replace(grid, device=device)

    def _certain_failures(self) -> tuple[str, ...]:
        """A sentence for each run that is certain to fail, found on the labels of the first draw.

        Labels that depend on features without any are not checked. Raises BadInput if all compared
        runs will fail.
        """
        grid, features = self.grid, self.data.features.values()
        lacking = any(each.uncomputed for each in features)
        batches = [
            batch for batch in label_batches(grid)
            if not (batch.errors or (lacking and schemes.make(batch.scheme).needs_features))
        ]  # fmt: skip
        job = Job(source_of(grid), (), (0,), grid, price_list(grid.prices), self.data.ids)
        refused = refusals(batches, job, self.data)
        if grid.tuning is not None:
            middle = tried_at(grid)
            untuned = dict(refused)
            for batch in [one for one in batches if not one.reference]:
                for spec in batch.methods:
                    tried = untuned.get((dataclasses.replace(batch, limit=middle), spec))
                    if tried is not None:
                        why = f"{tried} (settings are tried at {middle}, for all budgets)"
                        refused[batch, spec] = why
        failures = tuple(
            f"{run_name(batch, draw, spec)}: {why}"
            for (batch, spec), why in refused.items() for draw in range(grid.draws)
        )  # fmt: skip
        compared = sum(not batch.reference for batch, _ in refused)
        if compared == len(grid.schemes) * len(grid.limits) * len(grid.methods):
            raise BadInput(f"every run would fail: {'; '.join(runs.grouped(failures))}")
        if failures:
            start = (
                f"{len(failures):,} of {numbered(self.planned, 'run')} will fail, and the others "
                "go on; mend the grid first to avoid it:"
            )
            warnings.warn("\n- ".join([start, *runs.grouped(failures)]), stacklevel=4)
        return failures

    @property
    def planned(self) -> int:
        """The number of compared runs and references, without those with additional errors."""
        batches = [batch for batch in label_batches(self.grid) if not batch.errors]
        return self.grid.draws * sum(len(batch.methods) for batch in batches)

    def estimate(self) -> Estimate:
        """The plan for the unfinished jobs."""
        grid, planned_jobs, by_key = self.grid, self.jobs, job_store.codes(self.results)

        def left(of: list[Job]) -> list[Job]:
            return [j for j in of if not {j.code, *self.accept}.intersection(by_key.get(j.key, ()))]

        # Accepted results count once they are stored.
        choosing = bool(self.swept.without(self.sweep))
        if self.sweep and not choosing:
            chosen, _ = choose(self.sweep, self.swept.done)
            planned_jobs = jobs(self.placed, self.data, chosen)
        compared = sum(
            len(job.draws) * len(batch.methods)
            for job in planned_jobs for batch in job.batches if not batch.reference
        )  # fmt: skip
        share = [*self._share(self.sweep), *self._share(planned_jobs)]
        if self.dry:  # else before the training
            self._check_code(share)
        unfinished = left(share)
        kept = sum(kept_trainings(job, self.results) for job in unfinished)
        each, alone, shared = list[float](), 0.0, 0  # seconds of jobs; those of jobs run one by one
        executor = self.workers.executor
        for job in unfinished:
            trained, draws = trainings(job), len(job.draws)
            took = draws * sum(seconds(batch, grid, self.data, of=of)
                               for batch, of in trained.items())  # fmt: skip
            each.append(took)
            shared += job.runs - draws * sum(map(len, trained.values()))
            alone += took if executor is None and runs_here(job) else 0.0
        # The number of workers of other executors is unknown.
        others = getattr(executor, "workers", 1) if executor else usable_cores()
        workers = self.workers.count or others
        busy = min(workers, len(unfinished)) or 1
        start = START if executor is None and busy > 1 and sum(each) > alone else 0.0
        return Estimate(
            schemes=len(grid.schemes),
            limits=len(grid.budgets) + len(grid.hours),
            methods=len(grid.methods),
            draws=grid.draws,
            runs=compared,
            references=sum(job.runs for job in planned_jobs) - compared,
            tuning=sum(job.runs for job in self.sweep),
            part="" if self.part is None else str(self.part),
            parts=max(len(left(self.sweep)), len(left(planned_jobs))),
            jobs=len(share),
            finished=len(share) - len(unfinished),
            trainings=(total := sum(job.runs for job in share)),
            shared=shared,
            kept=total - sum(job.runs for job in unfinished) + kept,
            again=sum(job.runs for job in unfinished if job.key in by_key),
            hours=sum(each) / 3600,
            minutes=(max((sum(each) - alone) / busy + alone, *each, 0.0) + start) / 60,
            workers=workers,
            memory_mb=(peak_memory() or 0.0) + self._largest_stack(unfinished) / 2**20,
            choosing=choosing,
            device=self.placed.device,
            failing=len(self.failures),
            failures=tuple(runs.grouped(self.failures)),
            **self._features(),
        )

    def _features(self) -> dict[str, Any]:
        """Of an estimate: the size of the features in the cache, and the images without any."""
        if self.grid.features or not self.data.features:
            return {}
        uncomputed = dict.fromkeys((split for split, _ in self.data.features), 0)
        for (split, _), each in self.data.features.items():
            uncomputed[split] = max(uncomputed[split], each.uncomputed)
        size = sum(each.values.nbytes for each in self.data.features.values())
        return {
            "features_mb": size / 2**20, "uncomputed": sum(uncomputed.values()),
            "cache": str(cache_folder()),
        }  # fmt: skip

    def _largest_stack(self, unfinished: Sequence[Job]) -> float:
        """Largest stack in bytes: at most the grid's `memory`, unless a single run needs more."""
        largest, data = 0.0, self.data
        images, classes = data.truth("train").shape
        heads = () if self.grid.pictures is not None else {job.batches for job in unfinished}
        for batches in heads:
            run_sizes = []
            for method in (methods.make(p.spelled(m)) for p in batches for m in p.methods):
                _, width, *sides = data.features["train", kind_of(method)].values.shape
                sizes = methods.Sizes(images, classes, width, max(sides, default=None))
                counts = {"width": width, "rows": images, "scored": data.truth("test").shape[0]}
                run_sizes.append(run_bytes(method, sizes, **counts))
            largest = max(largest, min(sum(run_sizes), self.grid.memory * 1e9), *run_sizes)
        return largest

    def run(self) -> Comparison:
        """Run the jobs of this part; the tables are written once all parts are finished."""
        progress, planned_jobs = self.hooks.progress, self.jobs
        failures, sweep_notes, of_sweep = list[str](), list[str](), list[str]()
        self._check_code(self.sweep or planned_jobs)
        compared = sum(job.runs for job in self._share(planned_jobs))
        if self.sweep:
            swept = self._swept(planned_jobs, lambda done, tried: progress(done, tried + compared))
            chosen, unscored = choose(self.sweep, swept.done)
            failures, sweep_notes = self._unscored(swept, unscored)
            of_sweep = _other_codes(self.sweep, swept)
            planned_jobs = jobs(self.placed, self.data, chosen)
            self._check_code(planned_jobs)
        sweep_runs = sum(job.runs for job in self._share(self.sweep))
        total = sweep_runs + compared
        self._begin([*self.sweep, *planned_jobs])
        share = self._share(planned_jobs)

        def preview() -> None:
            if time.monotonic() >= self.next_preview:
                self._preview(share)

        def advance(done: int, of: int) -> None:
            progress(sweep_runs + done, total)

        finished = finish(share, self.results, self.workers, advance, preview)
        left = 0
        if self.part is not None:
            of_all_parts = stored(planned_jobs, self.results)
            left = sum(job.runs for job in of_all_parts.without(planned_jobs))
            share, finished = (share, finished) if left else (planned_jobs, of_all_parts)
        dollars = None
        if self.sweep and self.grid.validation != "complete":  # else each budget pays for labels
            labels = tuning_labels(self.sweep[0], self.data)
            dollars = float(cost(labels, self.sweep[0].prices.once_set_up()).dollars)
        failures += [f"{name}: {why}" for name, why in finished.reasons(share).items()]
        rows = self._rows(share, finished, failures, self.planned)
        used = dict.fromkeys([*of_sweep, *_other_codes(share, finished)])
        notes = (
            *filter(None, [self.left_out]), *sweep_notes,
            *(f"results of other code ({code}) are used, as accepted" for code in used),
            *summary.notes_of(opened(rows)),
        )  # fmt: skip
        _, errors = runs.split_errors(_tables(share, finished))
        result = Comparison(rows, self.grid, notes, dollars, left, errors)
        if left:
            return result
        if not result.table.empty:
            write_scores(self.folder, result.reference, self.grid, self.data)
        return written(result, self.folder)

    def _assumed(self, rows: Table) -> Iterator[str]:
        """What schemes have free: the machine that they assume, or a model's scores."""
        bought = opened(rows)
        bought = bought[~bought["reference"].astype(bool)]
        for scheme, purchases in bought.groupby("scheme", sort=False):
            row = purchases.loc[purchases["dollars"].idxmax()]
            effort = Effort.from_json(json.loads(row["effort"]))
            part, truth = schemes.make(row["scheme_spec"]), self.data.truth("train")
            images, prices = self.grid.images, self.grid.prices
            if scores := free_scores(part, effort, truth, prices, images=images):
                yield f"{scheme} {scores}"
            machine = assumed(
                part, effort, truth, prices, images=images, seed=self.grid.seed,
                draw=int(row["draw"]),
            )  # fmt: skip
            if machine is not None:
                yield f"{scheme} {machine.text(cost(effort, prices).dollars)}"

    def _rows(
        self, of: list[Job], finished: Finished, failures: Sequence[str] = (), planned: int = 0
    ) -> Table:
        """The runs of those jobs that are finished.

        The facts of the table include the zero-shot mAP on the test split and the name of the
        image-text model, if any.
        """
        tables, _ = runs.split_errors(_tables(of, finished))
        about, data = {**self.about, "failures": tuple(failures), "planned": planned}, self.data
        about |= {"left_out": self.left_out, "assumes": tuple(self._assumed(runs.concat(tables)))}
        if "test" in data.scored:
            test = Scored(data.scores["test"], data.truth("test").present, data.known("test"))
            values, leaves = data.scores["test"], data.data.leaves
            scored = leaves[~np.isnan(test.of(leaves).ap())]
            covered = scored[(values[:, scored] > schemes.MISSING).any(axis=0)]
            about["zero_shot"] = scored_row(test, covered)["map"]
            if len(covered) < len(scored):
                about["zero_shot_over"] = (len(covered), len(scored))
            model = data.similarities.get("test")
            named = {} if model is None else model.history.settings
            about["scored_by"] = named.get("model", "a file")
        return self._in_order(runs.concat(tables, about))

    def _in_order(self, rows: Table) -> Table:
        """The rows in the order of the grid, whatever their jobs: compared runs first, by draw,
        scheme, budget and method."""
        batches = {
            (one.reference, one.scheme, one.limit.dollars, one.limit.hours): place
            for place, one in enumerate(label_batches(self.grid))
        }
        of_methods = {spec: place for place, spec in enumerate(self.grid.trained)}
        names = ("reference", "scheme", "budget", "budget_hours", "draw", "method")
        places = [
            (reference, draw, batches[reference, *of_batch], of_methods[spec])
            for reference, *of_batch, draw, spec in zip(
                *(rows[name].to_pylist() for name in names), strict=True
            )
        ]
        order = sorted(range(len(places)), key=places.__getitem__)
        return rows.take(np.array(order, np.int64))

    def _share(self, every: list[Job]) -> list[Job]:
        """The jobs of this part."""
        return every if self.part is None else self.part.share(every)

    def _begin(self, known: list[Job], more: int = 0) -> None:
        """Write the plan: the known jobs, and the number of trainings with `more` that follow."""
        stems = [job.stem for job in known]
        about = {**self.about, "trainings": sum(job.runs for job in known) + more}
        if self.grid.tuning is not None:
            about["tried"] = json.dumps(tried_values(self.sweep))
            about["untried"] = json.dumps(untried_values(self.grid, self.sweep))
        self.about = about
        job_store.begin(self.folder, grid=self.grid.to_toml(), keys=stems, about=about)

    def _check_code(self, planned_jobs: list[Job]) -> None:
        """Store results of accepted code as those of these jobs; warn of other code's."""
        if not self.dry:
            adopt(planned_jobs, self.results, self.accept)
        by_key, by_code = job_store.codes(self.results), dict[str, list[Job]]()
        for job in planned_jobs:
            codes = by_key.get(job.key, ())
            if codes and not {job.code, *self.accept}.intersection(codes):
                by_code.setdefault(job.code, []).append(job)
        others, again, older = list[str](), list[str](), Counter[str]()
        for of_code in by_code.values():
            (code, _), *rest = Counter(c for job in of_code for c in by_key[job.key]).most_common()
            own = dict.fromkeys(name for job in of_code for name in job.own)
            of = f" of {listed([*own])}" if own else ""
            again.append(f"{numbered(sum(job.runs for job in of_code), 'training')}{of} ({code})")
            others.append(code)
            older.update(dict(rest))
        if again:
            counts = ", ".join(f"{code} {count:,}" for code, count in older.most_common())
            more = f"; of {numbered(len(older), 'other code')}: {counts}" if older else ""
            accept = ",".join([*self.accept, *others])
            warnings.warn(
                f"results of other code are not used: {listed(again, len(again))} will run again; "
                f"accept {accept!r} (--accept {accept}) to use them{more}",
                stacklevel=4,
            )

    def _swept(self, planned_jobs: list[Job], progress: Progress) -> Finished:
        """The whole sweep: its jobs, and those that follow from their results.

        progress: called with the trainings done, and with those of the sweep known so far.
        """
        swept, following, earlier = Finished({}, {}), self.sweep, 0
        while following:
            self._begin(self.sweep, sum(job.runs for job in planned_jobs))
            known = sum(job.runs for job in self._share(self.sweep))
            finished = self._finish(following, partial(_after, earlier, known, progress))
            swept.done |= finished.done
            swept.failures |= finished.failures
            earlier = known
            following = further(self.placed, self.data, self.sweep, swept.done)
            self._check_code(following)
            self.sweep = [*self.sweep, *following]
        return swept

    def _finish(self, tried: list[Job], progress: Progress) -> Finished:
        """Jobs of the sweep; a part runs its own share first, then unfinished ones of others."""
        share = self._share(tried)
        swept = finish(share, self.results, self.workers, progress)
        start = tried.index(share[-1]) if share else 0
        others = [job for job in [*tried[start:], *tried[:start]] if job not in share]
        # A few at a time, so that parts seldom run the same job.
        at_once = self.workers.count or usable_cores()
        while others:
            swept.done |= stored(others, self.results).done
            unfinished = [job for job in others if job.key not in swept.done]
            finished = finish(unfinished[:at_once], self.results, self.workers, silent)
            swept.done |= finished.done
            swept.failures |= finished.failures
            others = unfinished[at_once:]
        return swept

    def _unscored(
        self, swept: Finished, unscored: Sequence[tuple[LabelBatch, str]]
    ) -> tuple[list[str], list[str]]:
        """A sentence for each run that a sweep left without settings, and for other failed trials.

        unscored: the batches of the sweep and the methods without a score.
        """
        failures, reasons = list[str](), swept.reasons(self.sweep)
        draws = sorted({draw for job in self.sweep for draw in job.draws}, reverse=True)
        of_choice = {(choice_of(batch), spec): [run_name(batch, draw, spec) for draw in draws]
                     for batch, spec in unscored}  # fmt: skip
        nothing = "no setting has a score on the validation labels; leave tuning out"
        for batch in label_batches(self.grid):
            for spec in (m for m in batch.methods if (choice_of(batch), m) in of_choice):
                known = (reasons.get(name) for name in of_choice[choice_of(batch), spec])
                why = next(filter(None, known), nothing)
                failures += [f"{run_name(batch, draw, spec)}: {why}"
                             for draw in range(self.grid.draws) if not batch.errors]  # fmt: skip
        lost = {name for names in of_choice.values() for name in names}
        return failures, [f"{name}: {why}" for name, why in reasons.items() if name not in lost]

    def _preview(self, share: list[Job]) -> None:
        """Write heat_map.png and summary.md of the complete draws, in at most 3 % of the time.

        A folder with the tables of a finished comparison keeps its files until the end, as in
        `open_runs`.
        """
        now, start = time.monotonic(), time.process_time()
        finished = stored(share, self.results)
        unfinished = {draw for job in finished.without(share) for draw in job.draws}
        complete = [job for job in share if not unfinished.intersection(job.draws)]
        draws = len({draw for job in complete for draw in job.draws})
        result = Comparison(self._rows(complete, finished), self.grid)
        new = draws > self.draws_shown and not result.table.empty
        if new:
            note = f"{draws} of {self.grid.draws} draws, running"
            figure = figures.make("heat-map", so_far=note)
            start = time.process_time()  # without the loading of libraries
            picture = self.folder / "heat_map.png"
            files: dict[str, Callable[[Path], object]] = {
                picture.name: partial(figure(result).savefig, format="png"),
                "summary.md": _text_writer(summary.markdown(result, before=note)),
            }
            if (self.folder / "table.parquet").exists():  # another process has finished it
                self.next_preview = math.inf
                return
            first = not picture.exists()
            runs.write(files, self.folder)
            if first and self.hooks.pictured is not None:
                self.hooks.pictured(picture)
            self.draws_shown = draws
        took = time.process_time() - start
        self.next_preview = now + max(EVERY if new else 0.0, 33 * took)


def _after(earlier: int, known: int, progress: Progress, done: int, of: int) -> None:
    """Report the progress of work that follows `earlier` trainings, `known` with its own."""
    progress(earlier + done, known)


def _tables(jobs: Sequence[Job], finished: Finished) -> list[Table]:
    return [finished.done[job.key].table for job in jobs if job.key in finished.done]


def _other_codes(jobs: Sequence[Job], finished: Finished) -> list[str]:
    """The hashes of accepted code that made results of these jobs."""
    codes = dict[str, None]()
    for job in (one for one in jobs if one.key in finished.done):
        for text in dict.fromkeys(finished.done[job.key].table["environment"].to_pylist()):
            if (code := json.loads(text).get("code", job.code)) != job.code:
                codes[code] = None
    return [*codes]


def _compared(grid: Grid, data: StudyData) -> str:
    """What is compared on what: data, features, prices, draws and training, in one line."""
    images, classes = data.truth("train").shape
    asked = how_many(grid.images, images)
    weights = f" ({grid.weights})" if grid.weights else ""
    features = f"features of {grid.backbone}{weights}"
    if grid.pictures is not None:
        features = f"{grid.backbone}{weights} trained from images"
    elif grid.features:
        features = f"features in {listed([*dict.fromkeys(grid.features.values())])}"
        made = next((f for f in data.features.values() if f.history.parents[1:]), None)
        if made is not None:  # plain files do not name their network
            name, (weights, *_) = made.history.settings.get("backbone"), made.history.parents[1:]
            features += f", of {name} with the weights {weights}"
    trained = [grid.training(spec) for spec in grid.trained]
    epochs = [str(number) for number in sorted({one.epochs for one in trained})]
    val = f"{data.truth('val').shape[0]:,} validation images" if grid.validation != "none" else ""
    chosen = {"last": "the last is scored", "best": f"the best on labels of {val} is scored"}
    scored = listed([chosen[one] for one in dict.fromkeys(one.select for one in trained)])
    of = f"{asked:,} of " if asked < images else ""
    return (
        f"{grid.data}: {of}{images:,} training images and {data.truth('test').shape[0]:,} test "
        f"images, {classes:,} class{'es' * (classes != 1)}; {features}; {_paid(grid)}; "
        f"{numbered(grid.draws, 'draw')}, seed {grid.seed}; {listed(epochs, last='or')} epochs, "
        f"{scored}; simkit {versions()['simkit']}"
    )


def _paid(grid: Grid) -> str:
    """What decides about the price and the quality of the labels."""
    return f"prices {grid.prices}, annotators {grid.habits.errors}"


def _text_writer(text: str) -> Callable[[Path], object]:
    return partial(Path.write_text, data=text, encoding="utf-8")


def written(result: Comparison, folder: Path) -> Comparison:
    """The comparison, after writing its files. Raises BadInput if every run failed."""
    if result.table.empty:
        job_store.ended(folder)
        raise BadInput(f"every run failed; the first error is: {result.failures[0]}")
    files = runs.writers(result.rows, result.errors)
    failed = [f"- {text}" for text in runs.grouped(result.failures)]
    lacking = [f"{text}." for text in result.lacking()]
    failures = "\n".join(["# Failed", "", *lacking, "", *failed]) if failed else ""
    chapters = [summary.markdown(result, before=failures)]
    if notes := [f"- {note}" for note in (*result.bill(), *result.notes)]:
        chapters.append("\n".join(["", "## Notes", "", *notes, ""]))
    files["grid.toml"] = _text_writer(result.grid.to_toml())
    if chosen := list(summary.choices(result.every)):
        chapters.append(summary.chapter_of_settings(result.every))
        settings: dict[str, dict[str, Any]] = {}
        for row in chosen:
            scheme = REFERENCE if row["reference"] else row["scheme"]
            settings.setdefault(scheme, {})[row["method"]] = json.loads(row["tuned"])
        labels = f"complete validation labels of {result.grid.data}, seed {result.grid.seed}"
        again = '# A grid with settings = "settings.toml" uses them again.'
        lines = [f"# Chosen on {labels}.", again, *toml_lines(settings), ""]
        files["settings.toml"] = _text_writer("\n".join(lines))
    files["summary.md"] = _text_writer("\n".join(chapters))
    for file, name in PICTURES.items():
        files[file] = partial(figures.make(name)(result).savefig, format="png")
    runs.write(files, folder)
    optional = {f"{name}.{kind}" for name in ("reference", "errors") for kind in ("parquet", "csv")}
    outdated = {*optional, "settings.toml"} - set(files)
    if result.grid.settings:  # may have been read from that very file
        outdated.discard("settings.toml")
    for name in outdated:
        (folder / name).unlink(missing_ok=True)
    job_store.ended(folder)
    return result
