"""From totals to dollars of labels."""

import numpy as np
import pytest

from simkit.planning.choosing.axis import NOTHING, Axis
from simkit.planning.choosing.followed import followed
from simkit.planning.choosing.limits import Limit, limits
from simkit.planning.money.bill import Project, bill
from tests.planning.fakes import Evidence, Line, way

PAIR = way("rpa"), "an"


def axis(*, image_price=0.0, everything=np.inf, **line):
    """Labels from 10 dollars on, of ten images for each of them."""
    curve = Line(0.6, 0.02, **line)
    limit = Limit(10.0, 40.0, everything, 50 * curve.reach)
    project = Project(100.0, image_price=image_price)
    return Axis.of(PAIR, curve, limit, Evidence(), project)


@pytest.mark.parametrize("price", [0.0, 0.05])
def test_images_are_paid_besides_their_labels(price):
    dollars = np.array([2.0, 10.0, 30.0, 40.0, 70.0])
    found = axis(image_price=price)
    np.testing.assert_allclose(found.dollars((1 + 10 * price) * dollars), dollars, rtol=2e-3)
    assert found.total(40.0) == pytest.approx((1 + 10 * price) * 40, rel=2e-3)


def test_what_pays_for_no_labels_is_nearly_nothing_and_above_0():
    assert axis().dollars(np.array([0.0, 0.001])).tolist() == pytest.approx([10 * NOTHING] * 2)


def test_it_ends_where_everything_is_bought_or_nothing_is_believed():
    assert axis(everything=60.0).dollars(np.array([500.0])) == [60.0]
    assert axis(everything=60.0).end == np.inf
    assert axis(reach=2.0).dollars(np.array([500.0])) == pytest.approx([100.0])
    assert axis(reach=2.0).end == pytest.approx(100)


def test_it_starts_where_the_curve_agrees_with_its_pilot():
    assert axis().start == pytest.approx(10)
    assert axis(off=30.0).start == pytest.approx(30)
    assert axis(off=80.0).start == pytest.approx(80)


@pytest.mark.parametrize("price", [0.028, 0.119, 0.5, 1.514])
@pytest.mark.parametrize("images", [None, 4000])
def test_totals_are_those_of_the_bill_where_its_slope_changes_too(curves, evidence, price, images):
    # rpa and fpc ask about more of 3,000 images, then more about each, then about further ones.
    project = Project(100.0, image_price=price, images=images)
    found = followed(curves, evidence, project)
    for pair, limit in limits(found, evidence, project).items():
        one = Axis.of(pair, found[pair], limit, evidence, project)
        for total in np.geomspace(one.total(one.agrees), one.totals[-1], 9):
            dollars = float(one.dollars(np.array([total]))[0])
            real = bill(project, evidence, *pair, dollars).total
            assert real == pytest.approx(total, rel=0.01, abs=1.01 * price)
