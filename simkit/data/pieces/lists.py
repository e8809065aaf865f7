"""Lists in text files, as published data sets bring them: one entry in a line."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.files import expanded
from simkit.labels.formats.base import reading
from simkit.labels.formats.tables import text_ids

_BLANKS = (9, 10, 11, 12, 13, 32)


def folder(path: str | PathLike[str], what: str) -> Path:
    """`path` as a Path, known to be a folder. Raises BadInput naming it and `what` it should be."""
    found = expanded(path)
    try:
        there, file = found.is_dir(), found.is_file()
    except OSError as error:  # such as a name that is too long
        raise BadInput(f"{found} cannot be read ({error.strerror}); give {what}") from None
    if file:
        raise BadInput(f"{found} is a file; give {what}")
    if not there:
        raise BadInput(f"{found} does not exist; give {what}")
    return found


def lines(path: str | PathLike[str], what: str) -> list[str]:
    """The lines that hold something, without blanks at either end. Raises BadInput."""
    with reading(path, what) as found:
        text = found.read_bytes().decode("utf-8-sig")
        return [line for each in text.split("\n") if (line := each.strip())]


def numbered(path: str | PathLike[str], what: str) -> tuple[NDArray[np.int64], list[str]]:
    """Lines of a number and a text: the numbers (n,), all different, and the texts.

    Raises BadInput for a line without number or text and for a number that comes twice.
    """
    with reading(path, what):
        pairs = [line.partition(" ") for line in lines(path, what)]
        for number, _, text in pairs:
            if not (number.isascii() and number.isdigit() and len(number) < 10 and text.strip()):
                raise BadInput(
                    f"a line begins with {number[:40]!r}; a number and, after a blank, a text are "
                    "expected"
                )
        numbers = np.array([int(number) for number, _, _ in pairs], np.int64)
        twice = np.flatnonzero(np.bincount(np.unique(numbers, return_inverse=True)[1]) > 1)
        if not len(numbers):
            raise BadInput("it is empty; fetch it again")
        if len(twice):
            raise BadInput(f"number {np.unique(numbers)[twice[0]]} occurs twice; keep one line")
        return numbers, [text.strip() for _, _, text in pairs]


def names(path: str | PathLike[str], what: str) -> tuple[NDArray[np.int64], list[str]]:
    """The same with texts that are all different too, as names of images or classes are."""
    numbers, texts = numbered(path, what)
    with reading(path, what):
        text_ids(texts)
        if len(set(texts)) != len(texts):
            twice = next(text for text, times in Counter(texts).items() if times > 1)
            raise BadInput(f"{twice[:100]!r} occurs twice; keep one line")
        return numbers, texts


def zeros_and_ones(path: str | PathLike[str], what: str) -> NDArray[np.bool_]:
    """(n,) bool from a file with one 0 or 1 in each line. Raises BadInput for anything else."""
    with reading(path, what) as found:
        letters = np.frombuffer(found.read_bytes(), np.uint8)
        blank = np.isin(letters, _BLANKS)
        digits = letters[~blank]
        strange = digits[(digits != ord("0")) & (digits != ord("1"))]
        if len(strange):
            raise BadInput(
                f"the letter {chr(strange[0])!r} occurs in it; one 0 or 1 in each line is expected"
            )
        if np.any(~blank[1:] & ~blank[:-1]):
            raise BadInput("a line holds more than one digit; one 0 or 1 in each is expected")
        return digits == ord("1")
