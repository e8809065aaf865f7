"""The main job: train every method on every scheme at equal cost, and say which suits which."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

from simkit.errors import BadInput
from simkit.study import kept, runs
from simkit.study.bundles.agenda import check, plan, source_of, sweep
from simkit.study.bundles.bundle import Bundle
from simkit.study.forecast.forecast import Forecast, forecast, gpu_workers
from simkit.study.grids.grid import Grid
from simkit.study.material.material import open_material
from simkit.study.sweep import swept
from simkit.study.told.results import Comparison, notes, written
from simkit.study.working.finish import Progress, finish, stored
from simkit.study.working.parts import Part


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
    grid, folder = _grid(grid), _folder(out)
    share = None if part is None else Part.read(part)
    material = open_material(source_of(grid), progress=preparing)
    check(grid, material)
    if planned is not None:
        # How many workers other executors have nobody knows.
        count = workers or getattr(executor, "workers", 1 if executor else None)
        planned(forecast(grid, material, folder=folder, workers=count, part=share))
    bundles, tried, data = plan(grid, material), sweep(grid, material), material.data
    named: dict[str, Any] = {"classes": data.classes, "leaves": data.leaves.tolist()}
    begin = partial(kept.begin, folder, grid=grid.to_toml(), **named)
    team: dict[str, Any] = {"executor": executor, "workers": workers or gpu_workers(grid)}
    expected, failed = _runs(bundles), tuple[str, ...]()
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
    if share and not left:  # a file may be there and damaged: its bundle is left all the same
        whole = stored(bundles, folder / "bundles")
        left = sum(key not in whole.done and key not in whole.failures for key in keys)
        mine, found = (mine, found) if left else (bundles, whole)
    tables = [found.done[bundle.key].table for bundle in mine if bundle.key in found.done]
    failures, parts = (*failed, *found.sentences(mine)), max(len(tried), len(keys))
    table = runs.with_failures(runs.together(tables, **named), failures, planned=expected)
    result = Comparison(table, grid, failures, notes(table, grid), left, parts)
    return result if left else written(result, folder)


def _folder(out: str | os.PathLike[str]) -> Path:
    if Path(out).exists() and not Path(out).is_dir():
        raise BadInput(f"{out} is a file; give a folder for the results")
    return Path(out)


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
