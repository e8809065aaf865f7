"""`simkit compare`: every method on every scheme at equal cost."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simkit.cli.report import print_json, progress

if TYPE_CHECKING:
    from simkit.study.grid import Grid


@click.command(epilog="Example: simkit compare grid.toml --out runs/")
@click.argument("grid_file", type=click.Path(path_type=Path), required=False, metavar="[GRID.toml]")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Folder for all results; finished work in it is kept.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Processes at once. [default: one per core]"
)
@click.option("--seed", type=int, help="Seed of all draws. [default: the grid's, or 0]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(
    grid_file: Path | None, out: Path, workers: int | None, seed: int | None, as_json: bool
) -> int:
    """Train every method on every scheme at equal cost and tell which suits which.

    Without a grid the shipped one is used: it needs no data and takes a few minutes. The same
    command again finishes what is left. Leaves table.csv, table.parquet, heat_map.png,
    cost_curve.png and summary.md in the folder.
    """  # fmt: skip
    from simkit.study.compare import compare
    from simkit.study.grid import Grid, demo

    grid = demo(seed=seed) if grid_file is None else Grid.load(grid_file, seed=seed)
    _warn_of_another(grid, out)
    with progress("computing features", "comparing", quiet=as_json) as (preparing, advance):
        result = compare(grid, out=out, workers=workers, progress=advance, preparing=preparing)
    if as_json:
        print_json(result.to_json())
    else:
        click.echo(result.text())
        click.echo(f"\nwrote {out}/heat_map.png, {out}/table.csv and {out}/summary.md")
    for failure in result.failures:
        click.echo(f"simkit: {failure}", err=True)
    return 1 if result.failures else 0


def _warn_of_another(grid: Grid, out: Path) -> None:
    """Say so when the folder shows the results of another grid: they give way to this one's."""
    shown = out / "grid.toml"
    if shown.is_file() and shown.read_text(encoding="utf-8") != grid.to_toml():
        warnings.warn(
            f"{out} shows the results of another grid; its finished work is kept, but tables and "
            "pictures will be those of this grid (another --out keeps both)",
            stacklevel=1,
        )
