"""What to read before anything else of a plan."""

from __future__ import annotations

import math
from collections.abc import Iterator

from simkit.planning.choosing.ahead import Ahead
from simkit.planning.choosing.candidates import Candidate
from simkit.planning.curves.backtest import Backtest
from simkit.planning.curves.reach import MOST
from simkit.planning.evidence.tested import Tested
from simkit.planning.told.parts import Reach
from simkit.planning.told.wording import exactly, percent, points, several, span, times
from simkit.study.grids.limit import money

WORTH = 0.01  # of the budget: less that is not spent is not worth a word


def warnings(
    chosen: Candidate,
    own: Backtest | None,
    every: Backtest | None,
    note: str,
    reach: Reach | None,
    *,
    budget: float,
    larger: str,
) -> Iterator[str]:
    """Sentences. own: the back-test of the chosen curve;  every: of all curves;  note: of the
    chosen curve;  larger: which pilot would tell more, told once where one is called for."""
    extrapolated = beyond(chosen.dollars / chosen.reach)
    called = [*(_missed(own, every) if extrapolated else ()), *_far(chosen, budget)]
    yield from called
    if called and larger:
        yield larger
    if own is None and extrapolated and (every is None or every.passed):
        yield (
            "There is no back-test of this curve: the pilot has too few sizes to predict the "
            "largest from the others, so nothing shows that the bands hold; add a budget to the "
            "comparison."
        )
    if note:
        yield f"{note[0].upper()}{note[1:]}."
    if reach is not None and reach.reached < 0.5:
        yield (
            f"{points(reach.target)} mAP is probably out of reach for every way of buying: by "
            f"{reach.way} with {reach.method} {percent(reach.reached)} of samples get there below "
            f"{money(reach.most)} of labels."
        )


def few_tested(tested: Tested, median: float) -> Iterator[str]:
    """That the pilot's test images tell mAP badly, or some classes not at all; median: the mAP that
    is expected."""
    told = []
    if tested.small:
        told.append(
            f"{points(tested.on_it(median))} mAP on its {several(tested.images or 0, 'image')} is "
            f"about {points(median)} on new ones, known to ±{tested.off(median):.0f} points (all "
            "here is about new ones but the back-test)"
        )
    if tested.unscored:
        one = tested.unscored == 1
        told.append(
            f"{tested.unscored:,} of {several(tested.classes, 'class', 'classes')} "
            f"{'has' if one else 'have'} no positive there and no part in its mAP"
        )
    if told:
        start = "The test split is small: " if tested.small else "The test split lacks classes: "
        yield f"{start}{'; '.join(told)}."


def overtaken(found: Ahead | None) -> Iterator[str]:
    """That another way of buying is ahead of the choice for less money, and what to do first."""
    if found is None:
        return
    total = money(found.total)
    told = (
        f"it is to reach {points(found.median)} mAP and the choice {points(found.choice)} for the "
        f"same money (it is ahead in {percent(found.share)} of samples)"
    )
    if not found.ends:
        back = "" if found.back is None else f"; the choice is ahead from {money(found.back)} on"
        yield (
            f"At {total}, the sum of round 1, {found} is ahead of the choice: {told}{back}. Buy "
            "that much of it first and fit again, unless all rounds are sure to be bought."
        )
        return
    pilot = f"larger than {money(found.reach)}"
    if found.larger is not None:
        dollars, images = found.larger
        size = f"{exactly(math.ceil(100 * dollars - 1e-6) / 100)} or more of its labels"
        pilot = f"of {size} ({several(images, 'image')}; it had up to {money(found.reach)})"
    yield (
        f"For less money {found} is ahead of the choice: from {money(found.start)} to {total}, "
        f"where its own curve ends, and there {told}. What more of it gives is not known, so first "
        f"measure a pilot of it {pilot}, or buy {money(found.dollars)} of it, and fit again."
    )


def beyond(times: float) -> bool:
    """Whether so many times a pilot's largest size lies beyond what was measured: back-tests are
    about no other purchase."""
    return times > 1 + 1e-6


def _missed(own: Backtest | None, every: Backtest | None) -> Iterator[str]:
    """That bands did not hold: first those of the chosen curve, else those of all."""
    rely = "Do not rely on the bands below, nor on the runners-up, before a larger pilot."
    if own is not None and not own.passed:
        row = max(own.rows, key=lambda one: (one.dollars, one.sizes))
        yield (
            f"The back-test missed: of {several(len(own.rows), 'larger size')} of this curve that "
            f"its smaller ones predict, {_outside(own)} outside the 90 % band (the largest: "
            f"{points(row.measured)} mAP measured, {span((row.low, row.high))} predicted). {rely}"
        )
    elif every is not None and not every.passed:
        yield (
            f"The back-test missed: of {several(len(every.rows), 'size')} of all curves "
            f"{_outside(every)} outside the 90 % bands that the pilot's smaller sizes "
            f"give{_whose(own)}. {rely}"
        )


def _outside(found: Backtest) -> str:
    missed = sum(not row.covered for row in found.rows)
    return f"{missed} {'lies' if missed == 1 else 'lie'}"


def _whose(own: Backtest | None) -> str:
    if own is None:
        return ""
    if all(row.covered for row in own.rows):
        return "; none of these is of the chosen curve"
    return f"; of the chosen curve's own {len(own.rows)}, {_outside(own)} outside"


def _far(chosen: Candidate, budget: float) -> Iterator[str]:
    """That the choice lies far beyond the pilot, and that it would lie further yet."""
    if chosen.grade == "red":
        yield (
            f"The recommended amount lies {times(chosen.dollars / chosen.reach)} beyond the pilot; "
            "take it for a direction and label a larger pilot first."
        )
    left = budget - chosen.total
    if left > WORTH * budget and chosen.dollars > MOST * chosen.reach * (1 - 1e-6):
        yield (
            f"{money(left)} of the budget are not spent, as no curve is followed beyond "
            f"{times(MOST)} the pilot's largest size ({money(chosen.reach)} of labels), and not "
            "because more would gain nothing."
        )
