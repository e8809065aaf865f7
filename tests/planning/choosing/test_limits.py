"""Up to where a curve is asked, and what ends it."""

import pytest

from simkit.planning.choosing.candidates import candidates
from simkit.planning.choosing.choice import by_pair
from simkit.planning.choosing.followed import followed
from simkit.planning.choosing.limits import limits, told
from simkit.planning.money.bill import Project


def test_nothing_is_asked_beyond_fifty_times_the_pilot(curves, evidence):
    project = Project(1e6)
    for pair, limit in limits(curves, evidence, project).items():
        assert limit.most == pytest.approx(50 * curves[pair].reach)
    found = candidates(curves, evidence, project, steps=6)
    assert max(one.dollars / one.reach for one in found) == pytest.approx(50)
    assert {own[-1].grade for own in by_pair(found).values()} == {"red"}
    far = 50 * next(curve.reach for (way, _), curve in curves.items() if way.scheme == "rpa")
    assert (
        f"rpa: followed up to ${far:,.2f} of labels, 50 times its largest pilot size, where every "
        "curve ends; a larger pilot shows more"
    ) in told(curves, evidence, project)


def test_nothing_is_asked_beyond_all_there_is(curves, evidence):
    project = Project(1000.0, images=2000)
    last = {
        pair[0].scheme: own[-1]
        for pair, own in by_pair(candidates(curves, evidence, project, steps=6)).items()
    }
    # 10 classes, 8 people, 0.3011 s at $15 an hour: 0.1003667 dollars an image.
    everything = 2000 * 10 * 8 * 0.3011 * 15 / 3600
    assert last["full-subset"].dollars == pytest.approx(everything)
    assert last["full-subset"].amount.images == 2000
    assert f"full-subset: ${everything:,.2f} buy every label there is to buy" in told(
        curves, evidence, project
    )


def test_a_way_whose_pilot_ran_out_of_images_is_told(curves, evidence):
    told_of_rpa = (
        "rpa: beyond $40.00 its pilot began to run out of its 3,000 images, and there are more; "
        "on more images it is rather better than its curve says, which a comparison on more images "
        "would show"
    )
    assert told_of_rpa in told(curves, evidence, Project(400.0))
    assert told_of_rpa not in told(curves, evidence, Project(400.0, images=3000))
    assert told_of_rpa not in told(curves, evidence, Project(30.0))


def test_what_ends_a_curve_is_named(curves, evidence):
    assert (
        "rpa: $0.10 buy every label of so few images, less than the $5.00 of its smallest pilot "
        "size"
    ) in told(curves, evidence, Project(500.0, images=1))
    assert (
        "rpa: the budget does not pay for its smallest pilot size, $5.00 of labels and its images"
    ) in told(curves, evidence, Project(500.0, image_price=10))


def test_complete_labels_of_all_images_end_every_other_way(curves, evidence):
    # To name one class of an image takes longer than to label its ten classes.
    project = Project(2000.0, images=3000)
    assert (
        "single-positive: not followed beyond $301.10 of labels, for which all 3,000 images can be "
        "labelled completely"
    ) in told(curves, evidence, project)
    for (way, _), limit in limits(curves, evidence, project).items():
        assert limit.most == pytest.approx(301.1), way


def test_what_has_no_curve_ends_where_it_was_measured(evidence, curves):
    project = Project(400.0)
    rpa = {pair: curve for pair, curve in curves.items() if pair[0].scheme == "rpa"}
    rpa.pop((next(iter(rpa))[0], "an"))
    found = followed(rpa, evidence, project)
    for (way, method), limit in limits(found, evidence, project).items():
        if (way.scheme, method) != ("rpa", "ll-r"):
            assert limit.most == found[way, method].reach
    assert "fpc: known at its measured sizes alone, up to $79.89 of labels" in told(
        found, evidence, project
    )
