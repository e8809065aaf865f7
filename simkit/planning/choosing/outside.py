"""Where a choice lies further beyond its pilot than anything was checked."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.planning.choosing.candidates import Candidate
from simkit.planning.choosing.complete import METHOD
from simkit.planning.curves import reach
from simkit.planning.curves.backtest import Backtest
from simkit.planning.curves.fit import Curve
from simkit.planning.money.project import Project
from simkit.planning.told.alarms import WORTH
from simkit.planning.told.wording import exactly
from simkit.planning.told.wording import times as times_of


def outside(chosen: Candidate, curve: Curve, own: Backtest | None) -> Iterator[str]:
    """A sentence for each way in which the amount lies outside of what was measured or checked.

    own: the back-test of the chosen curve; how far it held is how far any size that it got right
    lay beyond those it was predicted from.
    """
    times = chosen.dollars / chosen.reach
    if len(curve.points.costs) > 1 and not curve.points.rises:
        yield f"More of these labels may not help at all: {curve.points.still()}."
    if own is None or chosen.grade == "red":  # a red reach has a warning of its own
        return
    right = [row.factor for row in own.rows if row.covered]
    checked = max(right, default=1.0)
    held = f"held up to {times_of(checked)} at most" if right else "held nowhere"
    if times > max(checked, reach.GREEN) * (1 + 1e-9):
        yield (
            f"The recommended amount lies {times_of(times)} beyond the pilot, and its back-test "
            f"{held}: nothing checks the band so far out, so buy in rounds and fit again after "
            "each."
        )


def unspent(chosen: Candidate, project: Project) -> Iterator[str]:
    """Why money is left where the choice is the pilot's reference, though there are more images."""
    left, images = project.budget - chosen.total, chosen.amount.images
    more = project.images is None or project.images > images
    if chosen.method == METHOD and more and left > WORTH * project.budget:
        yield (
            f"{exactly(left)} of the budget are not spent: complete labels of {images:,} images "
            "were measured as a single purchase, which no curve continues, and no curve promises "
            "more for the whole budget; a comparison on more images would tell what they add."
        )
