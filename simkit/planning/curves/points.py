"""Measured points of one learning curve: what labels cost, and the mAP they led to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.history import content_id

Array = NDArray[np.float64]

LEAST_SIZES = 3  # two are on any line
SMALLEST = 1e-4  # of mAP: a curve that moves less is constant
# Larger sizes are nearer to what is asked, and no family holds from end to end: a size counts six
# times as much as one of half its dollars, nearly. On `scenes` the median error at twice the reach
# was 1.1 points with this exponent, and 1.3 and more with those up to 1.5.
TRUST = 2.5
NOISE = 2.0  # standard errors that a rise is more than


@dataclass(frozen=True, eq=False)
class Points:
    """Measured points of one way to buy labels with one method, at one price list.

    dollars  (P,) float64, of training labels, without what is paid once (set-up); above 0.
    score    (P,) float64, mAP from 0 to 1.
    draw     (P,) int64: which draw; the same number is the same luck in other ways and methods.
    size     (P,) int64: which nominal size, 0, 1, ... ascending in mean dollars.
    taken   (P,) float64, share of the pilot's pool of images that was labelled, 0 to 1: draws that
            are large shares of one pool have most images in common. None: small ones, but for the
            last size where a single draw is left of several, which bought the whole pool.
    At most one point for a draw and size. Raises BadInput for what is no such point.
    """

    dollars: Array
    score: Array
    draw: NDArray[np.int64]
    size: NDArray[np.int64]
    taken: Array | None = None

    def __post_init__(self) -> None:
        for name, kind in (
            ("dollars", np.float64), ("score", np.float64), ("draw", np.int64), ("size", np.int64),
        ):  # fmt: skip
            values = np.array(getattr(self, name), kind).reshape(-1)
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if self.taken is not None:
            taken = np.array(self.taken, np.float64).reshape(-1)
            if len(taken) != len(self.score) or not ((taken >= 0) & (taken <= 1)).all():
                raise BadInput("points: taken is no share of a pool, from 0 to 1, for each point")
            taken.flags.writeable = False
            object.__setattr__(self, "taken", taken)
        counts = {name: len(getattr(self, name)) for name in ("dollars", "score", "draw", "size")}
        if len(set(counts.values())) != 1:
            raise BadInput(f"points have columns of {counts}; give one value of each per point")
        _check(self.dollars, (self.dollars > 0) & np.isfinite(self.dollars), "dollars",
               "an amount above 0")  # fmt: skip
        _check(self.score, (self.score >= 0) & (self.score <= 1), "score",
               "mAP from 0 to 1 is expected, so divide points by 100")  # fmt: skip
        if len(np.unique(np.stack([self.draw, self.size]), axis=1).T) != len(self.draw):
            raise BadInput(
                "two points have the same draw and size; give one score for each, or number the "
                "draws of another seed apart"
            )

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(K,) the sizes that are there, ascending in mean dollars."""
        found = np.unique(self.size)
        means = [self.dollars[self.size == size].mean() for size in found]
        return found[np.argsort(means, kind="stable")]

    @cached_property
    def draws(self) -> NDArray[np.int64]:
        """(D,) the draws that are there."""
        return np.unique(self.draw)

    @cached_property
    def costs(self) -> Array:
        """(K,) mean dollars of every size."""
        return np.array([self.dollars[self.size == size].mean() for size in self.sizes])

    @cached_property
    def table(self) -> Array:
        """(D, K) scores by draw and size; nan where there is none."""
        found = np.full((len(self.draws), len(self.sizes)), np.nan)
        place = {size: k for k, size in enumerate(self.sizes.tolist())}
        rows = np.searchsorted(self.draws, self.draw)
        found[rows, [place[size] for size in self.size.tolist()]] = self.score
        return found

    @cached_property
    def shares(self) -> Array:
        """(K,) share of the pilot's pool that each size labels; see `taken`."""
        if self.taken is not None:
            return np.array([self.taken[self.size == size].mean() for size in self.sizes])
        return self.costs / self.reach if self.exhausted else np.zeros(len(self.sizes))

    @property
    def exhausted(self) -> bool:
        """Whether the largest size is the whole pool, so that its draws are one."""
        if self.taken is not None:
            return bool(self.shares[-1] > 0.999)
        counts = (~np.isnan(self.table)).sum(0)
        return bool(counts[-1] == 1 and counts.max() > 1)

    @property
    def rises(self) -> bool:
        """Whether the largest size scores better than the smallest, by twice the standard error.

        That of differences within draws, or of two means where fewer than two draws have both; a
        single draw shows no noise.
        """
        first, last = self.table[:, 0], self.table[:, -1]
        gaps = (last - first)[~np.isnan(last - first)]
        rise = float(np.nanmean(last) - np.nanmean(first))
        if len(gaps) > 1:
            return float(gaps.mean()) > NOISE * float(gaps.std(ddof=1)) / len(gaps) ** 0.5
        groups = [ends[~np.isnan(ends)] for ends in (first, last)]
        spread = sum(float(g.var(ddof=1)) / len(g) for g in groups if len(g) > 1)
        return rise > max(SMALLEST, NOISE * spread**0.5)

    def still(self) -> str:
        """In one sentence, with what to do: that these scores do not rise with dollars."""
        first, last = np.nanmean(self.table[:, [0, -1]], axis=0)
        how = "does not rise beyond its noise" if last > first else "does not rise"
        return (
            f"mAP {how} over the pilot's sizes, {100 * first:.1f} for ${self.costs[0]:,.2f} and "
            f"{100 * last:.1f} for ${self.costs[-1]:,.2f}, which says nothing about what more "
            "dollars buy; use budgets that lie further apart, or more draws"
        )

    @property
    def reach(self) -> float:
        """Mean dollars of the largest size."""
        return float(self.costs[-1])

    @cached_property
    def weights(self) -> Array:
        """(K,) how much each size counts in a fit; the largest one counts 1."""
        return np.asarray((self.costs / self.reach) ** TRUST)

    @cached_property
    def name(self) -> str:
        """A content id of dollars, scores, draws and sizes."""
        columns = (self.dollars, self.score, self.draw, self.size)
        return content_id("points", *(column.tobytes() for column in columns))

    def up_to(self, dollars: float) -> Points:
        """Those of sizes whose mean dollars are at most `dollars`."""
        keep = np.isin(self.size, self.sizes[self.costs <= dollars * (1 + 1e-9)])
        # Without the whole pool, nobody sees any more how large a share of it the others are.
        known = self.taken is not None or self.exhausted
        return Points(
            self.dollars[keep], self.score[keep], self.draw[keep], self.size[keep],
            self._taken_each[keep] if known else None,
        )  # fmt: skip

    @property
    def _taken_each(self) -> Array:
        place = {size: k for k, size in enumerate(self.sizes.tolist())}
        return self.shares[[place[size] for size in self.size.tolist()]]

    def check_curve(self) -> None:
        """Raise BadInput unless a curve can be drawn through these points."""
        different = len(np.unique(self.costs))
        if different < LEAST_SIZES:
            raise BadInput(
                f"the pilot has {different} {'size' if different == 1 else 'sizes'} of different "
                f"cost, and a curve needs {LEAST_SIZES} or more; run the comparison again with "
                "more budgets, each about twice the one before"
            )
        if np.ptp(self.score) < SMALLEST:
            raise BadInput(
                f"all {len(self.score)} scores of the pilot are {self.score[0]:.4f}, which says "
                "nothing about what dollars buy; use budgets that lie further apart"
            )


def _check(values: Array, fine: NDArray[np.bool_], name: str, expected: str) -> None:
    if not len(values):
        raise BadInput("there are no points; run a comparison with 3 or more budgets first")
    if not fine.all():
        sentence = expected if "expected" in expected else f"{expected} is expected"
        raise BadInput(f"points: {name} is {values[~fine][0]!s}; {sentence}")
