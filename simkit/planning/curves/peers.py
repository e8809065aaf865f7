"""What the curves of one comparison tell each other about what lies ahead.

Ways and methods of a comparison learn the same classes and are tested on the same images. What
differs is how fast: the dearest way stands where the cheapest one stood at a tenth of the dollars.
A slow pilot alone cannot tell what its start leads to; all of them together show where they start
and what they tend to. So one logistic curve in log dollars, low + (high - low) sigmoid(a + b t), is
drawn through each of them, with the same low and high for all and an a and b of its own: ends
pooled completely and slopes not at all, in the words of Gelman and Hill (Data Analysis Using
Regression, 2007, chapter 12). What it says at `AHEAD` joins the curve's own points as if it had
been measured (`fit`).

All of this was chosen on curves of photographs and of drawn features with the labels of COCO, and
on planted ones; `benchmarks/results/plan_backtest.md` has the numbers. Slopes that are drawn
towards each other made bands too narrow there, and ends of each curve's own are hardly told by a
pilot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from simkit.chance import Chance
from simkit.history import content_id
from simkit.planning.curves.families import LOGIT
from simkit.planning.curves.points import LEAST_SIZES, SMALLEST, Points
from simkit.planning.curves.resamples import resampled, uniform

Array = NDArray[np.float64]

AHEAD = (2.0, 5.0)  # times the reach: where the common curve is taken as if measured
LEAST = 3  # different curves, of which the ends of all can be told
LOWS = np.linspace(0.0, 0.12, 5)
HIGHS = np.append(np.linspace(0.35, 0.95, 13), 1.0)
ENDS = np.array([(low, high) for low in LOWS for high in HIGHS])  # (G, 2)
CLOSEST = 0.007  # mAP, standard deviation: no logistic curve comes closer than this
TRIED = 60  # resamples for which ends are searched; further ones take them again in turn
NEWTON = 12  # steps


@dataclass(frozen=True, eq=False)
class Peers:
    """The pilots of one comparison, all priced by one list.

    points  different ones that a curve can be fitted to; at least `LEAST`.
    """

    points: tuple[Points, ...]
    _ends: dict[tuple[int, int], Array] = field(default_factory=dict, repr=False)
    _shorter: dict[int, Peers | None] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(points: Iterable[Points]) -> Peers | None:
        """Those that can be fitted, equal ones once; None where too few are left.

        On complete labels several methods are the same: they say no more than one.
        """
        fine = (p for p in points if _fits(p))
        different = sorted({p.name: p for p in fine}.items())
        return Peers(tuple(p for _, p in different)) if len(different) >= LEAST else None

    def shorter(self, by: int) -> Peers | None:
        """The same without their `by` largest sizes each, as they were known before these."""
        if by not in self._shorter:
            kept = [p for p in self.points if len(p.costs) > by]
            self._shorter[by] = Peers.of(p.up_to(p.costs[-1 - by]) for p in kept)
        return self._shorter[by]

    @cached_property
    def name(self) -> str:
        """A content id of all points."""
        return content_id(*(p.name for p in self.points))

    def ends(self, count: int, *, seed: int) -> Array:
        """(count, 2) where all curves start and what they tend to, for each resample of draws.

        The pair of `ENDS` with the least loss of all curves together, each in units of its own
        variance.
        """
        if (count, seed) not in self._ends:
            tried = min(count, TRIED)
            total = sum(_losses(p, tried, seed=seed) for p in self.points)
            best = ENDS[np.asarray(total).argmin(1)]
            self._ends[count, seed] = best[np.arange(count) % tried]
        return self._ends[count, seed]

    def foretold(self, points: Points, means: Array, *, seed: int) -> Array:
        """(R, len(AHEAD)) mAP at `AHEAD` for each resample, means (R, K), of a pilot's sizes.

        A slope that the pilot does not tell is drawn from what it leaves open.
        """
        ends = self.ends(len(means), seed=seed)
        low, span = ends[:, :1], ends[:, 1:] - ends[:, :1]
        t, share = _logs(points), points.weights / points.weights.sum()
        y = (means - low) / span
        at = LOGIT.fit(t, y, points.weights)
        p = LOGIT.value(at, t)
        by_a = p * (1 - p)
        aa, ab, bb = (by_a**2 * t**k @ share for k in (0, 1, 2))
        loss = ((p - y) ** 2 @ share) * span[:, 0] ** 2
        free = len(t) / max(len(t) - 2, 1)
        variance = max(float(np.median(loss)) * free, CLOSEST**2) * (share**2).sum()
        told = np.maximum(span[:, 0] ** 2 * (bb - ab**2 / np.maximum(aa, 1e-12)), 1e-9)
        chance = Chance.seeded(seed).of("plan", "slope", points.name)
        drawn = ndtri(uniform(chance(np.arange(len(means)))))
        slope = np.clip(at[:, 1] + drawn * np.sqrt(variance / told), 0.0, LOGIT.steepest)[:, None]
        start = _start(t, y, share, slope, np.clip(at[:, :1], -12.0, 12.0))
        return np.asarray(low + span * expit(start + slope * np.log(AHEAD)))


def _fits(points: Points) -> bool:
    different = len(np.unique(points.costs))
    return different >= LEAST_SIZES and bool(np.ptp(points.score) >= SMALLEST)


def _logs(points: Points) -> Array:
    return np.log(points.costs / points.reach)


def _losses(points: Points, count: int, *, seed: int) -> Array:
    """(count, G) loss of the best logistic curve with each pair of ends, over its variance."""
    means = resampled(points, count, seed=seed).means
    low, span = ENDS[:, 0, None, None], (ENDS[:, 1] - ENDS[:, 0])[:, None, None]
    y = ((means - low) / span).reshape(-1, means.shape[1])
    t, share = _logs(points), points.weights / points.weights.sum()
    gap = LOGIT.value(LOGIT.fit(t, y, points.weights), t) - y
    loss = (gap**2 @ share).reshape(len(ENDS), -1).T * span.reshape(-1) ** 2
    variance = max(float(np.median(loss.min(1))), CLOSEST**2)
    return np.asarray(loss / variance)


def _start(t: Array, y: Array, share: Array, slope: Array, start: Array) -> Array:
    """(R, 1) the best a of sigmoid(a + slope t), from a first guess."""
    for _ in range(NEWTON):
        p = expit(start + slope * t)
        by_a = p * (1 - p)
        step = (by_a * (y - p)) @ share / (by_a**2 @ share + 1e-9)
        start = start + np.clip(step, -1.0, 1.0)[:, None]
    return start
