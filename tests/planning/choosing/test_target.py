"""The least money with which a target is reached."""

import pytest

from simkit.planning.choosing.followed import followed
from simkit.planning.choosing.target import enough, to_target
from simkit.planning.money import bill as money
from simkit.planning.money.project import Project


def asked(curves, evidence, budget=400.0, **wanted):
    project = Project(budget, **wanted)
    own = followed(curves, evidence, project)
    found = to_target(own, evidence, project)
    return found, enough(found, own, evidence, project), own


def test_it_is_the_smallest_sum_of_all_ways_and_methods(curves, evidence):
    found, bought, own = asked(curves, evidence, target=0.55)
    every = {
        pair: curve.dollars_to(0.55, 50 * curve.reach).quantiles[0.95]
        for pair, curve in own.items()
        if pair[1] != "full"
    }
    sums = {pair: dollars for pair, dollars in every.items() if dollars is not None}
    assert found.pair == min(sums, key=lambda pair: sums[pair])
    assert found.dollars == pytest.approx(min(sums.values()), rel=0.01)
    assert bought.pair == found.pair and bought.total == pytest.approx(found.total)
    assert bought.p_target == pytest.approx(0.95, abs=0.01)
    assert found.share == 1


def test_the_budget_does_not_change_it(curves, evidence):
    sums = {asked(curves, evidence, budget, target=0.55)[0].total for budget in (60, 400, 5000)}
    assert len(sums) == 1
    found, bought, _ = asked(curves, evidence, budget=20.0, target=0.55)
    assert found.total > 20 and bought is None


def test_images_are_part_of_the_sum(curves, evidence):
    # Few images with many labels each are cheaper where each image costs something.
    cheap, _, _ = asked(curves, evidence, target=0.5)
    dear, _, _ = asked(curves, evidence, target=0.5, image_price=1.0)
    project = Project(400.0, target=0.5, image_price=1.0)
    assert dear.total == money.bill(project, evidence, *dear.pair, dear.dollars).total
    assert dear.total > dear.dollars + 10 and cheap.total == pytest.approx(cheap.dollars)


def test_no_less_than_the_smallest_size_that_was_measured(curves, evidence):
    found, _, own = asked(curves, evidence, target=0.05)
    assert found.dollars == pytest.approx(min(c.points.costs[0] for c in own.values()))


def test_what_nobody_reaches_and_no_target(curves, evidence):
    found, bought, _ = asked(curves, evidence, target=0.99)
    assert found.total is None and found.dollars is None and bought is None
    assert found.share < 0.5
    assert asked(curves, evidence)[:2] == (None, None)
