"""Where a choice lies further beyond its pilot than anything was checked."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.planning.choosing.candidates import Candidate
from simkit.planning.curves import reach
from simkit.planning.curves.backtest import Backtest
from simkit.planning.curves.fit import Curve
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
