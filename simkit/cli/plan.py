"""Plan a budget: the labels to buy, the method, the expected mAP."""

from __future__ import annotations

import warnings
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import options
from simkit.cli.output import print_json, progress, say, width, write_page
from simkit.errors import BadInput

if TYPE_CHECKING:
    from simkit.planning.pilot import PilotPlan
    from simkit.planning.plan import Plan

_RUNS_ONLY = (
    "target", "confidence", "image_price", "errors", "scores", "continue_", "measured"
)  # fmt: skip
_PILOT_ONLY = ("data", "classes", "per_image")


@click.command(epilog="Example: simkit plan runs/ --budget 2,000 --images 60k --report plan.html")
@click.argument("folders", nargs=-1, type=options.FILE, metavar="[RUNS/]...")
@options.signature
@options.of(
    "simkit.planning.plan.plan", images=options.NUMBER, target=options.SCORE, prices=options.PRICES,
    image_price=options.DOLLARS, errors=options.RATES, scores=options.FILE, seed=click.INT,
    unset=True,
)  # fmt: skip
@options.of(
    "simkit.planning.costs.Staff", wage=options.WAGE, annotators=options.COUNT,
    hours_a_week=options.COUNT,
)  # fmt: skip
@options.of("simkit.study.next_plan.plan_next", measured=options.SCORE, only="With --continue: ")
@options.of(
    "simkit.planning.pilot.plan_pilot", data=options.DATA, classes=options.COUNT,
    per_image=click.FLOAT, only="With --pilot: ",
)  # fmt: skip
@options.json
def command(
    folders: tuple[Path, ...],
    *,
    budget: float,
    confidence: float | None = None,
    continue_: Path | None = None,
    pilot: bool = False,
    details: bool = False,
    report: Path | None = None,
    **values: Any,
) -> None:
    """Recommend the labels to buy for a budget, with the expected mAP.

    Needs runs of `simkit compare` on a small, completely labelled pilot. Amounts may be typed
    as 2000, 2,000, 2k, '$2,000', 5% or 0.05.

    \b
    No runs yet? Plan the pilot, for --classes and --per-image or for --data like yours:
      simkit plan --pilot --budget 2,000 --classes 80 --per-image 2.9

    Parameters
    ----------
    budget : DOLLARS
        Money to spend.
    confidence : SHARE
        Required probability of reaching the target. [default: 80%]
    continue_ : ORDER
        Plan from the labels received for an order; a model is trained on them.
    pilot
        Without runs: plan the images to label first.
    details
        Print assumptions, prices and tests as well.
    report : PAGE
        Write the plan as .html (one page), .md, .json or .txt.
    """
    values |= {"confidence": confidence, "continue_": continue_}
    values = {name: value for name, value in values.items() if value is not None}
    _check(folders, pilot, values)
    _warn_of_old_comparisons(folders)
    names = ("annotators", "hours_a_week", "wage")
    values["staff"] = simkit.Staff(**{name: values.pop(name) for name in names if name in values})
    if pilot:
        made: Plan | PilotPlan = simkit.plan_pilot(budget, **values)
    else:
        if "confidence" in values:
            values["target"] = values["target"], values.pop("confidence")
        if "continue_" not in values:
            made = simkit.plan(folders, budget, **values)
            if made.evidence.project is not None:
                from simkit.orders.project import with_spent  # slow to load

                made = with_spent(made)
        else:
            from simkit.study.next_plan import plan_next  # imports torch: models are trained

            order = values.pop("continue_")
            with progress("features of the order's images") as (advance,):
                made = plan_next(order, folders, budget, progress=advance, **values)
    written = _write(made, report)
    print_json(made.to_json())
    say(made.text(width=width(), details=details))
    if not pilot:
        _say_savings(folders)
    if written:
        say(f"wrote {' and '.join(map(str, written))}")


def _write(made: Plan | PilotPlan, report: Path | None) -> list[Path]:
    """Write the report, and beside the plan of a project also its page; return the files."""
    from simkit.orders import project_state

    if report is None:
        return []
    home, files = report.absolute().parent, [report]
    if report.name == project_state.PLAN and (home / project_state.FILE).is_file():
        files.append(report.with_name(project_state.PLAN_PAGE))
    for file in reversed(files):  # the plan, which status reads, last
        write_page(made, file)
    project_state.record(home, made=report)
    return files


def _warn_of_old_comparisons(folders: tuple[Path, ...]) -> None:
    """Warn of comparisons of a project whose labels have changed since then."""
    from simkit.planning.evidence import project_folder

    if (home := project_folder(*folders)) is None:
        return
    from simkit.orders import project_state

    current = project_state.record(home)
    names = sorted(
        file.parent.name
        for file in home.glob("runs/*/table.csv")
        if file.relative_to(home).as_posix() not in current
        and file.parent.resolve() in [folder.resolve() for folder in folders]
    )
    if names:
        again = "; ".join(
            join(["simkit", "compare", str(home / f"grid-{name}.toml"), "--out",
                  str(home / "runs" / name)]) for name in names
        )  # fmt: skip
        warnings.warn(
            f"{home / project_state.TABLE} has changed since the comparisons were made, such as by "
            f"further test images, and this plan does not know the new labels; compare again, then "
            f"plan: {again}",
            stacklevel=1,
        )


def _say_savings(folders: tuple[Path, ...]) -> None:
    """Print the savings by the scores of a project, if it has any."""
    from simkit.annotate.similarities import PROJECT_SCORES
    from simkit.planning.evidence import project_folder

    home = project_folder(*folders)
    if home is None or not (home / PROJECT_SCORES).is_file():
        return
    from simkit.cli.status import say_savings
    from simkit.orders.project import Project, spent
    from simkit.orders.project_scores import ProjectScores

    project = Project.read(home)
    states = project.states
    scores = ProjectScores.of(project, states[0])
    assert scores is not None
    say_savings(scores, project.budget - spent(project, states, measured=True))


def _check(folders: tuple[Path, ...], pilot: bool, values: dict[str, Any]) -> None:
    """Raise BadInput for options that do not go together, before anything is read."""
    for name in _RUNS_ONLY:
        options.only_one({"--pilot": pilot, options.flag(name): name in values})
    options.only_one({"--pilot": pilot, "RUNS": folders})
    options.needs({options.flag(name): name in values for name in _PILOT_ONLY}, "--pilot", pilot)
    options.needs({"--confidence": "confidence" in values}, "--target", "target" in values)
    options.needs({"--measured": "measured" in values}, "--continue ORDER", "continue_" in values)
    if not pilot and not folders:
        raise BadInput(
            "no folder of runs; name the one that `simkit compare` wrote, or add --pilot to plan "
            "what to label first"
        )
