"""The one exception for input that cannot be used, and how a name that is not known is reported."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

LONGEST = 900  # letters of a sentence


class BadInput(ValueError):
    """Something the user gave cannot be used.

    The message is one sentence that says what came, what is expected and what to do next. The
    command line prints it without a traceback and leaves with exit code 2. What quotes pages of a
    broken file is cut in its middle.
    """

    def __init__(self, message: str) -> None:
        long = len(message) > LONGEST
        super().__init__(f"{message[:400]} ... {message[-300:]}" if long else message)


def unknown(kind: str, name: object, known: Iterable[str]) -> BadInput:
    """The error for a name that nobody has, with the nearest known name when one is near."""
    names = sorted(known)
    near = get_close_matches(str(name).lower(), names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else "known are " + ", ".join(names)
    return BadInput(f"no {kind} is called {str(name)!r}; {hint}")


def whole_number(value: Any, what: str) -> int:
    """`value`, a whole number of any kind, as int. Raises BadInput naming `what` for the rest."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise BadInput(f"{what} is {value!r}; a whole number is expected")
