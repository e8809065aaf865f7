"""Runners-up in words: how far behind, how surely, and where the order turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simkit.planning.choosing.rivals import EARLY
from simkit.planning.told.document import Section, Table
from simkit.planning.told.names import order
from simkit.planning.told.wording import RISKS, percent, points, signed
from simkit.study.grids.limit import money
from simkit.study.summary import SMALLEST

if TYPE_CHECKING:
    from simkit.planning.told.parts import Rival
    from simkit.planning.told.planned import Plan


def runners_up(plan: Plan) -> Section | None:
    """The section about what was not chosen; None without any."""
    if not plan.rivals:
        return None
    rows = [
        (
            rival.way,
            rival.method,
            money(rival.total),
            points(rival.median),
            signed(rival.difference),
            f"{signed(rival.low5)} to {signed(rival.high95)}",
            _ahead(rival),
            _turns(rival, plan),
        )
        for rival in plan.rivals
    ]
    columns = ("instead", "trained with", "$ in all", "mAP", "the choice gains", "90 % interval",
               "ahead in", "order turns at a total of")  # fmt: skip
    chosen = f"{plan.chosen.way}, trained with {plan.chosen.method},"
    total = money(plan.chosen.total)
    what = f"What else the same total would give, {total},"
    if any(_early(rival, plan) for rival in plan.rivals):
        what = f"What else {total} would give, or what a row has in all where its curve ends first,"
        chosen = f"{chosen} for {total}"
    return Section(
        "Runners-up",
        (f"{what} and points of mAP by which {chosen} is ahead:",),
        table=Table(columns, tuple(rows), (0, 1)),
        items=tuple(_item(rival, plan) for rival in plan.rivals),
        notes=(*_paired(plan.rivals), RISKS[plan.risk]),
    )


def _item(rival: Rival, plan: Plan) -> str:
    """Where the order turns, and what would be ordered instead."""
    bought = f"{order(rival.scheme, rival.images)} for {money(rival.dollars)} of labels"
    return f"{rival.told} Instead: {bought[0].lower()}{bought[1:]}."


def _early(rival: Rival, plan: Plan) -> bool:
    """Whether it ends so far below the choice's total that other dollars are compared."""
    return plan.chosen.total - rival.total > EARLY * plan.chosen.total


def _turns(rival: Rival, plan: Plan) -> str:
    """The totals at which the order turns, as `told` has them."""
    if rival.break_even:
        return ", ".join(money(dollars) for dollars in rival.break_even)
    if rival.saturated:
        return "not known"
    return f"none up to {money(rival.total)}" if _early(rival, plan) else "none"


def _paired(rivals: Sequence[Rival]) -> Iterator[str]:
    apart = ", ".join(f"{one.way} with {one.method}" for one in rivals if not one.paired)
    if not all(not one.paired for one in rivals):
        rest = "the others" if apart else "Differences"
        start = f"Differences from {apart} are not paired; those of {rest}" if apart else rest
        yield (
            f"{start} are of paired samples: both curves from the same draws of images; their "
            "median is not the difference of the medians."
        )
    elif rivals:
        yield "Differences are not paired: the curves are of different draws of images."


def _ahead(rival: Rival) -> str:
    if _equal(rival):
        return "equal"
    return "not known" if rival.saturated else percent(rival.sure)


def _equal(rival: Rival) -> bool:
    """Whether every sample reads as no difference, so that nobody is ahead."""
    return max(abs(rival.low5), abs(rival.high95)) < SMALLEST
