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
from simkit.study import kept
from simkit.study.bundles.agenda import check, plan, source_of, sweep
from simkit.study.bundles.bundle import Bundle, Purchase, kind_of
from simkit.study.bundles.stacks import run_bytes
from simkit.study.forecast.calibration import calibrated
from simkit.study.forecast.durations import seconds
from simkit.study.grids.grid import Grid
from simkit.study.material.material import Material, open_material
from simkit.study.sweep import choose
from simkit.study.working.finish import Progress, stored
from simkit.study.working.parts import Part
from simkit.study.working.processes import gpus, usable_cores


@dataclass(frozen=True)
class Forecast:
    """What a comparison will do.

    runs       trainings that are compared; references: with all labels; tuning: of the sweep.
    parts      how many parts can have work; what is beyond has none.
    bundles    pieces of work, those of the sweep included; finished: how many are there already.
    part       which share of the bundles, such as "3/16", or "" for all; all that follows is of it.
    hours      of one worker, for what is left.  minutes: of the clock, with so many workers. To
               start workers, to read what they work on, and to draw is not in it.
    memory_mb  that one worker takes at most, about.
    calibration_seconds  what the calibration took; 0 where there is nothing left to do.
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
    bundles: int
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
        there = (
            f", of which {self.finished:,} {'is' if self.finished == 1 else 'are'} finished"
            if self.finished
            else ""
        )
        share = f"part {self.part}: " if self.part else ""
        lines = [
            f"plan: {_many(self.schemes, 'scheme')}{limits} x {_many(self.methods, 'method')} x "
            f"{_many(self.draws, 'draw')}: {_many(self.runs, 'training')}"
            + (f", and {' and '.join(also)}" if also else ""),
            f"{share}{_many(self.bundles, 'bundle')}{there}; with --part at most "
            f"{_many(self.parts, 'part')} can have work",
        ]
        if self.finished == self.bundles:
            return "\n".join([*lines, "nothing is left to train"])
        time = timedelta(seconds=max(1, round(60 * self.minutes)))
        return "\n".join(
            [
                *lines,
                f"roughly {time} of work with {_many(self.workers, 'worker')}, by a calibration of "
                f"{self.calibration_seconds:.1f} seconds, and half a minute to start and to draw; "
                f"about {self.memory_mb:,.0f} MB in each",
            ]
        )


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def foretell(
    grid: Grid,
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    part: str | None = None,
    preparing: Progress = lambda done, of: None,
) -> Forecast:
    """What `compare` would do, and how long it would take; nothing is written to `out`.

    Features that are not there yet are computed and kept. The rest is a calibration of some
    seconds. Raises BadInput as `compare` does before it starts.
    """
    share = None if part is None else Part.read(part)
    material = open_material(source_of(grid), progress=preparing)
    check(grid, material)
    return forecast(grid, material, folder=Path(out), workers=workers, part=share)


def gpu_workers(grid: Grid) -> int | None:
    """How many workers there are where each wants a GPU; None where none does."""
    return (len(gpus()) or None) if grid.pictures else None


def forecast(
    grid: Grid, material: Material, *, folder: Path, workers: int | None, part: Part | None = None
) -> Forecast:
    """The plan for what is left in the folder of a comparison; trains for some seconds at most."""
    folder, workers = folder / "bundles", workers or gpu_workers(grid) or usable_cores()
    tried, bundles = sweep(grid, material), plan(grid, material)
    if tried and all(kept.is_there(folder, one.key) for one in tried):
        bundles = plan(grid, material, choose(grid, tried, stored(tried, folder)).chosen)
    compared = [
        len(each.draws) * len(one.methods)
        for each in bundles
        for one in each.purchases
        if not one.reference
    ]
    mine = [
        one
        for some in (tried, bundles)
        for one in (part.share(some, lambda bundle: bundle.runs) if part else some)
    ]
    left = [one for one in mine if not kept.is_there(folder, one.key)]
    speed, took = calibrated(grid, material) if left else (1.0, 0.0)
    each = [
        speed * len(b.draws) * sum(seconds(one, grid, material) for one in b.purchases)
        for b in left
    ]
    busy = min(workers, len(left)) or 1
    return Forecast(
        schemes=len(grid.schemes),
        limits=len(grid.budgets) + len(grid.hours),
        methods=len(grid.methods),
        draws=grid.draws,
        runs=sum(compared),
        references=sum(one.runs for one in bundles) - sum(compared),
        tuning=sum(one.runs for one in tried),
        part="" if part is None else str(part),
        parts=max(len(tried), len(bundles)),
        bundles=len(mine),
        finished=len(mine) - len(left),
        hours=sum(each) / 3600,
        minutes=max(sum(each) / busy, *each, 0.0) / 60 if each else 0.0,
        workers=workers,
        memory_mb=(peak_memory() or 0.0) + _most(left, grid, material) / 2**20,
        calibration_seconds=took,
    )


def _most(bundles: Sequence[Bundle], grid: Grid, material: Material) -> float:
    """Bytes of the largest stack there may be: what is trained together is bounded, but for a run
    that takes more alone."""
    if grid.pictures is not None:
        return 0.0
    found = 0.0
    for each in {one.purchases: one for one in bundles}.values():
        runs = [_bytes(one, spec, material) for one in each.purchases for spec in one.methods]
        found = max(found, min(sum(runs), grid.memory * 1e9), *runs)
    return found


def _bytes(purchase: Purchase, spec: str, material: Material) -> int:
    """Of a run on all images."""
    text = purchase.spelled(spec)
    images, classes = material.truth("train").shape
    _, width, *sides = material.features["train", kind_of(text)].values.shape
    sizes = Sizes(images, classes, width, max(sides, default=None))
    how = {"width": width, "rows": images, "scored": material.truth("test").shape[0]}
    return run_bytes(methods.make(text), sizes, **how)
