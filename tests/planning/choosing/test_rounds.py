"""Buying in rounds."""

import pytest

from simkit.errors import BadInput
from simkit.planning.choosing.rivals import RunnerUp
from simkit.planning.choosing.rounds import rounds
from simkit.planning.evidence import tested
from simkit.planning.money.bill import Project
from tests.planning.fakes import Evidence, Line, candidate, way

CURVE = Line(0.60, 0.05, spread=0.01, reach=200.0)
PAIR = (way("full-subset"), "an")


def bought(count=3, *, dollars=800.0, precision=None, target=None, curve=CURVE, **how):
    chosen = candidate("full-subset", "an", dollars, curve)
    project = Project(1000.0, target=target, precision=precision)
    return rounds(project, chosen, count, curves={PAIR: curve}, evidence=Evidence(), **how)


def rival(pair, sure):
    return RunnerUp(pair, 800.0, 0.01, -0.01, 0.03, sure, (), 10.0, 4000.0)


def test_each_round_doubles_what_is_there():
    found = bought()
    assert [one.so_far for one in found] == pytest.approx([200, 400, 800])
    assert [one.dollars for one in found] == pytest.approx([200, 200, 400])
    # Ten images a dollar.
    assert [one.amount.images for one in found] == [2000, 4000, 8000]
    assert [one.new for one in found] == [2000, 2000, 4000]
    assert [one.number for one in found] == [1, 2, 3]
    assert sum(one.dollars for one in bought(5, dollars=3200.0)) == pytest.approx(3200)


def test_a_round_says_what_to_expect_and_when_the_curve_was_wrong():
    one = bought()[0]
    # 0.60 + 0.05 log 2 at 200 dollars; 5 % of a normal deviate lie below 1.645 standard ones.
    assert one.median == pytest.approx(0.6347, abs=1e-3)
    assert one.band90 == pytest.approx((0.6347 - 0.01645, 0.6347 + 0.01645), abs=3e-4)
    assert one.turn == one.band90[0] and one.stop is None and one.measured == one.median
    assert one.measure == (
        "train and measure mAP; below 61.8 the curve was wrong, so plan again before buying more; "
        "fit again with this point before the next round"
    )


def test_with_a_target_it_says_when_to_stop():
    first, second, last = bought(target=0.63)
    assert (first.stop, second.stop) == (0.63, 0.63)
    assert first.measure == (
        "train and measure mAP; at 63.0 or more the target is reached, so stop buying unless "
        "more is wanted; from 61.8 up to that fit again and buy the next round; below 61.8 the "
        "curve was wrong, so plan again before buying more"
    )
    # All of the second round's band, from 65.3 on, lies above the target.
    assert second.turn == second.band90[0] > second.stop
    assert second.measure == (
        "train and measure mAP; at 63.0 or more the target is reached, so stop buying unless "
        "more is wanted; below 65.3 the curve was wrong, so plan again before buying more"
    )
    # 0.60 + 0.05 log 8 - 0.01645
    assert last.measure == (
        "train and measure mAP; below 68.8 the plan was wrong: add this purchase to the runs "
        "before the next plan"
    )


def test_what_a_disappointing_round_speaks_for():
    surely_behind, other = rival((way("rpa"), "an"), 0.99), rival((way("fpc"), "an"), 0.8)
    text = bought(rivals=[surely_behind, other])[0].measure
    assert "the curve was wrong, so buy a few labels by fpc and compare again;" in text
    text = bought(rivals=[rival((way("full-subset"), "ll-r"), 0.6)])[0].measure
    assert "the curve was wrong, so train ll-r on the same labels too;" in text
    text = bought(rivals=[surely_behind])[0].measure
    assert "the curve was wrong, so plan again before buying more;" in text


@pytest.mark.parametrize(
    ("dollars", "count", "ends"),
    [
        (40.0, 3, [40]),  # within the pilot, which was measured already
        (290.0, 3, [290]),  # hardly more
        (400.0, 3, [200, 400]),
        (500.0, 3, [250, 500]),
        (1600.0, 3, [400, 800, 1600]),
        (6400.0, 3, [400, 1600, 6400]),  # the first never more than twice beyond the pilot
        (6400.0, 5, [400, 800, 1600, 3200, 6400]),
        (6400.0, 1, [6400]),
    ],
)
def test_rounds_start_where_the_pilot_ended(dollars, count, ends):
    assert [one.so_far for one in bought(count, dollars=dollars)] == pytest.approx(ends)


def test_a_mark_to_stop_at_that_no_purchase_would_show_is_left_out():
    # 0.60 + 0.05 log 2 + 0.01645 = 65.1 is the end of the first round's band.
    first, second, _ = bought(target=0.655)
    assert first.stop is None and "stop" not in first.measure
    assert second.stop is not None


def test_a_test_set_that_may_be_off_is_no_proof():
    assert bought(target=0.63, precision=1.5)[0].stop == pytest.approx(0.645)
    assert bought(target=0.63, precision=3.0)[0].stop is None  # 66.0 is beyond its band


FEW = tested.Tested(15, 4, 0, 4.0, (0.0, 0.8, 1.0), (0.0, 0.64, 1.0))


def test_a_round_is_measured_on_the_pilots_few_test_images():
    """Where 80 is about 64 on new ones: what is expected is the one, what is measured the other."""
    measured = Line(0.76, 0.05, spread=0.01, reach=200.0)
    how = {"tested": FEW, "on_test": {PAIR: measured}}
    first, *_, last = bought(**how)
    assert first.median == pytest.approx(0.6347, abs=1e-3)
    assert first.turn == pytest.approx(0.7947 - 0.01645, abs=3e-4)
    for one in (first, last):
        assert one.turn < one.measured and one.measured > one.median + 0.1
        assert one.measure.startswith(
            "train and measure mAP on the pilot's test images, where "
            f"{100 * one.measured:.1f} is expected; below {100 * one.turn:.1f} the "
        )
    assert first.measured == pytest.approx(0.7947, abs=1e-3)
    # Test images that are bought tell new ones; mAP is to be surely above the target on its own.
    assert bought(precision=2.0, **how)[0].turn == pytest.approx(0.6347 - 0.01645, abs=3e-4)
    stop = bought(target=0.6, **how)[1].stop
    assert stop == pytest.approx(FEW.on_it(0.6 + FEW.off(0.6) / 100)) and 0.78 < stop < 0.82


@pytest.mark.parametrize(
    ("enough", "count", "ends"),
    [
        (100.0, 3, [100, 282.8, 800]),
        (300.0, 3, [300, 800]),
        (100.0, 1, [800]),
        (600.0, 3, [200, 400, 800]),  # nearly all of it: rounds as without
    ],
)
def test_the_first_round_is_what_is_enough_for_the_target(enough, count, ends):
    found = bought(count, target=0.6, enough=enough)
    assert [one.so_far for one in found] == pytest.approx(ends, rel=1e-3)


@pytest.mark.parametrize("count", [0, -1, 2.0, True, 11])
def test_nonsense(count):
    with pytest.raises(BadInput) as error:
        bought(count)
    assert str(error.value) == f"rounds is {count!r}; a whole number from 1 to 10 is expected"
