"""What a plan says, in words: one document, whatever shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.planning.told.compared import runners_up
from simkit.planning.told.document import Document, Section, Table
from simkit.planning.told.names import meanings
from simkit.planning.told.wording import GRADES, percent, points, span
from simkit.study.limit import money

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
        _check(plan),
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
        ("four times in five at least", points(chosen.low)),
    ]
    if chosen.target is not None and plan.target is not None:
        rows.append((f"chance of {points(plan.target)} or more", percent(chosen.target)))
    notes = [f"Reach {GRADES[chosen.grade]} ({_times(chosen.times)})."]
    if chosen.note:
        notes.append(f"{chosen.note[0].upper()}{chosen.note[1:]}.")
    return Section(
        "Expected mAP",
        chart=True,
        table=Table(("mAP on the test split, of 100", "points"), tuple(rows)),
        notes=tuple(notes),
    )


def _times(times: float) -> str:
    if times <= 1:
        return "within what was measured"
    return f"{times:.2g} times the dollars of the pilot's largest size"


def _money(plan: Plan) -> Section:
    rows = [(item.what, _cents(item.dollars), item.how) for item in plan.bill]
    total = sum(item.dollars for item in plan.bill)
    rows.append(("total", _cents(total), f"of {money(plan.budget)}"))
    over = plan.budget - total
    lines = (f"{money(over)} of the budget are not spent.",) if over > 0.01 * plan.budget else ()
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
    return Section(
        f"Dollars to {points(reach.target)} mAP",
        (f"With at most {money(reach.most)} of training labels {found}.",),
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
    columns = ("round", "$ for labels", "so far", "images", "mAP")
    after = tuple(f"After round {place}: {s.measure}." for place, s in enumerate(plan.steps, 1))
    told = "Each round contains the labels of the one before; fit the curves again after it."
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
    columns = ("if", "the labels cost", "mAP for the budget", "recommended then")
    assumed = tuple(f"{change.what}: {change.told}." for change in plan.changes)
    planned = f"As planned: {money(plan.chosen.dollars)} and {points(plan.chosen.median)} mAP."
    return Section(
        "What would change it", (planned,), table=Table(columns, tuple(rows), (0, 3)), items=assumed
    )


def _check(plan: Plan) -> Section:
    check = plan.check
    if check is None:
        told = "There is no back-test: the pilot has too few sizes to predict one from the others."
        return Section("Back-test", (told,))
    rows = tuple(
        (way, method, f"{times:.2g}x", points(real), points(said), span((low, high)),
         "yes" if inside else "NO")
        for way, method, times, real, said, low, high, inside in check.rows
    )  # fmt: skip
    columns = ("labels", "trained with", "beyond", "measured", "predicted", "90 % band", "inside")
    told = (
        f"{'Passed' if check.passed else 'MISSED'}: of all curves' {check.count} largest sizes, "
        f"predicted from smaller ones ({check.factor:.2g} times less on average), {check.inside} "
        f"lie in their 90 % bands; these are {points(check.width)} points wide, and the median "
        f"error is {points(check.error)} points."
    )
    if check.singles is not None:
        told += (
            f" These are means of draws; of single draws, which bands are about, "
            f"{percent(check.singles)} lie inside."
        )
    notes = ("It says nothing about further reaches than its own.",)
    return Section("Back-test", (told,), table=Table(columns, rows, (0, 1, 6)), notes=notes)


def _worth(plan: Plan) -> Section | None:
    return Section("Worth a pilot point", items=plan.worth_trying) if plan.worth_trying else None


def _assumed(plan: Plan) -> Section:
    notes = tuple(f"Left out: {sentence}" for sentence in plan.left_out)
    return Section("Assumptions", items=plan.assumptions, notes=notes)


def _made(plan: Plan) -> Section:
    ids = [f"plan {plan.id}", *(f"{what} {name}" for what, name in plan.ids)]
    made = [f"{name} {value}" for name, value in plan.versions]
    notes = ("Content ids: " + ", ".join(ids) + ".", f"Seed {plan.seed}; " + ", ".join(made) + ".")
    return Section("How this was made", code=plan.command, notes=notes)
