"""The exception for bad input, notes, and words that messages share."""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from typing import Any

LONGEST = 900  # characters of a message


class BadInput(ValueError):
    """Input that cannot be used.

    The message is one sentence with the value, what is expected, and the remedy. The command line
    prints it without a traceback and exits with code 2. Long messages, such as quotations of a
    damaged file, are cut in the middle.
    """

    def __init__(self, message: str) -> None:
        long = len(message) > LONGEST
        super().__init__(f"{message[:400]} ... {message[-300:]}" if long else message)


# Control characters, which a terminal would obey, marks of direction, and halves of characters,
# which cannot be printed; line breaks may stay.
_UNPRINTABLE = re.compile(
    "[\0-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """The text with escapes for control characters, as names from files may hold them."""
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Errors of the block begin with `where`, the file or field that they are about."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def examples(values: Iterable[object], n: int = 3) -> str:
    """The first `n` values, for a message."""
    texts = [str(value)[:200] for value in islice(values, n + 1)]
    return ", ".join([*texts[:n], *["..."] * (len(texts) > n)])


def counted(cases: Collection[object], total: int | None = None) -> str:
    """The number of cases, of `total` if stated, and the first three of them, for a message."""
    of_total = "" if total is None else f" of {total:,}"
    return f"{len(cases):,}{of_total} ({examples(cases)})"


def noting(where: object, stacklevel: int = 3) -> Callable[[str], None]:
    """A function that warns of `where`: a file, or whatever else the notes begin with."""
    return lambda text: warnings.warn(f"{where}: {text}", stacklevel=stacklevel)


def note(
    where: object, cases: Collection[object], sentence: str, *, total: int | None = None
) -> None:
    """Warn of `cases`, if any; {} in the sentence becomes their number and the first three.

    where: as in `noting`.  total: the number they are part of.
    """
    if len(cases):
        noting(where, 4)(sentence.replace("{}", counted(cases, total)))


_LISTED = 60  # names in a message


def unknown(kind: str, name: object, known: Iterable[str]) -> BadInput:
    """The error for an unknown name, with the nearest known name if there is a close one."""
    names = sorted(known)
    near = get_close_matches(str(name).lower(), names, n=1, cutoff=0.6)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    listed = f"known are {', '.join(names[:_LISTED])}{more}" if names else "none is known"
    hint = f"did you mean {near[0]!r}?" if near else listed
    return BadInput(f"no {kind} is called {str(name)!r}; {hint}")


def whole_number(value: Any, what: str) -> int:
    """`value`, an integer of any type, as int. Raises BadInput naming `what` otherwise."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise BadInput(f"{what} is {value!r}; a whole number is expected")
