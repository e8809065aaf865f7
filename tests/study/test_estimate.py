"""The plan of work: what is trained, how long it takes, in how much memory."""

import dataclasses

import pytest

from simkit.errors import BadInput
from simkit.study import compare as module
from simkit.study import worker
from simkit.study.compare import Hooks, compare, estimate


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    monkeypatch.setattr(module, "PICTURES", {})


def test_what_is_finished_is_not_planned_again_and_nothing_is_written(tiny, tmp_path):
    grid = tiny(methods=["an", "ll-r"], draws=2, reference=True)
    before = estimate(grid, out=tmp_path / "runs", workers=2)
    assert not (tmp_path / "runs").exists()
    assert (before.runs, before.references, before.tuning) == (2 * 2, 3 * 2, 0)
    assert (before.jobs, before.finished, before.workers, before.parts) == (2, 0, 2, 2)
    start = module.START / 60
    assert before.minutes == pytest.approx(60 * before.hours / 2 + start) and before.hours > 0
    assert before.memory_mb > 100
    compare(dataclasses.replace(grid, draws=1), out=tmp_path / "runs", workers=1)
    half = estimate(grid, out=tmp_path / "runs", workers=2)
    assert (half.jobs, half.finished) == (2, 1)
    assert half.minutes == pytest.approx(60 * half.hours)  # one job cannot be shared
    done = estimate(dataclasses.replace(grid, draws=1), out=tmp_path / "runs")
    assert (done.finished, done.hours, done.minutes) == (1, 0, 0) and "nothing" in done.text()


def test_equal_methods_on_complete_labels_are_one_training(tiny, tmp_path, monkeypatch):
    stacks, train_stack = [], worker.train_stack
    monkeypatch.setattr(
        worker, "train_stack", lambda runs, **how: stacks.append(runs) or train_stack(runs, **how)
    )
    some = {"methods": ["an", "ignore", "ll-r", "em"], "schemes": ["rpa(keep=0.5)", "full-subset"]}
    grid = tiny(**some, draws=2, reference=True)
    plan = estimate(grid, out=tmp_path / "runs", workers=1)
    compare(grid, out=tmp_path / "runs", workers=1)
    assert plan.trainings - plan.shared == sum(map(len, stacks)) < plan.trainings - 8
    assert f"{plan.shared} of them shared" in plan.text()
    assert estimate(tiny(), out=tmp_path / "none").shared == 0
    whole = {"schemes": ["full-subset"], "draws": 1}
    few, one = (estimate(tiny(methods=m, **whole), out=tmp_path / "none").hours
                for m in (["an", "ignore", "ll-r"], ["an"]))  # fmt: skip
    assert few == pytest.approx(one)


def test_a_sweep_is_planned_too(tiny, tmp_path):
    grid = tiny(methods=["an", "ll-r"], draws=1, fair=True)
    before = estimate(grid, out=tmp_path, workers=1)
    assert (before.runs, before.references, before.tuning) == (2, 0, 2 * (5 + 5))
    assert before.finished == 0 and "20 or more to choose" in before.text()
    alone = estimate(grid, out=tmp_path, workers=1, part="9/9")
    assert alone.jobs == 0 and "nothing is left" not in alone.text()  # it waits for the sweep
    plans = []
    compare(grid, out=tmp_path, workers=1, hooks=Hooks(planned=plans.append))
    assert (plans[0].jobs, plans[0].tuning) == (before.jobs, 20)
    after = estimate(grid, out=tmp_path, workers=1)
    assert (
        after.finished == after.jobs > before.jobs
        and after.tuning > 20
        and "or more" not in after.text()
    )


def test_a_part_has_its_share(tiny, tmp_path):
    parts = [estimate(tiny(), out=tmp_path, workers=1, part=f"{n}/2") for n in (1, 2)]
    assert [(one.jobs, one.parts) for one in parts] == [(2, 3), (1, 3)] and "2/2" in parts[1].text()
    with pytest.raises(BadInput, match="part is '3/2'"):
        estimate(tiny(), out=tmp_path, part="3/2")


def test_memory_is_that_of_the_largest_stack_within_the_bound(small, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "peak_memory", lambda: 500.0)

    def asked(**values):
        return estimate(small(budgets=[], **values), out=tmp_path, workers=1).memory_mb - 500

    free = asked()
    assert asked(memory=free * 2**20 / 2e9) == pytest.approx(free / 2)
    assert 0 < asked(memory=1e-9) < free / 4  # a run that takes more is alone
    assert asked(methods=["an"]) < free / 2
