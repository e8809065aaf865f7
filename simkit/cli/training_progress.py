"""What is said while a model is trained, and when that is interrupted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simkit.cli.report import Advance

if TYPE_CHECKING:
    from simkit.learn.reached import Reached

_EVERY = 5.0  # seconds between two lines, where no bar is shown


class TrainingProgress:
    """Moves a bar by steps; where there is none, says every few seconds how far training is.

    It is called with (done, total), while features are computed as well, and `told` of training.
    """

    def __init__(self, advance: Advance, *, bar: bool, quiet: bool) -> None:
        self._advance, self._bar, self._quiet = advance, bar, quiet
        self._last: float | None = None
        self._here: Reached | None = None
        self._done = 0  # epochs that have ended
        self._at_end = ""

    def __call__(self, done: int, of: int) -> None:
        self._advance(done, of)

    def told(self, here: Reached) -> None:
        """Take note of a step, of the end of an epoch, or of where a checkpoint goes on."""
        now = time.monotonic()
        self._here, self._last = here, self._last or now
        if here.loss is not None:
            self._done = int(here.epochs)
            self._at_end = f"loss {here.loss:.4g}"
            if here.validation is not None:
                self._at_end += f", mAP {100 * here.validation:.2f} on val"
        self._advance(here.epochs, here.of, f"training {self._at_end}".strip())
        if self._quiet:
            return
        if here.resumed:
            self._say_resumed(here)
        elif here.loss is not None and not self._bar and now - self._last >= _EVERY:
            self._last = now
            click.echo(f"epoch {here.epochs:.0f} of {here.of}: {self._at_end}", err=True)

    def _say_resumed(self, here: Reached) -> None:
        if here.epochs < here.of:
            click.echo(f"goes on from epoch {here.epochs + 1:.0f} of {here.of}", err=True)
        else:
            click.echo(f"all {here.of} epochs are done already", err=True)

    def interrupted(self, checkpoint: Path | None) -> str:
        """What is left after an interrupt."""
        if self._here is None:
            return "interrupted before training began; what was finished is kept"
        done, of = self._done, self._here.of
        if checkpoint is not None and checkpoint.exists():
            return (
                f"interrupted; {checkpoint} keeps what was learned in the finished epochs "
                f"({done} of {of}), and the same command goes on from there"
            )
        advice = "" if checkpoint else "; with --checkpoint FILE finished epochs would be kept"
        return f"interrupted in epoch {min(done + 1, of)} of {of}, and nothing is kept{advice}"
