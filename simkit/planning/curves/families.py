"""Bounded curves of mAP over dollars, fitted to many resamples at once.

Five families that can only rise and that never leave 0 to 1: two power laws, a logistic curve, a
logarithm and `mmf4` (Mahmood et al., CVPR 2022, fit several such and explain why; Morgan, Mercer
and Flodin, PNAS 1975, for the last). All are written in t = log(dollars / reach), so that an
intercept is what is reached at the end of the pilot.

Two choices are ours, made on learning curves of heads on `scenes`. The logarithm is bent below 1:
a + b log x itself, cut off at 1, promised 15 points of mAP too much at ten times a pilot that had
passed 0.6. The exponent d of `mmf4` is at most 1: steeper ones take a slow stretch of a pilot for
its end, and fell 9 points short.

Three families are low + (high - low) s(t) with a rising s from 0 to 1 that has one or two
parameters of its own. These are tried on a fixed grid, and the best 0 <= low <= high <= 1 for each
is a least-squares problem with a closed form: no start to choose, nothing that fails to converge,
and all resamples in a few matrix products. The others are fitted by damped Gauss-Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

Array = NDArray[np.float64]

EXPONENTS = np.geomspace(0.02, 3.0, 96)  # b of x**-b; 0.1 to 0.6 is what learning curves show
STEPS, DAMPING = 12, 1e-9  # of Gauss-Newton, which ends after four or five on smooth curves


class Family(Protocol):
    """One kind of curve. `name` as tables print it, `formula` as people read it."""

    @property
    def name(self) -> str: ...

    @property
    def formula(self) -> str: ...

    def fit(self, t: Array, scores: Array, weights: Array) -> Array:
        """Weighted least squares: t (K,), scores (R, K), weights (K,); parameters (R, p)."""
        ...

    def value(self, parameters: Array, t: Array) -> Array:
        """mAP in [0, 1]: parameters (R, p), t (n,) or (R, n); (R, n), rising with t."""
        ...


@dataclass(frozen=True)
class Between:
    """low + (high - low) s(t): parameters are low, high and those of s.

    shapes  () -> (G, q): the parameters of s to try.  rise  (shapes (G, q), t) -> s (G, n).
    top     whether `high` is 1, which is what a power law without an offset says.
    """

    name: str
    formula: str
    shapes: Callable[[], Array]
    rise: Callable[[Array, Array], Array]
    top: bool = False

    def fit(self, t: Array, scores: Array, weights: Array) -> Array:
        shapes = self.shapes()
        s = self.rise(shapes, t)
        low, high, loss = _best_ends(s, scores, weights, top=self.top)
        best = loss.argmin(1)
        rows = np.arange(len(scores))
        return np.column_stack([low[rows, best], high[rows, best], shapes[best]])

    def value(self, parameters: Array, t: Array) -> Array:
        s = self.rise(parameters[:, 2:], t)
        low, high = parameters[:, :1], parameters[:, 1:2]
        return np.clip(low + (high - low) * s, 0.0, 1.0)


@dataclass(frozen=True)
class Linked:
    """h(a + b t), b >= 0, with an h that rises to 1: a line in log dollars, bent to stay below 1.

    h  of any number, in [0, 1];  inverse: of a mAP;  slope: of h, as a function of h.
    steepest: the largest b.
    """

    name: str
    formula: str
    h: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    steepest: float

    def fit(self, t: Array, scores: Array, weights: Array) -> Array:
        share = weights / weights.sum()
        found = self._start(t, scores, share)
        loss = self._loss(found, t, scores, share)
        damping = np.full(len(scores), DAMPING)
        for _ in range(STEPS):
            tried = self._stepped(found, t, scores, share, damping)
            new = self._loss(tried, t, scores, share)
            better = new < loss
            found = np.where(better[:, None], tried, found)
            loss = np.where(better, new, loss)
            damping = np.where(better, damping / 10, np.maximum(damping, 1e-6) * 30)
        return found

    def value(self, parameters: Array, t: Array) -> Array:
        return self.h(parameters[:, :1] + parameters[:, 1:] * t)

    def _start(self, t: Array, scores: Array, share: Array) -> Array:
        """A line through h's inverse, with weights as if errors were those of the scores."""
        inside = np.clip(scores, 1e-3, 1 - 1e-3)
        w = share * self.slope(inside) ** 2
        w /= w.sum(1, keepdims=True)
        y = self.inverse(inside)
        centre = w @ t
        away = w * (t - centre[:, None])
        slope = (away * y).sum(1) / (away * (t - centre[:, None])).sum(1)
        slope = np.clip(slope, 0.0, self.steepest)
        return np.column_stack([(w * y).sum(1) - slope * centre, slope])

    def _loss(self, parameters: Array, t: Array, scores: Array, share: Array) -> Array:
        return np.asarray((self.value(parameters, t) - scores) ** 2 @ share)

    def _stepped(
        self, parameters: Array, t: Array, scores: Array, share: Array, damping: Array
    ) -> Array:
        fitted = self.value(parameters, t)
        by_a = self.slope(fitted)  # the derivative by a; by b it is t times as much
        by_b, gap = by_a * t, scores - fitted
        aa, ab, bb = ((x * y) @ share for x, y in ((by_a, by_a), (by_a, by_b), (by_b, by_b)))
        aa, bb = aa * (1 + damping) + 1e-15, bb * (1 + damping) + 1e-15
        ga, gb = (by_a * gap) @ share, (by_b * gap) @ share
        found = aa * bb - ab * ab
        step = np.column_stack([bb * ga - ab * gb, aa * gb - ab * ga]) / found[:, None]
        stepped = parameters + step
        return np.column_stack([stepped[:, 0], np.clip(stepped[:, 1], 0.0, self.steepest)])


def _hyperbola(z: Array) -> Array:
    """1 - 1/z, and 0 below z = 1."""
    return 1.0 - 1.0 / np.maximum(z, 1.0)


def _power(shapes: Array, t: Array) -> Array:
    """1 - x**-b: 0 at reach, so `low` is what is reached there and `high` the limit."""
    return 1.0 - np.exp(np.minimum(-shapes * t, 50.0))


def _exponents() -> Array:
    return EXPONENTS[:, None]


def _mmf(shapes: Array, t: Array) -> Array:
    """x**d / (b + x**d) as a logistic curve in t: steepness d, half-way at t = m."""
    return expit(shapes[:, :1] * (t - shapes[:, 1:2]))


@cache
def _mmf_shapes() -> Array:
    """Steepness by half-way points from far below a pilot to far beyond it."""
    steep, half = np.geomspace(0.2, 1.0, 16), np.linspace(-6.0, 4.0, 26)
    return np.stack(np.meshgrid(steep, half, indexing="ij"), -1).reshape(-1, 2)


LOGIT = Linked("logit", "sigmoid(a + b log x)", expit, logit, lambda y: y * (1 - y), 3.0)
FAMILIES: tuple[Family, ...] = (
    Between("pow2", "1 - a x^-b", _exponents, _power, top=True),
    LOGIT,
    Between("pow3", "1 - c - a x^-b", _exponents, _power),
    Linked(
        "log",
        "1 - 1 / (a + b log x)",
        _hyperbola,
        lambda y: 1 / (1 - y),
        lambda y: (1 - y) ** 2,
        30.0,
    ),
    Between("mmf4", "(a b + c x^d) / (b + x^d)", _mmf_shapes, _mmf),
)


def _best_ends(s: Array, scores: Array, weights: Array, *, top: bool) -> tuple[Array, Array, Array]:
    """The best 0 <= low <= high <= 1 of low (1 - s) + high s for each resample and shape.

    s (G, K), scores (R, K), weights (K,). Returns low, high and the loss, all (R, G). Where the
    free solution lies outside of the triangle, the best one lies on one of its three sides.
    """
    share = weights / weights.sum()
    r, sy = 1.0 - s, (scores * share) @ s.T
    ry, yy = (scores * share) @ r.T, (scores**2) @ share
    ss, rs, rr = ((a * b) @ share for a, b in ((s, s), (r, s), (r, r)))

    def loss(low: Array, high: Array) -> Array:
        fitted = low**2 * rr + 2 * low * high * rs + high**2 * ss
        return yy[:, None] - 2 * (low * ry + high * sy) + fitted

    one = np.ones_like(sy)
    first = np.clip((ry - rs) / np.maximum(rr, 1e-12), 0.0, 1.0)
    if top:
        return first, one, loss(first, one)
    sides = [(first, one)]
    sides.append((0 * one, np.clip(sy / np.maximum(ss, 1e-12), 0.0, 1.0)))
    flat = np.broadcast_to(np.clip(scores @ share, 0.0, 1.0)[:, None], sy.shape)
    sides.append((flat, flat))
    found = rr * ss - rs**2
    solvable = found > 1e-9 * (rr * ss)
    safe = np.where(solvable, found, 1.0)
    low, high = (ry * ss - sy * rs) / safe, (sy * rr - ry * rs) / safe
    inside = solvable & (low >= 0) & (low <= high) & (high <= 1)
    best = np.where(inside, loss(low, high), np.inf)
    for side_low, side_high in sides:
        new = loss(side_low, side_high)
        better = new < best
        low, high = np.where(better, side_low, low), np.where(better, side_high, high)
        best = np.where(better, new, best)
    return low, high, best
