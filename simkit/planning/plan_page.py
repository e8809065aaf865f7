"""The text of a plan: the page of answers, tables and details."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter
from shlex import join, quote
from typing import Any

import numpy as np

from simkit import quantities
from simkit.history import versions
from simkit.planning.answers import Answers
from simkit.planning.choose import LOSS, MOST_TIMES, Candidate, Decision
from simkit.planning.evidence import Pair
from simkit.planning.plan_figure import (
    Chart,
    CurveSeries,
    Mark,
    Page,
    Section,
    Step,
    Table,
    WhatIf,
    dollars,
)
from simkit.registry import short
from simkit.results.cells import FULL

RUNNERS_UP = 3
KNOWN_TO = 5.0  # points of mAP on the test images, at 95 % confidence
SUPPOSED = 0.02  # of the test labels are wrong, where their errors are unknown
LEAST_TESTS = 0.1  # of the test images: fewer further ones hardly change their precision
MAYBE = 0.1  # probability from which on another method is recommended as well
STEPS = 16  # purchases per line
DRAWN = 3  # runners-up in the figure
BILL = "Bill of this budget"


def page(plan: Decision) -> Page:
    """The plan as a page: the answer first, the rest folded."""
    wanted, images = plan.project.target, plan.project.images
    title = f"What to label for {dollars(plan.project.dollars)}"
    title += "" if images is None else f", with {images:,} images"
    title += "" if wanted is None else f", {100 * wanted:g} mAP wanted"
    answers = [*_so_far(plan), *_answer(plan)]
    because = f", because {'; '.join(plan.trust.reasons)}" if plan.trust.reasons else ""
    trust = f"{plan.trust.grade}{because}.{_test_labels(plan)}"
    if images is None:
        trust += " `--images` was not given: as many images as needed are assumed."
    answers += [("Trust", trust), ("Next step", _next(plan))]
    return Page(
        title, tuple(answers),
        tables=(*([_runners_up(plan)] * plan.purchase_needed), *_supposed(plan), *_bill(plan)),
        details=tuple(_details(plan)), chart=_chart(plan), command=plan.command,
        trust=plan.trust.grade,
    )  # fmt: skip


def _answer(plan: Decision) -> Iterator[tuple[str, str]]:
    """What to buy, and what to expect of it."""
    chosen = plan.chosen
    if plan.purchase_needed:
        yield "Spend", " ".join(_spend(plan))
        yield "Expect", " ".join(_expect(plan))
        yield "Range", f"{_band(chosen)} mAP (90% interval)."
        yield from _money(plan)
        if needs := _needs(plan):
            yield "Needs", needs
    else:
        reached = {}
        if plan.evidence.zero_shot is not None:
            reached["the scores (zero-shot)"] = plan.evidence.zero_shot[0]
        if plan.evidence.received is not None:
            reached["the labels so far"] = plan.evidence.received.score
        elif plan.curves.trained is not None:
            reached["the labels so far"] = float(np.median(plan.curves.floor))
        elif chosen.answers.again:
            reached["the pilot's labels"] = float(np.median(plan.curves.so_far(chosen.pair)))
        best = max(reached, key=lambda name: reached[name])
        gain = max(plan.choice.best.median - reached[best], 0.0)
        with_method = ""
        if best == "the labels so far":
            with_method = f", trained with {plan.evidence.title(plan.trained[1])}"
        yield "Spend", f"nothing: {_tried(plan)}"
        yield "Expect", f"{points(reached[best])} mAP on new images, with {best}{with_method}."
        yield "Left", (
            f"{dollars(plan.left)}. Keep it: of {len(plan.choice.every):,} purchases the best is "
            f"expected to add {points(gain)} points."
        )


def what_if(plan: Decision, plans: Sequence[Decision], every: Sequence[Candidate]) -> WhatIf:
    """Plans for other budgets; every: all candidates at any price."""
    cheapest: list[tuple[float, float, str]] = []
    for one in sorted(every, key=lambda one: (one.dollars, -one.median)):
        # The highest target that it reaches with the required probability.
        likely = np.sort(one.map)[::-1][math.ceil(plan.project.confidence * len(one.map)) - 1]
        if not cheapest or 100 * likely > cheapest[-1][0]:
            text = f"{dollars(one.dollars)} on {described(one)}, {plan.evidence.title(one.method)}"
            cheapest.append((100 * float(likely), one.dollars, text))
    steps = tuple(
        Step(
            budget=dollars(one.project.dollars), answers=tuple(_answer(one)),
            bill=next((table for table in _bill(one) if table.title == BILL), Table(BILL, (), ())),
            hours=one.hours if one.purchase_needed else 0.0,
            mark=(one.chosen.dollars, one.chosen.median),
        )
        for one in plans
    )  # fmt: skip
    return WhatIf(
        steps, next(place for place, one in enumerate(plans) if one is plan), tuple(cheapest),
        _chart(plan, every), plan.project.confidence, plan.prices.wage,
    )  # fmt: skip


def points(value: float) -> str:
    """mAP in points."""
    return f"{100 * value:.1f}"


def _band(one: Candidate) -> str:
    """The 90 % interval of mAP in points."""
    low, high = one.band
    return f"{points(low)} to {points(high)}"


def described(one: Candidate) -> str:
    """A purchase in concrete numbers, with the answers per question if annotators err."""
    if one.answers.again:
        return f"further answers to the questions so far, up to {one.answers}"
    known = one.answers.errors is not None and any(one.answers.errors)
    return f"{_labels(one)}, {one.answers}" if known else _labels(one)


def _labels(one: Candidate) -> str:
    option, part = one.option, one.option.with_amount(one.amount)
    images = f"{one.images:,} image{'s' * (one.images != 1)}"
    if option.complete:
        return f"complete labels of {images}"
    if option.amount == "images":
        return f"{option.scheme} labels of {images}"
    if option.counted:
        most = f"{round(one.amount):,} images of each class"
        return f"up to {most}, found by searching {images} ({option.scheme})"
    name, _, settings = option.scheme.rstrip(")").partition("(")
    settings = f"{settings}, " if settings else ""
    return f"{name}({settings}{option.amount}={getattr(part, option.amount):.3g}) on {images}"


def _so_far(plan: Decision) -> Iterator[tuple[str, str]]:
    """Sentences on earlier rounds: their mAP next to the expected one, and, if people answered,
    the fitted error rates."""
    received = plan.evidence.received
    if received is None or plan.expected is None:
        return
    score, (median, low, high) = received.score, plan.expected
    where = "inside" if low <= score <= high else "above" if score > high else "below"
    text = (
        f"{dollars(received.dollars)} of {received.option.part.name} labels give "
        f"{plan.evidence.title(received.method)} {points(score)} mAP, {where} the expected range "
        f"({points(low)} to {points(high)}, median {points(median)}). The plan uses the "
        "predictions that agree with this mAP."
    )
    if received.errors is not None:
        miss, false_alarm = received.errors
        text += (
            f" Annotators missed {miss:.1%} of the present classes and reported {false_alarm:.1%} "
            "of the absent ones."
        )
    yield "So far", text


def _spend(plan: Decision) -> Iterator[str]:
    now, chosen = plan.cost("now"), plan.chosen
    if len(plan.order) > 1:
        a, b = plan.order
        yield (
            f"{dollars(now)} on a first round: (a) {dollars(a.dollars)} on {described(a)}, and (b) "
            f"{dollars(b.dollars)} on {described(b)}. If (a) proves better, continue with it: "
            f"{described(chosen)}, {dollars(chosen.dollars)} in total."
        )
    else:
        yield f"{dollars(now)} on {described(chosen)}."
        if chosen.option.counted:
            few, classes = int((chosen.present < 0.98 * chosen.amount).sum()), len(chosen.present)
            if few:
                have = "has" if few == 1 else "have"
                yield f"{few} of {classes} classes {have} fewer: find all of their images."
            if chosen.absent.sum():
                yield "About as many images without the class are labelled as well."
    received = plan.evidence.received
    if received is not None and received.option == chosen.option:
        yield "These amounts include the labels so far; the price does not."
    workers, people = chosen.option.habits.workers, chosen.answers.number
    if people != 1 and people == (workers or plan.prices.workers):
        why = "because annotators err" if workers else f"by price list {plan.prices.name}"
        yield f"Each question is answered by {people} people ({why})."
    if (total := plan.hours) is not None:
        weeks = ""
        if plan.weeks is not None:
            weeks = f", {plan.weeks:.1f} weeks" if plan.weeks >= 0.1 else ", less than 0.1 weeks"
            weeks += f" at {plan.week_hours:,.0f} hours a week"
        time = f"{quantities.duration(3600 * total)} of work{weeks}"
        yield f"{time}." if len(plan.order) == 1 else f"The first round takes {time}."


def _needs(plan: Decision) -> str:
    """How the images are found, for schemes that assume a machine which finds them."""
    part = plan.chosen.option.part
    if part.unassuming(scores=True) == part:
        return ""
    if (searched := plan.candidates_right) is None:
        return (
            "a search at random, which this price pays for: no model's scores of the pilot's "
            "images are at hand (`simkit compare` writes them for heads on frozen features)."
        )
    by_class = sorted(searched["by_class"].items(), key=lambda pair: -pair[1])
    best_and_worst = dict((by_class[0], by_class[-1]))
    ends = ", ".join(f"{name} {share:.0%}" for name, share in best_and_worst.items())
    return (
        f"a search with {searched['model']}, whose candidates were right in "
        f"{searched['right']:.0%} ({ends}). Score the images before ordering (`simkit train` on "
        "the pilot, `simkit predict`, `simkit order --scores`); scoring is not in the bill."
    )


def _expect(plan: Decision) -> Iterator[str]:
    chosen = plan.chosen
    whole = f" once the whole {dollars(chosen.dollars)} is spent" if len(plan.order) > 1 else ""
    method = plan.evidence.title(chosen.method)
    on = " on these and all labels so far" if plan.curves.trained is not None else ""
    yield f"{points(chosen.median)} mAP on new images, trained with {method}{on}{whole}."
    if (errors := chosen.answers.errors) is not None and any(errors):
        yield (
            f"{100 * errors[0]:.2g}% of the present classes will be missed and "
            f"{100 * errors[1]:.2g}% of the absent ones reported."
        )
    if any(plan.wrong):
        present, absent = plan.wrong
        yield f"{present:.1%} of the present and {absent:.1%} of the absent labels will be wrong."
    if (free := plan.evidence.zero_shot) is not None:
        yield f"Without labels, the scores reach {points(free[0])} (zero-shot, {free[1]})."
    better = {
        other.method: float((other.map > chosen.map + LOSS / 2).mean())
        for other in plan.choice.every
        if (other.option, other.answers) == (chosen.option, chosen.answers)
        and other.method not in (chosen.method, FULL)
        and other.images == chosen.images and abs(other.dollars - chosen.dollars) < 0.005
    }  # fmt: skip
    # With complete labels many methods are identical.
    same = {float(plan.curves.full((chosen.option, m)).end.mean()): m for m in better}
    distinct = same.values() if chosen.option.complete else better
    likely = [m for m in sorted(distinct, key=lambda m: -better[m]) if better[m] >= MAYBE][:2]
    if likely:
        others, may = map(plan.evidence.title, likely), "they" if likely[1:] else "it"
        yield f"Train {' and '.join(others)} on the same labels as well; {may} may be better."
    yield _pilot_alone(plan)
    target = plan.project.target
    if target is not None:
        chance, wanted = chosen.reaches(target), points(target)
        if plan.choice.reached:
            yield f"{wanted} is reached with {chance:.0%} probability, at the lowest such price."
        else:
            yield f"The best chance of reaching {wanted} is {chance:.0%}."
    if target is None and plan.left > 0.02 * plan.project.dollars:
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
            if plan.project.images is None or plan.project.images > most:
                end = f"The pilot predicts nothing beyond {most:,.0f} images, 50 times its own"
            yield f"{end}."


def _money(plan: Decision) -> Iterator[tuple[str, str]]:
    """Where the budget goes, in one line."""
    parts = [f"{dollars(plan.cost('now'))} now"]
    if later := plan.cost("later"):
        parts.append(f"{dollars(later)} in later rounds")
    parts.append(f"{dollars(plan.left)} left" if plan.left >= 0.005 else "nothing left")
    paid = plan.cost("before")
    before = f" Paid before: {dollars(paid)}." if paid else ""
    yield "Money", f"{dollars(plan.project.dollars)}: {', '.join(parts)}.{before}"


def _pilot_alone(plan: Decision) -> str:
    """mAP without a purchase, and what it means: AP of the classes at its upper and lower quartile
    in words."""
    evidence, classes = plan.evidence, plan.evidence.pool.truth.classes
    key = evidence.alike_complete(*plan.chosen.pair)
    ap = evidence.class_ap[key]
    order = np.argsort(-ap, kind="stable")
    good, poor = (order[round(at * (len(order) - 1))] for at in (0.25, 0.75))
    first, last = (classes[evidence.pool.scored[one]] for one in (good, poor))
    method = "" if key[1] == plan.chosen.method else f" with {evidence.title(key[1])}"
    other = "" if poor == good else f" ({last}: {ap[poor]:.0%})"
    where = f", among the {evidence.test.images:,} test images" if evidence.test.small else ""
    return (
        f"The pilot's labels alone give {points(float(np.nanmean(evidence.complete[key])))}{method}"
        f": of the images ranked as high as one that shows {first}, or higher, {ap[good]:.0%} show "
        f"{first} on average{other}{where}."
    )


def _next(plan: Decision) -> str:
    share, sentence = plan.evidence.missing
    if share > 0.05 and " failed" in sentence:  # the same comparison would fail again
        return f"Change the grid and compare again: {sentence}."
    if share > 0.05:
        return "Finish the comparison (the same `simkit compare` resumes it), then plan again."
    if plan.evidence.stand_in_backbone:
        return "Compare again with a backbone for photographs, which costs no labels."
    test, project = _tests_to_buy(plan), plan.evidence.project
    if test and project is not None:
        return test
    if not plan.purchase_needed:
        return _train(plan)
    if plan.trust.sparse:
        scheme = plan.chosen.option
        return f"Compare smaller budgets of {scheme}, which costs no labels, and plan again."
    if project is not None:
        what = "(a)" if len(plan.order) > 1 else "it"
        return f"`simkit status {quote(project)}` shows the command that orders {what}."
    if len(plan.order) > 1:
        parts = zip(("(a)", "(b)"), plan.order, strict=True)
        steps = [
            f"add the labels of {part} to the comparison's data and compare again"
            if one.option.complete
            else f"train on {part} (`simkit train --labels`)"
            for part, one in parts
        ]
        return f"Label (a) and (b), {', '.join(steps)}, then plan again. {test}".strip()
    if test:
        return test
    if plan.choice.reached is not None:
        return "Order it." if plan.choice.reached else "Raise the budget or lower the target."
    if plan.chosen.answers.again:
        return f"`simkit order --next ORDER --answers {plan.chosen.answers.number}` asks them."
    if plan.measurement is None:
        how = "Order it"
        if plan.chosen.answers.number != plan.curves.usual:
            how += f" with `simkit order ... --answers {plan.chosen.answers.number}`"
        return f"{how}: no smaller purchase is likely to change this decision."
    candidate, changes = plan.measurement
    return (
        f"The smallest purchase that may change this decision: {dollars(candidate.dollars)} on "
        f"{described(candidate)}, trained with {plan.evidence.title(candidate.method)} "
        f"({changes:.0%} probability)."
    )


def _train(plan: Decision) -> str:
    """The training on the labels at hand, where no purchase is worth its money."""
    received = plan.evidence.received
    if received is None and plan.curves.trained is None and plan.evidence.zero_shot is None:
        return f"Train {plan.evidence.title(plan.chosen.method)} on the pilot's labels."
    if plan.curves.trained is None:
        return "Use the scores (`simkit score`); they need no labels."
    if (project := plan.evidence.project) is not None:
        return f"`simkit status {quote(project)}` shows the command that trains on these labels."
    assert received is not None
    text = f"Train {plan.evidence.title(received.method)} on the labels at hand"
    trained = plan.evidence.trained_as.get((received.option, received.method))
    if trained is None or not received.folder:
        return f"{text} (`simkit train --labels`)."
    words = ["simkit", "train", "--method", str(trained["method"])]
    words += ["--labels", f"{received.folder}/labels.parquet"]
    return f"{text}: `{join([*words, '--data', f'{received.folder}/scored.toml'])}`"


def _test_labels(plan: Decision) -> str:
    """A sentence on what errors of the test labels do to the measured mAP, if they matter."""
    test = plan.evidence.test
    simulated = any(not option.habits.perfect for option, _ in plan.evidence.cells)
    if simulated or str(plan.evidence.grid.get("data", "")).startswith("scenes"):
        return ""  # whose test labels are true
    if test.errors is None:
        supposed = test.supposing((SUPPOSED, SUPPOSED))
        seen, true = points(test.measured), supposed.on_new_images(np.array([test.measured]))[0]
        if abs(true - test.on_new_images(np.array([test.measured]))[0]) < LOSS:
            return ""
        return (
            f" Test labels are taken as true: if {SUPPOSED:.0%} of them are wrong, {seen} measured "
            f"is about {points(true)} on true labels."
        )
    if not any(test.errors):
        return ""
    miss, false_alarm = test.errors
    true = float(test.on_new_images(np.array([test.measured]))[0])
    return (
        f" mAP is that on true labels: the test labels miss {100 * miss:.2g}% of the present "
        f"classes and report {100 * false_alarm:.2g}% of the absent ones, so "
        f"{points(test.measured)} measured is about {points(true)}."
    )


def _missing_tests(plan: Decision) -> int:
    """The number of missing test images, if these limit trust."""
    test = plan.evidence.test
    if not test.small or test.images is None or test.half_width < KNOWN_TO:
        return 0
    return math.ceil(test.images * ((test.half_width / KNOWN_TO) ** 2 - 1))


def _tests_to_buy(plan: Decision) -> str:
    """What makes the measured mAP more certain, and its price; "" where nothing is missing."""
    if plan.evidence.project is not None:
        if (tests := better_tests(plan)) is None:
            return ""
        order = quote(f"{plan.evidence.project}/order1")
        how, what = f"--test {tests['images']}", f"{tests['images']:,} more test images"
        if "answers" in tests:
            how = f"--answers {tests['answers']} --split test"
            what = "a further answer to every question of the test images"
        return (
            f"First buy {what} ({dollars(tests['dollars'])}), so that mAP is known to about "
            f"±{points(tests['half_width'])} points: `simkit order --next {order} {how}`; then "
            "compare and plan again."
        )
    bought = _certainty(plan)
    if bought and bought[1][2] < bought[2][2]:
        (_, price, again), (_, _, further) = bought[1:]
        return (
            f"A further answer to every question of the test images ({dollars(price)}) makes mAP "
            f"certain to ±{points(again)} points; as many dollars of new test images, to "
            f"±{points(further)}."
        )
    if not (extra := _missing_tests(plan)):
        return ""
    price = extra * float(plan.curves.complete.dollars[-1]) / plan.evidence.pool.images
    return (
        f"Label {extra:,} more test images ({dollars(price)}) to know mAP to ±{KNOWN_TO:g} "
        "points: order them with `simkit order --data folder:NEW,labels=none --classes "
        f"names.txt --scheme full-subset --images {extra}`, and add their labels to the test "
        "split."
    )


def better_tests(plan: Decision) -> dict[str, Any] | None:
    """Test labels that a project buys first, where mAP is uncertain and money is left: images,
    dollars, half_width of mAP afterwards, and answers if those at hand get further ones."""
    test, left = plan.evidence.test, plan.left
    missing, exist = _missing_tests(plan), plan.project.images
    if plan.evidence.project is None or not missing or not test.images:
        return None
    bought, usual = _certainty(plan), plan.curves.usual
    if bought and bought[1][2] < min(bought[0][2], bought[2][2]) and bought[1][1] <= left:
        return {"images": 0, "answers": usual + 1, "dollars": bought[1][1],
                "half_width": bought[1][2]}  # fmt: skip
    each = float(plan.curves.complete.dollars[-1]) / plan.evidence.pool.images
    images = min(missing, int(left / each), missing if exist is None else exist)
    if images < LEAST_TESTS * test.images:
        return None
    width = test.half_width / 100 * math.sqrt(test.images / (test.images + images))
    return {"images": images, "dollars": images * each, "half_width": width}


def _certainty(plan: Decision) -> tuple[tuple[str, float, float], ...]:
    """What the test split is, its price and the half-width of mAP on true labels: as it is, with a
    further answer to every question, and with further images for the same dollars; nothing without
    errors of its labels. Where mAP is uncertain, the narrower of the two is the better buy."""
    test, pool, one = plan.evidence.test, plan.evidence.pool, plan.curves.errors
    if not test.images or test.errors is None or one is None or not any(test.errors):
        return ()
    images, usual = test.images, plan.curves.usual
    each = float(plan.curves.complete.dollars[-1]) / pool.images
    more = Answers.of(usual + 1, one, usual, float(pool.present.mean()) / pool.images)
    price = each * (more.times - 1) * images
    all_images = images + math.floor(price / (each + plan.project.image_price))
    return (
        (f"{images:,} images as they are", 0.0, test.certainty(images, test.errors) / 100),
        (f"{images:,} images, {more}", price, test.certainty(images, more.errors or one) / 100),
        (f"{all_images:,} images", price, test.certainty(all_images, test.errors) / 100),
    )


def _runners_up(plan: Decision) -> Table:
    rows = tuple(
        (described(one), plan.evidence.title(one.method), dollars(one.dollars), points(one.median),
         _band(one), f"{(one.map > plan.chosen.map).mean():.0%}")
        for one in plan.choice.rivals[:RUNNERS_UP]
    )  # fmt: skip
    columns = ("purchase", "method", "$", "mAP", "range", "chance to be better")
    return Table("Runners-up", columns, rows, (2, 3, 4, 5))


def _supposed(plan: Decision) -> Iterator[Table]:
    """The choice for several shares of wrong answers, where the share is unknown."""
    if plan.supposed:
        rows = tuple(
            (f"{rate:.0%}", "the questions so far again" if one.answers.again else _labels(one),
             f"{one.answers.number}", plan.evidence.title(one.method), dollars(one.dollars),
             points(one.median), _band(one))
            for rate, one in plan.supposed
        )  # fmt: skip
        columns = ("wrong answers", "purchase", "answers", "method", "$", "mAP", "range")
        yield Table("If annotators err", columns, rows, (2, 4, 5, 6))


def _by_answers(plan: Decision) -> Iterator[tuple[str, str, str, str, str]]:
    """For every number of answers, the best purchase of the chosen option and method at the price
    of the order; empty where one number alone can be judged."""
    best: dict[tuple[int, bool], Candidate] = {}
    for one in plan.choice.every:
        key = one.answers.number, one.answers.again
        if one.pair == plan.chosen.pair and one.dollars <= plan.chosen.dollars + 0.005:
            best[key] = max(best.get(key, one), one, key=attrgetter("median"))
    if len(best) > 1:
        for (number, again), one in sorted(best.items(), key=lambda row: row[0][::-1]):
            what = "the questions so far again" if again else _labels(one)
            yield f"{number}", dollars(one.dollars), what, points(one.median), _band(one)


def _tried(plan: Decision) -> str:
    """What was tried without a gain of 1 point."""
    every, numbers = plan.choice.every, {one.answers.number for one in plan.choice.every}
    if len(numbers) == 1:
        return "no purchase within the budget is expected to add 1 point of mAP."
    tried = ["labels of more images"] if any(one.images for one in every) else []
    tried.append(f"up to {max(numbers)} answers to each question")
    if any(one.answers.again for one in every):
        tried.append("further answers to the questions so far")
    return f"{', '.join(tried)} were tried; none adds 1 point of mAP within the budget."


def _bill(plan: Decision) -> Iterator[Table]:
    """The bill of this budget, with its total, and what is already paid."""

    def row(what: str, hours: list[float | None], cost: float) -> tuple[str, str, str]:
        text = "" if None in hours else f"{math.fsum(filter(None, hours)):,.1f}"
        return what, text, quantities.exact_money(cost)

    paid = [line for line in plan.bill if line.when == "before"]
    ours = [line for line in plan.bill if line.when != "before"]
    for title, lines in ((BILL, ours), ("Already paid", paid)):
        rows = [row(line.what, [line.hours], line.dollars) for line in lines]
        if not rows:
            continue
        if lines is ours and len(lines) > 1:
            rows.append(row("total", [line.hours for line in lines], plan.cost("now", "later")))
        if any(hours for _, hours, _ in rows):
            yield Table(title, ("item", "hours", "$"), tuple(rows), (1, 2))
        else:
            yield Table(title, ("item", "$"), tuple((what, cost) for what, _, cost in rows), (1,))


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
    rows = tuple(
        (dollars(one.dollars), described(one), points(one.median), _band(one))
        for one in _frontier(plan.choice.every, chosen.pair)[::2]
    )
    yield Section(title, table=Table("", ("$", "purchase", "mAP", "range"), rows, (0, 2, 3)))
    if by_answers := tuple(_by_answers(plan)):
        columns = ("answers to each question", "$", "purchase", "mAP", "range")
        text = (
            "The best purchase for at most the price of the order. Wrong labels of one answer cost "
            "more than further images bring, as long as more answers give a higher mAP."
        )
        table = Table("", columns, by_answers, (1, 3, 4))
        yield Section("Get another answer, or another image?", (text,), table=table)
    if plan.unpriced:
        yield Section("Not considered", items=plan.unpriced)
    tested = "No curve has three sizes, so no size could be held out and predicted."
    if (test := plan.backtest) is not None:
        tested = (
            f"The largest size of each of {test.cells} curves was predicted from the smaller ones: "
            f"{test.held:.0%} lie within their 90% interval; the median error is "
            f"{points(test.error)} points."
        )
    yield Section("Backtest of the range", text=(tested,))
    yield from _better_tests(plan)
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


def _better_tests(plan: Decision) -> Iterator[Section]:
    """What more certainty of the measured mAP costs, where test labels err."""
    if bought := _certainty(plan):
        text = (
            "Half-width of the 95% interval of mAP on true labels, after the same dollars for a "
            "further answer to every question of the test images or for further test images."
        )
        table = Table("", ("test split", "$", "mAP"), tuple(
            (what, dollars(cost), f"±{points(width)}") for what, cost, width in bought
        ), (1, 2))  # fmt: skip
        yield Section("Better test labels, or more test images?", (text,), table=table)


def _assumptions(plan: Decision) -> Iterator[str]:
    chosen = plan.chosen
    yield "Images and annotators are like the pilot's"
    if chosen.answers.number != plan.curves.usual:
        yield (
            "Annotators err independently of each other; cleaner labels raise logit mAP as much "
            "for every scheme and number of images as for complete labels of the pilot"
        )
    if plan.curves.trained is None:
        yield "The model is trained on the order alone; the pilot's labels would add to it"
    else:
        yield (
            "The model is trained on all labels so far and the order's; each part is worth a "
            "number of completely labelled images, and these numbers add"
        )
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
    if _needs(plan):
        with_what = plan.evidence.pool.machine_name or "no model, at random"
        yield (
            f"The price is that of a search with {with_what}, beyond the pilot at the same depth "
            "(share of the images). The comparison trained on images that its assumed machine "
            "found; mAP follows from the number of labels of each class, whichever images they are"
        )
    if plan.evidence.test.small:
        yield "Measured mAP was corrected for the bias of few test images"
    if plan.project.images is None:
        yield "There are as many images as the budget pays for, up to 50 times the pilot's"


def _frontier(every: Sequence[Candidate], pair: Pair) -> list[Candidate]:
    """The best purchases of a label option and method at increasing costs."""
    purchases = [one for one in every if one.pair == pair and not one.answers.again]
    if not purchases:
        return []
    spent = [one.dollars for one in purchases]
    best: dict[float, Candidate] = {}
    for level in np.geomspace(min(spent), max(spent), STEPS) * (1 + 1e-9):
        affordable = (one for one in purchases if one.dollars <= level)
        highest = max(affordable, key=attrgetter("median"))
        best[highest.dollars] = highest
    return list(best.values())


def _chart(plan: Decision, every: Sequence[Candidate] = ()) -> Chart:
    """The figure, up to the budget or of all candidates in `every`."""
    chosen, set_up = plan.chosen, plan.project.set_up
    lines = []
    for option, method in (one.pair for one in (chosen, *plan.choice.rivals[:DRAWN])):
        pair, best = (option, method), _frontier(every or plan.choice.every, (option, method))
        if not best:  # further answers to the questions so far alone
            continue
        low, high = zip(*(one.band for one in best), strict=True)
        marks: tuple[Mark, ...] = ()
        if option.amount == "images":  # other options were measured only on the pilot's images
            each = float(plan.curves.purchases[option].dollars[-1]) / plan.evidence.pool.images
            each += plan.project.image_price
            sizes = plan.evidence.cells.get(pair, ())
            marks = tuple(
                (size.amount * each + set_up, size.score)
                for size in sizes if size.amount * each <= best[-1].dollars
            )  # fmt: skip
        name = "complete labels" if option.complete else option
        lines.append(CurveSeries(
            label=f"{name}, {plan.evidence.title(method)}", low=low, high=high, measured=marks,
            dollars=tuple(one.dollars for one in best), median=tuple(one.median for one in best),
            chosen=pair == chosen.pair,
        ))  # fmt: skip
    return Chart(
        tuple(lines), (chosen.dollars, chosen.median), plan.project.dollars,
        target=plan.project.target,
        alt=(
            f"mAP over dollars of {len(lines)} label options; the chosen purchase costs "
            f"{dollars(chosen.dollars)} and is expected to give {points(chosen.median)} mAP"
        ),
        note="Dots: measured in the pilot. Band: 90% interval.",
    )  # fmt: skip
