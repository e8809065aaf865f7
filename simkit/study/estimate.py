"""The plan of work before it starts: what is trained, how long it takes, in how much memory."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from simkit.embed.features.peak import peak_memory
from simkit.labels.partial import PartialLabels
from simkit.learn import methods
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Method, Sizes, Task
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train_stack
from simkit.progress import Progress, silent
from simkit.study import jobs as planning
from simkit.study import store
from simkit.study.grid import Grid
from simkit.study.jobs import Job, Size, backbone_seconds, stack_seconds
from simkit.study.scheduler import Part, gpus, stem, stored, usable_cores
from simkit.study.sources import StudyData, kind_of, open_source
from simkit.study.sweep import choose
from simkit.study.worker import one_thread, run_bytes

_BATCHES = 8  # that one epoch of the calibration has
_LONGEST = 2.0  # seconds: what takes longer is not begun


@dataclass(frozen=True)
class Estimate:
    """What a comparison will do.

    runs       trainings that are compared; references: with all labels; tuning: of the sweep.
    parts      how many parts can have work; what is beyond has none.
    jobs       pieces of work, those of the sweep included; finished: how many are there already.
    part       which share of the jobs, such as "3/16", or "" for all; all that follows is of it.
    hours      of one worker, for what is left.  minutes: of the clock, with so many workers. To
               start workers, to read what they work on, and to draw is not in it.
    memory_mb  that one worker takes at most, about.
    calibration_seconds  of the calibration; 0 where there is nothing left to do.
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
    calibration_seconds: float

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
            f"roughly {duration} of work with {_many(self.workers, 'worker')}, by a calibration of "
            f"{self.calibration_seconds:.1f} seconds, and half a minute to start and to draw; "
            f"about {self.memory_mb:,.0f} MB in each"
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

    Features that are not there yet are computed and kept. The rest is a calibration of some
    seconds. Raises BadInput as `compare` does before it starts.
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
    """The plan for what is left in the folder of a comparison; trains for some seconds at most."""
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
    speed, took = _calibrated(grid, data) if left else (1.0, 0.0)
    each = [
        speed * len(job.draws) * sum(planning.seconds(one, grid, data) for one in job.purchases)
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
        calibration_seconds=took,
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


def _calibrated(grid: Grid, data: StudyData) -> tuple[float, float]:
    """Seconds that training takes for one that is counted, and the seconds that this took.

    The methods of the grid train together on a few batches of its features, with all labels. Their
    side information and the purchase of labels are not timed. Of a backbone one picture is timed on
    its way forwards, on the CPU.
    """
    start = time.perf_counter()
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        speed = _of_backbones(data) if data.networks else _of_heads(grid, data)
    return speed, time.perf_counter() - start


def _of_heads(grid: Grid, data: StudyData) -> float:
    taken = counted = 0.0
    kinds = sorted({kind_of(spec) for spec in grid.methods})
    for kind in kinds:
        values = data.features["train", kind].values
        rows = min(len(values), _BATCHES * grid.train.batch_size)
        asked = np.zeros(len(values), bool)  # all over the file, as rows are read in training
        asked[np.linspace(0, len(values) - 1, rows).astype(int)] = True
        truth = data.truth("train")
        codes: NDArray[np.int8] = np.where(truth.present.toarray(), np.int8(1), np.int8(-1))
        codes[~asked] = 0
        labels = PartialLabels.of(codes, truth.images, truth.classes, asked)
        task = Task(labels, data.inputs("train", kind))
        size = Size(rows, labels.shape[1], values.shape[1], int(np.prod(values.shape[2:])))
        own = [methods.make(spec) for spec in grid.methods if kind_of(spec) == kind]
        seconds, count = _timed(task, own, grid.train.batch_size, _LONGEST / len(kinds))
        taken += seconds
        counted += stack_seconds(count, size, epochs=1, batch_size=grid.train.batch_size)
    return taken / counted


def _timed(task: Task, some: list[Method], batch_size: int, longest: float) -> tuple[float, int]:
    """Seconds of an epoch, and how many runs it had: those that can be trained so."""
    runs = []
    begun = time.perf_counter()
    for method in some:
        if method.needs.aids and time.perf_counter() - begun > longest / 2:
            continue  # side information takes long to make; the others stand for their methods
        try:
            runs.append((prepare(task, method, settings=Settings(epochs=1)), method))
        except Exception:  # the training itself will say it
            continue
    try:
        return _epoch(runs, batch_size, longest), len(runs)
    except Exception:
        return _epoch([(task, methods.make("full"))], batch_size, longest), 1


def _epoch(runs: list[tuple[Task, Method]], batch_size: int, longest: float) -> float:
    """Seconds of one epoch more, without what a training takes to begin and to end."""

    def taken(epochs: int) -> float:
        start = time.perf_counter()
        train_stack(runs, settings=Settings(epochs=epochs, batch_size=batch_size), device="cpu")
        return time.perf_counter() - start

    begun = time.perf_counter()
    taken(1)  # what is done for the first time takes longer
    short, more = taken(1), 4
    long = taken(1 + more)
    while long < 2 * short and time.perf_counter() - begun + 4 * long < longest:
        more *= 4
        long = taken(1 + more)
    return max(long - short, long / 100) / more


def _of_backbones(data: StudyData) -> float:
    net = min(data.networks.values(), key=lambda one: one.size)
    picture = torch.zeros(1, 3, net.size, net.size, dtype=torch.uint8)
    with torch.no_grad():
        ready = net.prepare(picture)
        net(ready)
        start = time.perf_counter()
        net(ready)
    return (time.perf_counter() - start) / backbone_seconds(min(data.work.values()))
