"""Between which dollars a curve is asked, and what ends it before the budget does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simkit.planning.curves.fit import Curve
from simkit.planning.curves.reach import LEAST, MOST
from simkit.planning.evidence.amounts import Ladder
from simkit.planning.evidence.evidence import Evidence, Way
from simkit.planning.money import bill as money
from simkit.planning.money.bill import Project

Pair = tuple[Way, str]
Curves = Mapping[Pair, Curve]


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
    def low(self) -> float:
        """Below these dollars no curve is believed."""
        return LEAST * self.least

    @property
    def most(self) -> float:
        """The first of the ends."""
        return min(self.affordable, self.everything, self.far)


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
            f"{ladder.way}: beyond ${ladder.fresh:,.2f} its pilot began to run out of its "
            f"{ladder.pool:,} images, and there are more; on more images it is rather better than "
            "its curve says, which a comparison on more images would show"
        )


def _ends(limit: Limit, project: Project) -> str:
    """What ends a curve before the budget does; empty where the budget does."""
    if limit.everything < limit.low:
        return (
            f"${limit.everything:,.2f} buy every label of so few images, too little beside the "
            f"${limit.least:,.2f} of its smallest pilot size"
        )
    if limit.most < limit.low:
        images = " and for as many images as its pilot had" if project.image_price else ""
        return f"the budget does not pay for labels{images} in this way"
    if limit.far < limit.everything and limit.far <= limit.affordable:
        return (
            f"followed up to ${limit.far:,.2f} of labels, {MOST:g} times its largest pilot size, "
            "where every curve ends; a larger pilot shows more"
        )
    if limit.everything <= limit.affordable:
        return f"${limit.everything:,.2f} buy every label there is to buy"
    return ""
