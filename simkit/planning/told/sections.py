"""What a plan says, in words: one document, whatever shows it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simkit.planning.evidence.tested import NEW
from simkit.planning.told.alarms import WORTH
from simkit.planning.told.checked import back_test
from simkit.planning.told.compared import runners_up
from simkit.planning.told.document import Document, Section, Table
from simkit.planning.told.names import meanings
from simkit.planning.told.wording import (
    GRADES,
    in_cents,
    percent,
    points,
    span,
)
from simkit.planning.told.wording import times as times_of
from simkit.study.grids.limit import money

if TYPE_CHECKING:
    from simkit.planning.told.planned import Plan

_CHANCES = (5, 25, 50, 75, 95)


def document(plan: Plan) -> Document:
    """Title, warnings, recommendation and the sections of `plan`, in the order to read them."""
    found = (
        _expected(plan),
        _money(plan),
        runners_up(plan),
        _options(plan),
        _names(plan),
        _training(plan),
        _target(plan),
        _steps(plan),
        _changes(plan),
        back_test(plan),
        _worth(plan),
        _assumed(plan),
        _made(plan),
    )
    sections = tuple(section for section in found if section is not None)
    return Document(plan.question, plan.recommendation, plan.warnings, sections)


def _expected(plan: Plan) -> Section:
    chosen = plan.chosen
    rows = [
        ("median", points(chosen.median)),
        ("as likely inside as outside (50 %)", span(chosen.band50)),
        ("nearly always inside (90 %)", span(chosen.band90)),
        ("four times in five at least", points(chosen.low20)),
    ]
    if chosen.chance is not None and plan.target is not None:
        rows.append((f"chance of {points(plan.target)} or more", percent(chosen.chance)))
    notes = [f"Reach {GRADES[chosen.grade]} ({_times(chosen.times)})."]
    if chosen.note:
        notes.append(f"{chosen.note[0].upper()}{chosen.note[1:]}.")
    return Section(
        "Expected mAP",
        chart=True,
        table=Table((f"mAP on {plan.images}, of 100", "points"), tuple(rows)),
        notes=tuple(notes),
    )


def _times(times: float) -> str:
    if times <= 1:
        return "within what was measured"
    return f"{times_of(times)} the dollars of the pilot's largest size"


def _money(plan: Plan) -> Section:
    parts = in_cents([item.dollars for item in plan.bill], plan.budget)
    rows = [
        (item.what, _cents(dollars), item.how)
        for item, dollars in zip(plan.bill, parts, strict=True)
    ]
    total = math.fsum(parts)
    rows.append(("total", _cents(total), f"of {money(plan.budget)}"))
    over = plan.budget - total
    lines = (f"{money(over)} of the budget are not spent.",) if over > WORTH * plan.budget else ()
    sources = tuple(f"Prices of {plan.prices}: {source}" for source in plan.prices_from)
    table = Table(("what", "$", "how it is counted"), tuple(rows), (0, 2), total=True)
    return Section("Where the money goes", lines, table=table, notes=sources)


def _cents(dollars: float) -> str:
    return f"{dollars:,.2f}"


def _options(plan: Plan) -> Section | None:
    if len(plan.options) < 2:
        return None
    rows = [
        (
            money(one.total),
            one.way,
            one.method,
            f"{one.images:,}",
            points(one.median),
            span(one.band90),
            one.grade,
        )
        for one in plan.options
    ]
    columns = ("$ in all", "labels", "trained with", "images", "mAP", "90 % band", "reach")
    return Section(
        "For less money",
        ("What nothing cheaper reaches, by dollars:",),
        table=Table(columns, tuple(rows), (1, 2, 6)),
    )


def _names(plan: Plan) -> Section | None:
    pairs = [(one.way, one.method) for one in (plan.chosen, *plan.options)]
    pairs += [(one.way, one.method) for one in plan.rivals]
    items = tuple(meanings([way for way, _ in pairs], [method for _, method in pairs]))
    return Section("What the names mean", items=items) if items else None


def _training(plan: Plan) -> Section:
    told = ", ".join(f"{name} {value}" for name, value in plan.settings)
    lines = [f"Train {plan.chosen.method}; the settings that matter most: {told}."]
    return Section("Method", tuple(lines), code=plan.method_spec)


def _target(plan: Plan) -> Section | None:
    reach = plan.reach
    if reach is None:
        return None
    rows = [
        (f"{chance} %", "not reachable" if dollars is None else money(dollars))
        for chance, dollars in zip(_CHANCES, reach.quantiles, strict=True)
    ]
    found = f"{points(reach.target)} is reached in {percent(reach.reached)} of samples"
    by = (
        f"{reach.way} labels, trained with {reach.method}, take the least money. "
        if reach.way
        else ""
    )
    return Section(
        f"Dollars to {points(reach.target)} mAP",
        (f"{by[:1].upper()}{by[1:]}With at most {money(reach.most)} of these {found}.",),
        table=Table(("chance that so much is enough", "$ for labels"), tuple(rows)),
    )


def _steps(plan: Plan) -> Section | None:
    if not plan.steps:
        return None
    rows = [
        (
            str(place),
            money(step.dollars),
            money(step.total),
            f"{step.images:,}",
            points(step.median),
        )
        for place, step in enumerate(plan.steps, 1)
    ]
    then = f"mAP then on {plan.images}" if plan.images == NEW else "mAP then"
    columns = ("round", "$ of its labels", "$ so far", "images so far", then)
    after = tuple(f"After round {place}: {s.measure}." for place, s in enumerate(plan.steps, 1))
    if len(plan.steps) == 1:
        why = "one was asked for" if plan.rounds == 1 else "it hardly lies further than the pilot"
        told = f"There is one purchase, as {why}."
        return Section("Buy at once", (told,), table=Table(columns, tuple(rows), ()), items=after)
    told = "Each round contains the labels of the one before; fit the curves again after it."
    if len(plan.steps) < plan.rounds:
        told += (
            f" There are {len(plan.steps)} and not {plan.rounds}: less than twice what is there "
            "already would show little new."
        )
    return Section("Buy in rounds", (told,), table=Table(columns, tuple(rows), ()), items=after)


def _changes(plan: Plan) -> Section | None:
    if not plan.changes:
        return None
    rows = [
        (
            change.what,
            "not known" if change.same is None else money(change.same),
            "not known" if change.median is None else points(change.median),
            change.choice,
        )
        for change in plan.changes
    ]
    columns = ("if", "the same labels cost", "mAP for the budget", "recommended then")
    assumed = tuple(f"{change.what}: {change.told}." for change in plan.changes)
    planned = f"As planned: {money(plan.chosen.dollars)} and {points(plan.chosen.median)} mAP."
    return Section(
        "What would change it", (planned,), table=Table(columns, tuple(rows), (0, 3)), items=assumed
    )


def _worth(plan: Plan) -> Section | None:
    return Section("Worth a pilot point", items=plan.worth_trying) if plan.worth_trying else None


def _assumed(plan: Plan) -> Section:
    notes = [f"Left out: {sentence}" for sentence in plan.left_out]
    notes += [f"Where a curve ends: {sentence}" for sentence in plan.ends]
    return Section("Assumptions", items=plan.assumptions, notes=tuple(notes))


def _made(plan: Plan) -> Section:
    ids = [f"plan {plan.id}", *(f"{what} {name}" for what, name in plan.ids)]
    made = [f"{name} {value}" for name, value in plan.versions]
    notes = ("Content ids: " + ", ".join(ids) + ".", f"Seed {plan.seed}; " + ", ".join(made) + ".")
    return Section("How this was made", code=plan.command, notes=notes)
