"""Statistics over draws: confidence intervals, tests, and the probability of being the best.

Intervals and tests use Student's t below 20 draws and the bootstrap from 20 on; one draw has no
interval.

The probability that a method is the best is that of a normal random-effects model: a score is the
sum of a method effect, a draw effect and noise. The posterior shrinks the method effects towards
their mean, the more so the larger the noise is beside their differences; samples from it show how
often each effect is the highest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from simkit.chance import Chance

_Floats = NDArray[np.float64]
Draws = Sequence[float] | NDArray[np.floating]  # a number for each draw

BOOTSTRAP_FROM = 20
_RESAMPLES = 9_999
_TAIL = 20  # resamples beyond a statistic that are enough to estimate its p
_ROUNDING = 1e-12  # smaller differences of scores in [0, 1] are rounding errors
SURE = 0.95  # a method is called the best from this probability on
LEAST_DRAWS = 3  # with two draws of two or three methods the model claims .96 instead of .85
_SAMPLES = 4000
_FAR = 10.0  # methods more standard errors below the best stay out of the model
_TAU = np.geomspace(0.05, 50.0, 60)  # grid of the spread of method effects, in standard errors
# Smallest standard deviation of the noise, in mAP: scores of few test images are coarse, so that
# equal differences in all draws prove nothing.
_LEAST = 1e-4
_ONE_SIDED = 1.64  # normal quantile of 95 %
MOST_DRAWS = 100  # larger numbers are written "more than 100"


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
    if not error:
        return 1.0
    t = abs(float(rounded.mean())) / error
    resampled = _resampled_t(rounded)
    if resampled is None:
        return float(2 * special.stdtr(n - 1, -t))
    # Few resamples lie far out, and the smallest p that they can show is too large for Holm's
    # correction over hundreds of pairs: beyond the last `_TAIL` the tail of Student's t is used.
    start = min(t, float(np.partition(resampled, -_TAIL)[-_TAIL]))
    decay = special.stdtr(n - 1, -t) / special.stdtr(n - 1, -start)
    return float((np.count_nonzero(resampled >= start) + 1) / (_RESAMPLES + 1) * decay)


def paired_interval(differences: Draws, *, level: float = 0.95) -> Interval:
    """The mean of paired `differences` (n,), with the interval that matches `p_value`."""
    return _interval(*_rounded(differences), level)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, to compare with the family-wise error rate."""
    order = np.argsort(ps, kind="stable")
    steps = np.arange(len(ps), 0, -1) * np.asarray(ps, float)[order]
    adjusted = np.empty(len(ps))
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
        half = float(np.quantile(resampled, level)) * error
    return Interval(mean, mean - half, mean + half, n)


def _rounded(differences: Draws) -> tuple[_Floats, float]:
    """Paired differences without rounding errors, and the standard error of their mean."""
    values: _Floats = np.asarray(differences, np.float64)
    if len(values) > 1 and np.ptp(values) <= _ROUNDING:
        values = np.full(len(values), np.median(values))
        values[np.abs(values) <= _ROUNDING] = 0.0
        return values, float(abs(values[0]) / 2 / np.sqrt(len(values)))
    return values, _error(values)


def _error(values: _Floats) -> float:
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
    error = np.sqrt(np.maximum(squares - n * means**2, 0) / (n - 1) / n)
    return np.abs(means) / np.maximum(error, _error(values) / 4)


@lru_cache(maxsize=8)
def _counts(n: int) -> _Floats:
    """(9,999, n) multiplicity of each of n draws in each resample."""
    numbers = Chance.seeded(0).of("bootstrap", n)(np.arange(_RESAMPLES)[:, None], np.arange(n))
    places = (numbers % np.uint64(n)).astype(np.int64) + n * np.arange(_RESAMPLES)[:, None]
    return np.bincount(places.ravel(), minlength=_RESAMPLES * n).reshape(-1, n).astype(float)


@dataclass(frozen=True)
class Best:
    """A comparison of methods over the draws that all of them have.

    Attributes
    ----------
    order
        Names of the methods, the highest mean first; any hashable values, such as pairs of scheme
        and method.
    probability
        By name, the probability of being the best; methods with equal scores share one. Empty with
        fewer than three draws.
    rivals
        Other names that are better than the first with a probability of 5 % or more.
    draws
        Number of draws.
    equal
        By name, the number of its group: methods of a group have equal scores in every draw.
    extra_draws
        Number of additional draws that would probably separate the first two methods; None if they
        are separated already or no estimate is possible; `inf` if their effects seem equal.
    """

    order: tuple[Any, ...]
    probability: Mapping[Any, float]
    rivals: tuple[Any, ...]
    draws: int
    equal: Mapping[Any, int] = field(default_factory=dict)
    extra_draws: float | None = None

    @property
    def first(self) -> Any:
        """The name with the highest mean."""
        return self.order[0]

    @property
    def ties(self) -> tuple[Any, ...]:
        """Other names with the same scores as the first."""
        group = self.equal.get(self.first)
        if group is None:
            return ()
        return tuple(name for name in self.order[1:] if self.equal[name] == group)

    @property
    def sure(self) -> bool:
        """Whether the first (or its ties) is the best with a probability of 95 % or more."""
        return self.settled([self.first, *self.ties])

    def settled(self, names: Iterable[Any]) -> bool:
        """Whether the best is among these names with a probability of 95 % or more, and none of the
        others is a rival."""
        names = set(names)
        others = {*self.ties, *self.rivals} - names
        return bool(self.probability) and self.of(names) >= SURE and not others

    def of(self, names: Iterable[Any]) -> float:
        """Probability that the best method is among these names."""
        return sum({self.equal[n]: self.probability[n] for n in names if n in self.equal}.values())


def best_of(scores: Mapping[Any, Mapping[int, float]], *, smallest: float = 0.0) -> Best:
    """The probability of being the best, for methods compared draw by draw.

    Parameters
    ----------
    scores
        Scores in [0, 1] by method and draw; only draws that all methods have are compared.
    smallest
        Smallest relevant difference: a method that is closer to the first is its rival.

    Returns
    -------
    Best
    """
    names = list(scores)
    draws = sorted(set.intersection(*(set(by_draw) for by_draw in scores.values())))
    if not draws:
        means = {name: float(np.mean(list(by_draw.values()))) for name, by_draw in scores.items()}
        order = sorted(names, key=lambda name: -means[name])
        return Best(tuple(order), {}, tuple(order[1:]), 0)
    Y = np.array([[scores[name][draw] for name in names] for draw in draws])
    order = [names[column] for column in np.argsort(-Y.mean(0), kind="stable")]
    columns, inverse = np.unique(Y, axis=1, return_inverse=True)
    group = {name: int(g) for name, g in zip(names, inverse.ravel(), strict=True)}
    first = group[order[0]]
    if len(draws) < LEAST_DRAWS:
        rivals = tuple(name for name in order[1:] if group[name] != first)
        return Best(tuple(order), {}, rivals, len(draws), group)
    theta = _posterior(columns)
    wins = np.bincount(theta.argmax(1), minlength=columns.shape[1]) / len(theta)
    probability = {name: float(wins[g]) for name, g in group.items()}
    rivals = tuple(
        name for name in order[1:]
        if group[name] != first
        and (theta[:, group[name]] + smallest > theta[:, first]).mean() >= 1 - SURE
    )  # fmt: skip
    others = [group[name] for name in order[1:] if group[name] != first]
    extra_draws = _more_draws(columns, theta, first, others[0]) if rivals and others else None
    return Best(tuple(order), probability, rivals, len(draws), group, extra_draws)


def _noise(Y: _Floats) -> tuple[float, int]:
    """Variance of the noise in scores (n, m), and its degrees of freedom."""
    n, m = Y.shape
    mean = Y.mean(0)
    residuals = Y - mean - (Y - mean).mean(1, keepdims=True)
    freedom = (n - 1) * (m - 1)
    return max(float((residuals**2).sum()) / max(freedom, 1), _LEAST**2), freedom


def _posterior(Y: _Floats) -> _Floats:
    """(S, m) samples of the method effects, from scores (n, m) without equal columns."""
    n, m = Y.shape
    mean = Y.mean(0)
    theta = np.full((_SAMPLES, m), -np.inf)
    v, freedom = _noise(Y)
    near = mean >= mean.max() - _FAR * math.sqrt(v / n)
    k, average = int(near.sum()), float(mean[near].mean())
    if k == 1:
        theta[:, near] = mean[near]
        return theta
    rng = np.random.default_rng(0)
    error = v * freedom / rng.chisquare(freedom, _SAMPLES) / n  # squared standard error of a mean
    tau = (_TAU * math.sqrt(v / n)) ** 2
    total = tau + error[:, None]
    spread = float(((mean[near] - average) ** 2).sum())
    # The prior is flat in the square root of `tau`, on a grid of equal steps of its logarithm.
    log = -0.5 * (k - 1) * np.log(total) - spread / (2 * total) + 0.5 * np.log(tau)
    weights = np.cumsum(np.exp(log - log.max(1, keepdims=True)), axis=1)
    pick = rng.random((_SAMPLES, 1)) * weights[:, -1:]
    tau = tau[(weights < pick).sum(1)]
    shrink = tau / (tau + error)
    center = rng.normal(average, np.sqrt((tau + error) / k))[:, None]
    noise = rng.standard_normal((_SAMPLES, k)) * np.sqrt(shrink * error)[:, None]
    theta[:, near] = center + shrink[:, None] * (mean[near] - center) + noise
    return theta


def _more_draws(Y: _Floats, theta: _Floats, first: int, second: int) -> float | None:
    """Number of additional draws until the expected difference of two methods is significant."""
    gap = float(theta[:, first].mean() - theta[:, second].mean())
    if not gap > 0:
        return math.inf
    variance, _ = _noise(Y)
    extra_draws = math.ceil(2 * variance * (_ONE_SIDED / gap) ** 2) - len(Y)
    return extra_draws if 0 < extra_draws < math.inf else None


def more_draws_text(extra_draws: float | None) -> str:
    """ "8 more draws would probably separate them", or nothing."""
    if extra_draws is None:
        return ""
    if extra_draws > MOST_DRAWS:
        return "more than 100 more draws would be needed to separate them"
    return (
        f"{extra_draws:.0f} more draw{'' if extra_draws == 1 else 's'} would probably separate them"
    )


def too_few_text(best: Best) -> str:
    """Why there is no probability: "one draw is too few to compare"."""
    if not best.draws:
        return "no draw has all runs"
    return f"{'one draw is' if best.draws == 1 else 'two draws are'} too few to compare"
