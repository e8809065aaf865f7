"""Two schemes for one budget: what to expect of a mixture, and when it is worth a pilot point.

A mixture is recommended only as a way of its own, with a curve through measured points of `mixed`.
What is said here, from the curves of the single schemes, says whether to measure it.

Guess. LOC (Mahmood et al., NeurIPS 2022) lets sources add up, each with an exponent of its own:
mAP = t + sum_k a_k x_k^b_k for x_k dollars of source k. Taken as it is, one source split into two
halves would be better than the whole; so a mixture gains what it has over the same split of either
single source: min over k of sum_j a_j x_j^b_j - sum_j a_k x_j^b_k. It is above 0 exactly where each
source is the better one at its own dollars: a mixture pays where curves cross.

Lower bound. Part of the images by one scheme, the others by another, each with the amount for each
image that it has at some point of its curve: the upper concave hull of all curves over dollars. It
takes a share of the images to teach its share, no more; nobody has measured that either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simkit.annotate.schemes.mixed import NESTED, Mixed
from simkit.planning.choosing.candidates import Candidate, Curves
from simkit.planning.evidence.evidence import Evidence, Way
from simkit.planning.money.bill import Project

COMPLETE = "full-subset"
SHARES = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)  # of the dollars, for the complete images
WORTH = 0.005  # of mAP: a smaller gain is not worth a pilot point
STEPS = 40  # places at which a curve is looked at


@dataclass(frozen=True)
class PowerLaw:
    """mAP = scale dollars^exponent near a budget; exponent 0 to 1."""

    scale: float
    exponent: float

    def __call__(self, dollars: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(self.scale * np.asarray(dollars, np.float64) ** self.exponent)


@dataclass(frozen=True)
class Suggestion:
    """A mixture that was not measured: whether, where and for how much to measure it.

    ways     the complete one and the weak one;  method  both were measured with.
    spec     the scheme of the mixture;  share  of the images that are complete.
    guess, gain  mAP at the budget by the additive law, and how much that is over the better one.
    bound    mAP by the concave hull of the two.
    dollars  that one such point costs, at the pilot's largest size, if its labels are bought; a
             pilot that is labelled completely holds it already.
    """

    ways: tuple[Way, Way]
    method: str
    spec: str
    share: float
    guess: float
    gain: float
    bound: float
    dollars: float

    @property
    def told(self) -> str:
        """In a sentence."""
        return (
            f"{self.spec} with {self.method} is worth a pilot point (${self.dollars:,.2f} of "
            "labels, or nothing where the pilot's images are labelled completely): by the additive "
            f"law it would be {100 * self.gain:.1f} points above the better of its two parts, and "
            "nothing of that is measured"
        )


def power_law(curve_at: ArrayLike, dollars: ArrayLike) -> PowerLaw:
    """The power law nearest to mAP (n,) at these dollars (n,), by least squares of logarithms.

    The constant t of LOC is common to all sources; it is taken for 0, as nothing is learnt for
    nothing, and only the stretch of the curve that is given decides.
    """
    x, y = np.log(np.asarray(dollars, float)), np.log(np.maximum(np.asarray(curve_at), 1e-6))
    slope, start = np.polyfit(x, y, 1)
    exponent = float(np.clip(slope, 0.0, 1.0))
    return PowerLaw(float(np.exp(start + (slope - exponent) * x.mean())), exponent)


def gain(one: PowerLaw, other: PowerLaw, dollars: tuple[float, float]) -> float:
    """What a mixture of so many dollars each has over either source split in the same way."""
    x, y = dollars
    return float(min(other(y) - one(y), one(x) - other(x)))


def hull(points: Sequence[tuple[float, float]], dollars: ArrayLike) -> NDArray[np.float64]:
    """(n,) the upper concave hull of points (dollars, mAP) and of (0, 0); flat beyond the last."""
    x, y = np.array(sorted([(0.0, 0.0), *points])).T
    kept: list[int] = []
    for k in range(len(x)):
        while kept and x[kept[-1]] == x[k] and y[kept[-1]] <= y[k]:
            kept.pop()
        while len(kept) > 1 and _under(x, y, kept[-2], kept[-1], k):
            kept.pop()
        kept.append(k)
    top = kept[: int(np.argmax(y[kept])) + 1]  # more dollars never have to be spent
    return np.asarray(np.interp(np.asarray(dollars, np.float64), x[top], y[top]))


def _under(
    x: NDArray[np.float64], y: NDArray[np.float64], left: int, middle: int, right: int
) -> bool:
    across = (y[right] - y[left]) * (x[middle] - x[left])
    return bool((y[middle] - y[left]) * (x[right] - x[left]) <= across)


def suggestions(
    curves: Curves, chosen: Candidate, evidence: Evidence, project: Project
) -> list[Suggestion]:
    """Mixtures of complete images with each other scheme that are worth a pilot point, best first.

    With the chosen method, at the chosen dollars. One that was measured already is none.
    """
    found = list(_suggested(curves, chosen, evidence, project))
    return sorted(found, key=lambda one: one.gain, reverse=True)


def _suggested(
    curves: Curves, chosen: Candidate, evidence: Evidence, project: Project
) -> Iterator[Suggestion]:
    method, budget = chosen.method, chosen.dollars
    ways = [way for way, other in curves if other == method]
    measured = {_name(way.part.rest) for way in ways if isinstance(way.part, Mixed)}
    for full in (way for way in ways if way.scheme == COMPLETE):
        for weak in ways:
            if not _mixes(weak) or weak.part.name in measured or weak.habits != full.habits:
                continue
            part, more, level, bound = _best(curves, (full, weak), method, budget)
            if more < WORTH:
                continue
            first, second = (
                evidence.amount(way, dollars, project.prices, project.images)
                for way, dollars in ((full, part * budget), (weak, (1 - part) * budget))
            )
            share = max(0.01, round(first.images / (first.images + second.images), 2))
            yield Suggestion(
                ways=(full, weak),
                method=method,
                spec=_spec(share, second.spec),
                share=share,
                guess=min(1.0, level + more),
                gain=more,
                bound=bound,
                dollars=max(curves[full, method].reach, curves[weak, method].reach),
            )


def _mixes(way: Way) -> bool:
    """Whether the scheme can be the rest of a mixture."""
    part = way.part
    return part.name not in (COMPLETE, Mixed.name) and (part.amount is None or part.name in NESTED)


def _name(scheme: str) -> str:
    return scheme.partition("(")[0]


def _spec(share: float, rest: str) -> str:
    usual = Mixed(rest=rest).rest == Mixed().rest
    return f"mixed(share={share:g})" if usual else f"mixed(share={share:g}, rest={rest!r})"


def _best(
    curves: Curves, ways: tuple[Way, Way], method: str, budget: float
) -> tuple[float, float, float, float]:
    """The share of the dollars for the first way that gains most; the gain, the better single mAP
    and the bound at the budget."""
    own = [curves[way, method] for way in ways]
    grid = np.geomspace(min(SHARES) * budget, budget, STEPS)
    medians = [curve.median(grid) for curve in own]
    one, other = (power_law(median, grid) for median in medians)
    gains = [gain(one, other, (part * budget, (1 - part) * budget)) for part in SHARES]
    best = int(np.argmax(gains))
    points = [(x, y) for median in medians for x, y in zip(grid, median, strict=True)]
    level = max(float(median[-1]) for median in medians)
    return SHARES[best], gains[best], level, float(hull(points, budget))
