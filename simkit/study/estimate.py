"""The plan of work before it starts: what is trained, how long it takes, in how much memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from simkit.embed.features.peak import peak_memory
from simkit.learn import methods
from simkit.learn.methods import Sizes
from simkit.progress import Progress, silent
from simkit.study import jobs as planning
from simkit.study import store
from simkit.study.grid import Grid
from simkit.study.jobs import Job
from simkit.study.scheduler import Part, gpus, stem, stored, usable_cores
from simkit.study.sources import StudyData, kind_of, open_source
from simkit.study.sweep import choose
from simkit.study.worker import run_bytes


@dataclass(frozen=True)
class Estimate:
    """What a comparison will do.

    runs       trainings that are compared; references: with all labels; tuning: of the sweep.
    parts      how many parts can have work; what is beyond has none.
    jobs       pieces of work, those of the sweep included; finished: how many are there already.
    part       which share of the jobs, such as "3/16", or "" for all; all that follows is of it.
    hours      of one worker, for what is left, by counting operations for a core of a recent
               laptop; the progress of a comparison measures it.
    minutes    of the clock, with so many workers, without starting them and drawing pictures.
    memory_mb  that one worker takes at most, about.
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
        """For people, in three or four lines."""
        limits = f" x {_many(self.limits, 'budget')}" if self.limits else ""
        also = [f"{self.references:,} with all labels"] if self.references else []
        also += [f"{self.tuning:,} of the sweep before"] if self.tuning else []
        verb = "is" if self.finished == 1 else "are"
        finished = f", of which {self.finished:,} {verb} finished" if self.finished else ""
        share = f"part {self.part}: " if self.part else ""
        lines = [
            f"plan: {_many(self.schemes, 'scheme')}{limits} x {_many(self.methods, 'method')} x "
            f"{_many(self.draws, 'draw')}: {_many(self.runs, 'training')}"
            + (f", and {' and '.join(also)}" if also else ""),
            f"{share}{_many(self.jobs, 'job')}{finished}; with --part at most "
            f"{_many(self.parts, 'part')} can have work",
        ]
        if self.finished == self.jobs:
            return "\n".join([*lines, "nothing is left to train"])
        duration = timedelta(seconds=max(1, round(60 * self.minutes)))
        lines.append(
            f"roughly {duration} of work with {_many(self.workers, 'worker')}, by counting what is "
            f"computed; about {self.memory_mb:,.0f} MB in each"
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
    """What `compare` would do, and how long it would take; nothing is written to `out`.

    Features that are not there yet are computed and kept. Raises BadInput as `compare` does before
    it starts.
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
    """The plan for what is left in the folder of a comparison."""
    folder = folder / "bundles"
    workers = workers or (len(gpus()) if grid.pictures else 0) or usable_cores()
    tried, every = planning.sweep(grid, data), planning.jobs(grid, data)
    if tried and all(store.finished(folder, stem(job, folder, accept)) for job in tried):
        chosen, _ = choose(tried, stored(tried, folder, accept))
        every = planning.jobs(grid, data, chosen)
    compared = sum(
        len(job.draws) * len(one.methods)
        for job in every for one in job.purchases if not one.reference
    )  # fmt: skip
    mine = [job for some in (tried, every) for job in (part.share(some) if part else some)]
    left = [job for job in mine if not store.finished(folder, stem(job, folder, accept))]
    each = [
        len(job.draws) * sum(planning.seconds(one, grid, data) for one in job.purchases)
        for job in left
    ]
    busy = min(workers, len(left)) or 1
    return Estimate(
        schemes=len(grid.schemes),
        limits=len(grid.budgets) + len(grid.hours),
        methods=len(grid.methods),
        draws=grid.draws,
        runs=compared,
        references=sum(job.runs for job in every) - compared,
        tuning=sum(job.runs for job in tried),
        part="" if part is None else str(part),
        parts=max(len(tried), len(every)),
        jobs=len(mine),
        finished=len(mine) - len(left),
        hours=sum(each) / 3600,
        minutes=max(sum(each) / busy, *each, 0.0) / 60 if each else 0.0,
        workers=workers,
        memory_mb=(peak_memory() or 0.0) + _largest_stack(left, grid, data) / 2**20,
    )


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _largest_stack(left: Sequence[Job], grid: Grid, data: StudyData) -> float:
    """Bytes of the largest stack there may be: what is trained together is bounded, but for a run
    that takes more alone."""
    if grid.pictures is not None:
        return 0.0
    largest = 0.0
    images, classes = data.truth("train").shape
    for purchases in {job.purchases for job in left}:
        needs = []
        for spelled in (one.spelled(spec) for one in purchases for spec in one.methods):
            _, width, *sides = data.features["train", kind_of(spelled)].values.shape
            sizes = Sizes(images, classes, width, max(sides, default=None))
            how = {"width": width, "rows": images, "scored": data.truth("test").shape[0]}
            needs.append(run_bytes(methods.make(spelled), sizes, **how))
        largest = max(largest, min(sum(needs), grid.memory * 1e9), *needs)
    return largest
