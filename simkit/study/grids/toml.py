"""Values as TOML: the standard library reads it and does not write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def text_of(value: Any) -> str:
    """A truth value, number, text or list as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = "".join(
            _ESCAPES.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c)
            for c in value
        )
        return f'"{escaped}"'
    if isinstance(value, Sequence):
        return "[" + ", ".join(text_of(one) for one in value) + "]"
    return repr(value.item() if isinstance(value, np.generic) else value)


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
