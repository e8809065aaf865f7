"""Where a choice lies below its pilot, or further beyond it than anything was checked."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.planning.choosing.candidates import Candidate
from simkit.planning.curves import reach
from simkit.planning.curves.backtest import Backtest
from simkit.planning.curves.fit import Curve


def outside(chosen: Candidate, curve: Curve, own: Backtest | None) -> Iterator[str]:
    """A sentence for each way in which the amount lies outside of what was measured or checked.

    own: the back-test of the chosen curve; how far it reached is how far any size that it got right
    lay beyond those it was predicted from.
    """
    least, times = float(curve.points.costs[0]), chosen.dollars / chosen.reach
    if chosen.dollars < least * (1 - 1e-9):
        yield (
            f"The recommended ${chosen.dollars:,.2f} of labels lie below the pilot's smallest size "
            f"of ${least:,.2f}, where nothing was measured; compare at smaller budgets, or find "
            "more images if these are all."
        )
    if not curve.points.rises:
        yield f"More of these labels may not help at all: {curve.points.still()}."
    if own is None or chosen.grade == "red":  # a red reach has a warning of its own
        return
    checked = max((row.factor for row in own.rows if row.covered), default=1.0)
    if times > max(checked, reach.GREEN) * (1 + 1e-9):
        yield (
            f"The recommended amount lies {times:.2g} times beyond the pilot, and its back-test "
            f"shows no further than {checked:.2g} times: nothing checks the band so far out, so "
            "buy in rounds and fit again after each."
        )
