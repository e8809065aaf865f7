"""What was asked, and what is recommended, each in a line."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.planning.choosing.ahead import Ahead
from simkit.planning.choosing.candidates import Candidate
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.project import Project
from simkit.planning.told.alarms import beyond
from simkit.planning.told.names import order, trained
from simkit.planning.told.parts import Reach
from simkit.planning.told.wording import exactly, listed, percent, points, several, span
from simkit.study.grids.limit import money


def question(project: Project, evidence: Evidence) -> str:
    """What was asked, as a heading."""
    has = [several(len(evidence.classes), "class", "classes")]
    if project.images is not None:
        has.append(several(project.images, "image"))
    has.append(f"{project.prices.name} prices")
    if project.target is not None:
        has.append(f"{points(project.target)} mAP wanted")
    return f"What to buy for {exactly(project.budget)}: {', '.join(has)}"


def recommendation(
    chosen: Candidate,
    project: Project,
    rounds: int,
    reach: Reach | None = None,
    *,
    besides: Sequence[str] = (),
    held: bool = True,
    better: Ahead | None = None,
) -> str:
    """The plan in one sentence, in words; the dollars at which a target is reached come first.

    besides: what else the bill has than labels;  held: whether the back-test of the bands did,
    which is about what lies beyond the pilot alone;  better: what is ahead of it for less money.
    """
    times = f" in {rounds} rounds" if rounds > 1 else ""
    sure = held or not beyond(chosen.dollars / chosen.reach)
    band = f"nine times in ten {span(chosen.band90)}"
    told = (
        f"{order(chosen.amount.spec, chosen.amount.images)} for {_paid(chosen, besides)}{times} "
        f"({_known(chosen)}), train {trained(chosen.method)} on them and expect "
        f"{points(chosen.median)} mAP, {band if sure else f'if the curve holds, {band}'}"
    )
    if better is not None and better.ends:
        told += f"; but up to {money(better.total)} {better} is ahead: measure more of that first"
    if project.target is None or chosen.p_target is None:
        return f"{told}."
    enough = _enough(reach, chosen, held)
    if enough:
        return f"{enough}; for the most mAP, {told[0].lower()}{told[1:]}."
    wanted = f"{points(project.target)} or more has a chance of {percent(chosen.p_target)}"
    return f"{told}; {wanted}."


def _paid(chosen: Candidate, besides: Sequence[str]) -> str:
    if chosen.total < chosen.dollars + 0.005 or not besides:
        return exactly(chosen.dollars)
    labels = exactly(chosen.dollars)
    return f"{exactly(chosen.total)} ({labels} of labels, the rest for {listed(besides)})"


def _known(chosen: Candidate) -> str:
    """How many labels there are then; beyond the pilot what is searched for is an estimate."""
    amount, people = chosen.amount, chosen.way.habits.workers
    guessed = chosen.way.grows != "images" and chosen.dollars > chosen.reach
    labels = float(f"{amount.labels:.3g}") if guessed else amount.labels
    known = several(int(labels), "known label")
    each = f", each answer from {people} people" if people and people > 1 else ""
    return f"{'about ' if guessed else ''}{known}, {amount.per_image:.3g} for each image{each}"


def _enough(reach: Reach | None, chosen: Candidate, held: bool) -> str:
    """At how many dollars nearly all samples have the target; "" where that is not below."""
    if reach is None or reach.enough is None or reach.enough.total >= chosen.total:
        return ""
    sure = reach.enough
    start = "" if held or not beyond(sure.times) else "If the curve holds, "
    besides = "" if sure.total < sure.dollars + 0.005 else f" ({money(sure.total)} in all)"
    return (
        f"{start}{money(sure.dollars)} of {sure.way} labels{besides}, trained with "
        f"{sure.method}, are enough for {points(reach.target)} mAP in 95 % of samples"
    )
