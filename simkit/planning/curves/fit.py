"""Learning curves over dollars, with what they do not know.

Five families (`families`) are fitted to each of many resamples (`resamples`) with weights that
grow with dollars, and all fits count the same. Curves of one comparison are fitted together where
they are given (`peers`). A sample is a curve plus the luck of one draw: bands are about the single
purchase that a plan recommends, and a mean over draws lies within them more often. Every sample
rises with dollars and stays within 0 to 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simkit.errors import BadInput
from simkit.history import content_id
from simkit.planning.curves.families import FAMILIES
from simkit.planning.curves.peers import AHEAD, Peers
from simkit.planning.curves.points import Points
from simkit.planning.curves.resamples import resampled

__all__ = ["Curve", "Points", "Reached", "fit"]

Array = NDArray[np.float64]

LEAST_RESAMPLES = 20
REACHED = (0.05, 0.25, 0.5, 0.75, 0.95)
# One resample in so many takes no word from peers. Curves that all are power laws, or logarithms,
# have no common logistic curve: with its word in every resample, bands held half of these ahead.
ALONE = 5
_LOWEST = 1e-3  # of the reach: no target is reached for less
SLACK = 0.005  # of mAP that a measured mean may lie outside the band of its curve
_GRID = 240  # dollars at which samples are looked at; between them log dollars are interpolated


@dataclass(frozen=True)
class Reached:
    """Dollars of training labels to a target.

    quantiles  {0.05: dollars, ...} for `REACHED`; None where the share of samples that get there
               below `most` is smaller.  share: of the samples that do.
    """

    target: float
    most: float
    quantiles: dict[float, float | None]
    share: float


@dataclass(frozen=True, eq=False)
class Curve:
    """The pooled fits of one learning curve.

    points      what they were fitted to;  peers: whose curves they were fitted together with.
    parameters  for each family (R, p);  luck (R,): of one draw, the same for all families.
    S = families x R samples, family by family: sample s of two curves of one seed has the same
    family and the same resampled draws, so that differences of samples are paired differences.
    """

    points: Points
    parameters: tuple[Array, ...]
    luck: Array
    seed: int
    peers: Peers | None = None

    @property
    def reach(self) -> float:
        """Mean dollars of the largest pilot size."""
        return self.points.reach

    @property
    def note(self) -> str:
        """What a reader has to know of the pilot; empty where there is nothing."""
        return "; ".join(self._notes())

    def _notes(self) -> Iterator[str]:
        if len(self.points.draws) == 1:
            yield (
                "the pilot has one draw, so that the spread between draws is assumed, not "
                "measured; compare over 3 or more draws"
            )
        elif len(self.points.draws) == 2:
            yield (
                "the pilot has two draws, so that the spread between draws is hardly known and "
                "bands near the pilot hold eight times in ten and not nine; compare over 3 or more"
            )
        elif self.points.exhausted:
            yield (
                "the pilot's largest size has one set of labels, since all draws bought the whole "
                "pool or the others are missing, so that the spread between purchases is taken "
                "from smaller sizes; compare on more images"
            )
        off = self._off
        if off.any():
            costs, k = self.points.costs, int(np.flatnonzero(off)[-1])
            low, high = self._own[:, k]
            yield (
                f"the curve misses the pilot itself: at ${costs[k]:,.2f} of labels "
                f"{100 * self._means[k]:.1f} mAP was measured, and its 90 % band is "
                f"{100 * low:.1f} to {100 * high:.1f}; believe it from "
                f"${self.agrees:,.2f} on only"
            )

    @cached_property
    def agrees(self) -> float:
        """Mean dollars of the size from which on the curve holds what was measured: all of these
        means lie in their 90 % band. The largest size where there is none."""
        off = np.flatnonzero(self._off)
        first = int(off[-1]) + 1 if len(off) else 0
        return float(self.points.costs[min(first, len(self.points.costs) - 1)])

    @cached_property
    def _means(self) -> Array:
        return np.asarray(np.nanmean(self.points.table, 0))

    @cached_property
    def _own(self) -> Array:
        """(2, K) its 90 % band at the pilot's sizes."""
        return np.asarray(np.quantile(self.on_pilot(), [0.05, 0.95], axis=0))

    def on_pilot(self) -> Array:
        """(S, K) mAP of every sample at the pilot's sizes, of the pilot's own images."""
        return self.samples(self.points.costs)

    @cached_property
    def _off(self) -> NDArray[np.bool_]:
        """(K,) whether the mean that was measured lies outside the curve's own band."""
        low, high = self._own
        return np.asarray((self._means < low - SLACK) | (self._means > high + SLACK))

    def samples(self, dollars: ArrayLike) -> Array:
        """mAP of every sample: dollars (n,) or a number; (S, n), each row rising with dollars."""
        x = np.atleast_1d(np.asarray(dollars, np.float64))
        if not (np.isfinite(x) & (x > 0)).all():
            bad = x[~(np.isfinite(x) & (x > 0))][0]
            raise BadInput(f"dollars is {bad!s}; an amount above 0 is expected")
        t = np.log(x / self.reach)
        fitted = (f.value(p, t) for f, p in zip(FAMILIES, self.parameters, strict=True))
        return np.concatenate([np.clip(one + self.luck[:, None], 0.0, 1.0) for one in fitted])

    def quantile(self, dollars: ArrayLike, q: float) -> Array:
        """(n,) the mAP that a share q of the samples stays below."""
        return np.asarray(np.quantile(self.samples(dollars), q, axis=0))

    def median(self, dollars: ArrayLike) -> Array:
        """(n,) the middle sample."""
        return self.quantile(dollars, 0.5)

    def mean(self, dollars: ArrayLike) -> Array:
        """(n,) the mean of the samples: expected mAP."""
        return self.samples(dollars).mean(0)

    def band(self, dollars: ArrayLike, level: float = 0.9) -> Array:
        """(2, n): the middle `level` of the samples."""
        if not 0 < level < 1:
            raise BadInput(f"level is {level!r}; a share between 0 and 1 is expected")
        edges = [(1 - level) / 2, (1 + level) / 2]
        return np.asarray(np.quantile(self.samples(dollars), edges, axis=0))

    def at_least(self, dollars: ArrayLike, target: float) -> Array:
        """(n,) share of the samples with this mAP or more."""
        return (self.samples(dollars) >= target).mean(0)

    def dollars_to(self, target: float, most: float) -> Reached:
        """How much of training labels it takes to a mAP of `target`, up to `most` dollars.

        Raises BadInput for a target that is no mAP above 0, and for no amount of dollars.
        """
        if not 0 < target <= 1:
            raise BadInput(f"target is {target!r}; mAP above 0 and up to 1 is expected")
        if not 0 < most < np.inf:
            raise BadInput(f"most is {most!r}; an amount of dollars above 0 is expected")
        low = min(_LOWEST * self.reach, 0.5 * most)
        grid = np.geomspace(low, most, _GRID)
        found = self.samples(grid)
        reached = found[:, -1] >= target
        after = np.argmax(found >= target, axis=1)
        rows, before = np.arange(len(found)), np.maximum(after - 1, 0)
        below, above = found[rows, before], found[rows, after]
        gap = np.where(above > below, above - below, 1.0)
        part = np.clip((target - below) / gap, 0.0, 1.0)
        logs = np.log(grid)
        dollars = np.exp(logs[before] + part * (logs[after] - logs[before]))
        ordered = np.sort(np.where(reached, dollars, np.inf))
        taken = ordered[np.ceil(np.array(REACHED) * len(ordered)).astype(int) - 1]
        quantiles = {
            q: float(d) if np.isfinite(d) else None for q, d in zip(REACHED, taken, strict=True)
        }
        return Reached(target, most, quantiles, float(reached.mean()))

    @cached_property
    def id(self) -> str:
        """Names the points, those of peers and the seed."""
        others = self.peers.name if self.peers else None
        return content_id(self.points.name, others, str(self.seed), str(len(self.luck)))


def fit(
    points: Points, *, peers: Peers | None = None, resamples: int = 200, seed: int = 0
) -> Curve:
    """The curve through measured points, pooled over families and resamples.

    peers: all curves of the comparison, which tell what lies ahead; None: this one alone.
    Draws with fewer sizes than others take part where they are. Raises BadInput for fewer than
    three sizes and for scores that do not change.
    """
    points.check_curve()
    if resamples < LEAST_RESAMPLES:
        raise BadInput(
            f"resamples is {resamples!r}; {LEAST_RESAMPLES} or more are needed for a band, and 200 "
            "are the default"
        )
    found = resampled(points, resamples, seed=seed)
    t, weights = np.log(points.costs / points.reach), points.weights
    fits = [family.fit(t, found.means, weights) for family in FAMILIES]
    if peers is not None:
        told = np.arange(resamples) % ALONE > 0
        ahead = peers.foretold(points, found.means, seed=seed)[told]
        t, scores = np.append(t, np.log(AHEAD)), np.hstack([found.means[told], ahead])
        weights = np.append(weights, np.ones(len(AHEAD)))  # as much as the largest size
        for family, parameters in zip(FAMILIES, fits, strict=True):
            parameters[told] = family.fit(t, scores, weights)
    return Curve(points, tuple(fits), found.luck, seed, peers)
