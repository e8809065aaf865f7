"""Show the state of a project and the next command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from simkit.cli import options
from simkit.cli.order import say_open
from simkit.cli.output import print_json, say, table
from simkit.cli.receive import say_errors
from simkit.quantities import exact_money, numbered, points, points_apart

if TYPE_CHECKING:
    from simkit.orders.project import Project
    from simkit.orders.project_scores import ProjectScores
    from simkit.orders.receiving import OrderState


# fmt: off
@click.command(epilog="Example: simkit status project")
@click.argument("folder", type=options.FOLDER, default=Path("."), metavar="[PROJECT]")
@options.json
def command(folder: Path) -> None:
    """Show the state of a project: budget, orders, answers and the next command.

    No file is changed but state.json, which keeps what is up to date.
    """
    from simkit.orders.annotators import progress
    from simkit.orders.project import (
        Project,
        model_of,
        next_step,
        not_asked,
        plan_of,
        spent,
        spent_by_round,
    )
    from simkit.orders.project_scores import ProjectScores
    from simkit.orders.who_errs import errors_line

    project = Project.read(folder)
    states = project.states
    by_prices, by_times = (spent(project, states, measured=measured) for measured in (False, True))
    rows = _rounds(states, spent_by_round(project, states))
    step, model = next_step(project, states), model_of(project, states)
    plan = plan_of(project, states[-1].order)
    scores = ProjectScores.of(project, states[0])
    print_json({
        "data": project.data, "classes": list(project.classes), "budget": project.budget,
        "spent": by_times, "spent_by_prices": by_prices, "rounds": rows, "next": step,
        "annotators": [row for state in states for row in progress(state)],
        "model": model, "plan": plan,
        "errors": {state.order.folder.name: state.errors for state in states},
        "scores": None if scores is None else scores.to_json(),
    })
    images = len(states[0].order.images)
    asked = images - not_asked(states)
    tests = numbered(len(states[0].order.test_images), "image")
    say(f"{project.data}: {images:,} images, {len(project.classes)} classes; {asked:,} images are "
        f"asked about ({tests} only for testing), {images - asked:,} are not")  # fmt: skip
    how = f"at {project.prices} prices"
    if exact_money(by_times) != exact_money(by_prices):  # equal for a list without times
        how = f"by measured times; {exact_money(by_prices)} {how}"
    left = round(project.budget, 2) - round(by_times, 2)
    rest = f"{exact_money(abs(left))} {'left' if left > -0.005 else 'over'}"
    say(f"spent {exact_money(by_times)} of {exact_money(project.budget)} ({how}); {rest}")
    table(
        ["order", "round", "scheme", "questions", "answered", "open", "people", "spent"],
        [[*[*row.values()][:-1], exact_money(row["dollars"])] for row in rows],
        words=(0, 2),
    )
    for state in states:
        if len(state.answers):
            say((f"{state.order.folder.name}: " if len(states) > 1 else "") + errors_line(state))
            say_errors(state)
    for state in states:
        say_open(state, step)
    if scores is not None:
        for line in scores.lines():
            say(line)
        say_savings(scores, project.budget - by_times)
    _say_results(step, plan, model, project, states)
# fmt: on


def _rounds(states: Sequence[OrderState], spent: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
    """The numbers of questions and people of each round, and the dollars spent on it."""
    rows = list[dict[str, Any]]()
    for state, dollars in zip(states, spent, strict=True):
        for number, part in enumerate(state.order.rounds, 1):
            asked, still_open = len(part.table), int((state.open["round"] == number).sum())
            people = state.answers.loc[state.answers["round"] == number, "worker"].nunique()
            rows.append({
                "order": state.order.folder.name, "round": number,
                "scheme": part.settings.scheme.partition("(")[0] + " (test)" * part.settings.test,
                "questions": asked, "answered": asked - still_open, "open": still_open,
                "people": int(people), "dollars": dollars[number - 1],
            })  # fmt: skip
    return rows


def _say_results(
    step: str, plan: dict[str, Any], model: dict[str, Any], project: Project,
    states: Sequence[OrderState],
) -> None:  # fmt: skip
    """Print the plan, the next command, and the model with its tags."""
    from simkit.orders.project import spent
    from simkit.orders.who_errs import by_which

    errors = project.test_errors(states)
    money = project.budget - spent(project, states, measured=True)
    account = _account(plan, model)
    if plan:
        say(account or _planned(plan))
    say(f"next: {step}")
    if model:
        scored = _scored(model, errors)
        if plan and not account:
            scored += "; of one training, while the plan is fitted to all those of the comparison"
        say(f"model: {scored}; on new labelled images: {model['evaluate']}")
    if model and model["tags"]:
        say(_tags(model["tags"], by_which(states[-1]), money))


def _tags(tags: dict[str, Any], how: str, money: float) -> str:
    """How many classes a model tags and, if some are left, what would help and its price.

    how: what the price counts by.
    """
    text = f"tags: {tags['classes']} of {tags['of']} classes at {tags['precision']:.0%} precision"
    if tags["classes"] == tags["of"] or not (tags["lower"] or tags["more"]):
        return text
    lower = ", ".join(f"{n} at {at}" for at, n in tags["lower"].items())
    lower = f"; trained with a lower --tag-precision: {lower}" if lower else ""
    left = f"{numbered(tags['left'], 'image')} that no order asks about"
    more = (f"what further labels give is unknown: {left}, and {tags['least']:,} are the fewest "
            "for which their tags were computed")  # fmt: skip
    if tags["more"] is not None:
        paid = "within" if tags["dollars"] <= money else "above"
        more = (f"with complete labels of {tags['images']:,} more training images, of the {left}, "
                f"if their tags are right as often: {tags['more']} ({exact_money(tags['dollars'])} "
                f"{how}, {paid} the {exact_money(max(money, 0.0))} left)")  # fmt: skip
    train = f"; to tag more: {tags['train']}" if tags["train"] else ""
    return f"{text}{lower}; {more}{train}"


def _account(plan: dict[str, Any], model: dict[str, Any]) -> str:
    """What a plan expected of its purchase, and what the model has that was trained with it; ""
    before."""
    promised = plan.get("promised")
    if not (promised and model.get("current") and model["scored"]):
        return ""
    scored, (low, high), before = model["scored"], promised["band90"], promised["before"]
    has = scored["expected"]
    gain = points_apart(has, before)
    where = "in that range" if low <= has <= high else "below it" if has < low else "above it"
    return (
        f"plan: it expected {points(promised['map'])} mAP ({points(low)} to {points(high)}) "
        f"after the last purchase; the model of one training has {points(has)} "
        f"({points(scored['low'])} to {points(scored['high'])}), {where}: {abs(gain):.1f} "
        f"{'more' if gain >= 0 else 'less'} than the {points(before)} before"
    )


def _planned(plan: dict[str, Any]) -> str:
    """What a plan says, and where its page is."""
    text = f"{points(plan['today'])} mAP on new images with the labels that it used"
    if plan["expected"] is not None:
        text += f", {points(plan['expected'])} after {exact_money(plan['dollars'])} more"
    old = "" if plan["current"] else "; older than the labels or comparisons"
    page = f"; its page: {plan['page']}" if plan["page"] else ""
    return f"plan: {text}{old}{page}"


def _scored(model: dict[str, Any], errors: tuple[float, float] | None) -> str:
    """The mAP of a project's model, whose test labels have these error rates, in words."""
    from simkit.results.test_split import in_words

    if not model["scored"]:
        return "no mAP was measured"
    text = in_words(model["scored"])
    if any(errors or ()) and "errors" not in model["scored"]:
        text += "; not corrected for the errors of these labels: train again to correct it"
    return text


def say_savings(scores: ProjectScores, money: float) -> None:
    """Print ways to label a project's other images, with and without its scores, and their prices.

    money : what is left of the budget, in dollars.
    """
    if not scores.purchases:
        return
    images, rows, paid = scores.left, list[list[Any]](), money >= 0.01
    for one in scores.purchases:
        rows.append([one.scheme, one.labels, one.questions, exact_money(one.dollars)])
        if paid:
            rows[-1].append(min(images, int(images * money / max(one.dollars, 1e-9))))
    header = ["scheme", "labels", "questions", "cost", f"images for {exact_money(money)}"]
    say(f"labels of the other {images:,} images by people alone and with the scores:")
    table(header[: len(rows[0])], rows, words=(0, 1))
    if not scores.sure:
        say("machine: too few images are labelled to choose its thresholds")
    say("prices do not compare mAP: the rows are equal only if wrong and unknown labels cost no "
        "mAP and the other images are like those measured; wrong means against the labels of "
        "these people, with 95% confidence; the scores are not priced. To order: simkit order "
        f"--next {quote(str(scores.state.order.folder))} --images 1.0 --scheme SCHEME")  # fmt: skip
