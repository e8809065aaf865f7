"""Curves as a plan follows them.

Within the pilot the measured means speak, with the spread of their draws: at every size the mean of
its draws, where means fall the mean of those that do, straight lines of log dollars between.
Beyond its largest size goes the fitted curve, from its own value there, which no smaller size
exceeds. Nowhere is more promised than complete labels of the same images give (`Complete`), and as
much as the pilot itself measured above that, if it did.

What no curve can be fitted to, as its scores do not rise or its sizes hardly differ, is known at
its measured sizes all the same, and so is what complete labels of the whole pool gave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simkit.errors import BadInput
from simkit.planning.choosing.complete import Complete, reference
from simkit.planning.curves import reach
from simkit.planning.curves.fit import Curve
from simkit.planning.curves.points import Points
from simkit.planning.curves.resamples import resample
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.ways import Pair
from simkit.planning.money.project import Project

Array = NDArray[np.float64]

PLACES, NEAR = 96, 0.05  # places at which complete labels are looked at, and how far below a pilot
WIDE = 2.0  # times the smallest size that the largest one costs, for a curve


@dataclass(frozen=True, eq=False)
class Followed(Curve):
    """A curve through measured means, continued as fitted where it was; see the module.

    knots   (S, K) mAP of every sample at the pilot's sizes.
    fitted  the curve beyond these; None: it is known up to its largest size alone.
    most    dollars (n,) -> the mAP (S, n) that no sample exceeds; None: 1.
    elsewhere  from mAP (S, n) on the pilot's test images to that on new ones; None: it is of these.
    """

    knots: Array = field(default_factory=lambda: np.zeros((1, 1)), repr=False)
    fitted: Curve | None = None
    most: Callable[[Array], Array] | None = None
    elsewhere: Callable[[Array], Array] | None = None

    @property
    def measured(self) -> bool:
        """Whether it is known within the pilot alone."""
        return self.fitted is None

    def samples(self, dollars: ArrayLike) -> Array:
        """mAP of every sample: dollars (n,) or a number; (S, n), each row rising with dollars."""
        x = np.atleast_1d(np.asarray(dollars, np.float64))
        if not (np.isfinite(x) & (x > 0)).all():
            raise BadInput(f"dollars is {x[~(x > 0)][:1]!s}; an amount above 0 is expected")
        found = self._uncapped(x)
        if self.most is not None:
            found = np.minimum(found, self.most(x))
        return found if self.elsewhere is None else self.elsewhere(found)

    def on_pilot(self) -> Array:
        """(S, K) before `most`, which is of the project's images, of which the pilot may have had
        more, and on the pilot's own test images."""
        return self._uncapped(self.points.costs)

    def _uncapped(self, x: Array) -> Array:
        found = between(x, self.points.costs, self.knots)
        if self.fitted is not None:
            costs, beyond = self.points.costs, self.fitted.samples(x)
            drop = self.fitted.samples(costs[0]) - beyond
            below = np.maximum(self.knots[:, :1] - drop, 0.0)
            found = np.where(x < costs[0], below, np.where(x > costs[-1], beyond, found))
        return found


def check_wide(points: Points) -> None:
    """Raise BadInput where the sizes of a pilot differ too little for a curve."""
    low, high = float(points.costs[0]), float(points.costs[-1])
    if high < WIDE * low:
        raise BadInput(
            f"the pilot's sizes go from ${low:,.2f} to ${high:,.2f}, too little for a curve: the "
            f"largest has to cost at least {WIDE:g} times the smallest; compare again with more "
            "budgets, each about twice the one before"
        )


def followed(
    fitted: Mapping[Pair, Curve], evidence: Evidence, project: Project
) -> dict[Pair, Followed]:
    """Every fitted curve as it is followed, and what is known at measured sizes alone.

    fitted: all of one seed and number of resamples. Raises BadInput where there is none.
    """
    if not fitted:
        raise BadInput("there is no curve to follow; compare ways of buying at 3 sizes first")
    like = next(iter(fitted.values()))
    found = {pair: through(curve.points, like, curve) for pair, curve in fitted.items()}
    for pair in evidence.pairs:
        points = None if pair in found else evidence.points(*pair, project.prices)
        if points is not None:
            found[pair] = through(points, like)
    everything = reference(evidence, project.prices)
    if everything is not None:
        found[everything.pair] = through(everything.points, like)
    return {
        pair: replace(curve, most=_most(pair, curve, found, evidence, project))
        for pair, curve in found.items()
    }


def through(points: Points, like: Curve, fitted: Curve | None = None) -> Followed:
    """Through measured points, and on as fitted; like: a curve with as many samples."""
    count = len(like.luck)
    centre = np.nanmean(points.table, 0)[None]
    # About the means themselves nothing is misfit: what varies is draws alone, with weights as
    # `fit` has them, so that a draw's luck is the same.
    drawn = resample(points, centre, points.weights, count, seed=like.seed, name="followed")
    own = np.clip(rising(drawn.means) + drawn.luck[:, None], 0.0, 1.0)
    families = len(like.samples(like.reach)) // count
    knots = np.tile(own, (families, 1))
    if fitted is None:
        return Followed(points, (), drawn.luck, like.seed, knots=knots)
    end = fitted.samples(points.reach)
    knots = np.concatenate([np.minimum(knots[:, :-1], end), end], axis=1)
    return Followed(
        points, fitted.parameters, fitted.luck, like.seed, fitted.peers, knots=knots, fitted=fitted
    )  # fmt: skip


def rising(means: Array) -> Array:
    """(R, K) the nearest rows that do not fall (isotonic regression, by its min-max formula)."""
    sums = np.concatenate([np.zeros((len(means), 1)), np.cumsum(means, axis=1)], axis=1)
    size = means.shape[1]
    found = np.empty_like(means)
    for k in range(size):
        starts = [
            np.min([(sums[:, j] - sums[:, i]) / (j - i) for j in range(k + 1, size + 1)], axis=0)
            for i in range(k + 1)
        ]
        found[:, k] = np.max(starts, axis=0)
    return found


def between(x: Array, costs: Array, knots: Array) -> Array:
    """(S, n) at dollars x (n,), in straight lines of log dollars; the ends beyond them."""
    if len(costs) == 1:
        return np.repeat(knots, len(x), axis=1)
    after = np.clip(np.searchsorted(costs, x), 1, len(costs) - 1)
    low, high = np.log(costs[after - 1]), np.log(costs[after])
    part = np.clip((np.log(x) - low) / np.maximum(high - low, 1e-12), 0.0, 1.0)
    return np.asarray(knots[:, after - 1] + part * (knots[:, after] - knots[:, after - 1]))


def _most(
    pair: Pair, curve: Followed, found: Mapping[Pair, Followed], evidence: Evidence,
    project: Project,
) -> Callable[[Array], Array] | None:  # fmt: skip
    """The mAP that complete labels of the same images give, and what was measured above it."""
    way, method = pair
    complete = Complete.of(way, method, found, evidence, project.prices)
    if complete is None:
        return None

    def images(dollars: Array, there: int | None) -> Array:
        amounts = (evidence.amount(way, d, project.prices, there) for d in dollars.tolist())
        return np.array([one.images for one in amounts], np.float64)

    costs, ladder = curve.points.costs, evidence.ladder(way, project.prices)
    above = np.maximum(0.0, curve.knots - complete.samples(images(costs, None)))
    grid = np.geomspace(NEAR * costs[0], reach.MOST * costs[-1], PLACES)
    bends = [1.0] if project.images is None else [1.0, project.images / ladder.pool]
    grid = np.unique([*grid, *costs, *(ladder.reach * bend for bend in bends), ladder.everything])
    level = complete.samples(images(grid, project.images)) + between(grid, costs, above)
    # What fewer dollars were measured to give, more give too.
    levels = np.clip(np.maximum.accumulate(level, axis=1), 0.0, 1.0)
    return partial(between, costs=grid, knots=levels)
