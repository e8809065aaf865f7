"""Statistics over draws: confidence intervals, tests of paired differences, and the best method.

A draw is one repetition with separate labels, initial weights and order of images, which all
methods share; methods are therefore compared by their differences within draws. Intervals and tests
use Student's t below 20 draws and the bootstrap from 20 on; one draw has no interval. The settings
chosen for a method are the same in all of its draws, so the spread over draws does not include the
variability of the choice: its standard error, `tuned_error`, is added in quadrature
(`error_of_choice`).

The probability of being the best agrees with the intervals of paired differences: each difference
of the first method to another has Student's t about its mean as posterior (a flat prior), with the
width of its interval. Why this model:

- Each difference has a standard error of its own. Schemes differ in their noise, and one variance
  for all makes a difference seem sure that its own draws leave open.
- The differences share the luck of the first method, so they are drawn together, with the
  correlation 1/2 that they have if the noise of all methods is independent and alike. Correlations
  of two to five draws of dozens of methods would be of rank one to four: all rivals would win in
  the same samples, and the best of many, which is mostly lucky, would seem too sure.
- For the same reason the standard errors are uncertain independently of each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from simkit.chance import Chance
from simkit.quantities import points

_Floats = NDArray[np.float64]
Draws = Sequence[float] | NDArray[np.floating]  # a number for each draw

# Below 20 draws the bootstrap has too few distinct values to resample: its intervals are too narrow
# (two draws have three different resamples). Student's t assumes normal differences; differences of
# mAP over many classes come close. From 20 on that assumption is no longer needed.
BOOTSTRAP_FROM = 20
# An odd number plus one divides evenly: the 95 % quantile of 9,999 is the 9,500th of 10,000 ranks.
_RESAMPLES = 9_999
_TAIL = 20  # resamples beyond a statistic that are enough to estimate its p
_ROUNDING = 1e-12  # smaller differences of scores in [0, 1] are rounding errors
SURE = 0.975  # a method is called the best from here on: the 95 % interval of no gap holds 0
_SAMPLES = 4000  # the error of a probability of 97.5 % is then 0.3 points
_MOST_DRAWS = 10_000  # more are not counted


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
    def bounded(self) -> Interval:
        """The same for scores in [0, 1], with ends in [0, 1]; Student's t may reach beyond."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=max(self.low, 0.0), high=min(self.high, 1.0))

    @property
    def percent(self) -> str:
        """ "52.3 ±1.2 mAP" for scores in [0, 1], or without ± for one draw.

        Of few draws the interval may reach beyond all scores; its ends are then stated within them.
        """
        if (bounded := self.bounded) != self:
            assert bounded.low is not None and bounded.high is not None
            return f"{points(self.mean)} mAP ({points(bounded.low)} to {points(bounded.high)})"
        half = "" if self.half is None else f" ±{points(self.half)}"
        return f"{points(self.mean)}{half} mAP"

    @property
    def ends(self) -> str:
        """ "52.3 mAP (95% interval 48.0 to 56.1)", for an interval with both ends."""
        assert self.low is not None and self.high is not None
        ends = f"{points(self.low)} to {points(self.high)}"
        return f"{points(self.mean)} mAP (95% interval {ends})"


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one method, or differences of two, with the error of the choice of settings.

    Attributes
    ----------
    by_draw
        A number for each draw.
    tuned_error
        Standard error of the choice of settings, which all draws share.
    """

    by_draw: Mapping[int, float]
    tuned_error: float = 0.0

    @property
    def values(self) -> _Floats:
        """(n,) the numbers."""
        return np.array([*self.by_draw.values()], np.float64)

    @property
    def mean(self) -> Interval:
        """The mean and its interval."""
        return interval(self.values, tuned_error=self.tuned_error)

    def gap(self, level: float = 0.95) -> Interval:
        """The mean of paired differences with the interval that matches `p`."""
        return paired_interval(self.values, level=level, tuned_error=self.tuned_error)

    @property
    def p(self) -> float | None:
        """As `p_value`, of paired differences."""
        return p_value(self.values, tuned_error=self.tuned_error)

    def over(self, draws: Iterable[int]) -> Scores:
        """The scores of these draws."""
        kept = {*draws}
        return replace(self, by_draw={d: one for d, one in self.by_draw.items() if d in kept})

    def __sub__(self, other: Scores) -> Scores:
        """Differences over the draws that both have; the errors of two choices are independent."""
        gaps = {d: one - other.by_draw[d] for d, one in self.by_draw.items() if d in other.by_draw}
        return Scores(gaps, math.hypot(self.tuned_error, other.tuned_error))


def interval(values: Draws, *, level: float = 0.95, tuned_error: float = 0.0) -> Interval:
    """The mean and its confidence interval.

    Parameters
    ----------
    values
        (n,) numbers, one for each draw.
    level
        Confidence level of the interval.
    tuned_error
        Standard error of the choice of settings, which all draws share.

    Returns
    -------
    Interval
        Mean, lower and upper end.
    """
    scores: _Floats = np.asarray(values, np.float64)
    return _interval(scores, math.hypot(_error(scores), tuned_error), level)


def p_value(
    differences: Draws, grain: float = math.inf, *, tuned_error: float = 0.0
) -> float | None:
    """Two-sided p of paired `differences` (n,) against a mean of 0; None for one draw.

    tuned_error: standard error of the choice of both settings, which all draws share.

    If all differences are equal, half their value is used as their standard deviation, or `grain`,
    half their smallest step, if that is less: scores of few test images are coarse, and two or
    three equal differences are no proof.
    """
    rounded, error = _rounded(differences, grain)
    n, error = len(rounded), _with_choice(rounded, error, tuned_error)
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


def p_over_choices(differences: NDArray[np.floating], grain: float = math.inf) -> float:
    """Two-sided p of paired `differences` (S, n) in S samples of the choice of settings.

    The probability of a mean below 0, by Student's t, is averaged over the samples. This is for
    numbers that the choice does not move by a normal error, such as ranks, so that no standard
    error can be added as in `p_value`. grain: as there.
    """
    n, mean = differences.shape[1], differences.mean(1)
    error = differences.std(axis=1, ddof=1)
    same = np.ptp(differences, axis=1) <= _ROUNDING
    error[same] = np.minimum(np.abs(mean[same]) / 2, grain)
    t = np.divide(mean * math.sqrt(n), error, out=np.zeros_like(mean), where=error > 0)
    below = float(special.stdtr(n - 1, -t).mean())
    return 2 * min(below, 1 - below)


def paired_interval(
    differences: Draws, *, level: float = 0.95, tuned_error: float = 0.0
) -> Interval:
    """The mean of paired `differences` (n,), with the interval that matches `p_value`."""
    values, error = _rounded(differences)
    return _interval(values, _with_choice(values, error, tuned_error), level)


def _with_choice(differences: _Floats, error: float, tuned_error: float) -> float:
    """The standard error with that of the choice. Equal scores in every draw share their choice."""
    return math.hypot(error, tuned_error) if differences.any() else error


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


def error_of_choice(scores: _Floats) -> float:
    """Standard deviation of the mean score of the setting that is chosen as the best of several.

    Other draws might choose another setting, with another mean score. Means are drawn anew 4,000
    times around the measured ones, with the noise of settings within draws, whose variance is
    uncertain (a scaled inverse chi-squared); the effect of a draw, which settings share, cancels.
    Means of equal settings still differ by noise, so the estimate is conservative.

    Parameters
    ----------
    scores
        (S, K) scores of S settings in K draws. One setting or one draw tells nothing: 0.
    """
    settings, draws = scores.shape
    if settings < 2 or draws < 2:
        return 0.0
    means = scores.mean(1)
    rest = scores - means[:, None] - scores.mean(0) + scores.mean()
    freedom = (settings - 1) * (draws - 1)
    rng = np.random.default_rng(0)
    noise = np.sqrt((rest**2).sum() / rng.chisquare(freedom, _SAMPLES) / draws)
    drawn = means + noise[:, None] * rng.standard_normal((_SAMPLES, settings))
    return float(means[drawn.argmax(1)].std())


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


def _rounded(differences: Draws, grain: float = math.inf) -> tuple[_Floats, float]:
    """Paired differences without rounding errors, and the standard error of their mean."""
    values: _Floats = np.asarray(differences, np.float64)
    if len(values) > 1 and np.ptp(values) <= _ROUNDING:
        # Equal up to rounding: the spread would be that of the last bits, and t in the billions.
        values = np.full(len(values), np.median(values))
        values[np.abs(values) <= _ROUNDING] = 0.0
        return values, float(min(abs(values[0]) / 2, grain) / np.sqrt(len(values)))
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
    # The modulus favours small numbers by 1 in 2**64 / n, which is negligible.
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
        fewer than two draws.
    rivals
        Other names that may be the best: with the first and its ties, these are the fewest that
        include the best with a probability of 97.5 %. With fewer than two draws, all others.
    draws
        Number of draws.
    equal
        By name, the number of its group: methods of a group have equal scores in every draw.
    extra_draws
        Number of additional draws that would separate the first two methods if their difference
        stayed the same; None if they are separated already or no estimate is possible; `inf` if
        10,000 would not.
    above
        By name of each method with other scores, the probability that the first is better than it.
    """

    order: tuple[Any, ...]
    probability: Mapping[Any, float]
    rivals: tuple[Any, ...]
    draws: int
    equal: Mapping[Any, int] = field(default_factory=dict)
    extra_draws: float | None = None
    above: Mapping[Any, float] = field(default_factory=dict)

    @property
    def first(self) -> Any:
        """The name with the highest mean."""
        return self.order[0]

    @property
    def ties(self) -> tuple[Any, ...]:
        """Other names with the same scores as the first."""
        others = self.order[1:] if self.equal else ()
        return tuple(name for name in others if self.equal[name] == self.equal[self.first])

    @property
    def sure(self) -> bool:
        """Whether the first (or its ties) is the best with a probability of 97.5 % or more."""
        return bool(self.probability) and not self.rivals

    def settled(self, names: Iterable[Any]) -> bool:
        """Whether the best is among these names with a probability of 97.5 % or more, and no other
        name has the same scores as the first."""
        names = set(names)
        return bool(self.probability) and self.of(names) >= SURE and names.issuperset(self.ties)

    def of(self, names: Iterable[Any]) -> float:
        """Probability that the best method is among these names.

        With the first among them, at most the probability that it is better than each other name:
        the interval of this difference stands beside it, and other methods among the names must
        not make the first seem surer than that.
        """
        names = set(names)
        by_group = {self.equal[n]: self.probability[n] for n in names if n in self.equal}
        above = [p for n, p in self.above.items() if n not in names and self.first in names]
        return min([sum(by_group.values()), *above])


def best_of(scores: Mapping[Any, Scores], *, smallest: float = 0.0) -> Best:
    """The probability of being the best, for methods compared draw by draw.

    Parameters
    ----------
    scores
        Scores in [0, 1] by method; only draws that all methods have are compared.
    smallest
        Smallest relevant difference: methods that are closer in every draw count as equal.

    Returns
    -------
    Best
    """
    names = list(scores)
    # Means over different draws would compare luck as well as methods.
    draws = sorted(set.intersection(*(set(one.by_draw) for one in scores.values())))
    if not draws:
        means = {name: one.values.mean() for name, one in scores.items()}
        order = sorted(names, key=lambda name: -means[name])
        return Best(tuple(order), {}, tuple(order[1:]), 0)
    Y = np.array([[scores[name].by_draw[draw] for name in names] for draw in draws])
    order = [names[column] for column in np.argsort(-Y.mean(0), kind="stable")]
    # Methods with equal scores in all draws, such as two that ignore a setting, would each win half
    # the samples, and neither would ever be probably best: they count as one.
    columns, group = np.empty((len(draws), 0)), dict[Any, int]()
    for place in np.lexsort(Y[::-1]):
        column = Y[:, [place]]
        alike = np.flatnonzero((np.abs(columns - column) <= max(smallest, _ROUNDING)).all(0))
        group[names[place]] = int(alike[0]) if len(alike) else columns.shape[1]
        if not len(alike):
            columns = np.hstack([columns, column])
    first = group[order[0]]
    others = [name for name in order if group[name] != first]
    if len(draws) < 2:
        return Best(tuple(order), {}, tuple(others), len(draws), group)
    gaps = {name: scores[order[0]] - scores[name] for name in others}
    by = {name: one.gap() for name, one in gaps.items()}
    above = {name: float(special.stdtr(one.draws - 1, _t(one))) for name, one in by.items()}
    wins = _wins(columns.shape[1], first, {group[name]: by[name] for name in reversed(others)})
    wins[first] = min([wins[first], *above.values()])  # they differ by the error of sampling
    probability = {name: float(wins[g]) for name, g in group.items()}
    # One rule for the best and its rivals: the groups, the most probable first, until the best is
    # among them with 97.5 %. The first has the highest mean, and up to the error of sampling the
    # highest probability.
    ranked = [first, *(g for g in np.argsort(-wins, kind="stable").tolist() if g != first)]
    before = np.concatenate([[0.0], np.cumsum(wins[ranked])[:-1]])
    level = {g for g, others in zip(ranked, before, strict=True) if others < SURE}
    rivals = tuple(name for name in order if group[name] in level - {first})
    extra_draws = None
    if rivals:
        extra_draws = _extra_draws(by[others[0]], gaps[others[0]].tuned_error)
    return Best(tuple(order), probability, rivals, len(draws), group, extra_draws, above)


def _error_of(by: Interval) -> float:
    """The standard error with which Student's t has the ends of this interval."""
    assert by.half is not None
    return by.half / float(special.stdtrit(by.draws - 1, 0.975))


def _t(by: Interval) -> float:
    return by.mean / _error_of(by)


def _wins(groups: int, first: int, by: Mapping[int, Interval]) -> _Floats:
    """(G,) share of posterior samples in which each group is the best.

    by: the difference of the first group to each other one.
    """
    rng = np.random.default_rng(0)  # the same data give the same probability
    ahead = np.zeros((_SAMPLES, groups))  # of the first group
    shared = rng.standard_normal(_SAMPLES)
    for g, one in by.items():
        freedom = one.draws - 1
        noise = (shared + rng.standard_normal(_SAMPLES)) / math.sqrt(2)
        noise *= np.sqrt(freedom / rng.chisquare(freedom, _SAMPLES))
        ahead[:, g] = one.mean + _error_of(one) * noise
    return np.bincount(ahead.argmin(1), minlength=groups) / _SAMPLES


def _extra_draws(by: Interval, tuned_error: float) -> float | None:
    """Until the difference is significant on one side, at this mean and spread.

    tuned_error: the part of the standard error that further draws do not reduce.
    """
    total = np.arange(by.draws, by.draws + _MOST_DRAWS)
    of_draws = max(_error_of(by) ** 2 - tuned_error**2, 0.0)
    t = by.mean / np.sqrt(of_draws * by.draws / total + tuned_error**2)
    enough = np.flatnonzero(t >= special.stdtrit(total - 1, SURE))
    return float(enough[0]) or None if len(enough) else math.inf
