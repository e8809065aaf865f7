"""What is asked of each curve."""

import numpy as np
import pytest

from simkit.annotate.prices import prices
from simkit.annotate.schemes import make
from simkit.errors import BadInput
from simkit.planning.choosing.candidates import candidates
from simkit.planning.choosing.choice import by_pair
from simkit.planning.choosing.followed import followed
from simkit.planning.money.bill import Project, bill

SWEEP = 0.3011 * 8 * 15 / 3600  # dollars for a label


def whole(one):
    """How many of what is bought whole: images, or a scheme's number for each class; 0: neither."""
    way = one.way
    if way.grows == "images":
        return one.amount.images
    return 0 if way.shared else getattr(make(one.amount.spec), way.grows)


def test_every_curve_is_asked_up_to_the_budget(curves, evidence):
    project = Project(400.0)
    found = candidates(curves, evidence, project, steps=12)
    groups = by_pair(found)
    assert set(groups) == set(curves)
    for pair, own in groups.items():
        one = own[-1]
        each = one.dollars / whole(one) if whole(one) else 1e-6
        assert 400 - each < one.dollars == pytest.approx(one.total) and one.total <= 400 + 1e-6
        if pair[0].scheme == "full-subset":  # whole images: labels times what one costs
            assert one.dollars == pytest.approx(one.amount.labels * SWEEP, rel=1e-6)
        assert own[0].dollars >= curves[pair].points.costs[0]
        assert own[-1].grade == "amber" and own[0].grade == "green"
        medians = [one.median for one in own]
        assert medians == sorted(medians)


def test_a_candidate_says_what_its_curve_says(curves, evidence):
    project = Project(100.0, target=0.6)
    one = candidates(curves, evidence, project, steps=8)[3]
    curve = curves[one.pair]
    at = one.dollars
    assert np.array_equal(one.samples, curve.samples(at)[:, 0])
    assert one.median == pytest.approx(curve.median(at)[0])
    assert one.low == pytest.approx(curve.quantile(at, 0.2)[0])
    assert one.band90 == pytest.approx(tuple(curve.band(at)[:, 0]))
    assert one.p_target == pytest.approx(curve.at_least(at, 0.6)[0])
    assert one.amount == evidence.amount(one.way, at, project.prices)
    assert one.total == pytest.approx(bill(project, evidence, *one.pair, at).total)


def test_images_that_cost_something_leave_less_for_labels(curves, evidence):
    project = Project(400.0, image_price=0.05)
    for own in by_pair(candidates(curves, evidence, project, steps=6)).values():
        last = own[-1]
        # Images are whole: up to one of them, with its labels, is not paid for.
        each = last.total / (whole(last) or last.amount.images)
        assert 400 - each - 0.06 < last.total <= 400 * (1 + 1e-6)
        assert last.dollars == pytest.approx(last.total - 0.05 * last.amount.images)


@pytest.mark.parametrize("images", [None, 2999])
def test_beyond_the_pilot_whole_numbers_are_paid_for(curves, evidence, images):
    """What is ordered costs what it is said to: no part of a 173rd image for each class."""
    listed = prices("coco-tagging")
    found = candidates(curves, evidence, Project(173.0, images=images), steps=8)
    own = [one for one in found if one.way.scheme == "fpc" and one.dollars > one.reach * 1.001]
    ladder = evidence.ladder(own[0].way, listed)
    assert len(own) >= 2
    for one in own:
        assert ladder.count(one.dollars, images) == pytest.approx(whole(one), rel=1e-6)


def test_what_was_measured_is_a_candidate(curves, evidence):
    groups = by_pair(candidates(curves, evidence, Project(400.0), steps=6))
    for pair, own in groups.items():
        assert {*curves[pair].points.costs.tolist()} <= {one.dollars for one in own}


def test_a_budget_below_the_pilot_is_too_small_to_plan(curves, evidence):
    least = min(float(curve.points.costs[0]) for curve in curves.values())
    with pytest.raises(BadInput) as error:
        candidates(curves, evidence, Project(2.0))
    assert str(error.value) == (
        f"2 dollars are too few for a plan: the smallest purchase that was measured takes "
        f"${least:,.2f} of labels, besides what comes off first and the images; raise the budget, "
        "or compare at smaller budgets too"
    )
    found = candidates(curves, evidence, Project(4.84), steps=6)
    assert {one.way.scheme for one in found} == {"single-positive", "fpc"}  # those of 4.83, 4.82


def test_what_buys_all_labels_is_complete_labels(curves, evidence):
    project = Project(1000.0, images=2000)
    groups = by_pair(candidates(followed(curves, evidence, project), evidence, project))
    for (way, _), own in groups.items():
        most = max(one.amount.labels / (10 * one.amount.images) for one in own)
        assert (most == 1) == (way.scheme == "full-subset")
        assert max(one.dollars for one in own) <= 200.74  # of complete labels of 2,000 images


def test_complete_labels_of_the_pilot_are_a_candidate_where_all_its_images_are(curves, evidence):
    for images, budget, there in (
        (3000, 400.0, True), (None, 400.0, True), (2999, 400.0, False), (None, 301.0, False),
    ):  # fmt: skip
        project = Project(budget, images=images)
        groups = by_pair(candidates(followed(curves, evidence, project), evidence, project))
        whole = [own for (_, method), own in groups.items() if method == "full"]
        assert bool(whole) == there
        for (one,) in whole:
            assert one.dollars == pytest.approx(301.1)
            assert (one.amount.images, one.amount.labels) == (3000, 30_000)
            assert one.median == pytest.approx(0.8015, abs=0.002)  # as references measured
            assert 0.005 < one.band90[1] - one.band90[0] < 0.05


def test_no_curve_and_no_money(curves, evidence):
    with pytest.raises(BadInput) as error:
        candidates({}, evidence, Project(10.0))
    assert str(error.value) == (
        "there is no curve to choose from; compare ways of buying at 3 sizes first"
    )
    with pytest.raises(BadInput) as error:
        candidates(curves, evidence, Project(20.0, image_price=5.0))
    assert str(error.value).startswith("20 dollars are too few for a plan: the smallest purchase")
    with pytest.raises(BadInput) as error:
        candidates(curves, evidence, Project(500.0, images=1))
    assert str(error.value) == (
        "images is 1, for which $0.10 buy all labels there are, less than the $4.82 of the "
        "smallest purchase that was measured; give more images, or compare at smaller budgets too"
    )


def test_where_the_pilot_ran_out_of_images_a_candidate_says_so(curves, evidence):
    found = by_pair(candidates(curves, evidence, Project(400.0), steps=12))
    for (way, _), own in found.items():
        # Of rpa's 30,000 labels the largest purchase has 7,970, and the one before it 3,985.
        used = way.scheme == "rpa"
        assert [one.saturated for one in own] == [used and one.dollars > 40 for one in own]
    own = candidates(curves, evidence, Project(400.0, images=3000), steps=12)
    assert not any(one.saturated for one in own)  # there are no more images that it could be on
