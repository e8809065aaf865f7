"""Options made from the signatures and docstrings of the functions that commands call.

An option's type, default and help are thus written once. The source is read, not imported: help
answers in a quarter of a second, and the modules of many functions take seconds to import.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click

import simkit

# Heads of entries of a numpydoc section: "budget : float", "data, split", "**settings".
_HEAD = re.compile(r"(?m)^(\w[\w, ]*?)(?: : .*)?\n((?:(?:    .*)?\n)+)")
_PLAIN: dict[str, click.ParamType] = {
    "int": click.INT, "float": click.FLOAT, "str": click.STRING, "Path": click.Path(path_type=Path),
    "Count": click.IntRange(min=1), "Share": click.FloatRange(0, 1),
    "Positive": click.FloatRange(min=0, min_open=True), "NonNegative": click.FloatRange(min=0),
}  # fmt: skip
_ENDS = {"least": "min", "most": "max", "above": "min", "below": "max"}  # of registry.Range


@dataclass(frozen=True)
class Parameter:
    """A keyword of a function or a field of a dataclass; default `...`: it must be given."""

    kind: ast.expr
    default: Any
    meaning: str


def of(
    path: str, *names: str, unset: bool = False, **types: click.ParamType
) -> Callable[[Any], Any]:
    """A decorator with options for parameters of a public function or dataclass.

    Parameters
    ----------
    path
        Module and name, such as "simkit.learn.predict.predict".
    *names
        Parameters with the type of their annotation.
    unset
        Pass None where an option is not given, and only name the default in the help: something
        else, such as a protocol, may decide then.
    **types
        Parameters whose text is read by another type, such as `params.DOLLARS`.
    """
    known = parameters(path)
    made = []
    for name in (*names, *types):
        kind, default, meaning = vars(known[name]).values()
        word = [f"--{name.replace('_', '-')}", name]
        if ast.unparse(kind) == "bool":
            made.append(click.option(*word, is_flag=True, help=meaning))
            continue
        typed = types.get(name) or _type(kind)
        shown = default not in (None, ..., "")
        how = {"default": default, "show_default": True} if shown and not unset else {}
        meaning += f" [default: {default}]" if shown and unset else ""
        needed = default is ...
        made.append(click.option(*word, type=typed, required=needed, help=meaning, **how))

    def decorate(command: Any) -> Any:
        for option in reversed(made):
            command = option(command)
        return command

    return decorate


@cache
def parameters(path: str) -> dict[str, Parameter]:
    """The parameters of a function, or the fields of a dataclass, by name."""
    module, _, name = path.rpartition(".")
    file = Path(simkit.__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    node = next(each for each in tree.body if getattr(each, "name", "") == name)
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    meanings = dict(_documented(ast.get_docstring(node) or ""))
    found = _keywords(node) if isinstance(node, ast.FunctionDef) else _fields(node)
    rows = {
        key: (kind, default, said or meanings.get(key, "")) for key, kind, default, said in found
    }

    def option(word: re.Match[str]) -> str:  # docstrings name parameters as Python does
        return f"--{word[1].replace('_', '-')}" if word[1] in rows else word[0]

    return {
        key: Parameter(kind, default, re.sub(r"`(\w+)`", option, meaning))
        for key, (kind, default, meaning) in rows.items()
    }


_Found = Iterator[tuple[str, ast.expr, Any, str]]  # name, annotation, default, meaning


def _keywords(node: ast.FunctionDef) -> _Found:
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        kind = argument.annotation or ast.Name("str")
        yield argument.arg, kind, ... if default is None else _literal(default), ""


def _fields(node: ast.ClassDef) -> _Found:
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            value, meaning = field.value, ""
            if isinstance(value, ast.Call) and ast.unparse(value.func) == "setting":
                text = str(_literal(value.args[1]))
                value, meaning = value.args[0], f"{text[:1].upper()}{text[1:]}."
            default = ... if value is None else _literal(value)
            yield field.target.id, field.annotation, default, meaning


def _literal(node: ast.expr) -> Any:
    """The value of a default; None for one that is no literal, such as `silent`."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _documented(doc: str) -> Iterator[tuple[str, str]]:
    """Names and meanings in the section Parameters or Attributes of a numpydoc docstring."""
    section = re.search(r"(?ms)^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", doc + "\n")
    for names, text in _HEAD.findall(section[1] if section else ""):
        meaning = " ".join(inspect.cleandoc(text).split())
        yield from ((name, meaning) for name in names.split(", "))


def _type(kind: ast.expr) -> click.ParamType:
    """What click makes of an annotation; of a union, its first part is what a shell can type."""
    if isinstance(kind, ast.BinOp):
        return _type(kind.left)
    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Literal":
        words = ast.literal_eval(kind.slice)
        return click.Choice(words if isinstance(words, tuple) else (words,))
    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Annotated":
        assert isinstance(kind.slice, ast.Tuple)
        base, limits = kind.slice.elts
        assert isinstance(limits, ast.Call)
        named: dict[str, ast.expr] = dict(zip(("least", "most"), limits.args, strict=False))
        named |= {word.arg: word.value for word in limits.keywords if word.arg}
        ends: dict[str, Any] = {_ENDS[name]: _literal(end) for name, end in named.items()}
        if ast.unparse(base) == "int":
            return click.IntRange(**ends)
        return click.FloatRange(**ends, min_open="above" in named, max_open="below" in named)
    return _PLAIN.get(ast.unparse(kind), click.STRING)
