"""What a notebook's metadata say of the code that made its outputs, and whether it is still so.

A mark holds, under `simkit`, the size, a digest of the notebook's own code cells, a digest of the
outputs, and a digest of every file of simkit that could have had a part. These are the modules that
its cells import, the methods, schemes, figures and other parts that were asked for by name, all
that any of these imports (inside functions too: a worker process may have run them), and the
package's data files. Parts that were loaded and not asked for do not count. Code is read as a
syntax tree without docstrings: a comment, a docstring or a line break makes nothing "other code",
and neither does any change of Markdown cells.

The check tells two things apart:

* the cells or the outputs are not those of the execution: an error. The file shows what its own
  code never printed.
* a file of simkit has changed since: "made by earlier code", with the names. Most changes leave
  outputs as they are, and only executing it again could tell, so this is said and is no error.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jupytext
import nbformat
from IPython.core.displayhook import DisplayHook
from IPython.core.inputtransformer2 import TransformerManager

ROOT = Path(__file__).parents[1]
# Magics that run the rest of their cell as Python.
RUN_IT = ("capture", "prun", "time", "timeit")
# Run in the kernel, before the first cell and after the last.
NOTE = """
from simkit.registry import Registry
asked_for, get_part = set(), Registry.__getitem__
Registry.__getitem__ = lambda self, name: [get_part(self, name), asked_for.add(
    get_part(self, name).__module__)][0]
"""
TELL = """
import json, simkit
used = [vars(simkit)[name] for name in simkit.__all__ if name in vars(simkit)]
public = {getattr(one, "__module__", None) or one.__name__ for one in used}
print(json.dumps(sorted(asked_for | public)))
"""


class Verdict(NamedTuple):
    """What is wrong with a notebook, and the files of simkit that changed since it was made."""

    wrong: list[str]
    changed: list[str]


def mark(notebook: nbformat.NotebookNode, size: str, files: Iterable[Path]) -> None:
    """Write into its metadata what made this executed notebook."""
    notebook.metadata["simkit"] = {
        "size": size,
        "cells": cells_digest(notebook),
        "outputs": outputs_digest(notebook),
        "files": {path.relative_to(ROOT).as_posix(): file_digest(path) for path in files},
    }


def check(text: Path) -> Verdict:
    """What the mark of this text's committed notebook says against the files that are here."""
    twin = text.with_suffix(".ipynb")
    mend = f"run: python scripts/notebooks.py {text.name[:2]}"
    if not twin.exists():
        return Verdict([f"there is no {twin.name}; {mend}"], [])
    notebook = nbformat.read(twin, as_version=4)
    mark = notebook.metadata.get("simkit")
    if mark is None:
        return Verdict([f"nothing says which code made its outputs; {mend}"], [])
    wrong = []
    if {cells_digest(notebook), cells_digest(jupytext.read(text))} != {mark["cells"]}:
        wrong.append(f"its code cells are not those that were executed; {mend}")
    if outputs_digest(notebook) != mark["outputs"]:
        wrong.append(f"its outputs are not those of the execution; {mend}")
    if mark["size"] != "full":
        wrong.append(f"it was executed in the size {mark['size']}; SIMKIT_SIZE=full, then {mend}")
    return Verdict(wrong, [name for name, was in mark["files"].items() if _now(name) != was])


def _now(name: str) -> str:
    path = ROOT / name
    return file_digest(path) if path.is_file() else "gone"


def remember() -> None:
    """Take the digests of all modules."""
    for path in (ROOT / "simkit").rglob("*.py"):
        file_digest(path)


def had_a_part(modules: Iterable[str]) -> list[Path]:
    """The files of simkit behind these modules, what they import anywhere, and all data files."""
    todo, found = {path for name in modules if (path := _file(name))}, set()
    while todo:
        path = todo.pop()
        found.add(path)
        todo |= _imported(path) - found
    data = (ROOT / "simkit").rglob("*.*")
    found |= {p for p in data if p.is_file() and p.suffix not in (".py", ".pyc")}
    return sorted(found)


@cache
def _imported(path: Path) -> set[Path]:
    """Files of simkit that are imported somewhere in this one; all imports here are absolute."""
    return {found for name in imports(path.read_text("utf-8")) if (found := _file(name))}


def imports(code: str) -> set[str]:
    """Names that may be modules, from all imports in the code."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


@cache
def _file(module: str) -> Path | None:
    """The file of a module of simkit, None for any other name."""
    place = ROOT.joinpath(*module.split("."))
    found = [p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()]
    return found[0] if found and module.split(".")[0] == "simkit" else None


@cache
def file_digest(path: Path) -> str:
    """Of a Python file what it does, of any other file its bytes."""
    return _digest(bare(path.read_text("utf-8")) if path.suffix == ".py" else path.read_bytes())


def cells_digest(notebook: nbformat.NotebookNode) -> str:
    """Of what the code cells do and show, one by one."""
    return _digest("\n\f".join(bare_cell(cell.source) for cell in code_cells(notebook)))


def outputs_digest(notebook: nbformat.NotebookNode) -> str:
    """Of everything that the code cells show, cell by cell."""
    return _digest(json.dumps([cell.outputs for cell in code_cells(notebook)], sort_keys=True))


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Those that are executed and have outputs."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def bare_cell(source: str) -> str:
    """A cell's code without comments, docstrings and layout.

    Two things mean nothing in a file and something here: a string that is all the cell has is
    shown, and a semicolon at the end hides what the cell ends in.
    """
    code = python(source)
    tree = ast.parse(code)
    text = len(tree.body) == 1 and ast.get_docstring(tree) is not None
    hidden = ";" if DisplayHook.semicolon_at_end_of_expression(source) else ""
    return (ast.unparse(tree) if text else bare(code)) + hidden


def bare(code: str) -> str:
    """Code without comments, docstrings and layout."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def python(source: str) -> str:
    """A cell's code with its lines of % and ! as the calls that IPython makes of them.

    Below a magic that runs the rest of its cell stands that rest, so that it counts as code.
    """
    code = TransformerManager().transform_cell(source)
    match ast.parse(code).body:
        case [ast.Expr(ast.Call(ast.Attribute(attr="run_cell_magic"), [name, line, rest]))]:
            name, line, rest = map(ast.literal_eval, (name, line, rest))
            if name in RUN_IT:
                return f"get_ipython().run_cell_magic({name!r}, {line!r}, '')\n{python(rest)}"
    return code


def _digest(content: str | bytes) -> str:
    content = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(content).hexdigest()[:12]
