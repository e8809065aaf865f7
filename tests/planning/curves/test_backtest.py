import numpy as np
import pytest

from simkit.planning.curves.backtest import backtest, together
from simkit.planning.curves.fit import Points, fit
from tests.planning.curves.test_fit import FEW, PLANTED, measured


def test_the_largest_sizes_are_predicted_from_the_smaller_ones() -> None:
    points = measured(sizes=5)
    found = backtest(points, resamples=FEW)
    assert [(row.sizes, row.dollars, row.factor) for row in found.rows] == [
        (4, 100.0, 2.0), (3, 50.0, 2.0), (3, 100.0, 4.0),
    ]  # fmt: skip
    curve = fit(points.up_to(50.0), resamples=FEW)
    first = found.rows[0]
    assert (first.low, first.high) == pytest.approx(curve.band(100.0)[:, 0])
    assert first.median == pytest.approx(curve.median(100.0)[0])
    assert first.measured == pytest.approx(points.table[:, -1].mean())
    assert first.reach == 50.0
    assert found.factor == 2.0


def test_its_numbers_are_those_of_its_rows() -> None:
    found = backtest(measured(sizes=5), resamples=FEW)
    assert found.coverage == np.mean([row.covered for row in found.rows])
    assert found.width == pytest.approx(np.mean([row.high - row.low for row in found.rows]))
    assert found.error == pytest.approx(np.median([abs(row.error) for row in found.rows]))


@pytest.mark.parametrize("name", PLANTED)
def test_a_pilot_of_a_planted_curve_passes(name: str) -> None:
    found = [backtest(measured(PLANTED[name], seed=s), resamples=FEW) for s in range(8)]
    assert together(found).passed


def test_a_pilot_whose_last_size_breaks_away_does_not_pass() -> None:
    points = measured()
    broken = points.score - 0.2 * (points.size == 4)
    found = backtest(Points(points.dollars, broken, points.draw, points.size), resamples=FEW)
    assert not found.passed
    assert not found.rows[0].covered
    assert found.rows[0].singles == 0
    assert found.rows[0].error > 0.1
    assert found.to_json()["rows"][0]["covered"] is False


def test_three_sizes_are_too_few_for_a_back_test_and_so_is_a_flat_start() -> None:
    assert backtest(measured(sizes=3), resamples=FEW) is None
    points = measured(sizes=4)
    flat = np.where(points.size < 3, 0.2, 0.5)
    assert backtest(Points(points.dollars, flat, points.draw, points.size)) is None


def test_several_curves_pass_together_where_nearly_all_do() -> None:
    fine = backtest(measured(), resamples=FEW)
    points = measured()
    broken = Points(
        points.dollars, points.score - 0.2 * (points.size == 4), points.draw, points.size
    )
    bad = backtest(broken, resamples=FEW)
    others = [backtest(measured(seed=s), resamples=FEW) for s in range(1, 9)]
    assert together([fine, *others, bad]).passed
    assert not together([fine, *others[:3], bad, None]).passed
    assert len(together([fine, None, bad]).rows) == 6
    assert together([fine, fine]).rows == fine.rows  # the same curve twice is one
    assert together([None]) is None
    assert together([]) is None


def test_together_the_factor_is_the_mean_of_all_rows() -> None:
    points = measured(sizes=5)
    found = together([backtest(points, resamples=FEW)])
    assert found.factor == pytest.approx((2.0 + 2.0 + 4.0) / 3)


def test_single_draws_are_counted_beside_means() -> None:
    points = measured(sizes=4)
    off = points.score + 0.2 * ((points.size == 3) * np.where(points.draw == 0, 1, -0.25))
    found = backtest(Points(points.dollars, off, points.draw, points.size), resamples=FEW)
    (row,) = found.rows
    assert row.draws == 5 and row.singles < 1
    assert found.singles == row.singles
