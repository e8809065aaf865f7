"""Runners-up in words: how far behind, how surely, and where the order turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simkit.planning.told.document import Section, Table
from simkit.planning.told.wording import RISKS, percent, signed
from simkit.study.limit import money
from simkit.study.summary import SMALLEST

if TYPE_CHECKING:
    from simkit.planning.told.planned import Plan, Rival


def runners_up(plan: Plan) -> Section | None:
    """The section about what was not chosen; None without any."""
    if not plan.rivals:
        return None
    rows = [
        (
            rival.way,
            rival.method,
            signed(rival.difference),
            f"{signed(rival.low)} to {signed(rival.high)}",
            _ahead(rival),
            ", ".join(money(dollars) for dollars in rival.break_even) or "none",
        )
        for rival in plan.rivals
    ]
    columns = ("instead", "trained with", "the choice gains", "90 % interval", "ahead in",
               "order turns at a total of")  # fmt: skip
    chosen = f"{plan.chosen.way}, trained with {plan.chosen.method},"
    return Section(
        "Runners-up",
        (f"Points of mAP by which {chosen} is ahead at the same total:",),
        table=Table(columns, tuple(rows), (0, 1)),
        items=tuple(rival.told for rival in plan.rivals if rival.told),
        notes=(*_paired(plan.rivals), RISKS[plan.risk]),
    )


def _paired(rivals: Sequence[Rival]) -> Iterator[str]:
    apart = ", ".join(f"{one.way} with {one.method}" for one in rivals if not one.paired)
    if not all(not one.paired for one in rivals):
        rest = "the others" if apart else "Differences"
        start = f"Differences from {apart} are not paired; those of {rest}" if apart else rest
        yield f"{start} are of paired samples: both curves from the same draws of images."
    elif rivals:
        yield "Differences are not paired: the curves are of different draws of images."


def _ahead(rival: Rival) -> str:
    if _equal(rival):
        return "equal"
    return "not known" if rival.saturated else percent(rival.sure)


def _equal(rival: Rival) -> bool:
    """Whether every sample reads as no difference, so that nobody is ahead."""
    return max(abs(rival.low), abs(rival.high)) < SMALLEST
