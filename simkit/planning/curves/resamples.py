"""What a pilot might have shown as well: resampled means of its draws, and the luck of one draw.

Draws are resampled whole, with all their sizes, since a draw's larger labels contain its smaller
ones: each resample gives every draw a weight (Rubin's Bayesian bootstrap, Ann. Statist. 1981).
Numbers are keyed by the resample and the number of the draw alone, so that curves share the luck of
the draws they have in common, whatever others each of them has, and may be subtracted sample by
sample; curves without a common draw are independent.

Labels that are a share s of a pool of images cannot differ as much between draws as labels of new
images would: the variance between draws is 1 - s of the true one (Cochran 1977, section 2.6), and
the rest is luck of the pool, the same for all draws. Both are put back. Where all draws bought the
whole pool, they are one draw: it says nothing about the spread, and its own luck is unknown.

Three corrections make few draws honest. Weights of n draws give means that are too
narrow by sqrt((n - 1) / (n + 1)): deviations are stretched by the inverse.
The spread itself is known from n - 1 degrees of freedom only: each resample takes a spread that the
pilot allows, sqrt((n - 1) / chi-square), which turns normal tails into Student's. And means that
leave the fitted curve by more than their draws explain are jittered by as much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import chi2

from simkit.chance import Chance
from simkit.planning.curves.families import FAMILIES
from simkit.planning.curves.points import Points

Array = NDArray[np.float64]

MOST_JITTER = 0.02  # mAP, standard deviation
WIDEST = 3.0  # times the measured spread that a resample may take
ONE_DRAW = 0.01  # mAP, standard deviation of the luck of a draw where a single one is known
MOST_SHARE = 0.75  # of a pool: beyond, its draws have too much in common to tell their spread


@dataclass(frozen=True, eq=False)
class Resamples:
    """means  (R, K) mAP of every size;  luck  (R,) how far a single draw lies from its mean."""

    means: Array
    luck: Array


def resampled(points: Points, count: int, *, seed: int) -> Resamples:
    """`count` resamples of a pilot, about the families' curves through its means."""
    t = np.log(points.costs / points.reach)
    centre, weights = np.nanmean(points.table, 0)[None], points.weights
    through = [family.value(family.fit(t, centre, weights), t)[0] for family in FAMILIES]
    return resample(points, np.stack(through), weights, count, seed=seed, name=points.name)


def resample(
    points: Points, fitted: Array, weights: Array, count: int, *, seed: int, name: str
) -> Resamples:
    """`count` resamples of the pilot; fitted (F, K): the curves through its means, which
    counted by weights (K,).

    name: of these points; their jitter is their own, while draws are shared by all names.
    """
    table, chance = points.table, Chance.seeded(seed).of("plan")
    centre = np.nanmean(table, 0)
    weights = weights / weights.max()
    noise = _misfit(centre, fitted, weights)
    rows = np.arange(count)
    shake = ndtri(uniform(chance.of("jitter", name)(rows[:, None], np.arange(len(centre)))))
    jitter = shake * np.minimum(noise / np.sqrt(weights), MOST_JITTER)
    spread = _Spread.of(table, points.shares, weights)
    if spread is None:
        luck = ONE_DRAW * ndtri(uniform(chance.of("luck")(rows, points.draws[0])))
        return Resamples(np.clip(centre + jitter + ONE_DRAW * shake, 0, 1), luck)
    n = len(spread.lucky)
    draws = points.draws[spread.draws]
    stretch = _stretch(uniform(chance.of("spread")(rows)), n)
    pool = ndtri(uniform(chance.of("pool")(rows)))[:, None] * spread.pool
    means = centre + stretch[:, None] * (_weights(chance, draws, count) @ spread.away + pool)
    each = ndtri(uniform(chance.of("luck")(rows[:, None], draws)))
    luck = stretch * (each @ spread.lucky) / np.sqrt(n - 1)
    return Resamples(np.clip(means + jitter, 0.0, 1.0), luck)


@dataclass(frozen=True, eq=False)
class _Spread:
    """How far draws lie from their mean.

    draws  (D,) bool: which have a size in common with others;  away  (n, K) mAP, of those;  lucky
    (n,) of each over all sizes, as if its images were new;  pool  (K,) standard deviation of what
    all draws of a size have in common.
    """

    draws: NDArray[np.bool_]
    away: Array
    lucky: Array
    pool: Array

    @staticmethod
    def of(table: Array, shares: Array, weights: Array) -> _Spread | None:
        """From scores (D, K), shares of the pool (K,) and weights (K,); None: nothing to tell."""
        there = ~np.isnan(table)
        counts = there.sum(0)
        telling = (counts > 1) & (shares <= MOST_SHARE)
        draws = (there & telling).any(1)
        if draws.sum() < 2:
            return None
        n, own = int(draws.sum()), there[draws]
        away = np.where(own, table[draws] - np.nanmean(table, 0), 0.0)
        counted = own * np.where(telling, weights * (1 - shares), 0.0)
        new = away / np.sqrt(np.where(telling, 1 - shares, 1.0))
        lucky = (new * counted).sum(1) / counted.sum(1)
        sd = np.sqrt((lucky**2).sum() / (n - 1))
        # A mean of fewer draws is less sure, and those of a whole pool are one.
        common = np.where(counts > 1, shares, 1.0)
        return _Spread(draws, away * n / np.maximum(counts, 1), lucky, sd * np.sqrt(common))


def _weights(chance: Chance, draws: NDArray[np.int64], count: int) -> Array:
    """(R, n) by how much each draw counts in a resample; a row sums to sqrt((n + 1) / (n - 1))."""
    n = len(draws)
    drawn = -np.log(uniform(chance.of("draws")(np.arange(count)[:, None], draws)))
    return np.asarray(drawn / drawn.sum(1, keepdims=True) * np.sqrt((n + 1) / (n - 1)))


def _stretch(uniform: Array, n: int) -> Array:
    return np.minimum(np.sqrt((n - 1) / chi2.ppf(uniform, n - 1)), WIDEST)


def _misfit(centre: Array, fitted: Array, weights: Array) -> float:
    """Standard deviation, at weight 1, of means about the curve that is nearest to them, with two
    degrees of freedom taken by it. What others miss shows in how they disagree beyond the pilot."""
    free = max(1, len(centre) - 2)
    return float(np.sqrt((((fitted - centre) ** 2) @ weights).min() / free))


def uniform(numbers: NDArray[np.uint64]) -> Array:
    """Random 64 bits as numbers above 0 and below 1."""
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
