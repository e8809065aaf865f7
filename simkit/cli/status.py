"""Show the state of a project and the next command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from simkit.cli import options
from simkit.cli.order import say_annotators
from simkit.cli.output import print_json, say, table
from simkit.cli.receive import errors_line
from simkit.quantities import exact_money


# fmt: off
@click.command(epilog="Example: simkit status project")
@click.argument("folder", type=options.FOLDER, default=Path("."), metavar="[PROJECT]")
@options.json
def command(folder: Path) -> None:
    """Show the state of a project: budget, orders, answers and the next command.

    No file is changed but state.json, which keeps what is up to date.
    """
    from simkit.orders import page
    from simkit.orders.annotators import progress
    from simkit.orders.project import Project, model_of, next_step, spent
    from simkit.results.test_split import in_words

    project = Project.read(folder)
    states = project.states
    by_prices, by_times = (spent(project, states, measured=measured) for measured in (False, True))
    rows: list[dict[str, Any]] = []
    for state in states:
        for number, part in enumerate(state.order.rounds, 1):
            asked, still_open = len(part.table), int((state.open["round"] == number).sum())
            people = state.answers.loc[state.answers["round"] == number, "worker"].nunique()
            rows.append({
                "order": state.order.folder.name, "round": number,
                "scheme": part.settings.scheme.partition("(")[0] + " (test)" * part.settings.test,
                "questions": asked,
                "answered": asked - still_open, "open": still_open, "people": int(people),
            })
    step, model = next_step(project, states), model_of(project)
    print_json({
        "data": project.data, "classes": list(project.classes), "budget": project.budget,
        "spent": by_times, "spent_by_prices": by_prices, "rounds": rows, "next": step,
        "annotators": [row for state in states for row in progress(state)],
        "model": model,
        "errors": {state.order.folder.name: state.errors for state in states},
    })
    images = len(states[0].order.images)
    say(f"{project.data}: {images:,} images to label, {len(project.classes)} classes")
    how = f"at {project.prices} prices"
    if by_times != by_prices:
        how = f"by measured times; {exact_money(by_prices)} {how}"
    left = exact_money(max(round(project.budget, 2) - round(by_times, 2), 0))
    say(f"spent {exact_money(by_times)} of {exact_money(project.budget)} ({how}); {left} left")
    table(
        ["order", "round", "scheme", "questions", "answered", "open", "people"],
        [[*row.values()] for row in rows],
        words=(0, 2),
    )
    for state in states:
        if len(state.answers):
            say((f"{state.order.folder.name}: " if len(states) > 1 else "") + errors_line(state))
    for state in states:
        say_annotators(state)
        if len(state.open) and (pages := page.named(state.order.round_folder)):
            say(f"page to answer: {pages}")
    say(f"next: {step}")
    if model:
        scored = in_words(model["scored"]) if model["scored"] else "no mAP was measured"
        say(f"model: {scored}; on new labelled images: {model['evaluate']}")
# fmt: on
