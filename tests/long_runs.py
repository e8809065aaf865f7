"""Parameters that are tested in every run, and those that wait for `make test-slow`."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def some(values: Iterable[Any], keep: Callable[[Any], bool] | int) -> list[Any]:
    """The values for `parametrize`, all but some of them marked as slow.

    keep: whether a value is tested in every run; a number n keeps every n-th value.
    """
    marked = []
    for place, value in enumerate(values):
        kept = place % keep == 0 if isinstance(keep, int) else keep(value)
        several = value if isinstance(value, tuple) else (value,)
        marked.append(value if kept else pytest.param(*several, marks=pytest.mark.slow))
    return marked
