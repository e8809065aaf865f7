"""The text of a plan: the page of answers, tables and details."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import attrgetter
from shlex import join, quote

import numpy as np

from simkit import quantities
from simkit.history import versions
from simkit.planning.choose import LOSS, MOST_TIMES, Candidate
from simkit.planning.decision import Decision
from simkit.planning.evidence import Pair, Received
from simkit.planning.plan_figure import Chart, CurveSeries, Mark, Page, Section, Table
from simkit.registry import short
from simkit.results.cells import FULL

RUNNERS_UP = 3
KNOWN_TO = 5.0  # points of mAP on the test images, at 95 % confidence
MAYBE = 0.1  # probability from which on another method is recommended as well
STEPS = 16  # purchases per line
DRAWN = 3  # runners-up in the figure


def page(plan: Decision) -> Page:
    """The plan as a page: the answer first, the rest folded."""
    images = plan.project.images
    exist = "" if images is None else f", with {images:,} images"
    wanted = "" if plan.project.target is None else f", {100 * plan.project.target:g} mAP wanted"
    return Page(
        title=f"What to label for {dollars(plan.project.dollars)}{exist}{wanted}",
        answers=(
            *_so_far(plan), *(_purchase(plan) if plan.purchase_needed else _no_purchase(plan)),
            ("Trust", " ".join(_trust(plan))), ("Next step", _next(plan)),
        ),
        tables=(_runners_up(plan), *_bill(plan)),
        details=tuple(_details(plan)),
        chart=_chart(plan), command=plan.command, trust=plan.trust.grade,
    )  # fmt: skip


def dollars(value: float) -> str:
    """Cents below $100, whole dollars above."""
    value = round(value, 2)
    return f"${value:,.2f}" if abs(value) < 100 and value != round(value) else f"${value:,.0f}"


def points(value: float) -> str:
    """mAP in points."""
    return f"{100 * value:.1f}"


def described(one: Candidate) -> str:
    """A purchase in concrete numbers."""
    option, part = one.option, one.option.with_amount(one.amount)
    images = f"{one.images:,} image{'s' * (one.images != 1)}"
    if option.complete:
        return f"complete labels of {images}"
    if option.amount == "images":
        return f"{option.scheme} labels of {images}"
    if option.counted:
        most = f"{round(one.amount):,} images with each class"
        return f"up to {most}, among {images} ({option.scheme})"
    name, _, settings = option.scheme.rstrip(")").partition("(")
    settings = f"{settings}, " if settings else ""
    return f"{name}({settings}{option.amount}={getattr(part, option.amount):.3g}) on {images}"


def _fewer(one: Candidate) -> str:
    """A sentence about classes with fewer images than a counted amount."""
    if not one.option.counted:
        return ""
    few, classes = int((one.present < 0.98 * one.amount).sum()), len(one.present)
    absent = (
        " About as many images without the class are labelled as well." if one.absent.sum() else ""
    )
    if not few:
        return absent
    have = "has" if few == 1 else "have"
    return f" {few} of {classes} classes {have} fewer: find all of their images.{absent}"


def _scores(one: Candidate) -> Iterator[tuple[str, str]]:
    """The scores that the price of a search assumes."""
    part = one.option.part
    if getattr(part, "search", "") == "proposals":
        yield (
            "Needs",
            "a model's scores (`simkit score`; not in the bill), assumed right for "
            f"{part.precision:.0%} of its candidates. Without scores images are searched at "  # type: ignore[attr-defined]
            "random, at a higher price.",
        )


def _people(plan: Decision) -> str:
    workers = plan.chosen.option.habits.workers or plan.prices.workers
    if workers == 1:
        return ""
    why = (
        "because annotators err"
        if plan.chosen.option.habits.workers
        else f"by price list {plan.prices.name}"
    )
    return f"Each question is answered by {workers} people ({why})."


def _so_far(plan: Decision) -> Iterator[tuple[str, str]]:
    """The mAP of earlier rounds' labels, compared with the expected mAP."""
    received = plan.evidence.received
    if received is None or plan.expected is None:
        return
    score, (median, low, high) = received.score, plan.expected
    where = "inside" if low <= score <= high else "above" if score > high else "below"
    yield (
        "So far",
        f"{dollars(received.dollars)} of {received.option.part.name} labels give "
        f"{plan.evidence.title(received.method)} {points(score)} mAP, {where} the expected range "
        f"({points(low)} to {points(high)}, median {points(median)}). The plan uses the "
        f"predictions that agree with this mAP.{_errors(received, plan.prices.workers)}",
    )


def _errors(received: Received, people: int) -> str:
    """The fitted error rates of the people, and whether the comparison has them."""
    if received.errors is None:
        return ""
    miss, false_alarm = received.errors
    text = (
        f" Annotators missed {miss:.1%} of the present classes and reported {false_alarm:.1%} of "
        "the absent ones."
    )
    if received.option.habits.perfect and miss + false_alarm > 0:
        text += (
            " The comparison simulates no errors. Unless the same annotators labelled the pilot, "
            f"compare again with miss = {miss:.3f}, false_alarm = {false_alarm:.3f} and workers = "
            f"{people} under [habits] in the grid, and plan from that folder."
        )
    return text


def _purchase(plan: Decision) -> Iterator[tuple[str, str]]:
    low, high = plan.chosen.band
    yield "Spend", " ".join(filter(None, _spend(plan)))
    yield "Expect", " ".join(_expect(plan))
    yield "Range", f"{points(low)} to {points(high)} mAP (90% interval)."
    yield from _scores(plan.chosen)


def _no_purchase(plan: Decision) -> Iterator[tuple[str, str]]:
    yield "Spend", "nothing: no purchase within the budget is expected to add 1 point of mAP."
    reached = {}
    if plan.evidence.zero_shot is not None:
        reached["the scores (zero-shot)"] = plan.evidence.zero_shot[0]
    if plan.evidence.received is not None:
        reached["the labels so far"] = plan.evidence.received.score
    best = max(reached, key=lambda name: reached[name])
    yield "Expect", f"{points(reached[best])} mAP on new images, with {best}."


def _spend(plan: Decision) -> Iterator[str]:
    now = plan.money.order
    if len(plan.order) == 1:
        yield f"{dollars(now)} on {described(plan.chosen)}.{_fewer(plan.chosen)}"
    else:
        a, b = plan.order
        yield (
            f"{dollars(now)} on a first round: (a) {dollars(a.dollars)} on {described(a)}, and (b) "
            f"{dollars(b.dollars)} on {described(b)}. If (a) proves better, continue with it: "
            f"{described(plan.chosen)}, {dollars(plan.chosen.dollars)} in total."
        )
    received = plan.evidence.received
    if received is not None and received.option == plan.chosen.option:
        yield "These amounts include the labels so far; the price does not."
    yield _people(plan)
    if (total := plan.hours) is not None:
        weeks = ""
        if plan.weeks is not None:
            weeks = f", {plan.weeks:.1f} weeks" if plan.weeks >= 0.1 else ", less than 0.1 weeks"
            weeks += f" at {plan.week_hours:,.0f} hours a week"
        time = f"{quantities.duration(3600 * total)} of work{weeks}"
        yield f"{time}." if len(plan.order) == 1 else f"The first round takes {time}."


def _expect(plan: Decision) -> Iterator[str]:
    chosen = plan.chosen
    whole = f" once the whole {dollars(chosen.dollars)} is spent" if len(plan.order) > 1 else ""
    method = plan.evidence.title(chosen.method)
    yield f"{points(chosen.median)} mAP on new images, trained with {method}{whole}."
    if any(plan.wrong):
        present, absent = plan.wrong
        yield f"{present:.1%} of the present and {absent:.1%} of the absent labels will be wrong."
    if (free := plan.evidence.zero_shot) is not None:
        yield f"Without labels, the scores reach {points(free[0])} (zero-shot, {free[1]})."
    if others := _other_methods(plan):
        may = "it may" if len(others) == 1 else "they may"
        yield f"Train {' and '.join(others)} on the same labels as well; {may} be better."
    target = plan.project.target
    if target is not None:
        chance, wanted = chosen.reaches(target), points(target)
        if plan.choice.reached:
            yield f"{wanted} is reached with {chance:.0%} probability, at the lowest such price."
        else:
            yield f"The best chance of reaching {wanted} is {chance:.0%}."
    # The chosen purchase alone, as further money would be spent on it; a first round of another
    # option is no part of it, but of the order.
    unspent = plan.project.dollars - chosen.dollars
    if target is None and unspent > 0.02 * plan.project.dollars:
        best = plan.choice.best
        if best.dollars > 1.02 * chosen.dollars:  # the choice rules out a gain of 1 point
            every = "all " if best.dollars > 0.98 * plan.project.dollars else ""
            yield (
                f"Spending {every}{dollars(best.dollars)} would give {points(best.median)}: less "
                "than 1 point more."
            )
        else:
            most = MOST_TIMES * plan.evidence.pool.images
            end = "More money buys nothing better"
            if (plan.project.images or math.inf) > most:
                end = f"The pilot predicts nothing beyond {most:,.0f} images, 50 times its own"
            left = plan.money.left  # part of another option in the first round may use it up
            yield f"{end}: {dollars(left)} is left." if left >= 0.5 else f"{end}."


def _other_methods(plan: Decision) -> list[str]:
    """Methods that may beat the chosen one on the labels of the order, most likely ones first."""
    chosen = plan.chosen
    better = {
        other.method: float((other.map > chosen.map + LOSS / 2).mean())
        for other in plan.choice.every
        if other.option == chosen.option and other.method not in (chosen.method, FULL)
        and other.images == chosen.images and abs(other.dollars - chosen.dollars) < 0.005
    }  # fmt: skip
    # On complete labels many methods are identical.
    same = {float(plan.curves.full((chosen.option, m)).end.mean()): m for m in better}
    distinct = same.values() if chosen.option.complete else better
    likely = sorted(distinct, key=lambda method: -better[method])
    return [plan.evidence.title(method) for method in likely if better[method] >= MAYBE][:2]


def _trust(plan: Decision) -> Iterator[str]:
    because = f", because {'; '.join(plan.trust.reasons)}" if plan.trust.reasons else ""
    yield f"{plan.trust.grade}{because}."
    if plan.evidence.project is not None and _missing_tests(plan):
        yield "A project tests on the pilot alone; further labels do not become test images."
    if plan.project.images is None:
        yield "`--images` was not given: as many images as needed are assumed."


def _next(plan: Decision) -> str:
    share, sentence = plan.evidence.missing
    if share > 0.05 and " failed" in sentence:  # the same comparison would fail again
        return f"Change the grid and compare again: {sentence}."
    if share > 0.05:
        return "Finish the comparison (the same `simkit compare` resumes it), then plan again."
    if plan.evidence.stand_in_backbone:
        return "Compare again with a backbone for photographs, which costs no labels."
    if not plan.purchase_needed:
        return _train(plan)
    if plan.trust.sparse:
        scheme = plan.chosen.option
        return f"Compare smaller budgets of {scheme}, which costs no labels, and plan again."
    if (project := plan.evidence.project) is not None:
        what = "(a)" if len(plan.order) > 1 else "it"
        return f"`simkit status {quote(project)}` shows the command that orders {what}."
    test = _test_images(plan)
    if len(plan.order) > 1:
        parts = zip(("(a)", "(b)"), plan.order, strict=True)
        steps = [
            f"add the labels of {part} to the comparison's data and compare again"
            if one.option.complete
            else f"train on {part} (`simkit train --labels`)"
            for part, one in parts
        ]
        return f"Label (a) and (b), {', '.join(steps)}, then plan again.{test}"
    if test:
        return test.strip()
    measurement = plan.measurement
    if plan.choice.reached is not None:
        return "Order it." if plan.choice.reached else "Raise the budget or lower the target."
    if measurement is None:
        return "Order it: no smaller purchase is likely to change this decision."
    candidate = measurement.candidate
    return (
        f"The smallest purchase that may change this decision: {dollars(candidate.dollars)} on "
        f"{described(candidate)}, trained with {plan.evidence.title(candidate.method)} "
        f"({measurement.changes:.0%} probability)."
    )


def _train(plan: Decision) -> str:
    """The training on the labels at hand, where no purchase is worth its money."""
    received = plan.evidence.received
    if received is None:
        return "Use the scores (`simkit score`); they need no labels."
    if (project := plan.evidence.project) is not None:
        return f"`simkit status {quote(project)}` shows the command that trains on these labels."
    text = f"Train {plan.evidence.title(received.method)} on the labels at hand"
    trained = plan.evidence.trained_as.get((received.option, received.method))
    if trained is None or not received.folder:
        return f"{text} (`simkit train --labels`)."
    files = {"--labels": "labels.parquet", "--data": "scored.toml"}
    words = ["simkit", "train", "--method", str(trained["method"])]
    for option, name in files.items():
        words += [option, f"{received.folder}/{name}"]
    return f"{text}: `{join(words)}`"


def _missing_tests(plan: Decision) -> int:
    """The number of missing test images, if these limit trust."""
    test = plan.evidence.test
    if not test.small or test.images is None or test.half_width < KNOWN_TO:
        return 0
    return math.ceil(test.images * ((test.half_width / KNOWN_TO) ** 2 - 1))


def _test_images(plan: Decision) -> str:
    """The command that orders the missing test images, with its price."""
    if not (extra := _missing_tests(plan)):
        return ""
    complete = next(one for option, one in plan.curves.purchases.items() if option.complete)
    price = dollars(extra * float(complete.dollars[-1]) / plan.evidence.pool.images)
    return (
        f" Label {extra:,} more test images ({price}) to know mAP to ±{KNOWN_TO:g} points: "
        f"order them with `simkit order --data folder:NEW,labels=none --classes names.txt --scheme "
        f"full-subset --images {extra}`, and add their labels to the test split."
    )


def _runners_up(plan: Decision) -> Table:
    rows = []
    for one in plan.choice.rivals[:RUNNERS_UP]:
        low, high = one.band
        better = float((one.map > plan.chosen.map).mean())
        rows.append((
            described(one), plan.evidence.title(one.method), dollars(one.dollars),
            points(one.median), f"{points(low)} to {points(high)}", f"{better:.0%}",
        ))  # fmt: skip
    columns = ("purchase", "method", "$", "mAP", "range", "P(better)")
    return Table("Runners-up", columns, tuple(rows), (2, 3, 4, 5))


def _bill(plan: Decision) -> Iterator[Table]:
    """The bill of this budget, with its total, and what is already paid."""
    paid = [line for line in plan.bill if line.when == "before"]
    ours = [line for line in plan.bill if line.when != "before"] if plan.purchase_needed else []
    for title, lines in (("Bill of this budget", ours), ("Already paid", paid)):
        rows = [
            (one.what, _hours([one.hours]), quantities.exact_money(one.dollars)) for one in lines
        ]
        if lines is ours and len(lines) > 1:
            whole = quantities.exact_money(plan.money.total)
            rows.append(("total", _hours([line.hours for line in lines]), whole))
        if any(hours for _, hours, _ in rows):
            yield Table(title, ("item", "hours", "$"), tuple(rows), (1, 2))
        else:
            yield Table(title, ("item", "$"), tuple((row[0], row[2]) for row in rows), (1,))


def _hours(values: list[float | None]) -> str:
    """Their sum; empty if one is unknown."""
    if None in values:
        return ""
    return f"{math.fsum(one for one in values if one is not None):,.1f}"


def _details(plan: Decision) -> Iterator[Section]:
    chosen = plan.chosen
    trained = plan.evidence.trained_as.get(chosen.pair)
    spelled = short(chosen.option.with_amount(chosen.amount))
    yield Section(
        "The order",
        items=tuple(filter(None, (
            f"Scheme: {spelled}, about {round(chosen.asked):,} images asked about",
            f"Labels: about {chosen.present.sum():,.0f} present and {chosen.absent.sum():,.0f} "
            f"absent of the {len(chosen.present)} classes that mAP averages",
            f"Training as in the comparison: {trained['method']}, learning rate {trained['lr']:g}, "
            f"{trained['epochs']} epochs" if trained and trained["lr"] else "",
        ))),
    )  # fmt: skip
    title = f"Other amounts of {chosen.option}, trained with {plan.evidence.title(chosen.method)}"
    yield Section(title, table=_amounts(plan))
    if plan.unpriced:
        yield Section("Not considered", items=plan.unpriced)
    yield Section("Backtest of the range", text=(_tested(plan),))
    yield Section("Assumptions", items=tuple(_assumptions(plan)))
    source = plan.prices
    yield Section(
        f"Prices: {source.name}",
        items=tuple(
            f"{kind}: {rate.seconds or rate.dollars:g} {'s' if rate.seconds else '$'} per "
            f"{rate.per} ({rate.source})"
            for kind, rate in source.rates.items()
        ) + ((f"machine: ${source.machine:g} per image ({source.machine_source})",)
             if chosen.option.part.needs_scores else ())
        + ((f"wage: ${source.wage:g} an hour ({source.wage_source})",) if source.wage else ()),
    )  # fmt: skip
    ids = ", ".join(f"{name} {value}" for name, value in plan.evidence.ids.items())
    made = ", ".join(f"{name} {value}" for name, value in versions().items())
    yield Section("Provenance", (f"{plan.evidence.runs:,} runs; {ids}; {made}.",))


def _amounts(plan: Decision) -> Table:
    """The best purchases of the chosen option and method at lower costs."""
    rows = [
        (dollars(one.dollars), described(one), points(one.median),
         f"{points(one.band[0])} to {points(one.band[1])}")
        for one in _frontier(plan, plan.chosen.pair)[::2]
    ]  # fmt: skip
    return Table("", ("$", "purchase", "mAP", "range"), tuple(rows), (0, 2, 3))


def _tested(plan: Decision) -> str:
    test = plan.backtest
    if test is None:
        return "No curve has three sizes, so no size could be held out and predicted."
    return (
        f"The largest size of each of {test.cells} curves was predicted from the smaller ones: "
        f"{test.held:.0%} lie within their 90% interval; the median error is "
        f"{points(test.error)} points."
    )


def _assumptions(plan: Decision) -> Iterator[str]:
    chosen = plan.chosen
    yield "Images and annotators are like the pilot's"
    yield "The model is trained on the order alone; the pilot's labels would add to it"
    if chosen.times > 1:
        yield (
            "Beyond the pilot's images, the curve of complete labels flattens as in other data; a "
            "scheme keeps its distance to it (in logit mAP), its equivalent number of completely "
            "labelled images, or a mixture of the two"
        )
    if not chosen.option.complete and not plan.curves.reaches_complete(chosen.pair):
        yield (
            f"{chosen.option} with {plan.evidence.title(chosen.method)} never reaches complete "
            "labels; its curve is assumed to end anywhere between its largest size and theirs"
        )
    if plan.evidence.test.small:
        yield "Measured mAP was corrected for the bias of few test images"
    if plan.project.images is None:
        yield "There are as many images as the budget pays for, up to 50 times the pilot's"


def _frontier(plan: Decision, pair: Pair) -> list[Candidate]:
    """The best purchases of a label option and method at increasing costs."""
    purchases = [one for one in plan.choice.every if one.pair == pair]
    spent = [one.dollars for one in purchases]
    best: dict[float, Candidate] = {}
    for level in np.geomspace(min(spent), max(spent), STEPS) * (1 + 1e-9):
        affordable = (one for one in purchases if one.dollars <= level)
        highest = max(affordable, key=attrgetter("median"))
        best[highest.dollars] = highest
    return list(best.values())


def _chart(plan: Decision) -> Chart:
    chosen = plan.chosen
    lines = tuple(_line(plan, one.pair) for one in (chosen, *plan.choice.rivals[:DRAWN]))
    return Chart(
        lines=lines, chosen=Mark(chosen.dollars, chosen.median),
        budget=plan.project.dollars, target=plan.project.target,
        alt=(
            f"mAP over dollars of {len(lines)} label options; the chosen purchase costs "
            f"{dollars(chosen.dollars)} and is expected to give {points(chosen.median)} mAP"
        ),
        note="Dots: measured in the pilot. Band: 90% interval.",
    )  # fmt: skip


def _line(plan: Decision, pair: Pair) -> CurveSeries:
    option, method = pair
    best = _frontier(plan, pair)
    low, high = zip(*(one.band for one in best), strict=True)
    marks: tuple[Mark, ...] = ()
    if option.amount == "images":  # other options were measured only on the pilot's images
        each = (best[0].dollars - plan.project.set_up) / best[0].images
        marks = tuple(
            Mark(size.amount * each + plan.project.set_up, size.score)
            for size in plan.evidence.cells.get(pair, ())
            if size.amount * each <= best[-1].dollars
        )
    name = "complete labels" if option.complete else option
    return CurveSeries(
        label=f"{name}, {plan.evidence.title(method)}", dollars=tuple(one.dollars for one in best),
        median=tuple(one.median for one in best), low=low, high=high,
        measured=marks, chosen=pair == plan.chosen.pair,
    )  # fmt: skip
