"""A plan under other assumptions."""

import pytest

from simkit.annotate.habits import Habits
from simkit.planning.changed import changed
from simkit.planning.choosing.candidates import candidates
from simkit.planning.choosing.choice import choose
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.project import Project
from simkit.planning.plan import CHANGES, fitted

HOW = {"risk": "robust", "resamples": 20, "seed": 0}


def under(*folders, budget=100.0, **project):
    evidence = Evidence.of(*folders)
    wanted = Project(budget=budget, **project)
    curves, _ = fitted(evidence, wanted, resamples=20)
    chosen = choose(candidates(curves, evidence, wanted))
    notes: list[int] = []
    found = changed(evidence, wanted, curves, chosen, note=lambda: notes.append(1), **HOW)
    assert len(notes) == len(found) == CHANGES
    return chosen, {change.what: change for change in found}


def test_half_the_wage_buys_twice_the_labels(write_runs) -> None:
    chosen, found = under(write_runs(schemes=("full-subset",), methods=("an",)))
    cheap, dear = found["wage -50 %"], found["wage +50 %"]
    assert cheap.same == pytest.approx(chosen.dollars / 2)
    assert dear.same == pytest.approx(chosen.dollars * 1.5)
    assert dear.median < chosen.median < cheap.median
    assert cheap.choice == dear.choice == "the same"


def test_prices_by_the_page_know_no_wage(write_runs) -> None:
    folder = write_runs(
        schemes=("full-subset",), methods=("an",), listed="google", budgets=(1.0, 2.0, 4.0, 8.0)
    )
    chosen, found = under(folder, budget=10.0, prices="google")
    assert found["wage +50 %"].same == pytest.approx(chosen.dollars)
    assert found["wage +50 %"].median == pytest.approx(chosen.median)


def test_scores_that_nobody_measured_are_not_made_up(write_runs) -> None:
    _, found = under(write_runs(schemes=("full-subset",), methods=("an",)))
    worse = found["people overlook 10 points more"]
    assert worse.median is None and worse.choice == "not known"
    assert "not on file" in worse.told


def test_scores_of_worse_people_are_used_where_they_were_measured(write_runs) -> None:
    good = write_runs("good", schemes=("full-subset",), methods=("an",))
    bad = write_runs(
        "bad", schemes=("full-subset",), methods=("an",), habits=Habits(miss=0.1),
        expect=lambda *given: 0.4 + 0.001 * given[2], reference=False,
    )  # fmt: skip
    chosen, found = under(good, bad)
    worse = found["people overlook 10 points more"]
    assert chosen.way.habits.perfect
    assert worse.median is not None and worse.median < chosen.median - 0.05


def test_another_choice_is_named(write_runs) -> None:
    # Naming takes as long for rare classes, complete labels teach half as much.
    def close(scheme, method, dollars):
        start = {"full-subset": 0.30, "single-positive": 0.28}[scheme]
        return start + 0.06 * max(dollars, 1.0) ** 0.3

    folder = write_runs(
        schemes=("full-subset", "single-positive"), methods=("an",), expect=close,
        noise=0.001, luck=0.001,
    )  # fmt: skip
    chosen, found = under(folder)
    assert chosen.way.scheme == "full-subset"
    assert found["classes half as frequent"].choice == "single-positive with an"
