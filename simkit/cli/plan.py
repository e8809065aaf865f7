"""Plan a budget: the labels to buy, the method, the expected mAP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import options, params
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
_RUNS_ONLY = ("target", "confidence", "image_price", "order", "measured")
_SPELLED = {"order": "--continue"}
_PILOT_ONLY = ("data", "classes", "per_image")


# fmt: off
@click.command(epilog="Example: simkit plan runs/ --budget 2,000 --images 60k --report plan.html")
@click.argument("folders", nargs=-1, type=params.FILE, metavar="[RUNS/]...")
@click.option("--budget", type=params.DOLLARS, help="Money to spend. Required.")
@click.option("--confidence", type=params.SHARE,
              help="Required probability of reaching the target. [default: 80%]")
@options.of("simkit.planning.plan.plan", images=params.COUNT, target=params.SCORE,
            prices=params.PRICES, image_price=params.DOLLARS, seed=click.INT, unset=True)
@options.of("simkit.planning.costs.Staff", wage=params.DOLLARS, people=params.COUNT,
            hours_a_week=params.COUNT)
@click.option("--continue", "order", type=params.FOLDER, metavar="ORDER",
              help="Plan from the labels received for an order; a model is trained on them.")
@options.of("simkit.study.next_plan.plan_next", measured=params.SCORE)
@click.option("--pilot", is_flag=True, help="Without runs: plan the images to label first.")
@options.of("simkit.planning.pilot.plan_pilot", data=params.DATA, classes=params.COUNT,
            per_image=click.FLOAT)
@click.option("--details", is_flag=True, help="Print assumptions, prices and tests as well.")
@click.option("--report", type=params.Output(*_WRITERS),
              help="Write the plan as .html (one page), .md, .json or .txt.")
@params.json
def command(
    *, folders: tuple[Path, ...], pilot: bool, details: bool, report: Path | None, **given: Any
) -> None:
    """Recommend the labels to buy for a budget, with the expected mAP.

    Needs runs of `simkit compare` on a small, completely labelled pilot. Amounts may be typed
    as 2000, 2,000, 2k, '$2,000', 5% or 0.05.

    \b
    No runs yet? Plan the pilot, for --classes and --per-image or for --data like yours:
      simkit plan --pilot --budget 2,000 --classes 80 --per-image 2.9
    """
    given = {name: value for name, value in given.items() if value is not None}
    _check(folders, pilot, given)
    budget, names = given.pop("budget"), ("people", "hours_a_week", "wage")
    given["staff"] = simkit.Staff(**{name: given.pop(name) for name in names if name in given})
    if pilot:
        made: Plan | PilotPlan = simkit.plan_pilot(budget, **given)
    else:
        made = _plan(folders, budget, **given)
    if report is not None:
        with whole(report) as path:
            path.write_text(_WRITERS[report.suffix.lower()](made), encoding="utf-8")
    print_json(made.to_json())
    say(made.text(width=width(), details=details))
    if report is not None:
        say(f"wrote {report}")
# fmt: on


def _check(folders: tuple[Path, ...], pilot: bool, given: dict[str, Any]) -> None:
    """Raise BadInput for options that do not go together, before anything is read."""
    if "budget" not in given:
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
    if "confidence" in given and "target" not in given and not pilot:
        raise BadInput("--confidence needs --target; add it")
    why = "is for plans from runs; leave it or --pilot out" if pilot else "needs --pilot; add it"
    for name in _RUNS_ONLY if pilot else _PILOT_ONLY:
        if name in given:
            raise BadInput(f"{_SPELLED.get(name, params.flag(name))} {why}")


def _plan(folders: tuple[Path, ...], budget: float, **given: Any) -> Plan:
    if "confidence" in given:
        given["target"] = given["target"], given.pop("confidence")
    if "order" in given:
        from simkit.study.next_plan import plan_next  # imports torch: models are trained

        with progress("features of the order's images") as (advance,):
            return plan_next(given.pop("order"), folders, budget, progress=advance, **given)
    if "measured" in given:
        raise BadInput("--measured is the mAP on the labels of an order; add --continue ORDER")
    return simkit.plan(folders, budget, **given)
