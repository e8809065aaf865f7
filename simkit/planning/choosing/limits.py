"""Between which dollars a curve is asked, and what ends it before the budget does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from simkit.planning.choosing.complete import METHOD, is_complete, price
from simkit.planning.choosing.followed import Followed
from simkit.planning.curves.fit import Curve
from simkit.planning.curves.reach import MOST
from simkit.planning.evidence.amounts import Ladder
from simkit.planning.evidence.evidence import Evidence, Way
from simkit.planning.evidence.ways import Pair
from simkit.planning.money import bill as money
from simkit.planning.money.bill import Project

Curves = Mapping[Pair, Curve]
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Limit:
    """The dollars of training labels between which a curve is asked.

    least  the smallest pilot size, below which nothing was measured;  affordable  what the budget
    pays for;  everything  buys all there is to ask;  complete  buys complete labels of all images
    there are, for which nobody would buy fewer;  far  is 50 times the largest pilot size, beyond
    which no curve is believed;  measured  nothing is known beyond that largest size, which is far.
    """

    least: float
    affordable: float
    everything: float
    far: float
    complete: float = math.inf
    measured: bool = False

    @property
    def known(self) -> float:
        """The first of the ends, whatever the budget."""
        return min(self.everything, self.complete, self.far)

    @property
    def most(self) -> float:
        """The first of the ends."""
        return min(self.affordable, self.known)

    @property
    def asked(self) -> bool:
        """Whether there is anything between the smallest pilot size and the end."""
        return self.most >= self.least * (1 - _ROUNDING)


def limits(curves: Curves, evidence: Evidence, project: Project) -> dict[Pair, Limit]:
    """Between which dollars each curve is asked."""
    spend, found = money.left(project, evidence), {}
    for (way, method), curve in curves.items():
        known = isinstance(curve, Followed) and curve.measured
        everything = evidence.most(way, project.prices, project.images)
        if method == METHOD:  # of exactly these images, and there are no more of them
            everything = min(everything, curve.reach)
        limit = Limit(
            least=float(curve.points.costs[0]),
            affordable=spend,
            everything=everything,
            far=curve.reach * (1 if known else MOST),
            complete=_complete(way, evidence, project),
            measured=known,
        )
        affordable = _affordable(project, evidence, way, method, limit.most)
        found[way, method] = replace(limit, affordable=affordable)
    return found


def _complete(way: Way, evidence: Evidence, project: Project) -> float:
    """Dollars that label all images completely, where their number is known."""
    if project.images is None or is_complete(way):
        return math.inf
    each = price(way, evidence, project.prices)
    return math.inf if each is None else each * project.images


def _affordable(project: Project, evidence: Evidence, way: Way, method: str, most: float) -> float:
    """The dollars of labels, up to `most`, with which the whole bill stays within the budget: more
    labels can take more images, which cost something to obtain."""

    def total(dollars: float) -> float:
        return money.bill(project, evidence, way, method, dollars).total

    enough = project.budget * (1 + _ROUNDING)
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
        if method != METHOD:  # one measured purchase, which ends nowhere
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
    there = min(limit.everything, limit.complete)
    if there < limit.least * (1 - _ROUNDING):
        return (
            f"${there:,.2f} buy every label of so few images, less than the "
            f"${limit.least:,.2f} of its smallest pilot size"
        )
    if not limit.asked:
        images = " and its images" if project.image_price else ""
        return (
            f"the budget does not pay for its smallest pilot size, ${limit.least:,.2f} of "
            f"labels{images}"
        )
    if limit.affordable < limit.known * (1 - _ROUNDING):
        return ""
    if limit.far < there and limit.measured:
        return f"known at its measured sizes alone, up to ${limit.far:,.2f} of labels"
    if limit.far < there:
        return (
            f"followed up to ${limit.far:,.2f} of labels, {MOST:g} times its largest pilot size, "
            "where every curve ends; a larger pilot shows more"
        )
    if limit.complete < limit.everything * (1 - _ROUNDING):
        return (
            f"not followed beyond ${limit.complete:,.2f} of labels, for which all "
            f"{project.images:,} images can be labelled completely"
        )
    return f"${limit.everything:,.2f} buy every label there is to buy"
