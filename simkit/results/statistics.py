"""Statistics over draws: confidence intervals, and tests of paired differences.

A draw is one repetition with labels, initial weights and order of images of its own, which all
methods share; methods are therefore compared by their differences within draws. Intervals and tests
use Student's t below 20 draws and the bootstrap from 20 on; one draw has no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from simkit.chance import Chance

_Floats = NDArray[np.float64]
Draws = Sequence[float] | NDArray[np.floating]  # a number for each draw

# Below 20 draws the bootstrap has too few distinct values to resample: its intervals are too narrow
# (two draws have three different resamples). Student's t assumes normal differences, which means of
# an mAP over many classes come close to. From 20 on that assumption is no longer needed.
BOOTSTRAP_FROM = 20
# An odd number plus one divides evenly: the 95 % quantile of 9,999 is the 9,500th of 10,000 ranks.
_RESAMPLES = 9_999
_TAIL = 20  # resamples beyond a statistic that are enough to estimate its p
_ROUNDING = 1e-12  # smaller differences of scores in [0, 1] are rounding errors


@dataclass(frozen=True)
class Interval:
    """A mean over `draws` with its confidence interval; `low` and `high` are None for one draw."""

    mean: float
    low: float | None
    high: float | None
    draws: int

    @property
    def half(self) -> float | None:
        """Half the width, as written after ±."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def percent(self) -> str:
        """ "52.3 ±1.2 mAP" for scores in [0, 1], or without ± for one draw."""
        half = "" if self.half is None else f" ±{100 * self.half:.1f}"
        return f"{100 * self.mean:.1f}{half} mAP"


def interval(values: Draws, *, level: float = 0.95) -> Interval:
    """The mean and its confidence interval.

    Parameters
    ----------
    values
        (n,) numbers, one for each draw.
    level
        Confidence level of the interval.

    Returns
    -------
    Interval
        Mean, lower and upper end.
    """
    scores: _Floats = np.asarray(values, np.float64)
    return _interval(scores, _error(scores), level)


def p_value(differences: Draws) -> float | None:
    """Two-sided p of paired `differences` (n,) against a mean of 0; None for one draw.

    If all differences are equal, half their value is used as their standard deviation: scores of
    few test images are coarse, and two or three equal differences are no proof.
    """
    rounded, error = _rounded(differences)
    n = len(rounded)
    if n < 2:
        return None
    if not error:  # all differences are 0
        return 1.0
    t = abs(float(rounded.mean())) / error
    resampled = _resampled_t(rounded)
    if resampled is None:
        return float(2 * special.stdtr(n - 1, -t))  # P(|T| >= t) with n - 1 degrees of freedom
    # Few resamples lie far out, and the smallest p that they can show, 1 in 10,000, is too large
    # for Holm's correction over hundreds of pairs. So p is counted up to the last `_TAIL`, and
    # from there falls as the tail of Student's t: p(t) = p(start) P(T > t) / P(T > start).
    start = min(t, float(np.partition(resampled, -_TAIL)[-_TAIL]))
    decay = special.stdtr(n - 1, -t) / special.stdtr(n - 1, -start)
    # One more in numerator and denominator: the sample counts as one of its resamples, so that p is
    # never 0 and the test keeps its level (Davison & Hinkley 1997, section 4.2).
    return float((np.count_nonzero(resampled >= start) + 1) / (_RESAMPLES + 1) * decay)


def paired_interval(differences: Draws, *, level: float = 0.95) -> Interval:
    """The mean of paired `differences` (n,), with the interval that matches `p_value`."""
    return _interval(*_rounded(differences), level)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, to compare with the family-wise error rate.

    Uniformly more powerful than Bonferroni's and, unlike Hochberg's, valid for any dependence: all
    differences share the draws and often the base.
    Source: Holm, Scand. J. Statist. 6 (1979).
    """
    order = np.argsort(ps, kind="stable")
    steps = np.arange(len(ps), 0, -1) * np.asarray(ps, float)[order]
    adjusted = np.empty(len(ps))
    # The k-th smallest of m is multiplied by m - k + 1, and is at least as large as the one before:
    # once a hypothesis is retained, so are all with a larger p.
    adjusted[order] = np.maximum.accumulate(np.minimum(steps, 1))
    return [float(p) for p in adjusted]


def _interval(values: _Floats, error: float, level: float) -> Interval:
    """error: standard error of the mean."""
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return Interval(mean, None, None, n)
    resampled = _resampled_t(values)
    if resampled is None:
        half = float(special.stdtrit(n - 1, (1 + level) / 2)) * error
    else:
        # Symmetric: quantiles of |t| instead of the two tails of t, each of which is estimated from
        # a fortieth of the resamples alone.
        half = float(np.quantile(resampled, level)) * error
    return Interval(mean, mean - half, mean + half, n)


def _rounded(differences: Draws) -> tuple[_Floats, float]:
    """Paired differences without rounding errors, and the standard error of their mean."""
    values: _Floats = np.asarray(differences, np.float64)
    if len(values) > 1 and np.ptp(values) <= _ROUNDING:
        # Equal up to rounding. Their spread would be that of the last bits, and t in the billions.
        values = np.full(len(values), np.median(values))
        values[np.abs(values) <= _ROUNDING] = 0.0
        return values, float(abs(values[0]) / 2 / np.sqrt(len(values)))
    return values, _error(values)


def _error(values: _Floats) -> float:
    # n - 1: the variance is about the mean of the same draws.
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _resampled_t(values: _Floats) -> _Floats | None:
    """|t| of 9,999 resamples about the mean of the sample, the same in every call.

    None if Student's t is used: below 20 draws, or if all values are equal.

    Studentised (Efron & Tibshirani 1993, ch. 12): at 20 draws, percentiles of the mean rejected 8 %
    of true null hypotheses, this less than 5 %. Resamples of nearly equal values have almost no
    spread, so a quarter of the standard error of the sample is the least that is used.
    """
    n = len(values)
    if n < BOOTSTRAP_FROM or not np.ptp(values):
        return None
    counts, centred = _counts(n), values - values.mean()
    means = np.einsum("rn,n->r", counts, centred) / n
    squares = np.einsum("rn,n->r", counts, centred**2)
    # Sums of squares about the mean of each resample: the raw ones less n times the mean squared.
    error = np.sqrt(np.maximum(squares - n * means**2, 0) / (n - 1) / n)
    return np.abs(means) / np.maximum(error, _error(values) / 4)


@lru_cache(maxsize=8)
def _counts(n: int) -> _Floats:
    """(9,999, n) multiplicity of each of n draws in each resample."""
    # Keyed by place: the same resamples in every call, so that p values repeat on every machine.
    # The modulus favours small numbers by 1 in 2**64 / n, which nobody will notice.
    numbers = Chance.seeded(0).of("bootstrap", n)(np.arange(_RESAMPLES)[:, None], np.arange(n))
    places = (numbers % np.uint64(n)).astype(np.int64) + n * np.arange(_RESAMPLES)[:, None]
    return np.bincount(places.ravel(), minlength=_RESAMPLES * n).reshape(-1, n).astype(float)
