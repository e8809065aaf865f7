"""From curves and candidates to plain values."""

from dataclasses import replace

import pytest

import simkit
from simkit.planning.assembled import DRAWN, OPTIONS, Ground, assembled
from simkit.planning.choosing.candidates import candidates
from simkit.planning.choosing.choice import choose
from simkit.planning.curves.fit import Curve
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.project import Project
from simkit.planning.plan import fitted
from tests.planning import planted


@pytest.fixture(scope="module")
def ground(tmp_path_factory) -> Ground:
    folder = tmp_path_factory.mktemp("pilot") / "runs"
    schemes = ("rpa", "full-subset", "single-positive")
    evidence = Evidence.of(planted.write(folder, schemes=schemes, methods=("an", "csl")))
    project = Project(budget=150.0, images=50_000)
    curves, unfit = fitted(evidence, project, resamples=20)
    assert not unfit and len(curves) == 6
    found = candidates(curves, evidence, project)
    return Ground(evidence, project, curves, tuple(found), choose(found))


@pytest.fixture(scope="module")
def made(ground):
    return assembled(ground, rounds=2, risk="robust", seed=0, resamples=20, unfit=("a sentence",))


def test_lines_are_of_the_choice_first_and_begin_and_end_where_they_are_known(ground, made) -> None:
    assert len(made.lines) == 1 + DRAWN
    first = made.lines[0]
    assert (first.way, first.method) == (made.chosen.way, made.chosen.method)
    for line in made.lines:
        assert list(line.dollars) == sorted(line.dollars)
        assert list(line.median) == sorted(line.median)  # curves rise
        assert all(a <= b <= c for a, b, c in zip(line.low5, line.median, line.high95, strict=True))
        assert len(line.points) == 5 * 4
    assert first.dollars[-1] == pytest.approx(max(150.0, ground.curves[ground.chosen.pair].reach))


def test_options_are_cheaper_ones_that_nothing_cheaper_equals(made) -> None:
    assert 2 <= len(made.options) <= OPTIONS
    assert made.options[-1] == made.chosen
    low = [one.low20 for one in made.options]
    assert low == sorted(low)


def test_the_back_test_counts_all_curves_and_tells_those_of_the_plan(made) -> None:
    told = {(row.way, row.method) for row in made.check.rows}
    named = {(made.chosen.way, made.chosen.method)} | {(r.way, r.method) for r in made.rivals}
    assert told == named
    assert made.check.count > len(made.check.rows) > 0


def test_what_has_no_curve_is_told(made) -> None:
    assert "a sentence" in made.left_out


def test_options_are_none_where_a_curve_misses_its_own_pilot(ground) -> None:
    class Missing(Curve):
        agrees = 60.0

    missing = {
        pair: Missing(curve.points, curve.parameters, curve.luck, curve.seed)
        for pair, curve in ground.curves.items()
    }
    told = assembled(
        replace(ground, curves=missing), rounds=2, risk="robust", seed=0, resamples=20
    ).options
    assert min(one.dollars for one in told) >= 60


def test_single_draws_are_checked_beside_means(made) -> None:
    assert 0.5 < made.check.singles <= 1


def test_what_lies_further_than_the_back_test_is_warned_of(ground) -> None:
    far = replace(ground.chosen, dollars=8 * ground.chosen.reach, grade="amber")
    told = assembled(
        replace(ground, chosen=far), rounds=2, risk="robust", seed=0, resamples=20
    ).warnings
    assert any("nothing checks the band so far out" in sentence for sentence in told)


def test_what_does_not_rise_is_bought_where_it_is_best(write_runs) -> None:
    def level(scheme, method, dollars):
        return 0.9 if scheme == "fpc" else planted.expected(scheme, method, dollars)

    folder = write_runs(expect=level, schemes=("rpa", "fpc"), methods=("an",), reference=False)
    found = simkit.plan(folder, 400, resamples=20)
    assert found.chosen.way == "fpc" and found.chosen.median == pytest.approx(0.9, abs=0.01)
    assert found.chosen.times <= 1
    assert any("may not help at all" in warning for warning in found.warnings)


def test_the_whole_budget_and_enough_for_the_target_are_two_purchases(write_runs) -> None:
    folder = write_runs(schemes=("rpa", "full-subset"), methods=("an", "ll-r"))
    made = simkit.plan(folder, 300, target=0.62, images=200_000, resamples=20)
    enough = made.reach.enough
    assert enough.total < made.chosen.total and enough.chance == pytest.approx(0.95, abs=0.02)
    assert (enough.way, enough.method) == (made.reach.way, made.reach.method)
    assert enough.dollars == made.reach.quantiles[-1]
    real = planted.expected(enough.scheme, enough.method, enough.dollars)
    assert real > made.target - 0.01
    assert made.recommendation.startswith(f"${enough.dollars:,.0f} of {enough.way} labels")


def test_no_plan_costs_more_than_complete_labels_of_all_images(write_runs) -> None:
    folder = write_runs(schemes=("single-positive", "full-subset"), methods=("an", "ll-r"))
    found = simkit.plan(folder, 2_000, images=3_000, resamples=20)
    # To name a class takes longer than ten labels, and everything measured 80 mAP for $301.10.
    assert (found.chosen.way, found.chosen.method) == ("full-subset", "full")
    assert found.chosen.dollars == pytest.approx(301.1)
    assert found.chosen.median == pytest.approx(planted.CEILING, abs=0.01)
    assert found.method_spec == "full" and len(found.steps) == 1
    assert max(rival.dollars for rival in found.rivals) <= 301.11
    assert any(told.startswith("Complete labels of all 3,000 images") for told in found.warnings)
    assert {change.choice for change in found.changes[:2]} == {"the same"}
    few = simkit.plan(folder, 2_000, images=300, resamples=20)
    assert max(few.chosen.total, *(rival.total for rival in few.rivals)) <= 30.111


def test_one_purchase_is_one_row(write_runs) -> None:
    folder = write_runs(schemes=("fpc",), methods=("an",))
    found = simkit.plan(folder, 5.2, resamples=20)  # of 24 a class several
    rows = [(one.scheme, one.method, one.images) for one in found.options]
    assert len(rows) == len(set(rows)) > 1
    assert rows[-1] == (found.chosen.scheme, found.chosen.method, found.chosen.images)
