"""The fields of a grid, checked one by one; what is wrong is told with the field's name."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from simkit.errors import BadInput, unknown
from simkit.registry import convert

EXAMPLE = {"schemes": '"single-positive", "fpc"', "methods": '"an", "ll-r"'}


def texts(values: Any, name: str) -> tuple[str, ...]:
    """A list of texts that is not empty."""
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise BadInput(f"{name} is {values!r}; a list such as [{EXAMPLE[name]}] is expected")
    for value in values:
        expect(isinstance(value, str), name, value, "a list of texts")
    return tuple(values)


def check_made(specs: tuple[str, ...], name: str, make: Any) -> None:
    """Raise BadInput for what `make` does not know, and for what is listed twice."""
    parts: dict[Any, str] = {}
    for spec in specs:
        try:
            made = make(spec)
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from None
        if made in parts:
            raise BadInput(
                f"{name} lists {spec!r} and {parts[made]!r}, which are the same; leave one out"
            )
        parts[made] = spec


def limits(values: Any, name: str, unit: str) -> tuple[float, ...]:
    """Numbers above 0, ascending, each once."""
    given = [values] if isinstance(values, int | float) and not isinstance(values, bool) else values
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise BadInput(f"{name} is {values!r}; a list of {unit} is expected")
    out = []
    for value in given:
        number = convert(value, float, name)
        expect(number > 0, name, value, f"{unit} above 0")
        out.append(number)
    if len(set(out)) < len(out):
        raise BadInput(f"{name} is {list(values)!r}, which names one twice; leave one out")
    return tuple(sorted(out))


def part(kind: type, values: Any, name: str) -> Any:
    """A table of settings as a value of that kind."""
    if not isinstance(values, Mapping):
        raise BadInput(f"{name} is {values!r}; a table such as [{name}] is expected")
    hints = typing.get_type_hints(kind)
    known = [f.name for f in dataclasses.fields(kind)]
    given = {}
    for key, value in values.items():
        if key not in known:
            raise unknown(f"setting of {name}", key, known)
        given[key] = (
            value if isinstance(value, list) else convert(value, hints[key], f"{name}.{key}")
        )
    return kind(**given)


def whole(value: Any) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def expect(holds: bool, name: str, value: Any, wanted: str) -> None:
    """Raise BadInput that names the field, unless it `holds`."""
    if not holds:
        raise BadInput(f"{name} is {value!r}; {wanted} is expected")
