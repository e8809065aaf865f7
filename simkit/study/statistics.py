"""Is it noise? Intervals, paired differences and ranks of methods that met the same draws.

Below 20 draws intervals and tests are Student's t; from 20 on they are bootstrapped; one draw has
no interval. Methods are compared by their differences draw by draw, all pairs at once with Holm's
correction, so that picking the best one after the fact is paid for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from simkit.chance import Chance

_Floats = NDArray[np.float64]

BOOTSTRAP_FROM = 20
_RESAMPLES = 9_999
_TAIL = 20  # resamples beyond a gap, from which on their share is its p
_ROUNDING = 1e-12  # differences of scores in [0, 1] that are nearer than this are the same


@dataclass(frozen=True)
class Interval:
    """A mean over `draws` with its interval; `low` and `high` are None where one draw is all."""

    mean: float
    low: float | None
    high: float | None
    draws: int

    @property
    def half(self) -> float | None:
        """Half the width: what stands behind the ± sign."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True)
class Difference:
    """`first` minus `second`, draw by draw; two-sided p, and p adjusted after Holm's correction."""

    first: str
    second: str
    interval: Interval
    p: float | None
    adjusted: float | None


@dataclass(frozen=True)
class Ranking:
    """Methods that met the same draws.

    order        what fewest beat first, in it what is ahead of more others, draw by draw: that is
                 by mean, unless some met luckier draws than others.
    ranks        1 + how many others are better beyond noise: ties share a rank.
    differences  for every pair, the one with the higher mean first.
    wins         those that are beyond noise, the better one first.
    """

    order: tuple[str, ...]
    ranks: Mapping[str, int]
    differences: tuple[Difference, ...]
    wins: tuple[Difference, ...] = ()

    @property
    def best(self) -> str:
        """The first of the order."""
        return self.order[0]

    @property
    def unbeaten(self) -> tuple[str, ...]:
        """Names that nobody beats, or the fewest: the best and what cannot be told from it."""
        return tuple(name for name in self.order if self.ranks[name] == self.ranks[self.best])

    @property
    def winners(self) -> tuple[str, ...]:
        """Names that beat another beyond noise and that nobody beats; none: nothing is told."""
        beating = {d.first for d in self.wins}
        return tuple(name for name, rank in self.ranks.items() if rank == 1 and name in beating)

    def beaten_by(self, name: str) -> tuple[str, ...]:
        """Names that this one beats beyond noise."""
        beaten = {d.second for d in self.wins if d.first == name}
        return tuple(other for other in self.order if other in beaten)

    def difference(self, first: str, second: str) -> Difference:
        """The pair in the order asked for."""
        for found in self.differences:
            if (found.first, found.second) == (first, second):
                return found
            if (found.second, found.first) == (first, second):
                return _turned(found)
        raise KeyError((first, second))


def interval(values: Sequence[float] | NDArray[np.floating], *, level: float = 0.95) -> Interval:
    """The mean of `values` (n,), one per draw, with its interval."""
    scores: _Floats = np.asarray(values, np.float64)
    return _interval(scores, _error(scores), _resampled_t(scores), level)


def p_value(differences: Sequence[float] | NDArray[np.floating]) -> float | None:
    """Two-sided p of paired `differences` (n,) against a mean of 0; None for one draw.

    Where every draw shows the same difference, half of it is taken for their spread: scores of few
    test images are coarse, and two or three draws that agree to the last digit are no proof.
    """
    gaps, error = _gaps(differences)
    return _p_value(gaps, error, _resampled_t(gaps))


def paired_interval(
    differences: Sequence[float] | NDArray[np.floating], *, level: float = 0.95
) -> Interval:
    """The mean of paired `differences` (n,) with the interval that `p_value` goes with."""
    gaps, error = _gaps(differences)
    return _interval(gaps, error, _resampled_t(gaps), level)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment; compare it with the error that is allowed for all together."""
    order = np.argsort(ps, kind="stable")
    adjusted = np.empty(len(ps))
    highest = 0.0
    for place, which in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - place) * ps[which]))
        adjusted[which] = highest
    return [float(p) for p in adjusted]


def rank(
    scores: Mapping[str, Mapping[int, float]], *, level: float = 0.95, smallest: float = 0.0
) -> Ranking:
    """Rank methods from {name: {draw: score}}; each pair is compared over the draws both have.

    A mean difference below `smallest` is a tie however sure it is.
    """
    means = {name: float(np.mean(list(by_draw.values()))) for name, by_draw in scores.items()}
    ordered = sorted(means, key=lambda name: -means[name])
    found = [_compare(a, b, scores, level) for a, b in combinations(ordered, 2)]
    tested = [place for place, d in enumerate(found) if d.p is not None]
    for place, p in zip(tested, holm([found[t].p or 0.0 for t in tested]), strict=True):
        d = found[place]
        found[place] = Difference(d.first, d.second, d.interval, d.p, p)
    wins = tuple(
        d if d.interval.mean > 0 else _turned(d)
        for d in found
        if d.adjusted is not None and d.adjusted < 1 - level and abs(d.interval.mean) >= smallest
    )
    ranks = {name: 1 + sum(d.second == name for d in wins) for name in scores}
    ahead = Counter(
        d.first if d.interval.mean >= 0 else d.second for d in found if d.interval.draws
    )
    fewest = min(ranks.values())
    order = sorted(ordered, key=lambda name: (ranks[name] > fewest, -ahead[name]))
    return Ranking(tuple(order), ranks, tuple(found), wins)


def _compare(a: str, b: str, scores: Mapping[str, Mapping[int, float]], level: float) -> Difference:
    shared = [draw for draw in scores[a] if draw in scores[b]]
    if not shared:
        return Difference(a, b, Interval(float("nan"), None, None, 0), None, None)
    gaps, error = _gaps([scores[a][draw] - scores[b][draw] for draw in shared])
    sizes = _resampled_t(gaps)
    mean = _interval(gaps, error, sizes, level)
    return Difference(a, b, mean, _p_value(gaps, error, sizes), None)


def _turned(d: Difference) -> Difference:
    i = d.interval
    low = None if i.high is None else -i.high
    high = None if i.low is None else -i.low
    return Difference(d.second, d.first, Interval(-i.mean, low, high, i.draws), d.p, d.adjusted)


def _interval(values: _Floats, error: float, sizes: _Floats | None, level: float) -> Interval:
    """sizes: of what `_resampled_t` found."""
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return Interval(mean, None, None, n)
    if sizes is None:
        reach = float(special.stdtrit(n - 1, (1 + level) / 2)) * error
    else:
        reach = float(np.quantile(sizes, level)) * error
    return Interval(mean, mean - reach, mean + reach, n)


def _p_value(gaps: _Floats, error: float, sizes: _Floats | None) -> float | None:
    n = len(gaps)
    if n < 2:
        return None
    if not error:
        return 1.0
    size = abs(float(gaps.mean())) / error
    if sizes is None:
        return float(2 * special.stdtr(n - 1, -size))
    # Far out resamples are too few to tell, and no p that they alone give is small enough for
    # Holm's correction over hundreds of pairs: from there the tail falls as Student's does.
    start = min(size, float(np.partition(sizes, -_TAIL)[-_TAIL]))
    fall = special.stdtr(n - 1, -size) / special.stdtr(n - 1, -start)
    return float((np.count_nonzero(sizes >= start) + 1) / (_RESAMPLES + 1) * fall)


def _gaps(differences: Sequence[float] | NDArray[np.floating]) -> tuple[_Floats, float]:
    """Paired differences and the standard error of their mean, as `p_value` takes it."""
    values: _Floats = np.asarray(differences, np.float64)
    if len(values) > 1 and np.ptp(values) <= _ROUNDING:
        values = np.full(len(values), np.median(values))
        values[np.abs(values) <= _ROUNDING] = 0.0
        return values, float(abs(values[0]) / 2 / np.sqrt(len(values)))
    return values, _error(values)


def _error(values: _Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _resampled_t(values: _Floats) -> _Floats | None:
    """|t| of 9,999 resamples about the sample's own mean, keyed by place: the same for every call.
    None where Student's t serves: below 20 draws, and where all draws are the same.

    Studentised (Efron & Tibshirani 1993, ch. 12): plain percentiles of the mean called 8 % of
    planted nulls a win at 20 draws, this calls less than 5 %. Resamples of draws that agree have
    next to no spread of their own; a quarter of the sample's is the least that is taken for it.
    """
    n = len(values)
    if n < BOOTSTRAP_FROM or not np.ptp(values):
        return None
    counts, away = _counts(n), values - values.mean()
    means = np.einsum("rn,n->r", counts, away) / n
    squares = np.einsum("rn,n->r", counts, away**2)
    error = np.sqrt(np.maximum(squares - n * means**2, 0) / (n - 1) / n)
    return np.abs(means) / np.maximum(error, _error(values) / 4)


@lru_cache(maxsize=8)
def _counts(n: int) -> _Floats:
    """How often each of n draws is in each resample: (9,999, n)."""
    numbers = Chance.seeded(0).of("bootstrap", n)(np.arange(_RESAMPLES)[:, None], np.arange(n))
    places = (numbers % np.uint64(n)).astype(np.int64) + n * np.arange(_RESAMPLES)[:, None]
    return np.bincount(places.ravel(), minlength=_RESAMPLES * n).reshape(-1, n).astype(float)
