"""The fields of a grid, checked one by one; what is wrong is told with the field's name."""

from __future__ import annotations

import dataclasses
import os
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simkit.errors import BadInput, unknown
from simkit.registry import convert

EXAMPLE = {"schemes": '"single-positive", "fpc"', "methods": '"an", "ll-r"'}
SPLITS = ("train", "val", "test")
MOST = 10_000  # of what is repeated; more is a slip of the hand, and its plan alone takes minutes


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


def files(values: Any, name: str) -> dict[str, str]:
    """A file or folder for each split that is named."""
    if not isinstance(values, Mapping):
        raise BadInput(
            f"{name} is {values!r}; a table such as [{name}] with one file for each split is "
            "expected"
        )
    for split, file in values.items():
        if split not in SPLITS:
            raise BadInput(f"{name}: {unknown('split', split, SPLITS)}")
        fine = isinstance(file, str | os.PathLike)
        expect(fine, f"{name}.{split}", file, "the path of a file or folder")
    if values and "train" not in values:
        raise BadInput(f"{name} names files for {', '.join(values)}; one for train is needed")
    return {split: os.fspath(file) for split, file in values.items()}


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
        given[key] = convert(value, hints[key], f"{name}.{key}")
        if given[key] is not None and _several(hints[key]):
            expect(isinstance(given[key], tuple), f"{name}.{key}", value, "a list")
    return kind(**given)


def _several(hint: Any) -> bool:
    """Whether a field of this type holds several values and never one alone."""
    kinds = [one for one in typing.get_args(hint) if one is not type(None)]
    return bool(kinds) and all(typing.get_origin(one) is tuple for one in kinds)


def plain(value: Any) -> Any:
    """A number of numpy as Python's own, which files and keys write in one way."""
    return value.item() if isinstance(value, np.generic) else value


def whole(value: Any) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def expect(holds: bool, name: str, value: Any, wanted: str) -> None:
    """Raise BadInput that names the field, unless it `holds`."""
    if not holds:
        raise BadInput(f"{name} is {value!r}; {wanted} is expected")
