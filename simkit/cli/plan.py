"""Plan a budget: the labels to buy, the method, the expected mAP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import params
from simkit.cli.output import print_json, progress, say, width
from simkit.errors import BadInput
from simkit.files import whole

if TYPE_CHECKING:
    from simkit.planning.pilot import PilotPlan
    from simkit.planning.plan import Plan

_WRITERS: dict[str, Callable[[Plan | PilotPlan], str]] = {
    ".html": lambda plan: plan.html(),
    ".md": lambda plan: plan.markdown(),
    ".json": lambda plan: json.dumps(plan.to_json(), ensure_ascii=False, indent=1) + "\n",
    ".txt": lambda plan: plan.text(width=100, details=True) + "\n",
}
_RUNS_ONLY = ("target", "confidence", "image_price", "continue", "measured")
_PILOT_ONLY = ("data", "classes", "per_image")


# fmt: off
@click.command(epilog="Example: simkit plan runs/ --budget 2,000 --images 60k --report plan.html")
@click.argument("folders", nargs=-1, type=params.FILE, metavar="[RUNS/]...")
@click.option("--budget", type=params.DOLLARS, help="Money to spend. Required.")
@click.option("--images", type=params.COUNT, metavar="N",
              help="Unlabelled images. [default: unlimited]")
@click.option("--target", type=params.SCORE, metavar="MAP",
              help="Target mAP, at the lowest cost.")
@click.option("--confidence", type=params.SHARE,
              help="Required probability of reaching the target. [default: 80%]")
@click.option("--prices", type=params.PRICES, metavar="NAME|FILE",
              help="A price list of `simkit list prices`, or a TOML file. [default: hourly]")
@click.option("--wage", type=params.DOLLARS, help="Pay for an hour of annotation.")
@click.option("--image-price", type=params.DOLLARS,
              help="Price of obtaining one image. [default: 0]")
@click.option("--people", type=params.COUNT, metavar="N",
              help="Number of annotators, to compute weeks.")
@click.option("--hours-a-week", type=params.COUNT, metavar="N",
              help="Working hours of each annotator.")
@click.option("--continue", "continue", type=params.FOLDER, metavar="ORDER",
              help="Plan from the labels received for an order; a model is trained on them.")
@click.option("--measured", type=params.SCORE, metavar="MAP",
              help="With --continue: mAP of your own model on the pilot's test images.")
@click.option("--pilot", is_flag=True, help="Without runs: plan the images to label first.")
@click.option("--data", type=params.DATA, metavar="DATA",
              help="With --pilot: labelled data like yours, such as coco:train.json.")
@click.option("--classes", type=params.COUNT, metavar="N", help="With --pilot and without --data.")
@click.option("--per-image", type=float, metavar="X",
              help="With --pilot and without --data: mean number of classes per image.")
@click.option("--details", is_flag=True, help="Print assumptions, prices and tests as well.")
@click.option("--report", type=params.Output(*_WRITERS),
              help="Write the plan as .html (one page), .md, .json or .txt.")
@params.json
@params.seed("Seed of all random numbers.")
def command(
    folders: tuple[Path, ...], pilot: bool, details: bool, report: Path | None, **options: Any
) -> None:
    """Recommend the labels to buy for a budget, with the expected mAP.

    Needs runs of `simkit compare` on a small, completely labelled pilot. Amounts may be typed
    as 2000, 2,000, 2k, '$2,000', 5% or 0.05.

    \b
    No runs yet? Plan the pilot:
      simkit plan --pilot --budget 2,000 --classes 80 --per-image 2.9
    """
    options = {name: value for name, value in options.items() if value is not None}
    _check(folders, pilot, options)
    budget, names = options.pop("budget"), ("people", "hours_a_week", "wage")
    staff = simkit.Staff(**{name: options.pop(name) for name in names if name in options})
    if pilot:
        made: Plan | PilotPlan = simkit.plan_pilot(budget, staff=staff, **options)
    else:
        made = _plan(folders, budget, staff=staff, **options)
    if report is not None:
        with whole(report) as path:
            path.write_text(_WRITERS[report.suffix.lower()](made), encoding="utf-8")
    print_json(made.to_json())
    say(made.text(width=width(), details=details))
    if report is not None:
        say(f"wrote {report}")
# fmt: on


def _check(folders: tuple[Path, ...], pilot: bool, options: dict[str, Any]) -> None:
    if "budget" not in options:
        raise BadInput("--budget is missing; say how many dollars, such as --budget 2,000")
    if pilot and folders:
        raise BadInput(
            f"--pilot plans what to label before there are runs, and {folders[0]} holds runs; "
            "leave one of the two out"
        )
    if not pilot and not folders:
        raise BadInput(
            "no folder of runs; name the one that `simkit compare` wrote, or add --pilot to plan "
            "what to label first"
        )
    why = "is for plans from runs; leave it or --pilot out" if pilot else "needs --pilot; add it"
    for name in _RUNS_ONLY if pilot else _PILOT_ONLY:
        if name in options:
            raise BadInput(f"--{name.replace('_', '-')} {why}")


def _plan(folders: tuple[Path, ...], budget: float, **options: Any) -> Plan:
    if "confidence" in options:
        if "target" not in options:
            raise BadInput("--confidence needs --target; add it")
        options["target"] = options["target"], options.pop("confidence")
    if "continue" in options:
        from simkit.study.next_plan import plan_next

        with progress("features of the order's images") as (advance,):
            return plan_next(options.pop("continue"), folders, budget, progress=advance, **options)
    if "measured" in options:
        raise BadInput("--measured is the mAP on the labels of an order; add --continue ORDER")
    return simkit.plan(folders, budget, **options)
