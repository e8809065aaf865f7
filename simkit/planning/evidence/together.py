"""Which curves of a comparison tell each other what lies ahead: up to where images were enough."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from simkit.annotate.prices import Prices
from simkit.planning.curves.peers import Peers
from simkit.planning.curves.points import Points
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.ways import Pair


def peers(every: Mapping[Pair, Points | None], evidence: Evidence, prices: Prices) -> Peers | None:
    """Of all measured curves; None where too few are left.

    Sizes at which a way had run out of images (`Ladder.fresh`) flatten for want of images and not
    of labels, and would tell all others of an end that is none.
    """
    return Peers.of(_fresh(every, evidence, prices))


def _fresh(
    every: Mapping[Pair, Points | None], evidence: Evidence, prices: Prices
) -> Iterator[Points]:
    for (way, _), points in every.items():
        if points is None:
            continue
        fresh = evidence.ladder(way, prices).fresh
        if math.isinf(fresh) or points.reach <= fresh:
            yield points
        elif points.costs[0] <= fresh:
            yield points.up_to(fresh)
