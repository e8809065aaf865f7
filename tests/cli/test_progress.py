"""What is said while a model is trained, and when that is interrupted."""

from pathlib import Path

import pytest

from simkit.cli.train import TrainingBar
from simkit.learn.selection import TrainingProgress


class Bar:
    def __init__(self) -> None:
        self.calls: list[tuple[float, int, str]] = []

    def __call__(self, done: float, total: int, told: str = "") -> None:
        self.calls.append((done, total, told))


@pytest.fixture
def bar() -> Bar:
    return Bar()


def test_the_bar_moves_by_steps_and_shows_the_last_loss(bar: Bar, capsys) -> None:
    shown = TrainingBar(bar, quiet=False)
    shown(30, 60)  # pictures
    for now in ((0.5, 2), (1, 2, 0.25, 0.4), (1.5, 2)):
        shown.report(TrainingProgress(*now))
    assert bar.calls == [
        (30, 60, "computing features"),
        (0.5, 2, "training"),
        (1, 2, "training loss 0.25, mAP 40.00 on val"),
        (1.5, 2, "training loss 0.25, mAP 40.00 on val"),
    ]
    assert capsys.readouterr() == ("", "")


def test_what_goes_on_is_said(bar: Bar, capsys) -> None:
    for quiet in (False, True):
        TrainingBar(bar, quiet=quiet).report(TrainingProgress(1, 3, 0.5, resumed=True))
        assert capsys.readouterr().err == ("" if quiet else "goes on after epoch 1 of 3\n")


def test_an_interrupt_says_what_is_kept(bar: Bar, tmp_path: Path) -> None:
    shown = TrainingBar(bar, quiet=False)
    assert "before training began" in shown.interrupted(None)
    shown.report(TrainingProgress(2, 9, 0.5))
    shown.report(TrainingProgress(3.0, 9))  # its last step; the checkpoint comes after it
    for checkpoint in (None, tmp_path / "ck"):
        assert "in epoch 3 of 9, and nothing is kept" in shown.interrupted(checkpoint)
    (tmp_path / "ck").write_bytes(b"")
    assert "ck keeps the finished epochs (2 of 9)" in shown.interrupted(tmp_path / "ck")
