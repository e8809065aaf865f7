"""The cheapest labels with which a target is reached, by any way and any method."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simkit.planning.choosing.candidates import Candidate, along
from simkit.planning.choosing.limits import Curves, Pair, limits
from simkit.planning.curves.fit import REACHED, Reached
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money import bill as money
from simkit.planning.money.bill import Project

SURE = REACHED[-1]  # of the samples


@dataclass(frozen=True, eq=False)
class ToTarget:
    """The way and method that reach a target for the least money.

    quantiles  dollars of labels as `Reached` has them, none below the smallest that was measured;
    share      of samples that get there below `most` dollars of labels.
    total      of the project at which `SURE` of them do; None: they do not.
    """

    pair: Pair
    target: float
    quantiles: tuple[float | None, ...]
    share: float
    most: float
    total: float | None

    @property
    def dollars(self) -> float | None:
        """Of labels, with which `SURE` of the samples get there."""
        return self.quantiles[-1]


def to_target(curves: Curves, evidence: Evidence, project: Project) -> ToTarget | None:
    """The least total at which 95 % of the samples reach the project's target, whatever the budget;
    where nothing is that sure, what reaches it in most samples, and of those the cheapest by its
    median. None without a target, or where no curve is asked at all.
    """
    if project.target is None:
        return None
    found = []
    for (way, method), limit in limits(curves, evidence, project).items():
        if limit.known < limit.least * (1 - 1e-9):
            continue
        own = _clipped(curves[way, method].dollars_to(project.target, limit.known), limit.least)
        total = None
        if own[-1] is not None:
            total = money.bill(project, evidence, way, method, own[-1]).total
        share = float(curves[way, method].at_least(limit.known, project.target)[0])
        found.append(ToTarget((way, method), project.target, own, share, limit.known, total))
    return min(found, key=_order, default=None)


def enough(
    found: ToTarget | None, curves: Curves, evidence: Evidence, project: Project
) -> Candidate | None:
    """The purchase with which the target is reached that surely; None where the budget does not
    pay for it."""
    if found is None or found.dollars is None or found.total is None:
        return None
    if found.total > project.budget * (1 + 1e-9):
        return None
    dollars = np.array([found.dollars])
    return next(along(found.pair, curves[found.pair], dollars, evidence, project))


def _clipped(found: Reached, least: float) -> tuple[float | None, ...]:
    return tuple(None if one is None else max(one, least) for one in found.quantiles.values())


def _order(one: ToTarget) -> tuple[float, float, float]:
    median = one.quantiles[REACHED.index(0.5)]
    return (
        math.inf if one.total is None else one.total,
        -one.share,
        math.inf if median is None else median,
    )
