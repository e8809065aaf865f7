"""Checks of the arguments of analyses: numbers, methods, images and classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.labels.truth import Truth

Methods = Sequence[str] | str  # spelled as in `simkit list methods`; or one text with commas


def count(value: Any, what: str, *, least: int = 1, most: int | None = None) -> int:
    """An integer of at least `least`. Raises BadInput that begins with `what` otherwise."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        expected = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise BadInput(f"{what} is {value!r}; a whole number {expected} is expected")
    return int(value)


def counts(values: Any, what: str, *, least: int = 1, most: int | None = None) -> list[int]:
    """Integers of at least `least`; a single one becomes a list. Raises as `count`."""
    several = np.atleast_1d(np.asarray(values, object)).tolist()
    return [count(value, what, least=least, most=most) for value in several]


def indices(values: Any, number: int, what: str) -> NDArray[np.int64]:
    """Indices below `number`; None: all. Raises as `count`."""
    if values is None:
        return np.arange(number)
    return np.array(counts(values, what, least=0, most=number - 1), np.int64)


def listed(methods: Methods, what: str = "methods") -> list[str]:
    """Methods without repetitions. Raises BadInput that begins with `what` for other types."""
    if isinstance(methods, str):
        parts = re.split(r",(?![^(]*\))", methods)  # not at commas inside parentheses
        methods = [part.strip() for part in parts if part.strip()]
    specs = list(dict.fromkeys(methods)) if isinstance(methods, Iterable) else [methods]
    if not all(isinstance(spec, str) for spec in specs):
        raise BadInput(f"{what} are {methods!r}; names are expected, as text")
    return specs


def some(methods: Methods, asker: str) -> list[str]:
    """Methods as in `listed`. Raises BadInput if there are none."""
    specs = listed(methods, f"{asker}: methods")
    if not specs:
        raise BadInput(f"{asker}: methods is empty; name one or more, such as an and ll-r")
    return specs


def by_name(values: Any, what: str, example: str, asker: str) -> None:
    """Raise BadInput unless `values` is a non-empty mapping of names to `what`."""
    if not isinstance(values, Mapping) or not values:
        value = "empty" if isinstance(values, Mapping) else f"a {type(values).__name__}"
        raise BadInput(
            f"{asker}: the argument is {value}; pass each {what} by its name, as {example}"
        )


def same_images(inputs: Any, truth: Truth, asker: str) -> None:
    """Raise BadInput unless the inputs have one row per image of the truth."""
    if len(inputs) != len(truth.images):
        raise BadInput(
            f"{asker}: inputs has {len(inputs):,} rows, but the truth has {len(truth.images):,} "
            "images; pass both for the same split"
        )
