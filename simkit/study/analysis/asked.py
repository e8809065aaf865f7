"""What an analysis is asked for, made sure of before it begins: numbers, names, rows and tables."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simkit.errors import BadInput, unknown
from simkit.study.tables import checked, column_of


def count(value: Any, what: str, *, least: int = 1, most: int | None = None) -> int:
    """A whole number from `least` on, as int. Raises BadInput naming `what` for the rest."""
    found = _index(value)
    if found is None or found < least or (most is not None and found > most):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise BadInput(f"{what} is {value!r}; a whole number {wanted} is expected")
    return found


def counts(given: Any, what: str, *, least: int = 1, most: int | None = None) -> list[int]:
    """Whole numbers from `least` on; a single one is a list of one. Raises BadInput as `count`."""
    found = list(given) if isinstance(given, Iterable) else [given]
    return [count(value, what, least=least, most=most) for value in found]


def part(value: Any, what: str, *, most: float = 1.0) -> float:
    """A number above 0 and up to `most`. Raises BadInput naming `what` for the rest."""
    fine = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not fine or not 0 < value <= most:
        raise BadInput(f"{what} is {value!r}; a number above 0 and up to {most:g} is expected")
    return float(value)


def names(given: Any, what: str) -> tuple[str, ...]:
    """Names from a sequence; a single text is one. Raises BadInput for what is no text."""
    if isinstance(given, str):
        return (given,)
    found = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(name, str) for name in found):
        raise BadInput(f"{what} are {given!r}; names are expected, as text")
    return found


def listed(methods: Sequence[str] | str, what: str = "methods") -> tuple[str, ...]:
    """Methods from a sequence, or from a text with commas outside of parentheses.

    Raises BadInput as `names` does.
    """
    if not isinstance(methods, str):
        return names(methods, what)
    parts = re.split(r",(?![^(]*\))", methods)
    return tuple(part.strip() for part in parts if part.strip())


def one_method(method: Any, what: str) -> str:
    """A single method. Raises BadInput naming `what` for none, and for several."""
    found = listed(method, what)
    if len(found) != 1:
        raise BadInput(f"{what} is {method!r}; one method is expected")
    return found[0]


def by_name(given: Any, what: str, example: str, asker: str = "") -> None:
    """Raise BadInput for what is no mapping from names, and for none; what: in the singular."""
    head = f"{asker}: " if asker else ""
    if not isinstance(given, Mapping) or not given:
        came = "came" if isinstance(given, Mapping) else f"came by name, but a {_type(given)}"
        raise BadInput(f"{head}no {what} {came}; give some, as {example}")


def rows(given: Any, images: int | None, what: str) -> list[int]:
    """Images by their rows; a single number is one. Raises BadInput for what is none of them.

    images: how many there are; None: nobody knows yet.
    """
    given = given.tolist() if isinstance(given, np.ndarray) else given
    found = list(given) if isinstance(given, Iterable) else [given]
    for value in found:
        place = _index(value)
        if place is None or place < 0 or (images is not None and place >= images):
            end = "on" if images is None else f"to {images - 1}"
            told = repr(value) if place is None else place
            raise BadInput(f"{what}: there is no image {told}; rows from 0 {end} are expected")
    return [int(value) for value in found]


def places(classes: Any, L: int, asker: str) -> NDArray[np.int64]:
    """Indices of the classes that count; None: all L. Raises BadInput for what is none of them."""
    if classes is None:
        return np.arange(L)
    found = np.asarray(classes)
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "iu":
        raise BadInput(
            f"{asker}: classes are {classes!r}; indices are expected, one at least, such as the "
            "leaves of a data set"
        )
    if found.min() < 0 or found.max() >= L or len(np.unique(found)) < len(found):
        raise BadInput(
            f"{asker}: classes go from {found.min()} to {found.max()}; indices from 0 to {L - 1} "
            "are expected, each once"
        )
    return found.astype(np.int64)


def picked(picks: Any, classes: Sequence[str], images: int, asker: str) -> list[tuple[int, str]]:
    """Pairs of an image's row and a class's name. Raises BadInput for other ones, and for none."""
    try:
        found = [(image, name) for image, name in picks]
    except (TypeError, ValueError):
        raise BadInput(
            f"{asker}: picks are {picks!r}; pairs are expected, as [(0, {classes[0]!r})]"
        ) from None
    if not found:
        raise BadInput(
            f"{asker}: no image and class was picked; give some, as [(0, {classes[0]!r})]"
        )
    for _, name in found:
        if name not in classes:
            raise unknown(f"class ({asker})", name, classes)
    own = rows([image for image, _ in found], images, asker)
    return [(image, name) for image, (_, name) in zip(own, found, strict=True)]


def check_result(table: Any, schema: pa.Schema, *, asker: str, made_by: str) -> None:
    """Raise BadInput unless this is what the analysis `made_by` returns, with a row at least."""
    columns = {each.name: column_of(each.type) for each in schema}
    checked(table, columns, asker=asker, mend=f"give what {made_by} returns")


def _index(value: Any) -> int | None:
    """As int where it is a whole number of any kind, which true and false are not."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _type(value: Any) -> str:
    return type(value).__name__
