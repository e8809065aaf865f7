"""What was not chosen: differences of paired samples, and where the order turns."""

from dataclasses import replace

import numpy as np
import pytest

from simkit.planning.choosing.rivals import runners_up
from simkit.planning.money.bill import Project
from tests.planning.fakes import Evidence, Line, along, way

DOLLARS = np.geomspace(10, 1000, 13)


def against(mine, *others, budget=1000.0, evidence=None, **settings):
    """Runners-up of full-subset with an, bought for the whole budget."""
    curves = {(way("full-subset"), "an"): mine}
    found = along("full-subset", "an", mine, DOLLARS[DOLLARS <= budget])
    chosen = found[-1]
    for scheme, method, line in others:
        curves[way(scheme), method] = line
        found += along(scheme, method, line, DOLLARS[DOLLARS <= budget])
    project = Project(budget)
    return runners_up(
        found, chosen, curves, evidence=evidence or Evidence(), project=project, **settings
    )


def test_the_difference_is_paired_and_at_the_same_total():
    # Equal noise: every sample is 2 points ahead, though the bands overlap nearly everywhere.
    one = against(Line(0.62, 0.0, spread=0.05), ("rpa", "an", Line(0.60, 0.0, spread=0.05)))[0]
    assert (one.difference, one.low, one.high) == pytest.approx((0.02, 0.02, 0.02))
    assert one.sure == 1.0 and one.dollars == pytest.approx(1000)
    assert one.turns == () and one.told == "the choice is ahead from $10 to $4,000"


def test_where_the_order_turns_once():
    # 0.60 + 0.04 log(x / 100) and 0.64 + 0.02 log(x / 100) meet at log(x / 100) = 2, x = 738.9.
    one = against(Line(0.60, 0.04), ("rpa", "an", Line(0.64, 0.02)))[0]
    (turn,) = one.turns
    assert turn.total == pytest.approx(100 * np.exp(2), rel=1e-3)
    assert turn.dollars == pytest.approx(turn.total)
    assert turn.then and turn.share == 1.0
    assert one.told == "the choice is ahead from $739 on (100 % of samples agree)"


def test_a_turn_beyond_the_budget_is_found_too():
    one = against(Line(0.64, 0.02), ("rpa", "an", Line(0.58, 0.04)), budget=1000)[0]
    # They meet at log(x / 100) = 3, x = 2,008.6, beyond the budget of 1,000 and below 4 times it.
    (turn,) = one.turns
    assert turn.total == pytest.approx(100 * np.exp(3), rel=1e-3) and not turn.then
    assert one.difference == pytest.approx(0.06 - 0.02 * np.log(10))


def test_orders_can_turn_twice():
    class Bent(Line):
        def samples(self, dollars):
            x = np.log(np.atleast_1d(np.asarray(dollars, float)) / 100)
            return np.tile(0.6 + 0.01 * (x**2 - 1), (1000, 1))

    # Ahead below exp(-1) and above exp(1) times 100 dollars, behind between.
    one = against(Bent(0.6, 0.0), ("rpa", "an", Line(0.6, 0.0)))[0]
    assert [turn.then for turn in one.turns] == [False, True]
    totals = [turn.total for turn in one.turns]
    assert totals == pytest.approx([100 / np.e, 100 * np.e], rel=1e-3)


def test_curves_that_hardly_differ_do_not_turn():
    wiggle = Line(0.6005, 0.0001)
    assert against(Line(0.6, 0.0005), ("rpa", "an", wiggle))[0].turns == ()
    # 0.1 points behind in every sample from 10 to 4,000 dollars: nothing anybody would see.
    told = against(Line(0.6, 0.01), ("rpa", "an", Line(0.601, 0.01)))[0].told
    assert told == "the choice is level from $10 to $4,000"


def test_some_samples_turn_and_some_do_not():
    one = against(Line(0.60, 0.04, spread=0.03), ("rpa", "an", Line(0.64, 0.02)))[0]
    (turn,) = one.turns
    before = np.array([0.04 * x - 0.02 * x - 0.04 for x in np.log([10 / 100, 4000 / 100])])
    # A sample agrees where its noise of 3 points leaves the order at both ends as it is.
    from tests.planning.fakes import NOISE

    agree = (0.03 * NOISE[0] + before[0] < 0) & (0.03 * NOISE[0] + before[1] > 0)
    assert turn.share == pytest.approx(agree.mean(), abs=0.01)


def test_the_best_method_of_other_ways_and_all_methods_of_the_chosen():
    found = against(
        Line(0.64, 0.02),
        ("rpa", "an", Line(0.60, 0.02)),
        ("rpa", "ll-r", Line(0.61, 0.02)),
        ("single-positive", "an", Line(0.62, 0.02)),
        ("full-subset", "csl", Line(0.55, 0.02)),
        ("full-subset", "ll-r", Line(0.63, 0.02)),
    )
    assert [str(one) for one in found] == [
        "full-subset with ll-r",
        "single-positive with an",
        "rpa with ll-r",
        "full-subset with csl",
    ]
    few = against(
        Line(0.6, 0.0), ("rpa", "an", Line(0.5, 0.0)), ("fpc", "an", Line(0.4, 0.0)), most=1
    )
    assert [str(one) for one in few] == ["rpa with an"]


def test_an_exhausted_way_stays_where_it_is():
    # rpa has bought everything at 200 dollars and stays at 0.66; the choice passes it at
    # log(x / 100) = 0.06 / 0.04, x = 448.2.
    evidence = Evidence(everything={"rpa": 200.0})
    line = Line(0.66 - 0.05 * np.log(2), 0.05)
    one = against(Line(0.60, 0.04), ("rpa", "an", line), evidence=evidence)[0]
    assert one.dollars == 200
    (turn,) = one.turns
    assert turn.total == pytest.approx(100 * np.exp(1.5), rel=1e-3) and turn.then


def test_no_curve_is_believed_beyond_fifty_times_its_pilot():
    one = against(Line(0.64, 0.02, reach=30.0), ("rpa", "an", Line(0.58, 0.04)), budget=1000)[0]
    assert one.end == pytest.approx(1500) and one.turns == ()


def test_text_has_cents_and_says_where_a_curve_ends():
    # Behind in every sample up to where the rival's curve ends, 50 times 0.1 dollars, and ahead of
    # that end with the rest of the budget: 0.60 + 0.04 log(1000 / 5) - 0.68.
    mine, other = Line(0.60, 0.04, least=0.05), Line(0.80, 0.04, reach=0.1, least=0.05)
    one = against(mine, ("rpa", "an", other))[0]
    assert one.ends and one.end == pytest.approx(5) and one.difference > 0 and one.turns == ()
    assert one.told == "the choice is behind from $0.05 to $5, where its curve ends"
    # They meet at log(x / 100) = -4, x = 1.83, in a third of all samples.
    mine = Line(0.60, 0.04, least=0.05, spread=0.1)
    one = against(mine, ("rpa", "an", Line(0.48, 0.01, reach=0.1, least=0.05)))[0]
    share = one.turns[0].share
    assert share < 0.5 and one.told == (
        f"the choice is ahead from $1.83 on (only {100 * share:.0f} % of samples agree); up to $5, "
        "where its curve ends"
    )


def test_a_rival_is_read_at_the_total_of_a_cheaper_choice():
    # The choice costs 20 dollars; the rival was measured from 50 on.
    mine, other = Line(0.60, 0.04), Line(0.60, 0.05, least=50.0)
    found = along("full-subset", "an", mine, [10.0, 20.0])
    found += along("rpa", "an", other, DOLLARS[DOLLARS >= 50])
    curves = {(way("full-subset"), "an"): mine, (way("rpa"), "an"): other}
    one = runners_up(found, found[1], curves, evidence=Evidence(), project=Project(20.0))[0]
    assert one.dollars == pytest.approx(20.0)
    assert one.difference == pytest.approx((0.04 - 0.05) * np.log(0.2))
    assert one.told.endswith(
        "; its $20.00 of labels lie below the $50.00 from which on its curve was measured"
    )


def test_no_order_turns_where_a_curve_misses_its_own_pilot():
    # They meet at 738.9 dollars, below which the rival's curve says nothing.
    other = Line(0.64, 0.02, off=900.0)
    one = against(Line(0.60, 0.04), ("rpa", "an", other))[0]
    assert one.turns == () and one.start == pytest.approx(900)
    assert one.told == "the choice is ahead from $900 to $4,000"


def test_curves_of_other_draws_are_not_called_paired():
    one = against(Line(0.62, 0.0), ("rpa", "an", Line(0.60, 0.0, draws=(3, 4))))[0]
    assert not one.paired
    assert one.told.endswith("measured on other draws of images, so that the two are not paired")


def test_nothing_is_sure_about_a_rival_whose_pilot_ran_out_of_images():
    # They meet at 738.9 dollars; the rival's pilot had images enough for 464.
    told = _ran_out(DOLLARS > 465)
    assert told.saturated and told.turns == () and told.end == pytest.approx(DOLLARS[10])
    assert told.told == (
        "the choice is ahead from $10 to $464; its pilot ran out of images, so that on more images "
        "it is rather better than this and nothing here is sure"
    )
    assert _ran_out(DOLLARS > 0).told.startswith("whether the order turns is not known; its pilot")


def _ran_out(where):
    """A rival that is level with the choice at 738.9 dollars, and ran out of images somewhere."""
    mine, other = Line(0.64, 0.02), Line(0.60, 0.04)
    found = along("full-subset", "an", mine, DOLLARS)
    found += [
        replace(one, saturated=bool(out))
        for one, out in zip(along("rpa", "an", other, DOLLARS), where, strict=True)
    ]
    curves = {(way("full-subset"), "an"): mine, (way("rpa"), "an"): other}
    return runners_up(found, found[12], curves, evidence=Evidence(), project=Project(1000.0))[0]
