"""What could be bought: every way of buying with every method, at dollars up to the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.planning.curves.fit import Curve
from simkit.planning.curves.reach import LEAST, MOST, Grade, grade
from simkit.planning.evidence.amounts import Ladder
from simkit.planning.evidence.evidence import Amount, Evidence, Way
from simkit.planning.money import bill as money
from simkit.planning.money.bill import Project

How = Literal["robust", "expected"]
Pair = tuple[Way, str]
Curves = Mapping[Pair, Curve]

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


@dataclass(frozen=True)
class Limit:
    """The dollars of training labels between which a curve is asked.

    affordable  what the budget pays for;  everything  buys all there is to ask;  far  is 50 times
    the largest pilot size, beyond which no curve is believed;  least  the smallest pilot size.
    """

    least: float
    affordable: float
    everything: float
    far: float

    @property
    def most(self) -> float:
        """The first of the ends."""
        return min(self.affordable, self.everything, self.far)


def score(samples: NDArray[np.float64], how: How, p_target: float | None) -> float:
    """robust: the 20 % quantile of mAP. expected: its mean, less 0.1 times the chance of missing
    the target where there is one (the penalty for a miss of LOC, Mahmood et al., NeurIPS 2022, in
    mAP instead of dollars, as the budget is given)."""
    if how == "robust":
        return float(np.quantile(samples, LOW))
    if how == "expected":
        return float(samples.mean()) - (0.0 if p_target is None else MISS * (1 - p_target))
    raise BadInput(f"risk is {how!r}; it must be one of robust, expected")


def limits(curves: Curves, evidence: Evidence, project: Project) -> dict[Pair, Limit]:
    """Between which dollars each curve is asked."""
    spend, found = money.left(project, evidence), {}
    for (way, method), curve in curves.items():
        everything = evidence.most(way, project.prices, project.images)
        far = MOST * curve.reach
        found[way, method] = Limit(
            least=float(curve.points.costs[0]),
            affordable=_affordable(project, evidence, way, method, min(spend, everything, far)),
            everything=everything,
            far=far,
        )
    return found


def _affordable(project: Project, evidence: Evidence, way: Way, method: str, most: float) -> float:
    """The dollars of labels, up to `most`, with which the whole bill stays within the budget: more
    labels can take more images, which cost something to obtain."""

    def total(dollars: float) -> float:
        return money.bill(project, evidence, way, method, dollars).total

    enough = project.budget * (1 + 1e-9)
    if total(most) <= enough:
        return most
    low, high = 0.0, most
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) <= enough else (low, middle)
    return low


def told(curves: Curves, evidence: Evidence, project: Project) -> list[str]:
    """A sentence for each curve that is not followed up to the whole budget, one for all methods
    of a way where they have it in common; and for each way whose pilot ran out of images."""
    found = limits(curves, evidence, project)
    ways: dict[Way, dict[str, str]] = {}
    for (way, method), limit in found.items():
        ways.setdefault(way, {})[method] = _ends(limit, project)
    sentences = []
    for way, own in ways.items():
        if len(set(own.values())) == 1:
            own = {"": next(iter(own.values()))}
        sentences += [
            f"{way}{f' with {method}' if method else ''}: {text}"
            for method, text in own.items()
            if text
        ]
        most = max(limit.most for (other, _), limit in found.items() if other == way)
        sentences += _used_up(evidence.ladder(way, project.prices), most, project)
    return sentences


def _used_up(ladder: Ladder, most: float, project: Project) -> Iterator[str]:
    if ladder.saturated(most, project.images):
        yield (
            f"{ladder.way}: beyond ${ladder.fresh:,.2f} its pilot asked most of what its "
            f"{ladder.pool:,} images hold, and there are more; on more images it is rather better "
            "than its curve says, which a comparison on more images would show"
        )


def _ends(limit: Limit, project: Project) -> str:
    """What ends a curve before the budget does; empty where the budget does."""
    least = limit.least / MOST
    if limit.everything < least:
        return (
            f"{project.images:,} images hold labels for ${limit.everything:,.2f}, too little beside "
            f"the ${limit.least:,.2f} of its smallest pilot size"
        )
    if limit.most < least:
        costs = " and its images" if project.image_price else ""
        return f"the budget does not pay for labels{costs} in this way"
    if limit.far < limit.everything and limit.far <= limit.affordable:
        return (
            f"followed up to ${limit.far:,.2f} of labels, {MOST:g} times its largest pilot size, "
            "where every curve ends; a larger pilot shows more"
        )
    if limit.everything <= limit.affordable:
        return f"${limit.everything:,.2f} buy every label there is to buy"
    return ""


def candidates(
    curves: Curves, evidence: Evidence, project: Project, *, steps: int = 24
) -> list[Candidate]:
    """Every way with every method at dollars on one log grid, and at the most each can spend.

    Raises BadInput where no curve can be asked at what the budget pays for.
    """
    if not curves:
        raise BadInput("there is no curve to choose from; compare ways of buying at 3 sizes first")
    found = {
        pair: limit
        for pair, limit in limits(curves, evidence, project).items()
        if limit.most >= limit.least * LEAST
    }
    if not found:
        asked = limits(curves, evidence, project).values()
        if all(limit.everything < limit.least / MOST for limit in asked):
            raise BadInput(
                f"images is {project.images:,}, which hold labels for at most "
                f"${max(limit.everything for limit in asked):,.2f} in any measured way, too little "
                "beside the pilot; give more images"
            )
        raise BadInput(
            f"{project.budget:,g} dollars pay for no labels in any measured way; raise the budget, "
            "or lower what comes off first, such as the precision of the test set"
        )
    top = max(limit.most for limit in found.values())
    low = min(min(limit.least, limit.most) for limit in found.values())
    grid = np.geomspace(low, top, steps)
    return [
        candidate
        for (way, method), limit in found.items()
        for candidate in _along(
            way, method, curves[way, method], _within(grid, limit), evidence, project
        )
    ]  # fmt: skip


def _within(grid: NDArray[np.float64], limit: Limit) -> NDArray[np.float64]:
    inside = grid[(grid >= limit.least) & (grid < limit.most * (1 - 1e-6))]
    return np.append(inside, limit.most)


def _along(
    way: Way,
    method: str,
    curve: Curve,
    dollars: NDArray[np.float64],
    evidence: Evidence,
    project: Project,
) -> Iterator[Candidate]:
    """Candidates of one curve, cheapest first."""
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
