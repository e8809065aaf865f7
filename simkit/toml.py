"""Values as TOML, which the standard library reads but does not write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def toml(value: Any) -> str:
    """A boolean, number, string or list as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value.item() if isinstance(value, np.generic) else value)


def toml_lines(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[str]:
    """The lines of a table; TOML has no null, so values that are None are left out."""
    # Only plain keys need no quotation marks.
    keys = {name: name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name) for name in values}
    lines = [
        f"{keys[name]} = {toml(value)}"
        for name, value in values.items()
        if value is not None and not isinstance(value, Mapping)
    ]
    for name, value in values.items():
        if isinstance(value, Mapping) and (value or name == "tuning"):
            inner = (*path, keys[name])
            table = toml_lines(value, inner)
            header = [] if table and table[0] == "" else ["", f"[{'.'.join(inner)}]"]
            lines += [*header, *table]
    return lines
