"""The exception for bad input, and messages for unknown names and non-integers."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
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


@contextmanager
def located(where: str) -> Iterator[None]:
    """Errors of the block begin with `where`, the file or field that they are about."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


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
