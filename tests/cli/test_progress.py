"""The bar of a training, and the message of an interrupt."""

from pathlib import Path

from simkit.cli.train import TrainingBar
from simkit.learn.selection import TrainingProgress


def test_the_bar_shows_the_last_loss_and_an_interrupt_says_what_is_kept(tmp_path: Path, capsys):
    calls: list[tuple[float, int, str]] = []
    shown = TrainingBar(lambda *call: calls.append(call), quiet=False)
    assert "before training began" in shown.interrupted(None)
    shown(30, 60)  # images
    steps = (TrainingProgress(0.5, 2), TrainingProgress(1, 2, 0.25, 0.4), TrainingProgress(1.5, 2))
    for here in steps:
        shown.report(here)
    last = "training loss 0.25, mAP 40.00 on val"
    assert calls == [
        (30, 60, "computing features"), (0.5, 2, "training"), (1, 2, last), (1.5, 2, last),
    ]  # fmt: skip
    for checkpoint in (None, tmp_path / "ck"):
        assert "in epoch 2 of 2, and nothing is kept" in shown.interrupted(checkpoint)
    (tmp_path / "ck").write_bytes(b"")
    assert "ck keeps the finished epochs (1 of 2)" in shown.interrupted(tmp_path / "ck")
    assert capsys.readouterr() == ("", "")
    for quiet, said in ((False, "goes on after epoch 1 of 3\n"), (True, "")):
        TrainingBar(lambda *_: None, quiet=quiet).report(TrainingProgress(1, 3, 0.5, resumed=True))
        assert capsys.readouterr().err == said
