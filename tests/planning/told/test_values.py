"""From candidates and runners-up to plain values."""

import pytest

from simkit.planning.choosing.rivals import RunnerUp
from simkit.planning.curves.backtest import backtest, together
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.ways import Way
from simkit.planning.money.project import Project
from simkit.planning.plan import fitted
from simkit.planning.told import values
from tests.planning import planted
from tests.planning.fakes import Line, candidate

RPA = (Way.of("rpa"), "an")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory) -> Evidence:
    folder = tmp_path_factory.mktemp("pilot") / "runs"
    return Evidence.of(planted.write(folder, schemes=("rpa",), methods=("an",)))


@pytest.fixture(scope="module")
def curve(evidence):
    return fitted(evidence, Project(budget=150.0), resamples=20)[0][RPA]


def test_a_purchase_keeps_what_the_candidate_says() -> None:
    one = candidate("rpa", "an", 300.0, Line(0.6, 0.05, 0.02), target=0.62)
    made = values.purchase(one)
    assert (made.way, made.method, made.dollars) == ("rpa", "an", 300.0)
    assert (made.low20, made.chance, made.band90) == (one.low, one.p_target, one.band90)
    assert made.times == pytest.approx(3) and made.low20 < made.median


def test_a_rival_has_what_would_be_ordered_and_what_it_costs_in_all(evidence, curve) -> None:
    project = Project(budget=150.0, gpu_price=10.0, gpu_hours=2.0)
    one = RunnerUp(RPA, 60.0, 0.01, -0.01, 0.03, 0.7, (), 10.0, 4000.0)
    made = values.rival(one, curve, evidence, project)
    amount = evidence.amount(RPA[0], 60.0, project.prices)
    assert (made.scheme, made.images, made.labels) == (amount.spec, amount.images, amount.labels)
    assert (made.dollars, made.total) == (60.0, pytest.approx(80.0))
    assert made.median == pytest.approx(curve.median(60.0)[0])
    assert (made.low5, made.difference, made.high95) == (-0.01, 0.01, 0.03)


def test_rows_of_a_back_test_keep_their_curve(curve) -> None:
    test = backtest(curve.points, resamples=20)
    made = values.check(test, {RPA: test, (Way.of("fpc"), "an"): None})
    assert [(row.way, row.method) for row in made.rows] == [("rpa", "an")] * len(test.rows)
    assert [row.inside for row in made.rows] == [row.covered for row in test.rows]
    assert (made.count, made.inside) == (len(test.rows), sum(row.covered for row in test.rows))


def test_equal_back_tests_are_told_once(curve) -> None:
    """On complete labels some methods are the same, as the count of all curves has it."""
    test = backtest(curve.points, resamples=20)
    other = backtest(curve.points, resamples=30)
    equal = {(RPA[0], method): test for method in ("an", "ignore", "ll-r")}
    made = values.check(together([*equal.values(), other]), equal | {(RPA[0], "csl"): other})
    assert len(made.rows) == made.count == 2 * len(test.rows)
    assert [(row.method, row.same) for row in made.rows[:: len(test.rows)]] == [
        ("an", ("ignore", "ll-r")),
        ("csl", ()),
    ]


def test_a_line_goes_from_the_smallest_size_to_its_end(curve) -> None:
    made = values.line(RPA, curve, 100.0)
    assert (made.dollars[0], made.dollars[-1]) == pytest.approx((curve.points.costs[0], 100.0))
    assert len(made.median) == values.PLACES
    assert all(a <= b <= c for a, b, c in zip(made.low5, made.median, made.high95, strict=True))
