"""Would this pilot have foretold its own largest sizes?

The largest sizes are held out one after the other, as long as three smaller ones remain, and
predicted from those. `factor` is how far beyond the smaller sizes the largest one lies when it is
predicted from all others (2 where sizes double): a back-test says nothing about further reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from simkit.planning.curves.fit import Curve, fit
from simkit.planning.curves.peers import Peers
from simkit.planning.curves.points import LEAST_SIZES, SMALLEST, Points

LEVEL = 0.9
ENOUGH = 0.85  # of the curves of a plan: bands are to hold nine times in ten, and there are few
MOST = 2 / 3  # of all rows, of which some hold out more than one size and look further


@dataclass(frozen=True)
class BacktestRow:
    """One size, predicted from smaller ones.

    reach     mean dollars of the largest of those;  sizes: how many they are.
    dollars   of the size that was held out;  factor: dollars / reach.
    measured  mean mAP over its draws;  median, low, high: what was predicted, with the 90 % band.
    singles   share of its single draws within the band;  draws: how many they are.
    """

    reach: float
    sizes: int
    dollars: float
    factor: float
    measured: float
    median: float
    low: float
    high: float
    singles: float
    draws: int

    @property
    def covered(self) -> bool:
        """Whether the mean that was measured lies within the band."""
        return self.low <= self.measured <= self.high

    @property
    def error(self) -> float:
        """Predicted minus measured mAP; above 0 promised too much."""
        return self.median - self.measured


@dataclass(frozen=True)
class Backtest:
    """All held-out sizes of one curve, or of several (`together`).

    coverage  share of the held-out means that lie within their 90 % band.
    width     mean width of these bands, mAP.
    error     median absolute error of the prediction, mAP.
    passed    the largest size, predicted from all smaller ones, lies within its band, of several
              curves at least 85 % of them; and of all rows at least two thirds do.
    factor    how many times beyond the smaller sizes that largest one lies; of several, the mean
              over all rows.
    singles   share of the single draws of all held-out sizes that lie within these bands, which
              are about single draws.
    """

    rows: tuple[BacktestRow, ...]
    coverage: float
    width: float
    error: float
    passed: bool
    factor: float
    singles: float

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"rows": [asdict(r) | {"covered": r.covered} for r in self.rows]}


def backtest(
    points: Points, *, peers: Peers | None = None, resamples: int = 200, seed: int = 0
) -> Backtest | None:
    """Predict the largest sizes of a pilot from its smaller ones.

    None where the pilot is too small for it: three sizes, beyond those that are predicted, whose
    scores change at all. The first row predicts the largest size from all smaller ones; rows that
    hold out more follow. peers: with which the curve is fitted; as many of their largest sizes are
    held out.
    """
    costs, rows = points.costs, []
    for kept in range(len(costs) - 1, LEAST_SIZES - 1, -1):
        smaller = points.up_to(costs[kept - 1])
        if len(np.unique(smaller.costs)) < LEAST_SIZES or np.ptp(smaller.score) < SMALLEST:
            continue
        known = peers.shorter(len(costs) - kept) if peers else None
        curve = fit(smaller, peers=known, resamples=resamples, seed=seed)
        rows += [_row(points, curve, k) for k in range(kept, len(costs))]
    if not rows:
        return None
    last = _last(rows)
    return _summary(rows, passed=last.covered, factor=last.factor)


def _row(points: Points, curve: Curve, k: int) -> BacktestRow:
    """Size k of a pilot, predicted by a curve through smaller ones."""
    dollars = float(points.costs[k])
    low, high = curve.band(dollars, LEVEL)[:, 0]
    scores = points.score[points.size == points.sizes[k]]
    return BacktestRow(
        reach=curve.reach,
        sizes=len(curve.points.sizes),
        dollars=dollars,
        factor=dollars / curve.reach,
        measured=float(scores.mean()),
        median=float(curve.median(dollars)[0]),
        low=float(low),
        high=float(high),
        singles=float(((low <= scores) & (scores <= high)).mean()),
        draws=len(scores),
    )


def together(found: Sequence[Backtest | None]) -> Backtest | None:
    """The back-tests of several curves as one; None where there is none.

    Equal ones count once: on complete labels several methods can be the same.
    """
    known = [one for one in found if one is not None]
    if not known:
        return None
    different = list({one.rows: one for one in known}.values())
    rows = [row for one in different for row in one.rows]
    passed = float(np.mean([_last(one.rows).covered for one in different])) >= ENOUGH
    return _summary(rows, passed=passed, factor=float(np.mean([row.factor for row in rows])))


def _last(rows: Sequence[BacktestRow]) -> BacktestRow:
    """The largest size, predicted from the most of the others."""
    return max(rows, key=lambda row: (row.dollars, row.sizes))


def _summary(rows: Sequence[BacktestRow], *, passed: bool, factor: float) -> Backtest:
    coverage = float(np.mean([row.covered for row in rows]))
    return Backtest(
        rows=tuple(rows),
        coverage=coverage,
        width=float(np.mean([row.high - row.low for row in rows])),
        error=float(np.median([abs(row.error) for row in rows])),
        passed=passed and coverage >= MOST,
        factor=factor,
        singles=float(np.average([r.singles for r in rows], weights=[r.draws for r in rows])),
    )
