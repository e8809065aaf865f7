"""Analyses: what runs, labels and trained models say, as tables that figures draw.

    >>> table = simkit.analysis.ablation(comparison.table, "an")
    >>> simkit.figures.make("ablation")(table)

Public names stand in `__init__.pyi`, with their types, and are loaded when they are first used.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_PUBLIC = {
    alias.asname: (node.module, alias.name)
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = list(_PUBLIC)  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    globals()[name] = getattr(importlib.import_module(module), attribute)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
