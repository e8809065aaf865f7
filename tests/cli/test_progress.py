"""What is said while a model is trained, and when that is interrupted."""

from pathlib import Path

import pytest

from simkit.cli import train
from simkit.cli.train import TrainingProgress
from simkit.learn.validation import Reached


class Bar:
    def __init__(self) -> None:
        self.calls: list[tuple[float, int, str]] = []

    def __call__(self, done: float, total: int, told: str = "") -> None:
        self.calls.append((done, total, told))


@pytest.fixture
def bar() -> Bar:
    return Bar()


def test_the_bar_moves_by_steps_and_shows_the_last_loss(bar: Bar, capsys) -> None:
    shown = TrainingProgress(bar, bar=True, quiet=False)
    shown(30, 60)  # pictures
    for here in (Reached(0.5, 2), Reached(1, 2, 0.25, 0.4), Reached(1.5, 2)):
        shown.report(here)
    assert bar.calls == [
        (30, 60, ""),
        (0.5, 2, "training"),
        (1, 2, "training loss 0.25, mAP 40.00 on val"),
        (1.5, 2, "training loss 0.25, mAP 40.00 on val"),
    ]
    assert capsys.readouterr() == ("", "")


def test_without_a_bar_there_is_a_line_every_few_seconds(bar: Bar, capsys, monkeypatch) -> None:
    seconds = iter([1.0, 3.0, 7.0, 8.0, 13.0])
    monkeypatch.setattr(train.time, "monotonic", lambda: next(seconds))
    shown = TrainingProgress(bar, bar=False, quiet=False)
    for epoch in (1, 2, 3, 4, 5):
        shown.report(Reached(epoch, 9, 0.5))
    assert capsys.readouterr().err == "epoch 3 of 9: loss 0.5\nepoch 5 of 9: loss 0.5\n"


def test_what_goes_on_is_said(bar: Bar, capsys) -> None:
    shown = TrainingProgress(bar, bar=False, quiet=False)
    shown.report(Reached(1, 3, 0.5, resumed=True))
    assert capsys.readouterr().err == "goes on from epoch 2 of 3\n"
    shown.report(Reached(3, 3, 0.5, resumed=True))
    assert capsys.readouterr().err == "all 3 epochs are done already\n"
    TrainingProgress(bar, bar=False, quiet=True).report(Reached(1, 3, 0.5, resumed=True))
    assert capsys.readouterr().err == ""


def test_an_interrupt_says_what_is_kept(bar: Bar, tmp_path: Path) -> None:
    shown = TrainingProgress(bar, bar=True, quiet=False)
    begun = "interrupted before training began; what was finished is kept"
    assert shown.interrupted(None) == begun
    shown.report(Reached(2, 9, 0.5))
    shown.report(Reached(3.0, 9))  # its last step; the checkpoint comes after it
    assert shown.interrupted(None) == (
        "interrupted in epoch 3 of 9, and nothing is kept; with --checkpoint FILE finished epochs "
        "would be kept"
    )
    assert shown.interrupted(tmp_path / "ck") == (
        "interrupted in epoch 3 of 9, and nothing is kept"
    )
    (tmp_path / "ck").write_bytes(b"")
    assert shown.interrupted(tmp_path / "ck") == (
        f"interrupted; {tmp_path}/ck keeps what was learned in the finished epochs (2 of 9), and "
        "the same command goes on from there"
    )
