"""Public names of a package and packages of registered parts, loaded at first use."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# By kind of registered parts, the package that registers them. `registry.registry_of` imports it at
# first use: code in early packages may read the facts of parts in later packages, and
# loads these only if necessary.
PACKAGES: dict[str, str] = {}


def attach(module: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module, from the imports of the stub (.pyi) beside its file.

    Type checkers read the same stub, so each name is listed once.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    public = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def load(name: str) -> Any:
        if name not in public:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        source, attribute = public[name]
        package = importlib.import_module(source)
        if source == module or not hasattr(package, attribute):
            value: Any = importlib.import_module(f"{source}.{attribute}")
        else:
            value = getattr(package, attribute)
        setattr(sys.modules[module], name, value)
        return value

    return load, lambda: sorted(public)
