"""What the settings of a part mean, for lists and help."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Setting:
    """One field of a part: its default (None where `needed`), what it means and may be."""

    name: str
    default: Any
    needed: bool
    meaning: str


def spelled(default: Any) -> str:
    """A default as one would write it in a grid."""
    plain = isinstance(default, bool) or default is None
    return str(default).lower() if plain else str(default)


def settings(part: type[Any]) -> list[Setting]:
    """The settings of a registered part, in their order; the method it wraps is none of them."""
    types = get_type_hints(part)
    rows = []
    for field in dataclasses.fields(part):
        if field.init and field.name != "inner":
            factory = field.default_factory
            default = field.default if factory is dataclasses.MISSING else factory()
            needed = default is dataclasses.MISSING
            meanings = filter(None, (field.metadata.get("help"), _choices(types[field.name])))
            default = None if needed else default
            rows.append(Setting(field.name, default, needed, "; ".join(meanings)))
    return rows


def _choices(kind: Any) -> str:
    """What a Literal allows, also in a union with None; nothing where a number may stand, too."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(str(choice) or 'nothing' for choice in get_args(kind))}"
    first = next(iter(get_args(kind)), None)
    return f"{_choices(first)}, none" if get_origin(first) is Literal else ""
