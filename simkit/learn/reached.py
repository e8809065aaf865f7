"""How far a training is, told to whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from simkit.learn.record import Record


@dataclass(frozen=True)
class Reached:
    """epochs: done, of `of` in all; a part of one while it lasts.

    loss, validation: mean loss of the epoch that has just ended, and mAP on the validation images;
    None in its midst and where there are none. They are those of the first run.
    resumed: a checkpoint has brought the training here.
    """

    epochs: float
    of: int
    loss: float | None = None
    validation: float | None = None
    resumed: bool = False


Told = Callable[[Reached], None]


def nobody(_: Reached) -> None:
    """Nobody waits."""


def told_by(progress: Any, before: int, of: int) -> Told:
    """What progress wants to be told, with `before` epochs done before this phase, of `of`."""
    told = getattr(progress, "told", None)
    if told is None:
        return nobody
    return lambda here: told(replace(here, epochs=before + here.epochs, of=of))


def after(record: Record, epoch: int, *, resumed: bool = False) -> Reached:
    """At the end of an epoch."""
    held = record.validation[0]
    return Reached(
        epoch,
        record.settings.epochs,
        record.losses[0][-1],
        held[-1] if held else None,
        resumed,
    )
