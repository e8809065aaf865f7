"""What could be bought: every way of buying with every method, at dollars up to the budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.planning.choosing.complete import is_complete, same_as_complete
from simkit.planning.choosing.limits import Curves, Limit, Pair, limits
from simkit.planning.curves.fit import Curve
from simkit.planning.curves.reach import Grade, grade
from simkit.planning.evidence.amounts import Ladder
from simkit.planning.evidence.evidence import Amount, Evidence, Way
from simkit.planning.money import bill as money
from simkit.planning.money.bill import Project

__all__ = ["Candidate", "Curves", "How", "Pair", "candidates", "score"]

How = Literal["robust", "expected"]

LOW = 0.2  # the quantile that a robust choice makes as high as it can
MISS = 0.1  # assumption: to miss the target is as bad as to lose ten points of mAP


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way of buying and one method, at so many dollars.

    dollars  of training labels, without the set-up;  total  of the whole project.
    amount   what the dollars buy;  reach  dollars of the largest pilot size;  grade  of the way
             there.
    median, low, mean  of mAP, 0 to 1; low is the 20 % quantile.  band50, band90  its middle parts.
    p_target  the chance of the project's target; None: it has none.
    samples  (S,) mAP, paired over candidates.  note  why it was chosen among equals; else empty.
    saturated  the pilot ran out of images on the way to it and the project does not: rather better.
    """

    way: Way
    method: str
    dollars: float
    amount: Amount
    total: float
    reach: float
    grade: Grade
    median: float
    low: float
    mean: float
    band50: tuple[float, float]
    band90: tuple[float, float]
    p_target: float | None
    samples: NDArray[np.float64] = field(repr=False)
    note: str = ""
    saturated: bool = False

    @property
    def pair(self) -> Pair:
        """The way and the method."""
        return self.way, self.method

    def score(self, how: How) -> float:
        """What a choice makes as high as it can; see `score`."""
        return score(self.samples, how, self.p_target)

    def __str__(self) -> str:
        return f"{self.way} with {self.method}"


def score(samples: NDArray[np.float64], how: How, p_target: float | None) -> float:
    """robust: the 20 % quantile of mAP. expected: its mean, less 0.1 times the chance of missing
    the target where there is one (the penalty for a miss of LOC, Mahmood et al., NeurIPS 2022, in
    mAP instead of dollars, as the budget is given)."""
    if how == "robust":
        return float(np.quantile(samples, LOW))
    if how == "expected":
        return float(samples.mean()) - (0.0 if p_target is None else MISS * (1 - p_target))
    raise BadInput(f"risk is {how!r}; it must be one of robust, expected")


def candidates(
    curves: Curves, evidence: Evidence, project: Project, *, steps: int = 24
) -> list[Candidate]:
    """Every way with every method at dollars on one log grid, at what was measured, and at the
    most each can spend.

    What is nearly all labels of its images is complete labels of them, and left to the way that
    buys these. Raises BadInput where no curve can be asked at what the budget pays for.
    """
    if not curves:
        raise BadInput("there is no curve to choose from; compare ways of buying at 3 sizes first")
    every = limits(curves, evidence, project)
    found = {pair: limit for pair, limit in every.items() if limit.asked}
    if not found:
        raise BadInput(_nothing([*every.values()], project))
    top = max(limit.most for limit in found.values())
    low = min(min(limit.least, limit.most) for limit in found.values())
    grid = np.geomspace(low, top, steps)
    full = {way.habits for way, _ in found if is_complete(way)}
    return [
        candidate
        for pair, limit in found.items()
        for candidate in along(
            pair,
            curves[pair],
            _ordered(pair, grid, limit, curves[pair], evidence, project),
            evidence,
            project,
        )
        if pair[0].habits not in full
        or not same_as_complete(pair[0], candidate.amount, len(evidence.classes))
    ]


def _nothing(every: Sequence[Limit], project: Project) -> str:
    """Why no curve can be asked."""
    most = max(min(limit.everything, limit.complete) for limit in every)
    least = min(limit.least for limit in every)
    if all(min(limit.everything, limit.complete) < limit.least for limit in every):
        return (
            f"images is {project.images:,}, for which ${most:,.2f} buy all labels there are, less "
            f"than the ${least:,.2f} of the smallest purchase that was measured; give more images, "
            "or compare at smaller budgets too"
        )
    return (
        f"{project.budget:,g} dollars are too few for a plan: the smallest purchase that was "
        f"measured takes ${least:,.2f} of labels, besides what comes off first and the images; "
        "raise the budget, or compare at smaller budgets too"
    )


def _within(grid: NDArray[np.float64], limit: Limit, curve: Curve) -> NDArray[np.float64]:
    """Dollars on the grid and of the pilot's sizes, up to the limit and with it."""
    every = np.unique([*grid, *curve.points.costs])
    inside = every[(every >= limit.least) & (every < limit.most * (1 - 1e-6))]
    return np.append(inside, limit.most)


def _ordered(
    pair: Pair, grid: NDArray[np.float64], limit: Limit, curve: Curve, evidence: Evidence,
    project: Project,
) -> NDArray[np.float64]:  # fmt: skip
    """`_within`, and beyond the pilot's sizes what whole ones cost, where a number of images or of
    the scheme's amount is what more dollars buy: nobody pays for a part of one."""
    dollars, way = _within(grid, limit, curve), pair[0]
    if way.shared:
        return dollars
    beyond = dollars > curve.reach * (1 + 1e-9)
    ladder = evidence.ladder(way, project.prices)
    images = None if way.grows == "images" else project.images
    paid = [_whole(ladder, spent, curve.reach, images) for spent in dollars[beyond].tolist()]
    return np.unique([*dollars[~beyond], *paid])


def _whole(ladder: Ladder, spent: float, least: float, images: int | None) -> float:
    """The least dollars, from `least` on, that buy as many whole ones as `spent` does."""
    low, high, there = least, spent, ladder.count(spent, images)
    wanted = math.floor(there + 1e-6) - 5e-7
    if ladder.count(least, images) >= wanted:
        return least
    straight = spent * math.floor(there + 1e-6) / there  # as long as there are more images
    if abs(ladder.count(straight, images) - wanted) < 1e-6:
        return max(least, straight)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if ladder.count(middle, images) >= wanted else (middle, high)
    return high


def along(
    pair: Pair, curve: Curve, dollars: NDArray[np.float64], evidence: Evidence, project: Project
) -> Iterator[Candidate]:
    """Candidates of one curve at so many dollars of labels, ascending."""
    way, method = pair
    samples = curve.samples(dollars)
    ladder = evidence.ladder(way, project.prices)
    levels = np.quantile(samples, [0.05, LOW, 0.25, 0.5, 0.75, 0.95], axis=0).T.tolist()
    for spent, own, level in zip(dollars.tolist(), samples.T, levels, strict=True):
        target = None if project.target is None else float((own >= project.target).mean())
        yield Candidate(
            way=way,
            method=method,
            dollars=spent,
            amount=evidence.amount(way, spent, project.prices, project.images),
            total=money.bill(project, evidence, way, method, spent).total,
            reach=curve.reach,
            grade=grade(spent, curve.reach, float(curve.points.costs[0])),
            median=level[3],
            low=level[1],
            mean=float(own.mean()),
            band50=(level[2], level[4]),
            band90=(level[0], level[5]),
            p_target=target,
            samples=own,
            saturated=ladder.saturated(spent, project.images),
        )
