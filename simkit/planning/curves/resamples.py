"""What a pilot might have shown as well: resampled means of its draws, and the luck of one draw.

Draws are resampled whole, with all their sizes, since a draw's larger labels contain its smaller
ones. Numbers are keyed by the resample and the draw alone, so that curves of the same draws share
their luck and may be subtracted sample by sample.

Three corrections make few draws honest. The plain bootstrap of n draws is too narrow by
sqrt((n - 1) / n) (Efron and Tibshirani 1993, section 5.3): deviations are stretched by the inverse.
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
from simkit.planning.curves.points import Points

Array = NDArray[np.float64]

MOST_JITTER = 0.02  # mAP, standard deviation
WIDEST = 3.0  # times the measured spread that a resample may take
ONE_DRAW = 0.01  # mAP, standard deviation of the luck of a draw where a single one is known


@dataclass(frozen=True, eq=False)
class Resamples:
    """means  (R, K) mAP of every size;  luck  (R,) how far a single draw lies from its mean."""

    means: Array
    luck: Array


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
    shake = ndtri(_uniform(chance.of("jitter", name)(rows[:, None], np.arange(len(centre)))))
    jitter = shake * np.minimum(noise / np.sqrt(weights), MOST_JITTER)
    if len(table) == 1:
        luck = ONE_DRAW * ndtri(_uniform(chance.of("luck")(rows)))
        return Resamples(np.clip(centre + jitter + ONE_DRAW * shake, 0, 1), luck)
    away = np.where(np.isnan(table), 0.0, table - centre)  # (D, K); a missing size says nothing
    stretch = _spread(_uniform(chance.of("spread")(rows)), len(table))
    means = centre + stretch[:, None] * (_shares(chance, points, count) @ away) + jitter
    each = ndtri(_uniform(chance.of("luck")(rows[:, None], points.draws)))
    lucky = away @ (weights / weights.sum())
    luck = stretch * (each @ lucky) / np.sqrt(len(table) - 1)
    return Resamples(np.clip(means, 0.0, 1.0), luck)


def _shares(chance: Chance, points: Points, count: int) -> Array:
    """(R, D) by how much each draw counts in a resample; a row sums to sqrt(n / (n - 1))."""
    n = len(points.draws)
    numbers = chance.of("draws")(np.arange(count)[:, None], np.arange(n))
    picked = (numbers % np.uint64(n)).astype(np.int64)
    shares = (picked[:, :, None] == np.arange(n)).mean(1)
    return shares * np.sqrt(n / (n - 1))


def _spread(uniform: Array, n: int) -> Array:
    return np.minimum(np.sqrt((n - 1) / chi2.ppf(uniform, n - 1)), WIDEST)


def _misfit(centre: Array, fitted: Array, weights: Array) -> float:
    """Standard deviation, at weight 1, of means about the curve that is nearest to them, with two
    degrees of freedom taken by it. What others miss shows in how they disagree beyond the pilot."""
    free = max(1, len(centre) - 2)
    return float(np.sqrt((((fitted - centre) ** 2) @ weights).min() / free))


def _uniform(numbers: NDArray[np.uint64]) -> Array:
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
