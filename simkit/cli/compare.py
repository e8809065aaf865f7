"""Compare schemes and methods at equal cost."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

import click

import simkit
from simkit.cli import options
from simkit.cli.output import print_json, progress, say

if TYPE_CHECKING:
    from simkit.study.compare import Comparison, Estimate

_FILES = "summary.md, grid.toml, heat_map.png, cost_curve.png, table.csv, table.parquet"


@click.command(
    epilog="`simkit list grid` has the fields of a grid, `simkit list columns` the columns of the "
    "table.\n\n\b\nExample: simkit compare grid.toml --out runs/\n"
    "Or:      simkit compare --out runs/   (the shipped grid)"
)
@click.argument("grid_file", type=options.FILE, required=False, metavar="[GRID.toml]")
@options.signature
@options.of("simkit.study.compare.compare", "part", "accept", "fair", workers=options.POSITIVE)
@options.shared("scheduler")
@options.json
def command(
    grid_file: Path | None,
    *,
    out: Path = Path("runs"),
    dry_run: bool = False,
    seed: int | None = None,
    device: Literal["auto", "cpu", "cuda"] | None = None,
    fair: bool,
    scheduler: str,
    **how: Any,
) -> int:
    """Train every method on every scheme at equal cost, and report the best ones.

    The default is the grid that ships with simkit: it needs no data and takes a few minutes. The
    same command resumes an interrupted comparison. Heads are trained on cached features or, with a
    table [pictures] in the grid, whole backbones on images. Writes table.csv, table.parquet,
    heat_map.png, cost_curve.png and summary.md to the folder.

    \b
    A SLURM array (sbatch FILE; compute the features first, with simkit features):
      #!/bin/bash
      #SBATCH --array=1-16
      #SBATCH --cpus-per-task=2
      #SBATCH --mem-per-cpu=4G
      #SBATCH --time=02:00:00
      simkit compare grid.toml --out runs/ --part $SLURM_ARRAY_TASK_ID/16

    Parameters
    ----------
    out : FOLDER
        Folder for all results; finished jobs in it are kept.
    dry_run
        Print the number of jobs and their estimated duration, and stop.
    seed
        Seed of all draws. [default: the grid's, or 0]
    device
        Where heads are trained. [default: the grid's, or auto]
    """
    from simkit.annotate.similarities import PILOT_SCORES
    from simkit.study.compare import estimate
    from simkit.study.scheduler import cluster

    options.only_one({"--scheduler": scheduler, "--workers": how["workers"]})
    options.only_one({"--scheduler": scheduler, "--dry-run": dry_run})
    grid = simkit.Grid.load(grid_file, seed=seed) if grid_file else simkit.demo_grid(seed=seed)
    grid = replace(grid, device=device or grid.device)
    if fair:
        grid = replace(grid, fair=True, settings={})
    if dry_run:
        planned = estimate(grid, out=out, **how)
        print_json(asdict(planned))
        say(planned.text())
        return 0
    _warn_of_another_grid(grid, out)
    say(f"opening {grid.data} and its features", err=True)
    with (
        cluster(scheduler) if scheduler else nullcontext() as executor,
        progress("computing features", "trainings") as (preparing, advance),
    ):
        hooks = simkit.Hooks(
            advance,
            preparing,
            _show,
            lambda path: say(f"first picture: {path}, updated as draws are finished", err=True),
        )
        result = simkit.compare(grid, executor=executor, out=out, hooks=hooks, **how)
    print_json(result.to_json())
    if result.left:
        say(
            f"part {how['part']} has {len(result.every):,} runs in {out}; unfinished "
            f"trainings of the grid: {result.left:,}; the part that finishes last writes tables "
            "and figures, and so does the same command without --part, which runs the others"
        )
    else:
        also = ", reference.csv, reference.parquet" if len(result.reference) else ""
        also += ", scores.parquet" if (out / PILOT_SCORES).is_file() else ""
        from simkit.planning.evidence import project_folder

        alone = project_folder(out) is None  # else the plan of the project decides
        say(f"{result.text(details=False, purchases=alone)}\n\nwrote {_FILES}{also} to {out}")
        say(f"details: {out / 'summary.md'}")
        _say_next(result, out)
    return 1 if result.failures else 0


def _say_next(result: Comparison, out: Path) -> None:
    """The next command."""
    from simkit.orders.project import Project, next_step
    from simkit.planning.evidence import project_folder

    if (folder := project_folder(out)) is not None:
        project = Project.read(folder)
        states = project.states
        say(
            "simkit plan decides on the purchase: it counts all labels so far, your prices and the "
            "images left, and states the mAP to expect on new images; that of summary.md is "
            "measured on the test images, with a part of the labels"
        )
        say(f"next: {next_step(project, states)}")
    elif len(result.reference) and result.grid.budgets:
        command = f"simkit plan {quote(str(out))} --budget {max(result.grid.budgets):g}"
        say(f"next, with your own budget: {command}")


def _show(planned: Estimate) -> None:
    say(planned.text(), err=True)
    if planned.finished < planned.jobs and not planned.part:
        say("heat_map.png appears when a draw is complete", err=True)


def _warn_of_another_grid(grid: simkit.Grid, out: Path) -> None:
    """Warn if the folder has the tables of another grid, as this comparison replaces them."""
    grid_file = out / "grid.toml"
    if grid_file.is_file() and grid_file.read_text("utf-8", "replace") != grid.to_toml():
        warnings.warn(
            f"{out} has the results of another grid; its tables and figures will be replaced "
            "(another --out keeps both). Its finished jobs are kept, and the plan counts those "
            "that this grid shares; other methods or draws group small runs into other jobs",
            stacklevel=1,
        )
