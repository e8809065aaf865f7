"""What is ahead of the choice for less money."""

import numpy as np
import pytest

from simkit.planning.choosing.ahead import ahead
from simkit.planning.choosing.rivals import runners_up
from simkit.planning.money.bill import Project
from tests.planning.fakes import Evidence, Line, along, way

MINE = Line(0.60, 0.04, reach=100.0)
DOLLARS = np.geomspace(10, 1000, 13)


def found(*others, first=None, evidence=None):
    """Against full-subset with an for 1,000 dollars, 0.60 + 0.04 log(x / 100)."""
    curves = {(way("full-subset"), "an"): MINE}
    every = along("full-subset", "an", MINE, DOLLARS)
    chosen = every[-1]
    for scheme, method, line in others:
        curves[way(scheme), method] = line
        every += along(scheme, method, line, DOLLARS)
    how = {"curves": curves, "evidence": evidence or Evidence(), "project": Project(1000.0)}
    return ahead(chosen, runners_up(every, chosen, **how), first=first, **how)


def test_a_curve_that_ends_ahead_is_told_with_a_pilot_that_goes_on():
    # Its pilot went to 5 dollars, so that it ends at 250.
    one = found(("rpa", "an", Line(0.62, 0.04, reach=5.0)))
    assert one.ends and str(one) == "rpa with an"
    assert (one.start, one.total, one.dollars) == pytest.approx((10, 250, 250))
    assert one.choice == pytest.approx(0.60 + 0.04 * np.log(2.5))
    assert one.median == pytest.approx(one.choice + 0.02) and one.share == 1.0
    # 50 times 20 dollars are those of the choice; ten images a dollar.
    assert one.larger == pytest.approx((20.0, 200)) and one.reach == 5.0
    # Where 300 buy all of it, twice its pilot is enough for a curve up to there.
    few = found(("rpa", "an", Line(0.62, 0.04, reach=5.0)), evidence=Evidence(
        everything={"rpa": 300.0}))  # fmt: skip
    assert few.larger == pytest.approx((10.0, 100))


def test_it_is_ahead_since_the_order_turned_last():
    # They meet at log(x / 100) = -1.
    one = found(("rpa", "an", Line(0.62, 0.06, reach=5.0)))
    assert one.start == pytest.approx(100 / np.e, rel=0.05) and one.start > 36


def test_what_is_behind_or_level_or_bought_out_is_no_alarm():
    behind, level = Line(0.58, 0.04, reach=5.0), Line(0.604, 0.04, reach=5.0)
    assert found(("rpa", "an", behind), ("fpc", "an", level)) is None
    # All of it is bought at 200 dollars: there is no more of it to measure.
    everything = Evidence(everything={"rpa": 200.0})
    assert found(("rpa", "an", Line(0.62, 0.04, reach=5.0)), evidence=everything) is None
    # Another method of the same labels costs nothing to try.
    assert found(("full-subset", "ll-r", Line(0.62, 0.04, reach=5.0))) is None


def test_the_best_is_told():
    one = found(
        ("rpa", "an", Line(0.62, 0.04, reach=5.0)), ("fpc", "an", Line(0.63, 0.04, reach=5.0))
    )
    assert str(one) == "fpc with an"


def test_what_is_ahead_after_the_first_round_alone():
    # 0.64 + 0.02 log(x / 100) is passed at log(x / 100) = 2.
    rival = ("rpa", "an", Line(0.64, 0.02))
    assert found(rival) is None and found(rival, first=900.0) is None
    one = found(rival, first=200.0)
    assert not one.ends and one.total == pytest.approx(200)
    assert one.back == pytest.approx(100 * np.exp(2), rel=1e-3)
    assert one.median - one.choice == pytest.approx(0.04 - 0.02 * np.log(2))
