"""The plan of work before it starts: number of trainings, duration and memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from simkit.learn import methods
from simkit.learn.methods import Sizes
from simkit.progress import Progress, peak_memory, silent, usable_cores
from simkit.results import job_store
from simkit.study import jobs as planning
from simkit.study.grid import Grid
from simkit.study.jobs import Job
from simkit.study.scheduler import Part, gpus, stem, stored
from simkit.study.sources import StudyData, kind_of, open_source
from simkit.study.worker import run_bytes


@dataclass(frozen=True)
class Estimate:
    """The work of a comparison; `jobs` and all later fields are of `part` alone, if any.

    Attributes
    ----------
    runs, references, tuning
        Number of compared trainings, of those on complete labels, and of those of the sweep.
    part
        The share of the jobs, such as "3/16"; "" for all.
    parts
        Largest number of parts that all have unfinished jobs.
    jobs, finished
        Number of jobs, those of the sweep included, and of finished ones.
    hours
        Time of one worker for the unfinished jobs, from operation counts for one core of a recent
        laptop; a rough estimate.
    minutes
        Wall-clock time with `workers` workers, without their start and the figures.
    memory_mb
        Largest memory of one worker, roughly.
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
    hours: float
    minutes: float
    workers: int
    memory_mb: float

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def text(self) -> str:
        """The plan in two or three lines."""
        limits = f" x {_counted(self.limits, 'budget')}" if self.limits else ""
        also = [f"{self.references:,} with all labels"] if self.references else []
        also += [f"{self.tuning:,} to choose settings"] if self.tuning else []
        verb = "is" if self.finished == 1 else "are"
        finished = f", of which {self.finished:,} {verb} finished" if self.finished else ""
        share = f"part {self.part}: " if self.part else ""
        parts = f"; work for at most {self.parts:,} parts (--part)" if self.parts > 1 else ""
        lines = [
            f"plan: {_counted(self.schemes, 'scheme')}{limits} x "
            f"{_counted(self.methods, 'method')} x {_counted(self.draws, 'draw')}: "
            f"{_counted(self.runs, 'training')}" + (f", and {' and '.join(also)}" if also else ""),
            f"{share}{_counted(self.jobs, 'job')}{finished}{parts}",
        ]
        if self.finished == self.jobs:
            return "\n".join([*lines, "nothing is left to train"])
        duration = timedelta(seconds=max(1, round(60 * self.minutes)))
        lines.append(
            f"roughly {duration} of work with {_counted(self.workers, 'worker')}, estimated from "
            f"operation counts; about {self.memory_mb:,.0f} MB per worker"
        )
        return "\n".join(lines)


def estimate(
    grid: Grid,
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    part: str | None = None,
    accept: str = "",
    preparing: Progress = silent,
) -> Estimate:
    """The work that `compare` would do with the same arguments; nothing is written to `out`.

    Missing features are computed and cached.

    Raises
    ------
    BadInput
        As `compare` does before it starts.
    """
    share = None if part is None else Part.read(part)
    data = open_source(planning.source_of(grid), progress=preparing)
    planning.check(grid, data)
    return estimate_of(grid, data, folder=Path(out), workers=workers, part=share, accept=accept)


def estimate_of(
    grid: Grid,
    data: StudyData,
    *,
    folder: Path,
    workers: int | None,
    part: Part | None = None,
    accept: str = "",
) -> Estimate:
    """The plan for the unfinished jobs in the folder of a comparison."""
    results = folder / "bundles"
    job_store.check_code(results, accept)
    workers = workers or (len(gpus()) if grid.pictures else 0) or usable_cores()
    sweep_jobs, jobs = planning.sweep(grid, data), planning.jobs(grid, data)

    def left(of: list[Job]) -> list[Job]:
        return [job for job in of if not job_store.finished(results, stem(job, results, accept))]

    if sweep_jobs and not left(sweep_jobs):
        chosen, _ = planning.choose(sweep_jobs, stored(sweep_jobs, results, accept).done)
        jobs = planning.jobs(grid, data, chosen)
    compared = sum(
        len(job.draws) * len(batch.methods)
        for job in jobs for batch in job.batches if not batch.reference
    )  # fmt: skip
    share = [*part.share(sweep_jobs), *part.share(jobs)] if part else [*sweep_jobs, *jobs]
    unfinished = left(share)
    seconds = [
        len(job.draws) * sum(planning.seconds(p, grid, data) for p in job.batches)
        for job in unfinished
    ]
    busy = min(workers, len(unfinished)) or 1
    return Estimate(
        schemes=len(grid.schemes),
        limits=len(grid.budgets) + len(grid.hours),
        methods=len(grid.methods),
        draws=grid.draws,
        runs=compared,
        references=sum(job.runs for job in jobs) - compared,
        tuning=sum(job.runs for job in sweep_jobs),
        part="" if part is None else str(part),
        parts=max(len(left(sweep_jobs)), len(left(jobs))),
        jobs=len(share),
        finished=len(share) - len(unfinished),
        hours=sum(seconds) / 3600,
        minutes=max(sum(seconds) / busy, *seconds, 0.0) / 60 if seconds else 0.0,
        workers=workers,
        memory_mb=(peak_memory() or 0.0) + _largest_stack(unfinished, grid, data) / 2**20,
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _largest_stack(unfinished: Sequence[Job], grid: Grid, data: StudyData) -> float:
    """Largest possible stack, in bytes: at most the grid's `memory`, or one run that takes more."""
    if grid.pictures is not None:
        return 0.0
    largest = 0.0
    images, classes = data.truth("train").shape
    for batches in {job.batches for job in unfinished}:
        run_sizes = []
        for spelled in (p.spelled(spec) for p in batches for spec in p.methods):
            _, width, *sides = data.features["train", kind_of(methods.make(spelled))].values.shape
            sizes = Sizes(images, classes, width, max(sides, default=None))
            counts = {"width": width, "rows": images, "scored": data.truth("test").shape[0]}
            run_sizes.append(run_bytes(methods.make(spelled), sizes, **counts))
        largest = max(largest, min(sum(run_sizes), grid.memory * 1e9), *run_sizes)
    return largest
