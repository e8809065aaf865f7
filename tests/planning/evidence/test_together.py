"""Which curves are fitted together, and up to where."""

import pytest

from simkit.annotate.prices import prices
from simkit.planning.evidence import together
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.ways import Way
from tests.planning import planted


@pytest.fixture(scope="module")
def evidence(pilot):
    return Evidence.of(pilot)


def measured(evidence, listed):
    return {pair: evidence.points(*pair, listed) for pair in evidence.pairs}


def test_sizes_that_ran_out_of_images_tell_the_others_nothing(evidence):
    listed = prices(planted.PRICES)
    every = measured(evidence, listed)
    found = together.peers(every, evidence, listed)
    reaches = {round(points.reach, 2) for points in found.points}
    for way in evidence.ways:
        fresh = evidence.ladder(way, listed).fresh
        points = every[way, "an"]
        kept = points.costs[points.costs <= fresh * (1 + 1e-9)]
        if len(kept) >= 3:
            assert round(float(kept[-1]), 2) in reaches
    rpa = every[Way.of("rpa"), "an"]
    assert evidence.ladder(Way.of("rpa"), listed).fresh < rpa.reach  # or nothing was tested
    assert round(rpa.reach, 2) not in {
        round(points.reach, 2) for points in found.points if points.name == rpa.name
    }


def test_curves_that_were_not_measured_are_left_out(evidence):
    listed = prices(planted.PRICES)
    every = measured(evidence, listed)
    some = {pair: points if pair[1] == "an" else None for pair, points in every.items()}
    assert len(together.peers(some, evidence, listed).points) == 4
    assert together.peers(dict.fromkeys(every), evidence, listed) is None
