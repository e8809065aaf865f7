"""From totals to dollars of labels."""

from dataclasses import replace

import numpy as np
import pytest

from simkit.planning.choosing.axis import NOTHING, Axis
from simkit.planning.money.bill import Project
from tests.planning.fakes import Evidence, Line, along, way


def axis(*, fixed=5.0, rate=1.0, everything=np.inf, **line):
    """Labels of 10, 20 and 40 dollars, each `rate` in the project, and what comes besides."""
    curve = Line(0.6, 0.02, **line)
    found = along("rpa", "an", curve, [10.0, 20.0, 40.0])
    found = [replace(one, total=fixed + rate * one.dollars) for one in found]
    evidence = Evidence(everything={"rpa": everything})
    return Axis.of(found, {(way("rpa"), "an"): curve}, evidence, Project(100.0))


@pytest.mark.parametrize("rate", [1.0, 1.5])
def test_totals_and_dollars_are_in_straight_lines_inside_and_beyond(rate):
    dollars = np.array([2.0, 10.0, 30.0, 40.0, 70.0])
    np.testing.assert_allclose(axis(rate=rate).dollars(5 + rate * dollars), dollars)


def test_what_pays_for_no_labels_is_nearly_nothing_and_above_0():
    assert axis().dollars(np.array([1.0, 5.0])).tolist() == [10 * NOTHING] * 2


def test_it_ends_where_everything_is_bought_or_nothing_is_believed():
    assert axis(everything=60.0).dollars(np.array([500.0])) == [60.0]
    assert axis(everything=60.0).end == np.inf
    assert axis(reach=2.0).dollars(np.array([500.0])) == [100.0]
    assert axis(reach=2.0).end == pytest.approx(105)


def test_it_starts_where_the_curve_agrees_with_its_pilot():
    assert axis().start == pytest.approx(15)
    assert axis(off=30.0).start == pytest.approx(35)
    assert axis(off=80.0).start == pytest.approx(85)
