"""Which code made a run: a hash that changes when its numbers may.

The hash covers the files of simkit, those parts of other files that classes of a run may depend on,
and the compiled code of classes in notebook cells and of what they refer to.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import functools
import hashlib
import re
import secrets
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from simkit.learn.method import layers

ROOT = Path(__file__).parents[1]
# Everything that decides the result of a run; registries import every file of their package.
_OF_RUNS = (
    "*.py", "labels/**/*.py", "metrics/**/*.py", "data/**/*.py", "annotate/**/*.py",
    "embed/**/*.py", "learn/**/*.py",
    *(f"study/{name}.py" for name in ("code_id", "grid", "jobs", "sources", "tuning", "worker")),
)  # fmt: skip
_LOOKED_UP = {"globals", "vars", "eval", "exec", "__subclasses__", "__init_subclass__"}
_IMPORTS = ast.Import, ast.ImportFrom
_DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
_OF_C = {None, *sys.builtin_module_names}  # modules without a file that are no cells


def own_classes(parts: Iterable[object]) -> frozenset[type]:
    """The classes of schemes and methods, and of wrapped methods, that are not part of simkit."""
    kinds = {type(layer) for part in parts for layer in layers(part)}
    return frozenset(kind for kind in kinds if ROOT not in (_file(kind) or Path()).parents)


def code_id(own: Iterable[type] = ()) -> str:
    """Hash of the code, eight hexadecimal digits, without docstrings, comments and line breaks.

    Parameters
    ----------
    own
        Classes of the run from outside simkit (`own_classes`). Of these and of their base classes,
        those parts of their files count that they may depend on; for classes of notebook cells, the
        code of the class and of the functions, classes and values of other cells that it refers to.
        If one of these values cannot be compared, the hash is a new one each time, with a warning:
        no earlier run is reused.
    """
    kinds = {base for kind in own for base in kind.__mro__}
    cells, outside = [kind for kind in kinds if _of_a_cell(kind)], dict[Path, set[str]]()
    for kind in kinds:
        path, package = _file(kind), kind.__module__.partition(".")[0]
        if path and ROOT not in path.parents and package not in sys.stdlib_module_names:
            outside.setdefault(path, set()).add(kind.__qualname__.partition(".")[0])
    digest = hashlib.sha256((_described(cells) if cells else "").encode())
    for path in sorted(file for part in _OF_RUNS for file in ROOT.glob(part)):
        digest.update(f"{path.name}\n{_source(path.read_bytes())}\n".encode())
    for path, names in sorted(outside.items()):
        source = _needed(path.read_bytes(), frozenset(names))
        digest.update(f"{path.name}\n{source}\n".encode())
    return digest.hexdigest()[:8]


@cache  # parsing all files takes a second
def _source(text: bytes) -> str:
    """The code without docstrings and comments."""
    return ast.unparse(_parsed(text))


def _parsed(text: bytes) -> ast.Module:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                if isinstance(first.value.value, str):
                    node.body[0] = ast.Pass()
    return tree


@cache
def _needed(text: bytes, names: frozenset[str]) -> str:
    """The statements of a file that its classes with these names may depend on.

    These are the definitions of all names that they mention, directly or not; other statements, and
    decorators, that may change what such a name stands for; and statements about no name of the
    file. The whole file counts if names may be looked up in another way.
    """
    tree, uses = _parsed(text), dict[str, set[str]]()
    for node in tree.body:
        for name in () if isinstance(node, _IMPORTS) else _bound(node):
            uses.setdefault(name, set()).update(_names(node))
    if not names <= uses.keys() or _names(tree) & _LOOKED_UP:
        return ast.unparse(tree)
    needed, left = set(names), {node: _concerned(node, uses) for node in tree.body}
    while more := [node for node, of in left.items() if not of or of & needed]:
        for node in more:
            needed |= _names(node)
            del left[node]
    return "\n".join(ast.unparse(node) for node in tree.body if node not in left)


def _concerned(node: ast.stmt, uses: Mapping[str, set[str]]) -> set[str]:
    """The names that a statement binds or may change; empty: it may change anything.

    uses: for each name that the file defines, the names in its definitions.
    """
    bound = _bound(node)
    if isinstance(node, _IMPORTS):
        return bound - {"*"}
    within = node.decorator_list if isinstance(node, _DEFINITIONS) else [node]
    found = {name for part in within for name in _names(part)} & uses.keys()
    while more := {name for one in found for name in uses[one]} & uses.keys() - found:
        found |= more
    return bound | found


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement of a file binds."""
    if isinstance(node, _DEFINITIONS):
        return {node.name}
    parts = (one for one in ast.walk(node) if isinstance(one, (*_DEFINITIONS, ast.Name, ast.alias)))
    return {_name(one) for one in parts if not isinstance(getattr(one, "ctx", None), ast.Load)}


def _names(tree: ast.AST) -> set[str]:
    """The names in some code, and texts that may be names."""
    return {_name(node) for node in ast.walk(tree)}


def _name(node: Any) -> str:
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    values = (getattr(node, field, "") for field in ("id", "attr", "name", "value"))
    return next((value for value in values if value and isinstance(value, str)), "")


def _file(item: Any) -> Path | None:
    """The file that defines a class or function; None for built-in ones and those of cells."""
    path = getattr(sys.modules.get(item.__module__ or ""), "__file__", None)
    return Path(path) if path and Path(path).is_file() else None


def _of_a_cell(item: Any) -> bool:
    return _file(item) is None and item.__module__ not in _OF_C


def _described(cells: list[type]) -> str:
    """The code of classes of cells, without what does not change a run."""
    try:
        return "\n".join(
            line for kind in sorted(cells, key=lambda kind: kind.__qualname__)
            for line in _lines(kind, {})
        )  # fmt: skip
    except _CannotCompare as error:
        warnings.warn(f"no earlier run is reused: {error}", stacklevel=5)
        return secrets.token_hex()


class _CannotCompare(Exception):
    pass


def _lines(item: Any, seen: dict[int, Any]) -> Iterator[str]:
    """What an object is, by its content, so that equal content gives equal lines."""
    if item is ... or isinstance(item, int | float | complex | str | bytes | Path | None):
        yield repr(item)
        return
    if id(item) in seen:
        yield "again"
        return
    seen[id(item)] = item  # kept, as a number may be given again
    if isinstance(item, ModuleType | BuiltinFunctionType):
        yield item.__name__
    elif isinstance(item, np.ndarray | torch.Tensor):
        values = np.asarray(item.detach().cpu() if isinstance(item, torch.Tensor) else item)
        yield f"{values.dtype} {values.shape} {hashlib.sha256(values.tobytes()).hexdigest()}"
    elif isinstance(item, Mapping):
        for key in item:
            yield from (*_lines(key, seen), ":", *_lines(item[key], seen))
    elif isinstance(item, list | tuple):
        yield f"{type(item).__name__} of {len(item)}"
        for value in item:
            yield from _lines(value, seen)
    elif isinstance(item, set | frozenset):
        yield from sorted(line for value in item for line in _lines(value, seen))
    elif isinstance(item, type):
        yield f"class {item.__qualname__}"
        if _of_a_cell(item):
            for base in item.__mro__[1:]:
                yield from _lines(base, seen)
            yield from _members(item, seen)
    elif isinstance(item, FunctionType):
        yield f"function {item.__qualname__}"
        if _of_a_cell(item):
            yield from _of_function(item, seen)
    else:
        yield from _of_object(item, seen)


def _members(kind: type, seen: dict[int, Any]) -> Iterator[str]:
    """What a class defines: functions, values, and the defaults of its fields."""
    for name, member in sorted(vars(kind).items()):
        own = getattr(member, "__code__", None)
        if name.startswith("__") and (own is None or own.co_filename == "<string>"):
            continue  # of Python and of dataclasses, which follow from the fields
        if name != "_abc_impl":
            yield from (name, *_lines(member, seen))
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            default = field.default_factory
            if default is not dataclasses.MISSING:
                yield from (field.name, *_lines(default, seen))


def _of_function(function: FunctionType, seen: dict[int, Any]) -> Iterator[str]:
    """Its compiled code, its defaults, and the content of the names that it uses."""
    codes = [function.__code__]
    for code in codes:
        yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames}"
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                codes.append(constant)
            elif constant != function.__doc__:
                yield from _lines(constant, seen)
    yield from _lines(function.__defaults__, seen)
    yield from _lines(function.__kwdefaults__, seen)
    for cell in function.__closure__ or ():
        yield from _lines(cell.cell_contents, seen)
    steps = (step for code in codes for step in dis.get_instructions(code))
    for name in sorted({step.argval for step in steps if step.opname == "LOAD_GLOBAL"}):
        if name in function.__globals__:
            yield from (name, *_lines(function.__globals__[name], seen))


def _of_object(item: Any, seen: dict[int, Any]) -> Iterator[str]:
    """Descriptors, wrapped functions, patterns, and objects with attributes."""
    yield type(item).__qualname__
    if isinstance(item, re.Pattern):
        yield f"{item.pattern!r} {item.flags}"
        return
    if isinstance(item, functools.partial):
        yield from _lines((item.func, item.args, item.keywords), seen)
        return
    names = ("fget", "fset", "func", "__func__", "__wrapped__")
    inner = [value for name in names if (value := getattr(item, name, None)) is not None]
    if inner:
        for value in inner:
            yield from _lines(value, seen)
    elif hasattr(item, "__dict__") and type(item).__module__ != "builtins":
        yield from _lines(type(item), seen)
        yield from _lines(vars(item), seen)
    elif getattr(item, "__qualname__", None):  # slots and methods of C
        yield item.__qualname__
    else:
        kind = type(item).__name__
        raise _CannotCompare(
            f"a class of a cell refers to a {kind}, which cannot be compared with that of another "
            "run; define the class in a file"
        )
