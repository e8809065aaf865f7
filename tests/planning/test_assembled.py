"""From curves and candidates to plain values."""

from dataclasses import replace

import pytest

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
