"""Checks of what an analysis is asked for: numbers, names, images and classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput, unknown
from simkit.labels.truth import Truth

Methods = Sequence[str] | str  # as `simkit list methods` spells them; a text with commas


def count(value: Any, what: str, *, least: int = 1, most: int | None = None) -> int:
    """A whole number of at least `least`. Raises BadInput that begins with `what` otherwise."""
    if not _whole(value) or value < least or (most is not None and value > most):
        expected = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise BadInput(f"{what} is {value!r}; a whole number {expected} is expected")
    return int(value)


def counts(values: Any, what: str, *, least: int = 1, most: int | None = None) -> list[int]:
    """Whole numbers of at least `least`; a single one makes a list of one. Raises as `count`."""
    several = list(values) if isinstance(values, Iterable) else [values]
    return [count(value, what, least=least, most=most) for value in several]


def part(value: Any, what: str, *, most: float = 1.0) -> float:
    """A number above 0 and up to `most`. Raises BadInput that begins with `what` otherwise."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 < value <= most:
        raise BadInput(f"{what} is {value!r}; a number above 0 and up to {most:g} is expected")
    return float(value)


def names(values: Any, what: str) -> tuple[str, ...]:
    """Names from a sequence; a single text is one name. Raises BadInput for anything else."""
    several = (values,) if isinstance(values, str) else values
    several = tuple(several) if isinstance(several, Iterable) else (None,)
    if not all(isinstance(name, str) for name in several):
        raise BadInput(f"{what} are {values!r}; names are expected, as text")
    return several


def listed(methods: Methods, what: str = "methods") -> tuple[str, ...]:
    """Methods from a sequence, or from a text with commas between them. Raises as `names`."""
    if not isinstance(methods, str):
        return names(methods, what)
    specs = re.split(r",(?![^(]*\))", methods)  # not at commas inside of parentheses
    return tuple(spec.strip() for spec in specs if spec.strip())


def some(methods: Methods, asker: str) -> list[str]:
    """Methods as `listed` reads them, each once. Raises BadInput where none is named."""
    specs = list(dict.fromkeys(listed(methods, f"{asker}: methods")))
    if not specs:
        raise BadInput(f"{asker}: no method is named; name some, such as an and ll-r")
    return specs


def one_method(method: Any, what: str) -> str:
    """A single method. Raises BadInput for none and for several."""
    specs = listed(method, what)
    if len(specs) != 1:
        raise BadInput(f"{what} is {method!r}; one method is expected")
    return specs[0]


def by_name(values: Any, what: str, example: str, asker: str = "") -> None:
    """Raise BadInput unless `values` maps names to one value or more; what: one of them."""
    if not isinstance(values, Mapping) or not values:
        kind = "" if isinstance(values, Mapping) else f" by name, but a {type(values).__name__}"
        head = f"{asker}: " if asker else ""
        raise BadInput(f"{head}no {what} came{kind}; give some, as {example}")


def rows(images: Any, N: int | None, asker: str) -> list[int]:
    """Images by their rows, of N in all (None: unknown); a single number makes a list of one."""
    several = np.atleast_1d(np.asarray(images, object)).tolist()
    end = "on" if N is None else f"to {N - 1}"
    for image in several:
        if not _whole(image) or image < 0 or (N is not None and image >= N):
            raise BadInput(f"{asker}: there is no image {image!r}; rows from 0 {end} are expected")
    return [int(image) for image in several]


def places(classes: Any, L: int, asker: str) -> NDArray[np.int64]:
    """Indices of some of L classes, each once; None: all of them. Raises BadInput otherwise."""
    if classes is None:
        return np.arange(L)
    indices = np.asarray(classes)
    whole = indices.ndim == 1 and len(indices) and indices.dtype.kind in "iu"
    if not whole or not set(indices) <= set(range(L)) or len(set(indices)) < len(indices):
        raise BadInput(
            f"{asker}: classes are {classes!r}; one index or more from 0 to {L - 1} is expected, "
            "each once, such as the leaves of a data set"
        )
    return indices.astype(np.int64)


def picked(picks: Any, classes: Sequence[str], N: int, asker: str) -> list[tuple[int, str]]:
    """Pairs of an image's row, of N, and a class name; one at least. Raises BadInput otherwise."""
    example = f"[(0, {classes[0]!r})]"
    try:
        pairs = [(image, name) for image, name in picks]
    except (TypeError, ValueError):
        raise BadInput(f"{asker}: picks are {picks!r}; pairs are expected, as {example}") from None
    if not pairs:
        raise BadInput(f"{asker}: no image and class was picked; give some, as {example}")
    for _, name in pairs:
        if name not in classes:
            raise unknown(f"class ({asker})", name, classes)
    images = rows([image for image, _ in pairs], N, asker)
    return [(image, name) for image, (_, name) in zip(images, pairs, strict=True)]


def same_images(inputs: Any, truth: Truth, asker: str) -> None:
    """Raise BadInput unless there is an input for each image of the truth."""
    if len(inputs) != len(truth.images):
        raise BadInput(
            f"{asker}: {len(inputs):,} inputs came with a truth of {len(truth.images):,} images; "
            "give those of one split"
        )


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
