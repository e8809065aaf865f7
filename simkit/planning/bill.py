"""The bill of a plan: questions, the time or price of each, answers, and dollars."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from simkit import quantities
from simkit.annotate.prices import ASSURANCE, IMAGES, MACHINE, Rate
from simkit.planning.costs import UNITS
from simkit.quantities import numbered

if TYPE_CHECKING:
    from simkit.planning.certainty import BetterTests
    from simkit.planning.choose import Decision
    from simkit.planning.evidence import Array

When = Literal["now", "later", "before"]

ASKED = {  # what one unit of a kind of question is
    "verify": "is one class in an image?",
    "name": "name a class in an image",
    "search": "look at an image in search of one class",
    "sweep": "classes of an image, one after the other",
    "descend": "is a branch of the hierarchy in an image?",
    IMAGES: "load an image",
    MACHINE: "a machine's scores of an image",
}


@dataclass(frozen=True)
class BillLine:
    """One line of the bill.

    Attributes
    ----------
    dollars
        In whole cents. With `questions`, these times `answers` times the price of each, within a
        cent: `each_dollars`, or else `each_seconds` at the wage of the price list.
    hours
        Working time; None if the price list has no times.
    when
        "now", "later" (after a new plan) or "before" (with the pilot).
    part
        Part of the first round, "a" or "b"; "" otherwise.
    questions
        Number of questions, or of pages or images where these have the price; None for other lines.
    """

    what: str
    dollars: float
    hours: float | None
    when: When = "now"
    part: str = ""
    questions: int | None = None
    answers: float | None = None
    each_seconds: float | None = None
    each_dollars: float | None = None


def bill_of(plan: Decision) -> tuple[BillLine, ...]:
    """Bill of the order, of later rounds, of the pilot and of the labels so far, in cents."""
    found = list[BillLine]()
    before = [*_before(plan)]
    if plan.spent is not None:  # what the answers in use really cost
        known = (
            [] if plan.later_spent is None else before[:1] * (plan.evidence.received is not None)
        )
        rest = before[len(known) :]
        paid = plan.spent - plan.aside - (plan.later_spent or 0.0) * len(known)
        times = paid / math.fsum(line.dollars for line in rest)  # in the parts of the prices
        before = [replace(line, dollars=plan.later_spent or 0.0) for line in known]
        before += [replace(line, dollars=times * line.dollars) for line in rest]
    if plan.aside:
        before.append(BillLine("answers that are set aside", plan.aside, None, "before"))
    for lines in ([*_order(plan)], before):
        cents = quantities.in_cents(line.dollars for line in lines)
        found += (replace(one, dollars=cost) for one, cost in zip(lines, cents, strict=True))
    return tuple(found)


def _order(plan: Decision) -> Iterator[BillLine]:
    """Test labels that come first, the order, and later rounds."""
    project, chosen = plan.project, plan.chosen
    when: When = "now"
    if plan.tests_first is not None:
        yield from _tests(plan, plan.tests_first)
        when = "later"
    order = plan.order if plan.purchase_needed else ()
    for letter, one in zip("ab", order, strict=False):
        part = letter if len(order) > 1 else ""
        new = max(one.images - plan.curves.had(one.option), 0)
        paid = new * project.image_price
        if one.units is None:
            labels = one.dollars - paid - project.set_up
            tied = one.settling / labels if labels else 0.0
            what = f"further answers, {one.answers}"
            seconds = one.seconds * (1 - tied)
            yield _line(what, labels - one.settling, seconds, when=when, part=part)
            if one.settling:
                what = "one more answer where answers tie"
                yield _line(what, one.settling, one.seconds * tied, when="later", part=part)
        else:
            answers = (one.option.habits.workers or plan.curves.usual) * one.answers.times
            swept = numbered(new, "image") if one.option.complete else ""
            for line in _questions(plan, one.units, answers, swept):
                yield replace(line, part=part, when=when)
        if paid:
            yield BillLine(numbered(new, "image"), paid, 0.0, when, part=part)
        if project.set_up and one is order[-1]:
            yield BillLine("set-up", project.set_up, 0.0, when, part=part)
    if order and plan.in_rounds:
        dollars, seconds = chosen.dollars - order[0].dollars, chosen.seconds - order[0].seconds
        yield _line("later rounds, after a new plan", dollars, seconds, when="later")


def _tests(plan: Decision, tests: BetterTests) -> Iterator[BillLine]:
    """Test labels that come before the order."""
    if not tests.images:
        what = "a further answer to every question about the test images"
        yield _line(what, tests.dollars, tests.seconds)
        return
    share, images = tests.images / plan.evidence.pool.images, numbered(tests.images, "test image")
    yield from _questions(plan, plan.curves.complete.units[-1] * share, tests.answers, images)
    if plan.project.image_price:
        yield BillLine(images, tests.images * plan.project.image_price, 0.0)


def _questions(plan: Decision, counts: Array, answers: float, swept: str) -> Iterator[BillLine]:
    """A line for each kind of question of a purchase, and for quality assurance.

    counts (U,): of each of `costs.UNITS`.  swept: the images about which all classes are asked, in
    words; "" if there are none.
    """
    listed = plan.prices
    asked, timed, seconds = 0.0, True, 0.0
    for kind, units in zip(UNITS, counts.tolist(), strict=True):
        if units < 0.5:
            continue
        rate = {**listed.all_rates, IMAGES: listed.image}.get(kind) or Rate(
            "question", 0.0, listed.machine
        )
        people = 1 if kind == MACHINE else answers
        each, time = rate.dollars, rate.seconds
        if each is None:
            assert time is not None and listed.wage is not None
            each = time * listed.wage / 3600
        hours = None if time is None else units * people * time / 3600
        if kind not in (IMAGES, MACHINE):
            asked += units * people * each
            timed, seconds = timed and time is not None, seconds + 3600 * (hours or 0.0)
        yield BillLine(
            _asked(plan, swept, kind, rate), units * people * each, hours,
            questions=round(units), answers=people,
            each_seconds=time, each_dollars=rate.dollars,
        )  # fmt: skip
    if listed.qa:
        what = f"{ASSURANCE}, {quantities.percent(listed.qa)} of the questions"
        yield _line(what, listed.qa * asked, listed.qa * seconds if timed else math.nan)


def _asked(plan: Decision, swept: str, kind: str, rate: Rate) -> str:
    """What the units of a kind of question are."""
    if rate.per == "page":
        return f"pages of {numbered(rate.page, 'question')}: {ASKED[kind]}"
    if rate.per == "image" and kind not in (IMAGES, MACHINE):
        return f"images: {ASKED[kind]}"
    if swept and kind == "sweep":
        return f"{swept} x {plan.evidence.pool.truth.shape[1]:,} classes"
    return ASKED[kind]


def _before(plan: Decision) -> Iterator[BillLine]:
    """What is already paid: earlier rounds and the pilot."""
    evidence = plan.evidence
    if evidence.received is not None:
        what = f"{evidence.received.option.labels} so far"
        yield BillLine(what, evidence.received.dollars, None, "before")
    pool, tests = evidence.pool.images, evidence.test.images or 0
    for images, kind, split in ((pool, "complete", "train"), (tests, "test", "test")):
        if images:
            counts = evidence.answers.get(split, {plan.curves.usual: 1})
            number = sum(n * many for n, many in counts.items()) / sum(counts.values())
            paid_for = plan.paid.answered(number / plan.curves.usual)
            dollars, seconds = (
                float(x[-1]) * (images / pool) for x in (paid_for.dollars, paid_for.seconds)
            )
            what = f"pilot: {numbered(images, f'{kind} image')}"
            yield _line(what, dollars, seconds, when="before")


def _line(
    what: str, dollars: float, seconds: float, *, when: When = "now", part: str = ""
) -> BillLine:
    return BillLine(what, dollars, None if math.isnan(seconds) else seconds / 3600, when, part)
