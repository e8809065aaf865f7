"""What complete labels cost and give."""

import numpy as np
import pytest

from simkit.annotate.habits import Habits
from simkit.annotate.prices import prices
from simkit.planning.choosing.complete import (
    METHOD,
    Complete,
    measured,
    price,
    reference,
    same_as_complete,
)
from simkit.planning.choosing.followed import followed
from simkit.planning.evidence.evidence import Amount, Evidence, Way
from simkit.planning.money.project import Project

LISTED = prices("coco-tagging")
EACH = 10 * 8 * 0.3011 * 15 / 3600  # ten classes, eight people
RPA, FULL = Way.of("rpa"), Way.of("full-subset")


@pytest.fixture(scope="module")
def found(curves, evidence):
    return followed(curves, evidence, Project(400.0))


def test_the_references_are_points_at_their_own_price(evidence):
    found = reference(evidence, LISTED)
    assert found.pair == (FULL, METHOD) and found.images == 3000
    assert found.points.costs.tolist() == pytest.approx([3000 * EACH])
    assert sorted(found.points.score) == sorted(r.score for r in evidence.runs if r.reference)
    assert measured(found.pair, evidence, LISTED).reach == found.points.reach
    assert measured((RPA, "an"), evidence, LISTED).reach < 80
    assert measured((RPA, "nothing"), evidence, LISTED) is None


def test_without_references_there_are_none(write_runs):
    own = Evidence.of(write_runs(schemes=("rpa",), methods=("an",), reference=False))
    assert reference(own, LISTED) is None


def test_a_price_is_for_the_people_of_the_way(evidence):
    assert price(RPA, evidence, LISTED) == pytest.approx(EACH)
    alone = Way.of("rpa", habits=Habits(workers=1))
    assert price(alone, evidence, LISTED) == pytest.approx(EACH / 8)


def test_they_give_what_their_own_curve_does_and_at_the_whole_pool_the_reference(found, evidence):
    complete = Complete.of(RPA, "ll-r", found, evidence, LISTED)
    full = found[FULL, "ll-r"]
    few = np.array([100.0, 400.0])
    np.testing.assert_allclose(complete.samples(few), full.samples(EACH * few))
    whole = np.median(complete.samples(np.array([1500.0, 3000.0, 6000.0])), axis=0)
    assert whole[1] == pytest.approx(0.8015, abs=0.003)
    assert np.median(full.samples(EACH * 1500)) < whole[0] < whole[1] <= whole[2]


def test_with_references_alone_nothing_is_known_of_more_images(found, evidence):
    alone = {(FULL, METHOD): found[FULL, METHOD]}
    complete = Complete.of(RPA, "an", alone, evidence, LISTED)
    got = complete.samples(np.array([10.0, 3000.0, 3001.0]))
    assert np.median(got[:, :2]) == pytest.approx(0.8015, abs=0.003)
    assert np.isinf(got[:, 2]).all()


def test_people_who_err_otherwise_do_not_tell(found, evidence):
    assert Complete.of(FULL, "an", found, evidence, LISTED) is None
    few = {pair: curve for pair, curve in found.items() if pair[1] != METHOD}
    tired = Way.of("rpa", habits=Habits(miss=0.2))
    assert Complete.of(tired, "an", few, evidence, LISTED) is None


def test_nearly_all_labels_by_another_name_are_complete_labels():
    whole, most = Amount(100, 1000, 10.0, ""), Amount(100, 990, 9.9, "")
    assert same_as_complete(RPA, whole, 10) and not same_as_complete(RPA, most, 10)
    assert not same_as_complete(FULL, whole, 10)
