"""Which method is best, and how sure is that: the posterior of a normal random-effects model.

Scores of methods that met the same draws are method effects plus draw effects plus noise. The
effects are shrunk towards their mean by as much as they differ less than the noise would make them
differ; what is drawn from their posterior says how often each is the highest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SURE = 0.95  # probability from which a method is called the best
_LEAST_DRAWS = 3  # with two draws of two or three methods the model claims .96 where .85 is true
_SAMPLES = 4000
_FAR = 10.0  # standard errors below the best: no candidate, and no part of the common mean
_TAU = np.geomspace(0.05, 50.0, 60)  # standard errors: spreads of the methods that are considered
_LEAST = 1e-4  # of mAP: scores of few test images are coarse, and equal differences are no proof
_ONE_SIDED = 1.64  # normal quantile of 95 %
MOST_DRAWS = 100  # from there on "more than 100"


@dataclass(frozen=True)
class Best:
    """Methods that met the same draws, and which of them is best.

    Attributes
    ----------
    order
        Their names, the highest mean over the shared draws first.
    probability
        By name, the probability of being the best; methods with equal scores share theirs. Empty
        where one draw is all there is.
    equal
        By name a number, the same for methods with equal scores, draw by draw.
    rivals
        Other names that are better than the first with a probability of 5 % or more.
    draws
        How many draws all of them share.
    more
        How many more draws would probably tell the first two apart; None where that is known
        already or nothing can be said; `inf` where they seem equal.
    """

    order: tuple[str, ...]
    probability: Mapping[str, float]
    rivals: tuple[str, ...]
    draws: int
    equal: Mapping[str, int] = field(default_factory=dict)
    more: float | None = None

    @property
    def first(self) -> str:
        """The name with the highest mean."""
        return self.order[0]

    @property
    def ties(self) -> tuple[str, ...]:
        """Other names whose scores equal those of the first."""
        own = self.equal.get(self.first)
        return tuple(name for name in self.order[1:] if own is not None and self.equal[name] == own)

    @property
    def sure(self) -> bool:
        """Whether the first, or what has the same scores, is the best with a probability of 95 %
        or more, over at least three draws."""
        likely = self.probability.get(self.first, 0.0) >= SURE and not self.rivals
        return likely and self.draws >= _LEAST_DRAWS

    def of(self, names: Iterable[str]) -> float:
        """Probability that the best is among these."""
        return sum({self.equal[n]: self.probability[n] for n in names if n in self.equal}.values())


def best_of(scores: Mapping[str, Mapping[int, float]], *, smallest: float = 0.0) -> Best:
    """The probability of being best, for methods compared draw by draw.

    Parameters
    ----------
    scores
        By name and draw; methods are compared over the draws that all of them have.
    smallest
        A difference below it does not count: the lower one is a rival all the same.
    """
    names = list(scores)
    draws = sorted(set.intersection(*(set(one) for one in scores.values())))
    if not draws:
        means = {name: float(np.mean(list(one.values()))) for name, one in scores.items()}
        order = sorted(names, key=lambda name: -means[name])
        return Best(tuple(order), {}, tuple(order[1:]), 0)
    Y = np.array([[scores[name][draw] for name in names] for draw in draws])
    order = [names[place] for place in np.argsort(-Y.mean(0), kind="stable")]
    if len(draws) < 2:
        return Best(tuple(order), {}, tuple(order[1:]), len(draws))
    columns, group = np.unique(Y, axis=1, return_inverse=True)
    group = group.ravel()
    theta = _posterior(columns)
    wins = np.bincount(theta.argmax(1), minlength=columns.shape[1]) / len(theta)
    place = {name: int(g) for name, g in zip(names, group, strict=True)}
    probability = {name: float(wins[g]) for name, g in place.items()}
    first = place[order[0]]
    rivals = tuple(
        name for name in order[1:]
        if place[name] != first
        and (theta[:, place[name]] + smallest > theta[:, first]).mean() >= 1 - SURE
    )  # fmt: skip
    others = [place[name] for name in order[1:] if place[name] != first]
    more = _more_draws(columns, theta, first, others[0]) if rivals and others else None
    return Best(tuple(order), probability, rivals, len(draws), place, more)


def _noise(Y: NDArray[np.float64]) -> tuple[float, int]:
    """Variance of a score about its method's and its draw's effect; its degrees of freedom."""
    n, m = Y.shape
    mean = Y.mean(0)
    residuals = Y - mean - (Y - mean).mean(1, keepdims=True)
    freedom = (n - 1) * (m - 1)
    return max(float((residuals**2).sum()) / max(freedom, 1), _LEAST**2), freedom


def _posterior(Y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S, m) samples of the methods' effects from scores (n, m), no two columns equal."""
    n, m = Y.shape
    mean = Y.mean(0)
    theta = np.full((_SAMPLES, m), -np.inf)
    if m == 1:
        theta[:] = mean
        return theta
    v, freedom = _noise(Y)
    near = mean >= mean.max() - _FAR * math.sqrt(v / n)
    k, average = int(near.sum()), float(mean[near].mean())
    if k == 1:
        theta[:, near] = mean[near]
        return theta
    rng = np.random.default_rng(0)
    error = v * freedom / rng.chisquare(freedom, _SAMPLES) / n  # squared, of a mean
    tau = (_TAU * math.sqrt(v / n)) ** 2
    total = tau + error[:, None]
    spread = float(((mean[near] - average) ** 2).sum())
    log = -0.5 * (k - 1) * np.log(total) - spread / (2 * total) + 0.5 * np.log(tau)  # flat in tau
    weights = np.cumsum(np.exp(log - log.max(1, keepdims=True)), axis=1)
    pick = rng.random((_SAMPLES, 1)) * weights[:, -1:]
    tau = tau[(weights < pick).sum(1)]
    shrink = tau / (tau + error)
    center = rng.normal(average, np.sqrt((tau + error) / k))[:, None]
    noise = rng.standard_normal((_SAMPLES, k)) * np.sqrt(shrink * error)[:, None]
    theta[:, near] = center + shrink[:, None] * (mean[near] - center) + noise
    return theta


def _more_draws(
    Y: NDArray[np.float64], theta: NDArray[np.float64], first: int, second: int
) -> float | None:
    """Draws to add until the expected difference of two methods is significant."""
    gap = float(theta[:, first].mean() - theta[:, second].mean())
    if not gap > 0:
        return math.inf
    variance, _ = _noise(Y)
    more = math.ceil(2 * variance * (_ONE_SIDED / gap) ** 2) - len(Y)
    return more if 0 < more < math.inf else None


def more_draws_text(more: float | None) -> str:
    """ "8 more draws would tell", or nothing."""
    if more is None:
        return ""
    if more > MOST_DRAWS:
        return "more than 100 more draws would be needed to tell"
    return f"{more:.0f} more draw{'' if more == 1 else 's'} would tell"
