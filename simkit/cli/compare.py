"""`simkit compare`: every method on every scheme at equal cost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simkit.cli.report import print_json, progress
from simkit.errors import BadInput

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from simkit.study.compare import Comparison
    from simkit.study.estimate import Estimate
    from simkit.study.grid import Grid

_FILES = "summary.md, table.csv, table.parquet, heat_map.png, cost_curve.png and grid.toml"


@click.command(
    epilog="`simkit list grid` has the fields of a grid, `simkit list columns` the columns of the "
    "table.\n\n\b\nExample: simkit compare grid.toml --out runs/\n"
    "Or:      simkit compare --out runs/   (the shipped grid)"
)
@click.argument("grid_file", type=click.Path(path_type=Path), required=False, metavar="[GRID.toml]")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Folder for all results; finished work in it is kept.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes at once. [default: one per core, or per GPU for backbones]",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    default="",
    help="Work on the dask.distributed cluster at tcp://HOST:PORT.",
)
@click.option(
    "--part",
    metavar="I/N",
    help="Only this share of the work, into the same folder: --part 3/16. The last to end writes "
    "the tables.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the plan of work, with about the time it takes, and stop.",
)
@click.option(
    "--fair",
    is_flag=True,
    help="Try four settings of every method and scheme first, and compare the best ones.",
)
@click.option(
    "--accept",
    metavar="HASH",
    default="",
    help="Keep finished results of other code too, named by its hash.",
)
@click.option("--seed", type=int, help="Seed of all draws. [default: the grid's, or 0]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(
    grid_file: Path | None,
    out: Path,
    workers: int | None,
    scheduler: str,
    part: str | None,
    dry_run: bool,
    fair: bool,
    accept: str,
    seed: int | None,
    as_json: bool,
) -> int:
    """Train every method on every scheme at equal cost and tell which suits which.

    Without a grid the shipped one is used: it needs no data and takes a few minutes. The same
    command again finishes what is left. Heads learn from cached features; with a table [pictures]
    in the grid, whole backbones learn from pictures. Leaves table.csv, table.parquet, heat_map.png,
    cost_curve.png and summary.md in the folder.

    \b
    A SLURM array (sbatch FILE; compute features before, with simkit features):
      #!/bin/bash
      #SBATCH --array=1-16
      #SBATCH --cpus-per-task=2
      #SBATCH --mem-per-cpu=4G
      #SBATCH --time=02:00:00
      simkit compare grid.toml --out runs/ --part $SLURM_ARRAY_TASK_ID/16
    """  # fmt: skip
    from simkit.study.compare import compare
    from simkit.study.grid import Grid, demo

    if scheduler and workers:
        raise BadInput(
            "--workers counts processes of this machine, and --scheduler has workers of its own; "
            "give one of them"
        )
    if scheduler and dry_run:
        raise BadInput(
            "--dry-run plans for this machine and asks no scheduler; leave --scheduler out"
        )
    grid = demo(seed=seed) if grid_file is None else Grid.load(grid_file, seed=seed)
    if fair:
        grid = replace(grid, fair=True, settings={})
    if dry_run:
        return _print_plan(
            grid, as_json, out=out, workers=workers, part=part, accept=accept
        )
    _warn_of_another(grid, out)
    with (
        _tells_what_is_kept(out),
        _executor(scheduler) as executor,
        progress("computing features", "comparing", quiet=as_json) as (preparing, advance),
    ):
        result = compare(
            grid, out=out, executor=executor, workers=workers, part=part, accept=accept,
            progress=advance, preparing=preparing, planned=None if as_json else _show,
        )  # fmt: skip
    if as_json:
        print_json(result.to_json())
    elif result.left:
        click.echo(_of_a_part(str(part), result, out))
    else:
        click.echo(f"{result.text()}\n\nwrote {_FILES} to {out}")
    for failure in result.failures:
        click.echo(f"simkit: {failure}", err=True)
    return 1 if result.failures else 0


def _of_a_part(part: str, result: Comparison, out: Path) -> str:
    """What one part says while others are not finished."""
    from simkit.study.scheduler import Part

    own = f"part {part} has {len(result.every):,} runs in {out}"
    if Part.read(part).number > result.parts:
        own = (
            f"part {part} has no work: at most {result.parts:,} "
            f"part{'' if result.parts == 1 else 's'} can have any, as the grid has so many jobs"
        )
    return (
        f"{own}; jobs of the grid that are not there yet: {result.left:,}; the part that ends "
        "last writes tables and pictures, and so does the same command without --part, which "
        "finishes the rest"
    )


@contextmanager
def _tells_what_is_kept(out: Path) -> Iterator[None]:
    """Ctrl-C within the block says how much of the work is kept."""
    from simkit.study import store

    try:
        yield
    except KeyboardInterrupt:
        keys = store.under_way(out)["keys"]
        if not keys:
            raise KeyboardInterrupt("interrupted before any work began") from None
        there = sum(store.finished(out / "bundles", key) for key in keys)
        raise KeyboardInterrupt(
            f"interrupted; {there:,} of {len(keys):,} jobs under way are finished and kept in "
            f"{out}; the same command does the rest"
        ) from None


def _print_plan(grid: Grid, as_json: bool, **where: Any) -> int:
    from simkit.study.estimate import estimate

    with progress("computing features", quiet=as_json) as (preparing,):
        told = estimate(grid, preparing=preparing, **where)
    if as_json:
        print_json(told.to_json())
    else:
        click.echo(told.text())
    return 0


def _show(planned: Estimate) -> None:
    click.echo(planned.text(), err=True)


def _executor(scheduler: str) -> AbstractContextManager[Executor | None]:
    if not scheduler:
        return nullcontext()
    from simkit.study.scheduler import cluster

    return cluster(scheduler)


def _warn_of_another(grid: Grid, out: Path) -> None:
    """Say so when the folder shows the results of another grid: they give way to this one's."""
    shown = out / "grid.toml"
    if shown.is_file() and shown.read_text("utf-8", "replace") != grid.to_toml():
        warnings.warn(
            f"{out} shows the results of another grid; its finished work is kept, but tables and "
            "pictures will be those of this grid (another --out keeps both)",
            stacklevel=1,
        )
