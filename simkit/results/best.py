"""The best of several methods, with the probability that it is: compared draw by draw.

The model is a normal one with random effects, for n draws i of m methods j:

    score_ij = draw_i + theta_j + noise_ij,   noise ~ N(0, sigma^2),   theta_j ~ N(mu, tau^2)

Labels and weights of a draw are the same for all methods, so that much of their luck is in draw_i
and cancels. The posterior shrinks the effects theta_j towards their mean mu, the more so the larger
the noise is beside their differences: the highest of many means is mostly lucky (the winner's
curse), and shrinking takes that luck away. Samples from it show how often each effect is highest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

SURE = 0.95  # a method is called the best from this probability on
# With two draws of two or three methods sigma has one or two degrees of freedom, and the model
# claims .96 where it is right in .85 of simulated comparisons.
LEAST_DRAWS = 3
_SAMPLES = 4000  # the error of a probability of 95 % is then 0.3 points
# Methods more standard errors below the best stay out of the model: they cannot be the best, and
# would stretch tau, so that the methods that matter would hardly be shrunk.
_FAR = 10.0
_TAU = np.geomspace(0.05, 50.0, 60)  # grid of the spread of method effects, in standard errors
# Smallest standard deviation of the noise, in mAP: scores of few test images are coarse, so that
# equal differences in all draws prove nothing.
_LEAST = 1e-4
_ONE_SIDED = 1.64  # normal quantile of 95 %
MOST_DRAWS = 100  # larger numbers are written "more than 100"


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
    # Means over different draws would compare luck as well as methods.
    draws = sorted(set.intersection(*(set(by_draw) for by_draw in scores.values())))
    if not draws:
        means = {name: float(np.mean(list(by_draw.values()))) for name, by_draw in scores.items()}
        order = sorted(names, key=lambda name: -means[name])
        return Best(tuple(order), {}, tuple(order[1:]), 0)
    Y = np.array([[scores[name][draw] for name in names] for draw in draws])
    order = [names[column] for column in np.argsort(-Y.mean(0), kind="stable")]
    # Methods with equal scores in all draws, such as two that ignore a setting, would each win half
    # the samples, and none would ever be sure: they count as one.
    columns, inverse = np.unique(Y, axis=1, return_inverse=True)
    group = {name: int(g) for name, g in zip(names, inverse.ravel(), strict=True)}
    first = group[order[0]]
    if len(draws) < LEAST_DRAWS:
        rivals = tuple(name for name in order[1:] if group[name] != first)
        return Best(tuple(order), {}, rivals, len(draws), group)
    theta = _posterior(columns)
    wins = np.bincount(theta.argmax(1), minlength=columns.shape[1]) / len(theta)
    probability = {name: float(wins[g]) for name, g in group.items()}
    # A rival is better than the first with 5 % or more. The probability of being the best of all
    # would not do: of forty methods without a difference, each has a fortieth.
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
    # One variance for all methods: with three to ten draws, those of single methods would be so
    # uncertain that the method with the luckiest one would seem sure. Residuals are the part that
    # the means of method and draw do not explain (two-way analysis without interaction).
    residuals = Y - mean - (Y - mean).mean(1, keepdims=True)
    freedom = (n - 1) * (m - 1)
    return max(float((residuals**2).sum()) / max(freedom, 1), _LEAST**2), freedom


def _posterior(Y: _Floats) -> _Floats:
    """(S, m) samples of the method effects, from scores (n, m) without equal columns."""
    n, m = Y.shape
    mean = Y.mean(0)
    theta = np.full((_SAMPLES, m), -np.inf)
    v, freedom = _noise(Y)
    # theta_j is estimated by the mean over draws, with the squared standard error sigma^2 / n.
    near = mean >= mean.max() - _FAR * math.sqrt(v / n)
    k, average = int(near.sum()), float(mean[near].mean())
    if k == 1:
        theta[:, near] = mean[near]
        return theta
    rng = np.random.default_rng(0)  # the same data have the same probability
    # The posterior of sigma^2 under the prior 1 / sigma^2 is scaled inverse chi-squared.
    error = v * freedom / rng.chisquare(freedom, _SAMPLES) / n  # squared standard error of a mean
    tau = (_TAU * math.sqrt(v / n)) ** 2
    total = tau + error[:, None]
    spread = float(((mean[near] - average) ** 2).sum())
    # With mu integrated out, means of variance total = tau^2 + error have the likelihood
    # total^(-(k - 1) / 2) exp(-spread / (2 total)) (Gelman et al., Bayesian Data Analysis, 5.4).
    # The prior is flat in the standard deviation tau, the usual choice that does not pull it to 0;
    # on a grid of equal steps of log tau it is therefore multiplied by tau, the root of `tau`.
    log = -0.5 * (k - 1) * np.log(total) - spread / (2 * total) + 0.5 * np.log(tau)
    weights = np.cumsum(np.exp(log - log.max(1, keepdims=True)), axis=1)
    pick = rng.random((_SAMPLES, 1)) * weights[:, -1:]
    tau = tau[(weights < pick).sum(1)]
    # Given sigma and tau, mu is normal around the average, and theta_j around a mean between mu and
    # the measured one, weighted by their precisions.
    shrink = tau / (tau + error)
    center = rng.normal(average, np.sqrt((tau + error) / k))[:, None]
    noise = rng.standard_normal((_SAMPLES, k)) * np.sqrt(shrink * error)[:, None]
    theta[:, near] = center + shrink[:, None] * (mean[near] - center) + noise
    return theta


def _more_draws(Y: _Floats, theta: _Floats, first: int, second: int) -> float | None:
    """Number of additional draws until the expected difference of two methods is significant."""
    # The shrunken difference: the measured one of the best of many is too large, and would promise
    # too few draws.
    gap = float(theta[:, first].mean() - theta[:, second].mean())
    if not gap > 0:
        return math.inf
    # A difference of two means over n draws has the variance 2 sigma^2 / n; it is significant, as
    # expected, from gap = 1.64 standard errors on.
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
