"""The back-test in words: of all curves, and of the chosen one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simkit.planning.told.document import Section, Table
from simkit.planning.told.wording import listed, percent, points, several, span
from simkit.planning.told.wording import times as times_of

if TYPE_CHECKING:
    from simkit.planning.told.parts import Check
    from simkit.planning.told.planned import Plan


def back_test(plan: Plan) -> Section:
    """The section about how well larger sizes of the pilot were foretold by smaller ones."""
    check = plan.check
    if check is None:
        told = "There is no back-test: the pilot has too few sizes to predict one from the others."
        return Section("Back-test", (told,))
    rows = tuple(
        (row.way, listed([row.method, *row.same]), f"{row.times:.2g}x", points(row.measured),
         points(row.predicted), span((row.low5, row.high95)), "yes" if row.inside else "NO")
        for row in check.rows
    )  # fmt: skip
    columns = ("labels", "trained with", "beyond", "measured", "predicted", "90 % band", "inside")
    told = (
        f"{'Passed' if check.passed else 'MISSED'}: of all curves' {check.count} largest sizes, "
        f"predicted from smaller ones ({times_of(check.factor)} less on average), {check.inside} "
        f"{'lies' if check.inside == 1 else 'lie'} in their 90 % bands; these are "
        f"{points(check.width)} points wide, and the median error is {points(check.error)} points."
    )
    if check.singles is not None:
        told += (
            f" These are means of draws; of single draws, which bands are about, "
            f"{percent(check.singles)} lie inside."
        )
    notes = (*_hidden(check), "It says nothing about further reaches than its own.")
    return Section(
        "Back-test", (told, *_own(plan)), table=Table(columns, rows, (0, 1, 6)), notes=notes
    )


def _own(plan: Plan) -> Iterator[str]:
    """How the chosen curve itself did, which is what the plan stands on."""
    chosen = plan.chosen
    own = [] if plan.check is None else plan.check.rows
    own = [row for row in own if (row.way, row.method) == (chosen.way, chosen.method)]
    if not own:
        yield "The chosen curve has no back-test of its own."
        return
    wrong = [row for row in own if not row.inside]
    if not wrong:
        told = "its one size lies" if len(own) == 1 else f"all of its {len(own)} sizes lie"
        yield f"The chosen curve passed: {told} in the band."
        return
    ahead = listed([f"{row.times:.2g}" for row in sorted(wrong, key=lambda row: row.times)])
    yield (
        f"The chosen curve missed {len(wrong)} of its {several(len(own), 'size')}, predicted from "
        f"sizes {ahead} times smaller."
    )


def _hidden(check: Check) -> Iterator[str]:
    """What of the counts is not in the table."""
    more = check.count - len(check.rows)
    wrong = check.count - check.inside - sum(not row.inside for row in check.rows)
    if more > 0:
        yield (
            f"{several(more, 'size')} of curves that this plan does not tell of "
            f"{'is' if more == 1 else 'are'} not shown, {wrong} of them outside."
        )
