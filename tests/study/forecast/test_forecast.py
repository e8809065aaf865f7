import dataclasses

import pytest
from simkit.study.forecast import forecast
from simkit.study.forecast.forecast import Forecast, foretell

from simkit.errors import BadInput
from simkit.study.compare import compare

FOUND = Forecast(
    schemes=2, limits=2, methods=3, draws=3, runs=36, references=6, tuning=0, part="",
    parts=13, bundles=13, finished=0, hours=0.5, minutes=15.4, workers=2, memory_mb=1101.3,
    calibration_seconds=1.62,
)  # fmt: skip


@pytest.fixture(autouse=True)
def timed(monkeypatch):
    """The calibration, without training: this machine is half as fast as counted."""
    asked = []
    monkeypatch.setattr(forecast, "calibrated", lambda *of: asked.append(of) or (2.0, 1.0))
    return asked


def test_a_plan_is_told_in_three_lines():
    assert FOUND.text() == (
        "plan: 2 schemes x 2 budgets x 3 methods x 3 draws: 36 trainings, and 6 with all labels\n"
        "13 bundles; with --part at most 13 parts can have work\n"
        "roughly 0:15:24 of work with 2 workers, by a calibration of 1.6 seconds, and half a "
        "minute to start and to draw; about 1,101 MB in each"
    )
    more = {"tuning": 42, "part": "2/3", "finished": 13, "limits": 0, "schemes": 1}
    assert dataclasses.replace(FOUND, **more).text() == (
        "plan: 1 scheme x 3 methods x 3 draws: 36 trainings, and 6 with all labels and 42 of the "
        "sweep before\n"
        "part 2/3: 13 bundles, of which 13 are finished; with --part at most 13 parts can have "
        "work\n"
        "nothing is left to train"
    )


def test_what_is_finished_is_not_planned_again_and_nothing_is_written(small, tmp_path, timed):
    grid = small(budgets=[10])
    before = foretell(grid, out=tmp_path / "runs", workers=2)
    assert not (tmp_path / "runs").exists()
    assert (before.runs, before.references, before.tuning) == (2 * 2 * 2, 4 * 2, 0)
    assert (before.bundles, before.finished, before.workers) == (2, 0, 2)
    assert before.minutes == pytest.approx(60 * before.hours / 2) and before.hours > 0
    assert before.memory_mb > 100
    compare(dataclasses.replace(grid, draws=1), out=tmp_path / "runs", workers=1)
    half = foretell(grid, out=tmp_path / "runs", workers=2)
    assert (half.bundles, half.finished) == (2, 1)
    assert half.hours == pytest.approx(before.hours / 2)
    assert half.minutes == pytest.approx(before.minutes)  # one bundle cannot be shared
    assert len(timed) == 2
    done = foretell(dataclasses.replace(grid, draws=1), out=tmp_path / "runs")
    assert (done.finished, done.hours, done.minutes, done.calibration_seconds) == (1, 0, 0, 0)
    assert len(timed) == 2  # nothing is left to be timed for


def test_a_sweep_is_planned_and_what_it_chose_is_found_again(small, tmp_path):
    tuning = {"runs": 2, "space": {"all": {"lr": [0.01, 0.1]}}}
    values = {"validation": "complete", "budgets": [60], "draws": 1, "methods": ["an", "ignore"]}
    grid = small(schemes=["fpc(per_class=10)"], tuning=tuning, **values)
    before = foretell(grid, out=tmp_path, workers=1)
    assert (before.runs, before.references, before.tuning) == (2, 3, 10)
    assert (before.bundles, before.finished) == (2, 0)
    planned = []
    compare(grid, out=tmp_path, workers=1, planned=planned.append)
    assert planned == [dataclasses.replace(before, memory_mb=planned[0].memory_mb)]
    assert foretell(grid, out=tmp_path).text().endswith("nothing is left to train")


def test_a_part_is_told_its_share(small, tmp_path):
    grid = small(budgets=[10])
    parts = [foretell(grid, out=tmp_path, workers=1, part=f"{n}/2") for n in (1, 2)]
    assert [one.parts for one in parts] == [2, 2]
    assert [one.bundles for one in parts] == [1, 1] and parts[1].part == "2/2"
    with pytest.raises(BadInput, match=r"^part is '3/2'; I/N with I from 1 to N is expected"):
        foretell(grid, out=tmp_path, part="3/2")


def test_memory_is_that_of_the_largest_stack_within_the_bound(small, tmp_path, monkeypatch):
    monkeypatch.setattr(forecast, "peak_memory", lambda: 500.0)

    def asked(**values):
        return foretell(small(budgets=[], **values), out=tmp_path, workers=1).memory_mb - 500

    free = asked()
    assert asked(memory=free * 2**20 / 2e9) == pytest.approx(free / 2)
    assert 0 < asked(memory=1e-9) < free / 4  # a run that takes more is alone
    assert asked(methods=["an"]) < free / 2
