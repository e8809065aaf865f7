"""The text of a plan: the page of answers, tables and details."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from operator import attrgetter
from pathlib import Path
from shlex import join, quote
from typing import Any

import numpy as np

from simkit.annotate.prices import DEFAULT
from simkit.history import versions
from simkit.planning.answers import Answers
from simkit.planning.bill import BillLine
from simkit.planning.choose import (
    CENT,
    FURTHER,
    LOSS,
    MOST_TIMES,
    Candidate,
    Decision,
    alternatives,
    narrowed,
)
from simkit.planning.evidence import OF_PROJECT, Array, LabelOption, Pair
from simkit.planning.plan_figure import Chart, CurveSeries, marked_as
from simkit.quantities import numbered
from simkit.registry import short
from simkit.results.cells import FULL, listed
from simkit.results.report import Page, Section, Table, WhatIf, code, dollars, points, render

TEXTS = tomllib.loads(Path(__file__).with_name("plan.toml").read_text("utf-8"))
OTHERS = 3  # label options besides that of the plan
BETTER = "chance of 1 point more mAP than this plan"
SUPPOSED = 0.02  # of the test labels are wrong, where their errors are unknown
FELL_SHORT = 0.5  # of the promised gain: a purchase that gave less is questioned
GROWN = 2.0  # times the pilot's images: what was measured so far beyond it is stated
GROWTH = (  # benchmarks/results/growth.md
    "So far beyond the pilot the gain is uncertain: with eight times the images, nine data sets "
    "gained 0.7 to 1.4 times as much as predicted (in logit mAP), and single pilots differ more."
)
MAYBE = 0.1  # probability from which on another method is recommended as well
STEPS = 16  # purchases per line, at least
DRAWN = 3  # other label options in the figure
NOTED = 1.1  # times the price of the plan: what answers cost is mentioned
WORDS = {"plan", "for", "purchase", "method"}  # columns of text in tables of purchases


def page(plan: Decision, half: Decision | None) -> Page:
    """The plan as a page: the answer first, the rest folded.

    half: the plan for half its price; None if that pays for nothing.
    """
    evidence, title = plan.evidence, render(TEXTS["title"], {"project": plan.project})
    data = re.sub("[^:,=]*/", "", str(evidence.grid.get("data", "")))  # without folders
    about = evidence.project or data
    return Page(
        title,
        (*_so_far(plan), *_answer(plan)),
        tables=(_amounts(plan, half), _supposed(plan)), bill=_bill(plan),
        details=tuple(_details(plan)), chart=_chart(plan), command=plan.command,
        trust=plan.trust.grade, about=", ".join(filter(None, [plan.day.isoformat(), about])),
    )  # fmt: skip


def command(*words: str, **options: Any) -> str:
    """`simkit plan` with these words, with the options that are neither None nor the default
    prices."""
    parts = ["simkit", "plan", *words]
    usual = None if "continue" in options else DEFAULT  # without prices, it uses the measured ones
    for name, value in options.items():
        if value is not None and (name, value) != ("prices", usual):
            text = f"{value:.15g}" if isinstance(value, float) else str(value)
            parts += [f"--{name.replace('_', '-')}", text]
    return join(parts)


def _answer(plan: Decision) -> Iterator[tuple[str, str]]:
    """What to buy, what to expect of it, how far to trust this, and where the money goes."""
    step = plan.step
    if plan.purchase_needed:
        yield "Spend", _text("spend", plan)
        yield "Expect", _expect(plan)
        yield "Range", f"{_band(plan.chosen.map)} mAP with 90% probability."
        yield from _target(plan)
        yield "Trust", _trust(plan)
        yield "Next step", _next(plan)
        if plan.in_rounds or step.first:
            yield "Later", _text("later", plan)
        yield "Money", _money(plan)
        yield "mAP", _meaning(plan)
        if needs := _needs(plan):
            yield "Needs", needs
    else:
        score, with_what, _ = _at_hand(plan)
        best = max(plan.chosen, plan.choice.best, key=plan.gain_of)
        gain = max(plan.gain_of(best), 0.0)
        what = f"{dollars(step.dollars)} on {_before(plan)}" if step.dollars else "nothing"
        yield "Spend", f"{what}: {_tried(plan)}"
        chance = f"a random order has {points(plan.evidence.pool.chance)}"
        yield "Expect", f"{points(score)} mAP on new images ({chance}), with {with_what}."
        if plan.said is not None:
            yield "Range", f"{_band(plan.said)} mAP with 90% probability."
        why, target = "", plan.project.target
        if target is not None and plan.reached_today:
            how_sure = (
                "" if plan.curves.free >= target else f", with {plan.today(target):.0%} probability"
            )
            why = f" {points(target)} is reached without a purchase{how_sure}."
        elif gain < LOSS:
            why = f" The best purchase is expected to add only {points(gain)} points of mAP."
        yield from _target(plan)
        yield "Trust", _trust(plan)
        yield "Next step", _next(plan)
        yield "Left", f"{dollars(plan.left)}, not to be spent.{why} {_paid(plan)}"


def _target(plan: Decision) -> Iterator[tuple[str, str]]:
    """The chance of a target that the plan misses, what would reach it, and one in reach."""
    if not plan.missed:
        return
    chance = max(one.reaches(plan.project.target or 0) for one in plan.choice.every)
    yield "Target", render(TEXTS["target"], {
        "plan": plan, "chance": f"{chance:.0%}", "mend": _mend_target(plan),
        "most": f"{MOST_TIMES * plan.evidence.pool.images:,.0f}",
    })  # fmt: skip


def _mend_target(plan: Decision) -> str:
    """The budget, and the number of images where more are needed, that reach a missed target; ""
    where nothing does."""
    if plan.reachable is None:
        return ""
    money, images = plan.reachable
    text = f"a budget of {dollars(money)}"
    if images == plan.project.images or images is None:
        return text
    text = numbered(images, "image") + (f" and {text}" if money > plan.project.dollars else "")
    return f"{text} (`--images {images}`)"


def what_if(
    plan: Decision, plans: Sequence[Decision], halves: Sequence[Decision | None],
    every: Sequence[Candidate],
) -> tuple[Chart, WhatIf]:  # fmt: skip
    """The figure for all budgets, and the pages between which its slider moves.

    halves: the plan for half the price of each. every: all candidates at any price.
    """
    steps = []
    for other in plans:
        mark, instead = _mark(other), _instead(other)
        steps.append({
            "budget": dollars(other.project.dollars), "mark": mark, "nothing": instead is not None,
            "label": marked_as(mark, instead),
        })  # fmt: skip
    values = {"steps": steps, "own": plans.index(plan)}
    chart = _chart(plan, every)
    if len(plans) > 1:
        chart = replace(chart, budget=None)
    return chart, WhatIf(tuple(map(page, plans, halves)), values)


def _band(map: Array) -> str:
    """The 90 % interval of mAP (R,) in points."""
    low, high = np.quantile(map, [0.05, 0.95]).tolist()
    return f"{points(low)} to {points(high)}"


def described(plan: Decision, one: Candidate) -> str:
    """A purchase in concrete numbers, with the answers per question if these are not the usual."""
    if one.answers.again:
        return f"further answers to the questions so far, up to {one.answers}"
    option, part = one.option, one.option.with_amount(one.amount)
    images = numbered(one.images, "image")
    if had := plan.curves.had(option) * (option.amount == "images"):
        images = f"{one.images - had:,} more images, {one.images:,} in all"
    if option.complete:
        text = f"complete labels of {images}"
    elif option.amount == "images":
        text = f"{option.scheme} labels of {images}"
    elif option.amount == "per_class":
        how, name = _searching(plan, option), option.part.name
        text = f"up to {numbered(one.amount, 'image')} of each class, found by searching {images}"
        text += f"{how} ({name})"
    else:
        value = getattr(part, option.amount)
        value = f"{value:.1%}" if isinstance(value, float) else f"{value:,}"
        text = f"{option.scheme} labels ({option.amount} {value}) of {images}"
    usual = option.habits.workers or plan.curves.usual
    return text if one.answers.number == usual else f"{text}, {one.answers}"


def _so_far(plan: Decision) -> Iterator[tuple[str, str]]:
    """Earlier rounds: their mAP next to the expected one, and the errors of the answers."""
    received = plan.evidence.received
    if received is None or plan.expected is None:
        return
    score, before = round(received.score, 3), round(_by_pilot(plan)[0], 3)
    median, low, high = (round(one, 3) for one in plan.expected)
    together = plan.evidence.project is not None  # models learn from the pilot as well
    gain, predicted = score - before, median - before
    lost = together and gain < 0
    yield "So far", render(TEXTS["so_far"], {
        "dollars": dollars(received.dollars if plan.later_spent is None else plan.later_spent),
        "labels": received.option.labels,
        "method": plan.evidence.title(received.method), "score": points(score),
        "off": points(abs(score - median)), "more": score > median,
        "where": "within" if low <= score <= high else "above" if score > high else "below",
        "range": (points(low), points(high), points(median)), "errors": received.errors,
        "gain": points(abs(gain)), "before": points(before) if together else "", "lost": lost,
        "short": score < low or lost,
        "little": together and predicted >= LOSS and gain < FELL_SHORT * predicted,
    })  # fmt: skip


def _text(name: str, plan: Decision) -> str:
    """The text "spend" on what is bought now, or "later" on what may follow it."""
    chosen, received = plan.chosen, plan.evidence.received
    done = plan.day_after(plan.work("now"))
    values = {
        "plan": plan, "chosen": chosen, "step": plan.step, "amounts": plan.amounts,
        "before": _before(plan),
        "bought": described(plan, chosen),
        "parts": [
            (dollars(math.fsum(line.dollars for line in plan.bill if line.part == letter)),
             described(plan, one))
            for letter, one in zip("ab", plan.order, strict=False)
        ],
        "few": int((chosen.present < 0.98 * chosen.amount).sum()) * chosen.option.counted,
        "more": received is not None and received.option == chosen.option
        and chosen.option.amount != "images",
        "workers": chosen.option.habits.workers, "people": chosen.answers.number,
        "hours": plan.work("now"), "done": done and _day(done),
        "all_done": plan.done and _day(plan.done),
    }  # fmt: skip
    return render(TEXTS[name], values | {"remarks": render(TEXTS["remarks"], values)})


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _searching(plan: Decision, option: LabelOption) -> str:
    """How images of a class are found, in words; "" for a scheme that asks about given images."""
    if (model := _search(plan, option)) is None:
        return " at random" if getattr(option.part, "search", "") == "random" else ""
    return " by scores" if model else " at random"


def _search(plan: Decision, option: LabelOption) -> str | None:
    """The model by which images are found for a scheme that assumes a machine, "" without a model;
    None for other schemes."""
    assumed = option.part.unassuming(scores=True) != option.part
    return plan.evidence.pool.machine_name if assumed else None


def _needs(plan: Decision) -> str:
    """How the purchase's images are found, if its scheme assumes a machine that finds them."""
    if _search(plan, plan.chosen.option) is None:
        return ""
    searched = plan.candidates_right
    shares = sorted(searched["by_class"].items(), key=lambda pair: -pair[1]) if searched else []
    values = {"searched": searched, "ends": dict(shares[:1] + shares[-1:]),
              "OF_PROJECT": OF_PROJECT}  # fmt: skip
    return render(TEXTS["needs"], values)


def _assumed(plan: Decision) -> str:
    """Why a comparison may prefer a scheme whose assumed model the plan does without."""
    models = {
        option.part.name: model for option in plan.curves.purchases
        if (model := _search(plan, option)) is not None
    }  # fmt: skip
    return render(TEXTS["assumed"], {"models": models, "scores": any(models.values())})


def _expect(plan: Decision) -> str:
    chosen, target = plan.chosen, plan.project.target
    before, after = round(plan.so_far, 3), round(chosen.median, 3)
    return render(TEXTS["expect"], {
        "plan": plan, "chosen": chosen, "before": points(before),
        "more": points(abs(after - before)) + (" more" if after >= before else " less"),
        "rounds": plan.in_rounds or plan.step.first, "amounts": plan.amounts,
        "chance": None if target is None else f"{chosen.reaches(target):.0%}",
    })  # fmt: skip


def _train(plan: Decision) -> str:
    """The method to train, and others that may be better on the same labels."""
    chosen = plan.chosen
    alike = (
        one for one in plan.choice.every
        if (one.option, one.answers, one.images) == (chosen.option, chosen.answers, chosen.images)
        and one.method not in (chosen.method, FULL) and abs(one.dollars - chosen.dollars) < 0.005
    )  # fmt: skip
    better = {  # with complete labels many methods are identical
        float(plan.curves.full(one.pair).end.mean()) if one.option.complete else one.method:
        (float((one.map > chosen.map + LOSS / 2).mean()), one.method) for one in alike
    }  # fmt: skip
    likely = sorted((one for one in better.values() if one[0] >= MAYBE), key=lambda one: -one[0])
    return render(TEXTS["train"], {
        "chosen": chosen, "method": plan.evidence.title(chosen.method),
        "likely": [plan.evidence.title(method) for _, method in likely[:2]],
    })  # fmt: skip


def _by_pilot(plan: Decision) -> tuple[float, Array, float]:
    """mAP of the best method on the pilot's complete labels: on new images; and as measured, the AP
    of each class and their mean."""
    curves, evidence = plan.curves, plan.evidence
    ap = evidence.class_ap[evidence.alike_complete(*curves.best_of_pilot)]
    return float(np.median(curves.pilot)), ap, float(np.nanmean(ap))


def _meaning(plan: Decision) -> str:
    """What mAP means, with and without the purchase; and AP of the classes at the upper and lower
    quartile without it."""
    pool, (score, ap, _) = plan.evidence.pool, _by_pilot(plan)
    order = np.argsort(-ap, kind="stable")
    good, poor = (order[round(at * (len(order) - 1))] for at in (0.25, 0.75))
    names = [(pool.truth.classes[pool.scored[one]], f"{100 * ap[one]:.0f}") for one in (good, poor)]
    return render(TEXTS["meaning"], {
        "pilot": points(score), "classes": len(ap), "names": dict(names), "plan": plan,
        "chance": points(pool.chance),
        "today": points(plan.so_far), "after": points(plan.chosen.median),
        "alone": plan.evidence.received is None, "left_out": len(pool.truth.classes) - len(ap),
    })  # fmt: skip


def _money(plan: Decision) -> str:
    """Where the budget goes, and why money is left."""
    most, budget = MOST_TIMES * plan.evidence.pool.images, plan.project.dollars
    amounts, tests = plan.amounts, 0.0 if plan.tests is None else plan.tests.dollars
    held = amounts[2] >= CENT and plan.rest.dollars < budget - tests - CENT
    return render(TEXTS["money"], {
        "plan": plan, "most": f"{most:,.0f}", "amounts": amounts,
        "more_tests": held and dollars(math.ceil(100 * plan.offer.next_budget(budget)) / 100),
        "unspent": not plan.choice.reached and amounts[2] > 0.02 * budget,
        "better": plan.choice.best.dollars > 1.02 * plan.chosen.dollars,
        "beyond": plan.project.images is None or plan.project.images > most, "paid": _paid(plan),
    })  # fmt: skip


def _paid(plan: Decision) -> str:
    how = "" if plan.staff.wage is None else ", at the wage of the price list itself"
    if plan.spent is not None:
        how = ""
    elif plan.evidence.project is not None:
        how = f", at {plan.prices.name} prices"
    aside = f", {dollars(plan.aside)} of it for answers that are set aside" if plan.aside else ""
    text, times = f"Paid before{how}: {dollars(plan.cost('before'))}{aside}.", plan.rate
    if times > NOTED and plan.purchase_needed:
        ahead = times * plan.cost("now", "later")
        text += (
            f" The answers in use cost {times:.1f} times the price at which this plan is made; "
            f"at this rate {dollars(plan.cost('now', 'later'))} become {dollars(ahead)}."
        )
        if ahead > plan.project.dollars + CENT:
            enough = math.floor(plan.project.dollars / times)
            text += f" To stay within the budget, plan with `--budget {enough}`."
    return text


def _at_hand(plan: Decision) -> tuple[float, str, str]:
    """mAP of the best that needs no purchase, what it is, and how to get it."""
    evidence, received = plan.evidence, plan.evidence.received
    option, method = plan.curves.trained
    score, named = plan.so_far, evidence.title(method)
    train = f"Train {named} on the labels so far (`simkit train --labels`)."
    if evidence.project is not None:
        status = code(f"simkit status {quote(evidence.project)}")
        train = f"{status} shows the command that trains on these."
    elif received is None:
        train = f"Train {named} on the pilot's labels."
    elif (trained := evidence.trained_as.get((option, method))) and received.folder:
        words = ["simkit", "train", "--method", str(trained["method"]), "--labels"]
        words += [f"{received.folder}/labels.parquet", "--data", f"{received.folder}/scored.toml"]
        train = f"Train {named} on the labels so far: {code(join(words))}"
    labels = "the pilot's labels" if received is None else "the labels so far"
    found = [(score, f"{labels}, trained with {named}", train)]
    if not plan.curves.with_pilot:
        alone, best = max((float(np.nanmean(x)), key[1]) for key, x in evidence.complete.items())
        if alone > score:
            what = f"the pilot's labels alone, trained with {evidence.title(best)}"
            found.append((alone, what, "Train on the pilot's labels."))
    if evidence.zero_shot is not None:
        use = "Use the scores (`simkit score`); they need no labels."
        found.append((evidence.zero_shot[0], "the scores (zero-shot)", use))
    return max(found)


def _trust(plan: Decision) -> str:
    because = f", because {'; '.join(plan.trust.reasons)}" if plan.trust.reasons else ""
    text = f"{plan.trust.grade}{because}.{_growth(plan)}{_test_labels(plan)}"
    if plan.project.images is None:
        text += " Without `--images`, the plan assumes as many images as it needs."
    return text


def _growth(plan: Decision) -> str:
    """How far off growth beyond a small pilot was once, and how to find out for less."""
    chosen = plan.chosen
    if not plan.purchase_needed or chosen.times <= GROWN or chosen.answers.again:
        return ""
    less = (
        ""
        if plan.in_rounds
        else (f" To find out for less, plan with `--budget {plan.half:.2f}` first, then again.")
    )
    return f" {GROWTH}{less}"


def _before(plan: Decision) -> str:
    """What a smaller purchase before the order buys, in words; "" without one."""
    if plan.step.kind == "measure" and plan.measurement is not None:
        return described(plan, plan.measurement[0])
    if plan.step.kind != "tests" or (tests := plan.tests_first) is None:
        return ""
    if not tests.images:
        return "a further answer to every question about the test images"
    return f"{tests.images:,} more test image{'s' * (tests.images != 1)}"


def _next(plan: Decision) -> str:
    home, purchase = plan.evidence.project, ""
    if plan.measurement is not None:
        one, changes = plan.measurement
        purchase = (
            f"{dollars(one.dollars)} on {described(plan, one)}, trained with "
            f"{plan.evidence.title(one.method)} ({changes:.0%} probability)"
        )
    return render(TEXTS["next"], {
        "plan": plan, "chosen": plan.chosen, "home": home and quote(home), "step": plan.step.kind,
        "missing": plan.evidence.missing[1], "tests": _tests_to_buy(plan),
        "at_hand": _at_hand(plan)[-1], "measurement": purchase, **_first_round(plan),
        "other_number": plan.chosen.answers.number != plan.curves.usual,
    })  # fmt: skip


def _first_round(plan: Decision) -> dict[str, str]:
    """What a first round shows, and the commands that order it and plan again."""
    low, high = plan.chosen.band
    width = narrowed(plan.order[0], plan.chosen, plan.curves) * (high - low)
    which = "which of the two is better, and " if plan.order[1:] else ""
    again = command(
        *plan.evidence.folders, **{"continue": "order1"}, images=plan.project.images,
        budget=f"{plan.project.dollars - plan.cost('now'):.2f}",
    )  # fmt: skip
    ordered = code(
        "simkit order --data folder:NEW,labels=none --classes names.txt --plan plan.json"
    )
    written = code(f"{plan.command} --report plan.json")
    narrows = (
        (
            f"; the range of the whole is expected to narrow from {points(high - low)} to "
            f"{points(width)} points"
        )
        if points(width) != points(high - low)
        else ""
    )
    at_once = f" All is bought at once, as it is for at most {FURTHER:g} times the pilot's images."
    if plan.chosen.times > FURTHER:
        at_once = " All is bought at once, as no part would narrow the range by 15 % or more."
    return {
        "shows": f"It shows {which}how much further images add{narrows}.",
        "ordered": ordered, "written": written, "again": code(again),
        "placed": f"{written} writes the plan, and {ordered} orders it.",
        "at_once": at_once if plan.trust.grade == "low" and plan.chosen.images else "",
    }  # fmt: skip


def _test_labels(plan: Decision) -> str:
    """A sentence on what errors of the test labels do to the measured mAP, if they matter."""
    test, known = plan.evidence.test, plan.evidence.test.errors is not None
    if plan.evidence.true_labels:
        return ""
    score, _, measured = _by_pilot(plan)
    erring = test if known else test.supposing((SUPPOSED, SUPPOSED))
    as_true, true = (  # both corrected for a small test split
        float(one.on_new_images(np.array([measured]))[0])
        for one in (test.supposing((0.0, 0.0)), erring)
    )
    if abs(true - as_true) < LOSS:
        return ""
    return " " + render(TEXTS["test_labels"], {
        "known": known, "by": points(abs(true - as_true)), "low": true > as_true,
        "supposed": f"{SUPPOSED:.0%}", "pilot": points(score), "corrected": points(true),
    })  # fmt: skip


def _tests_to_buy(plan: Decision) -> str:
    """What makes the measured mAP more certain, and its price; "" where nothing is missing."""
    if (tests := plan.tests_first) is None:
        return ""
    home, bought = plan.evidence.project, plan.certainty
    return render(TEXTS["tests"], {
        "tests": tests, "home": home and quote(home), "again": not tests.images,
        "price": dollars(plan.cost("now")), "images": f"{tests.images:,}",
        "width": points(tests.half_width),
        "others": "" if tests.images else points(bought[2].half_width),
    })  # fmt: skip


def _row(plan: Decision, one: Candidate) -> dict[str, str]:
    """A purchase by the columns of a table."""
    return {
        "purchase": described(plan, one), "method": plan.evidence.title(one.method),
        "$": dollars(one.dollars), "mAP": points(one.median), "range": _band(one.map),
    }  # fmt: skip


def _table(title: str, rows: Iterable[dict[str, str]]) -> Table:
    """A table of purchases; without columns that are empty."""
    rows = list(rows)
    names = [name for name in next(iter(rows), ()) if any(row[name] for row in rows)]
    numbers = tuple(place for place, name in enumerate(names) if name not in WORDS)
    return Table(title, tuple(names), tuple(tuple(r[n] for n in names) for r in rows), numbers)


def _amounts(plan: Decision, half: Decision | None) -> Table:
    """What nothing, the plan for half the price, the plan, and the best purchase give."""
    total, best = plan.cost("now", "later"), plan.choice.best
    rows = [_amount(plan, "nothing", None)]
    if plan.purchase_needed:
        one = half.chosen if half is not None and half.purchase_needed else None
        rows.append(_amount(half or plan, f"at most {dollars(plan.half)}", one))
        if half is not None and one is not None:
            rows[-1]["spend"] = dollars(half.cost("now", "later"))
        rows.append(_amount(plan, "this plan", plan.chosen) | {"spend": dollars(total)})
    more = not plan.purchase_needed or best.dollars > 1.02 * plan.chosen.dollars
    if not plan.choice.reached and more:
        rows.append(_amount(plan, "highest mAP", best))
    return _table("What other amounts give", rows)


def _amount(plan: Decision, name: str, one: Candidate | None) -> dict[str, str]:
    if one is None:
        score, what, _ = _at_hand(plan)
        shown = plan.curves.floor if plan.curves.free <= plan.so_far else None
        return {"plan": name, "spend": "$0", "for": what, "mAP": points(score),
                "range": "" if shown is None else _band(shown)}  # fmt: skip
    tests, what = plan.tests_first, described(plan, one)
    if tests is not None and tests.images:
        what = f"{numbered(tests.images, 'test image')}, then {what}"
    paid = 0.0 if tests is None else tests.dollars
    return {"plan": name, "spend": dollars(one.dollars + paid), "for": what,
            "mAP": points(one.median), "range": _band(one.map)}  # fmt: skip


def _other_labels(plan: Decision) -> Table:
    """The best of other label options, with the probability that one is better by a point; with a
    target, that it reaches it."""
    chosen, target = plan.chosen, plan.project.target

    def chance(one: Candidate) -> dict[str, str]:
        if plan.choice.reached and target is not None:
            return {f"chance of {100 * target:g} mAP": f"{one.reaches(target):.0%}"}
        return {BETTER: f"{(one.map >= chosen.map + LOSS).mean():.0%}"}

    title = "Other labels that reach the target" if plan.choice.reached else (
        f"Other labels for at most {dollars(chosen.dollars)}"
    )  # fmt: skip
    some = alternatives(plan.choice)[: OTHERS * plan.purchase_needed]
    return _table(title, (
        {name: cell for name, cell in _row(plan, one).items() if name != "method"} | chance(one)
        for one in some
    ))  # fmt: skip


def _supposed(plan: Decision) -> Table:
    """The choice for several shares of wrong answers, where the share is unknown."""
    rows = [{"wrong answers": f"{rate:.0%}"} | _row(plan, one) for rate, one in plan.supposed]
    title = "If annotators err (mAP against the test labels as they are)"
    if plan.evidence.true_labels:
        title = "If annotators err"
    return _table(title, rows if plan.purchase_needed and not _same_if_wrong(plan) else [])


def _same_if_wrong(plan: Decision) -> bool:
    """Whether the choice is the same for all supposed shares of wrong answers."""
    return len({str(_row(plan, one)) for _, one in plan.supposed}) == 1


def _by_answers(plan: Decision) -> list[Candidate]:
    """For every number of answers, the best purchase of the chosen option and method at the price
    of the order; empty where one number alone can be judged."""
    best: dict[tuple[bool, int], Candidate] = {}
    for one in plan.choice.every:
        key = one.answers.again, one.answers.number
        if one.pair == plan.chosen.pair and one.dollars <= plan.chosen.dollars + 0.005:
            best[key] = max(best.get(key, one), one, key=attrgetter("median"))
    return [best[key] for key in sorted(best)] if len(best) > 1 else []


def _tried(plan: Decision) -> str:
    """Why nothing is bought: the target is reached, or what was tried without a gain of 1 point."""
    if plan.reached_today:
        return "the target is reached without a purchase."
    every, numbers = plan.choice.every, {one.answers.number for one in plan.choice.every}
    if len(numbers) == 1:
        return "no purchase within the budget is expected to add 1 point of mAP."
    tried = ["labels of more images"] if any(one.images for one in every) else []
    tried.append(f"up to {max(numbers)} answers to each question")
    if any(one.answers.again for one in every):
        tried.append("further answers to the questions so far")
    return f"{', '.join(tried)} were tried; none adds 1 point of mAP within the budget."


def _bill(plan: Decision, *, paid: bool = False) -> Table:
    """The bill of this budget, with its total, or of what is already paid."""
    lines = [line for line in plan.bill if (line.when == "before") == paid]
    rows = [_billed(line) for line in lines]
    if not paid and len(rows) > 1:
        hours, cost = plan.work("now", "later"), plan.cost("now", "later")
        rows.append(_billed(BillLine("total", cost, hours)))
    title, wage = "", plan.prices.wage
    if not paid:
        how = "price of each" if wage is None else f"time of each, at ${wage:g} an hour"
        title = f"Bill{' of what follows' * plan.step.first}: questions x answers x {how}"
    kept = [name for name in next(iter(rows), {}) if any(row[name] for row in rows)]
    if wage is None:  # the price list has no times
        kept = [name for name in kept if name != "hours"]
    cells = tuple(tuple(row[name] for name in kept) for row in rows)
    return Table(title, tuple(kept), cells, tuple(range(1, len(kept))))


def _billed(line: BillLine) -> dict[str, str]:
    """A line of the bill by the columns of its table."""
    each = "" if line.each_seconds is None else f"{line.each_seconds:.6g} s"
    if line.each_dollars is not None:
        each = f"${line.each_dollars:.6g}"
    return {
        "item": f"({line.part}) {line.what}" if line.part else line.what,
        "questions": "" if line.questions is None else f"{line.questions:,}",
        "answers": "" if line.answers is None else f"{line.answers:.6g}", "each": each,
        "hours": "" if line.hours is None else f"{line.hours:,.1f}", "$": dollars(line.dollars),
    }  # fmt: skip


def _details(plan: Decision) -> Iterator[Section]:
    chosen = plan.chosen
    values = {
        "plan": plan, "chosen": chosen, "trained": plan.evidence.trained_as.get(chosen.pair),
        "scheme": short(chosen.option.with_amount(chosen.amount)),
        "errors": chosen.answers.errors or (0.0, 0.0),
    }  # fmt: skip
    if (others := _other_labels(plan)).rows:
        yield Section(others.title, table=replace(others, title=""))
    if plan.purchase_needed:
        yield Section("The order", items=(*_rendered(TEXTS["order"], values), _train(plan)))
    if (paid := _bill(plan, paid=True)).rows:
        yield Section("Already paid", table=paid)
    if plan.purchase_needed:
        more = _frontier(plan.choice.every, chosen.pair)[::2]
        title = f"Other amounts of {chosen.option}"
        yield Section(title, table=_table("", (_row(plan, one) for one in more)))
    if by_answers := _by_answers(plan):
        rows = ({"answers": f"{one.answers.number}"} | _row(plan, one) for one in by_answers)
        title = "Get another answer, or another image?"
        yield Section(title, (TEXTS["by_answers"],), table=_table("", rows))
    if plan.unpriced:
        yield Section("Not considered", items=plan.unpriced)
    tested = render(TEXTS["backtest"], {"test": plan.backtest})
    yield Section("Backtest of the range", text=(tested,))
    if plan.certainty:
        title = "Better test labels, or more test images?"
        yield Section(title, (TEXTS["certainty"],), table=_test_splits(plan))
    yield Section("Assumptions", items=_assumptions(plan))
    yield Section(f"Prices: {plan.prices.name}", items=tuple(_prices(plan)))
    ids = ", ".join(f"{name} {value}" for name, value in plan.evidence.ids.items())
    made = ", ".join(f"{name} {value}" for name, value in versions().items())
    yield Section("Provenance", (f"{plan.evidence.runs:,} runs; {ids}; {made}.",))


def _test_splits(plan: Decision) -> Table:
    """How certain mAP is with the test split, and with either way to improve it."""
    rows = []
    for one, what in zip(plan.certainty, (" as they are", f", {plan.certainty[1].answers}", ""),
                         strict=True):  # fmt: skip
        rows.append((f"{one.images:,} images{what}", dollars(one.dollars),
                     f"±{points(one.half_width)}"))  # fmt: skip
    return Table("", ("test split", "$", "mAP"), tuple(rows), (1, 2))


def _prices(plan: Decision) -> Iterator[str]:
    source = plan.prices
    for kind, rate in source.rates.items():
        price = f"{rate.seconds:g} s" if rate.seconds else f"{rate.dollars:g} $"
        yield f"{kind}: {price} per {rate.per} ({rate.source})"
    if plan.chosen.option.part.needs_scores:
        yield f"machine: ${source.machine:g} per image ({source.machine_source})"
    if source.wage:
        yield f"wage: ${source.wage:g} an hour ({source.wage_source})"


def _assumptions(plan: Decision) -> tuple[str, ...]:
    """What the plan assumes, as far as it matters."""
    chosen, evidence, errors = plan.chosen, plan.evidence, plan.curves.errors or (0.03, 0.03)
    values = {
        "plan": plan, "chosen": chosen, "needs": _needs(plan), "assumed": _assumed(plan),
        "left_out": evidence.unscored and listed(evidence.unscored),
        "level": [max(float(f"{rate:.1g}"), 0.001) for rate in errors],
        "answers": Answers(plan.curves.usual),
        "same_if_wrong": _same_if_wrong(plan) and [
            f"{rate:.0%}" for rate, _ in plan.supposed if rate
        ],
        "known": evidence.levels or not chosen.option.habits.perfect or not any(errors),
    }  # fmt: skip
    return _rendered(TEXTS["assumptions"], values)


def _rendered(texts: Sequence[str], values: dict[str, Any]) -> tuple[str, ...]:
    """The texts with these values, without those that come out empty."""
    return tuple(filter(None, (render(text, values) for text in texts)))


def _frontier(every: Sequence[Candidate], pair: Pair) -> list[Candidate]:
    """The best purchases of a label option and method at increasing costs, the dearest included."""
    best: list[Candidate] = []
    for one in sorted(every, key=attrgetter("dollars")):
        higher = not best or one.median > best[-1].median
        best += [one] if one.pair == pair and not one.answers.again and higher else []
    return best[:: -max(1, len(best) // STEPS)][::-1]


def _mark(plan: Decision) -> tuple[float, float]:
    """What the plan spends, and the mAP that it expects; of a purchase that is not made, its own
    price."""
    spent = plan.cost("now", "later") if plan.purchase_needed else plan.chosen.dollars
    return spent, plan.chosen.median


def _instead(plan: Decision) -> float | None:
    """mAP of the labels so far where nothing is bought; None for a purchase."""
    return None if plan.purchase_needed else _at_hand(plan)[0]


def _chart(plan: Decision, every: Sequence[Candidate] = ()) -> Chart:
    """The figure, up to the budget or of all candidates in `every`."""
    chosen, lines = plan.chosen, []
    for pair in (one.pair for one in (chosen, *plan.choice.rivals[:DRAWN])):
        best = _frontier(every or plan.choice.every, pair)
        if not best:  # further answers to the questions so far alone
            continue
        low, high = zip(*(one.band for one in best), strict=True)
        name = "complete labels" if pair[0].complete else pair[0].scheme
        if how := _searching(plan, pair[0]):
            name = f"{pair[0].part.name}{how}"
        lines.append(CurveSeries(
            f"{name}, {plan.evidence.title(pair[1])}", tuple(one.dollars for one in best),
            tuple(one.median for one in best), low, high,
            pair == chosen.pair and plan.purchase_needed,
        ))  # fmt: skip
    mark, instead = _mark(plan), _instead(plan)
    note = "Band: 90% interval."
    if plan.tests_first is not None and plan.purchase_needed:
        note += " The mark includes the test labels; the lines do not."
    says = f"the chosen purchase costs {dollars(mark[0])} and is expected to give {points(mark[1])}"
    if instead is not None:
        says = f"nothing is bought, and the labels so far give {points(instead)}"
    return Chart(
        tuple(lines), mark, plan.project.dollars, instead=instead,
        target=plan.project.target, today=_at_hand(plan)[0], note=note,
        alt=f"mAP over dollars of {len(lines)} label options; {says} mAP",
    )  # fmt: skip
