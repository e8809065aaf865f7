"""What is warned about while runs are worked on, kept as notes of the runs it is about."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from simkit.learn.heads.stack import RunWarning

Notes = list[warnings.WarningMessage]


@contextmanager
def heard() -> Iterator[Notes]:
    """Collects the warnings of its block; other kinds than UserWarning are dropped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield caught


def texts(notes: Sequence[warnings.WarningMessage]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(str(note.message) for note in notes))


def of_run(notes: Sequence[warnings.WarningMessage], run: int) -> list[str]:
    """What was said about one run of a stack, or about all of them."""
    return texts(
        [
            note
            for note in notes
            if not isinstance(note.message, RunWarning) or note.message.run == run
        ]
    )
