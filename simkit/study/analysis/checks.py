"""Checks of what an analysis is asked for: numbers, methods, images and classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.labels.truth import Truth

Methods = Sequence[str] | str  # as `simkit list methods` spells them; a text with commas


def count(value: Any, what: str, *, least: int = 1, most: int | None = None) -> int:
    """A whole number of at least `least`. Raises BadInput that begins with `what` otherwise."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        expected = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise BadInput(f"{what} is {value!r}; a whole number {expected} is expected")
    return int(value)


def counts(values: Any, what: str, *, least: int = 1, most: int | None = None) -> list[int]:
    """Whole numbers of at least `least`; a single one makes a list of one. Raises as `count`."""
    several = np.atleast_1d(np.asarray(values, object)).tolist()
    return [count(value, what, least=least, most=most) for value in several]


def indices(values: Any, number: int, what: str) -> NDArray[np.int64]:
    """Some of 0 to `number` - 1; None: all of them. Raises as `count`."""
    if values is None:
        return np.arange(number)
    return np.array(counts(values, what, least=0, most=number - 1), np.int64)


def part(value: Any, what: str, *, most: float) -> float:
    """A number above 0 and up to `most`. Raises BadInput that begins with `what` otherwise."""
    if not 0 < value <= most:
        raise BadInput(f"{what} is {value!r}; a number above 0 and up to {most:g} is expected")
    return float(value)


def listed(methods: Methods, what: str = "methods") -> list[str]:
    """Methods, each once. Raises BadInput that begins with `what` for what is no text."""
    if isinstance(methods, str):
        parts = re.split(r",(?![^(]*\))", methods)  # not at commas inside of parentheses
        methods = [part.strip() for part in parts if part.strip()]
    specs = list(dict.fromkeys(methods)) if isinstance(methods, Iterable) else [methods]
    if not all(isinstance(spec, str) for spec in specs):
        raise BadInput(f"{what} are {methods!r}; names are expected, as text")
    return specs


def some(methods: Methods, asker: str) -> list[str]:
    """Methods as `listed` reads them. Raises BadInput where none is named."""
    specs = listed(methods, f"{asker}: methods")
    if not specs:
        raise BadInput(f"{asker}: no method is named; name some, such as an and ll-r")
    return specs


def by_name(values: Any, what: str, example: str, asker: str) -> None:
    """Raise BadInput unless `values` maps names to one value or more; what: one of them."""
    if not isinstance(values, Mapping) or not values:
        kind = "" if isinstance(values, Mapping) else f" by name, but a {type(values).__name__}"
        raise BadInput(f"{asker}: no {what} came{kind}; give some, as {example}")


def same_images(inputs: Any, truth: Truth, asker: str) -> None:
    """Raise BadInput unless there is an input for each image of the truth."""
    if len(inputs) != len(truth.images):
        raise BadInput(
            f"{asker}: {len(inputs):,} inputs came with a truth of {len(truth.images):,} images; "
            "give those of one split"
        )
