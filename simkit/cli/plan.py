"""`simkit plan`: from dollars to a scheme, an amount, a method and an honest interval."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simkit.cli.report import print_json, progress, width
from simkit.errors import BadInput, unknown
from simkit.files import may_write, whole

if TYPE_CHECKING:
    from simkit.planning.told.planned import Plan

_WRITERS: dict[str, Callable[[Plan], str]] = {
    ".html": lambda plan: plan.html(),
    ".md": lambda plan: plan.markdown(),
    ".json": lambda plan: json.dumps(plan.to_json(), ensure_ascii=False, indent=1) + "\n",
    ".txt": lambda plan: plan.text() + "\n",
}


@click.command(epilog="Example: simkit plan runs/ --budget 5000 --report plan.html")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[RUNS/]...")
@click.option("--budget", type=float, metavar="DOLLARS", help="For everything. Always needed.")
@click.option("--images", type=int, metavar="N", help="How many exist. [default: enough]")
@click.option("--target", type=float, metavar="MAP", help="mAP that is wanted: 0.6, or 60 points.")
@click.option(
    "--prices",
    metavar="NAME|FILE",
    help="A preset or a TOML file; see `simkit list prices`. [default: that of the runs]",
)
@click.option(
    "--precision",
    type=float,
    metavar="POINTS",
    help="Pay for a test set on which mAP is known to +- so many points (95 %). "
    "[default: there is one]",
)
@click.option(
    "--validation-images", type=int, default=0, metavar="N", help="To label completely besides."
)
@click.option(
    "--image-price", type=float, default=0.0, metavar="DOLLARS", help="To obtain one image."
)
@click.option(
    "--gpu-price", type=float, default=0.0, metavar="DOLLARS", help="An hour of a GPU costs."
)
@click.option("--gpu-hours", type=float, metavar="HOURS", help="[default: as the pilot took]")
@click.option("--rounds", type=int, default=3, show_default=True, help="Purchases, one by one.")
@click.option(
    "--risk",
    type=click.Choice(["robust", "expected"]),
    default="robust",
    show_default=True,
    help="Make high what is reached four times in five, or the mean.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the plan as .html (one page), .md, .json or .txt.",
)
@click.option("--pilot", is_flag=True, help="Say which small pilot to label first.")
@click.option(
    "--data",
    "spec",
    metavar="DATA",
    help="For --pilot: labelled data like yours, such as coco:train.json.",
)
@click.option("--classes", type=int, metavar="N", help="For --pilot without --data.")
@click.option(
    "--per-image",
    type=float,
    metavar="N",
    help="For --pilot without --data: classes that an image shows on average.",
)
@click.option("--keys", is_flag=True, help="Say what the keys of --json mean, and nothing else.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of all resampling.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(folders: tuple[Path, ...], report: Path | None, as_json: bool, **given: Any) -> None:
    """What to buy for a budget, and what mAP to expect: from the runs of `simkit compare`.

    Fits a curve over dollars for each scheme and method, prices everything, recommends a purchase
    in rounds, and says how sure that is. Runs need three budgets at least, better five, each about
    twice the one before.

    \b
    No runs yet? Which pilot to label first:
      simkit plan --pilot --budget 5000 --classes 80 --per-image 2.9
    """  # fmt: skip
    if given.pop("keys"):
        from simkit.planning.told.keys import told

        click.echo(told(width=width()))
        return
    if given["budget"] is None:
        raise BadInput("--budget is missing; say how many dollars there are, such as --budget 5000")
    if report is not None:
        if report.suffix.lower() not in _WRITERS:
            raise _no_writer(report)
        may_write(report)
    made = _pilot(folders, given) if given["pilot"] else _plan(folders, given, quiet=as_json)
    if report is not None:
        with whole(report) as path:
            path.write_text(_WRITERS[report.suffix.lower()](made), encoding="utf-8")
    if as_json:
        print_json(made.to_json())
        return
    click.echo(made.text(width=width()))
    if report is not None:
        click.echo(f"\nwrote {report}")


def _no_writer(report: Path) -> BadInput:
    if report.name.lower() in _WRITERS:
        return BadInput(
            f"--report is {str(report)!r}, an ending without a name; give the file a name too, as "
            f"in plan{report.name}"
        )
    return unknown("kind of report", report.suffix or report.name, _WRITERS)


_OF_PILOT = ("spec", "classes", "per_image")
_OF_PLAN = ("target", "precision", "validation_images", "image_price", "gpu_price", "gpu_hours")


def _plan(folders: tuple[Path, ...], given: dict[str, Any], *, quiet: bool) -> Plan:
    from simkit.planning.plan import plan

    if not folders:
        raise BadInput(
            "no folder of runs is given; name what `simkit compare` wrote to, or ask with --pilot "
            "what to label first"
        )
    _refuse(given, _OF_PILOT, "is about a pilot; add --pilot or leave it out")
    rest = {key: value for key, value in given.items() if key not in (*_OF_PILOT, "pilot")}
    with progress("fitting curves", quiet=quiet) as (advance,):
        return plan(folders, progress=advance, **rest)


def _refuse(given: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    for name in names:
        if given[name] not in (None, 0, 0.0):
            flag = "data" if name == "spec" else name.replace("_", "-")
            raise BadInput(f"--{flag} {why}")


def _pilot(folders: tuple[Path, ...], given: dict[str, Any]) -> Any:
    from simkit.planning.pilot.report import plan_pilot

    if folders:
        raise BadInput(
            f"--pilot is for when there are no runs yet; leave {folders[0]} or --pilot out"
        )
    _refuse(given, _OF_PLAN, "is about a plan from runs; leave it out with --pilot")
    for name, usual in (("rounds", 3), ("risk", "robust")):
        if given[name] != usual:
            raise BadInput(f"--{name} is about a plan from runs; leave it out with --pilot")
    return plan_pilot(
        given["budget"],
        prices=given["prices"] or "coco-tagging",
        data=given["spec"],
        classes=given["classes"],
        per_image=given["per_image"],
        images=given["images"],
        seed=given["seed"],
    )
