import pytest
from simkit.study.bundles.agenda import source_of
from simkit.study.forecast import calibration
from simkit.study.forecast.calibration import calibrated
from simkit.study.material.material import opened


@pytest.fixture
def trained(monkeypatch):
    """Lists what the calibration trains: (methods, epochs)."""
    seen = []
    plain = calibration.train_stack

    def noted(runs, *, settings, **more):
        seen.append(([method.name for _, method in runs], settings.epochs))
        return plain(runs, settings=settings, **more)

    monkeypatch.setattr(calibration, "train_stack", noted)
    monkeypatch.setattr(calibration, "_LONGEST", 0.5)
    return seen


def test_the_methods_of_each_kind_are_timed_together_for_a_short_time(small, trained):
    grid = small(methods=["an", "ignore", "an+boostlu"])
    speed, took = calibrated(grid, opened(source_of(grid)))
    assert speed > 0 and took > 0
    assert {tuple(names) for names, _ in trained} == {("an", "ignore"), ("boostlu",)}
    assert trained[0][1] == 1 and max(epochs for _, epochs in trained) <= 1 + 4**6


def test_where_the_methods_cannot_be_trained_full_stands_for_them(small, trained, monkeypatch):
    grid = small(methods=["an", "ignore"])

    def broken(self, task, chance=None):
        raise MemoryError("too much")

    monkeypatch.setattr(type(calibration.methods.make("ignore")), "start", broken)
    calibrated(grid, opened(source_of(grid)))
    assert trained[0] == (["an", "ignore"], 1) and {names[0] for names, _ in trained[1:]} == {
        "full"
    }
