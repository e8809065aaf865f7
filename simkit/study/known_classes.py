"""Which worker processes know the schemes and methods of a comparison.

Worker processes receive their names, and import the modules of their classes. Classes of notebook
cells and of interactive sessions are in no module that another process could import.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from simkit.annotate import schemes
from simkit.learn import methods

Task = TypeVar("Task")
Value = TypeVar("Value")

_MAIN = "__main__"  # local processes run the script again; other workers do not


def unknown_elsewhere(kinds: Iterable[type]) -> list[type]:
    """Those of these classes that a new local process would not know."""
    return [kind for kind in kinds if not _known(kind)]


def _known(kind: type) -> bool:
    if "<locals>" in kind.__qualname__:  # registered by a call, which others do not make
        return False
    if kind.__module__ == _MAIN:
        file = getattr(sys.modules[_MAIN], "__file__", None)
        return bool(file and Path(file).is_file() and kind.__name__ in _at_top_level(Path(file)))
    first = kind.__module__.partition(".")[0]
    return any(finder.find_spec(first, None) for finder in sys.meta_path)


def _at_top_level(script: Path) -> set[str]:
    """The classes that a script defines whenever it runs."""
    body = ast.parse(script.read_bytes()).body
    return {node.name for node in body if isinstance(node, ast.ClassDef)}


def modules(kinds: Iterable[type]) -> list[str]:
    """The modules that a worker process imports to know these classes."""
    known = (kind.__module__ for kind in kinds if _known(kind))
    return sorted({name for name in known if name != _MAIN})


def import_and_call(names: list[str], work: Callable[[Task], Value], task: Task) -> Value:
    """Call `work` in a worker process, after importing modules."""
    for name in names:
        importlib.import_module(name)
    return work(task)


def unregistered(wanted: tuple[list[str], list[str]]) -> list[str]:
    """The names that no scheme or method has in this process, after importing modules.

    wanted: the modules, and the names.
    """
    of_modules, wanted_names = wanted
    for name in of_modules:
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # its classes are lacking
    registered = {*schemes.names(), *methods.names()}
    return [name for name in wanted_names if name not in registered]


def names(kinds: Iterable[Any]) -> list[str]:
    """The names by which schemes and methods are registered."""
    return sorted({kind.name for kind in kinds})
