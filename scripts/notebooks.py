"""Make the notebooks from their text: run notebooks/NN_*.py, write NN_*.ipynb with outputs.

    python scripts/notebooks.py            # all, in the size SIMKIT_SIZE says (default full)
    python scripts/notebooks.py 01         # those whose name begins so
    python scripts/notebooks.py --check    # which outputs were made by other code; runs nothing
    python scripts/notebooks.py --again 01 # run again, and say which cells now show something else

Whatever differs from run to run is stripped, so that equal results are equal files.

A notebook's metadata say under `simkit` what made its outputs: the size, a digest of its own code
cells, a digest of the outputs, and a digest of every file of simkit that could have had a part: the
modules the kernel had loaded at the end, those they import inside functions (a worker process may
have loaded them), and the data files of the package. Code is read as a syntax tree without its
docstrings: a comment, a docstring or a line break makes nothing "other code". `--check` then tells
two things apart:

* the cells or the outputs are not those of the execution: an error. The file shows what its own
  code never printed.
* a file of simkit has changed since: "made by earlier code", with the names. Most changes leave
  outputs as they are, and only executing it again could tell, so this is said and is no error.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jupytext
import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
LOADED = "import json, sys; print(json.dumps([m for m in sys.modules if m[:6] == 'simkit']))"


class Verdict(NamedTuple):
    """What is wrong with a notebook, and the files of simkit that changed since it was made."""

    wrong: list[str]
    changed: list[str]


def execute(text: Path, timeout: int = 3600) -> nbformat.NotebookNode:
    """The notebook of this text file, executed and marked; raises nbclient's CellExecutionError."""
    for path in (ROOT / "simkit").rglob("*.py"):
        file_digest(path)  # as it is now, whoever edits it in the meantime
    notebook = jupytext.read(text)
    notebook.cells.append(nbformat.v4.new_code_cell(LOADED))
    NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        coalesce_streams=True,  # what is printed may arrive in one piece or in several
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
    loaded = json.loads(notebook.cells.pop().outputs[0].text)
    notebook = nbformat.reads(nbformat.writes(tidy(notebook)), as_version=4)  # as a file has it
    mark(notebook, os.environ.get("SIMKIT_SIZE", "full"), had_a_part(loaded))
    return notebook


def mark(notebook: nbformat.NotebookNode, size: str, files: Iterable[Path]) -> None:
    """Write into its metadata what made this executed notebook."""
    notebook.metadata["simkit"] = {
        "size": size,
        "cells": cells_digest(notebook),
        "outputs": outputs_digest(notebook),
        "files": {path.relative_to(ROOT).as_posix(): file_digest(path) for path in files},
    }


def tidy(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what differs from run to run; cell ids follow the place."""
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place:02d}"
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
    notebook.metadata.pop("language_info", None)
    return notebook


def had_a_part(loaded: Iterable[str]) -> list[Path]:
    """The files of simkit behind these modules, what they import anywhere, and all data files."""
    todo, found = {path for name in loaded if (path := _file(name))}, set()
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
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {found for name in names if (found := _file(name))}


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
    """Of what the code cells do, one by one."""
    return _digest("\n\f".join(bare(c.source) for c in notebook.cells if c.cell_type == "code"))


def outputs_digest(notebook: nbformat.NotebookNode) -> str:
    """Of everything that the cells show."""
    return _digest(json.dumps([c.get("outputs") for c in notebook.cells], sort_keys=True))


def bare(code: str) -> str:
    """Code without comments, docstrings and layout; lines of % come first, as they are."""
    lines = code.splitlines()
    magic = [line for line in lines if line.startswith(("%", "!"))]
    tree = ast.parse("\n".join(line for line in lines if line not in magic))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return "\n".join([*magic, ast.unparse(tree)])


def _digest(content: str | bytes) -> str:
    content = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(content).hexdigest()[:12]


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


def differing(one: nbformat.NotebookNode, other: nbformat.NotebookNode) -> list[int]:
    """The places of the cells whose outputs differ in two notebooks of the same cells."""
    pairs = enumerate(zip(one.cells, other.cells, strict=True))
    return [place for place, (a, b) in pairs if a.get("outputs") != b.get("outputs")]


def _tell(text: Path) -> bool:
    """Say what the check found; is it right?"""
    wrong, changed = check(text)
    few = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
    earlier = [f"made by earlier code: since changed {few}"] if changed else []
    for line in [f"WRONG: {one}" for one in wrong] + earlier or ["made by this code"]:
        print(f"{text.stem}: {line}")
    return not wrong


def _again(text: Path) -> bool:
    """Execute once more, in the size of the committed outputs; are they the same?"""
    committed = nbformat.read(text.with_suffix(".ipynb"), as_version=4)
    os.environ["SIMKIT_SIZE"] = committed.metadata["simkit"]["size"]
    cells = differing(committed, _timed(text))
    print(f"other outputs in cells {cells}" if cells else "the same outputs", flush=True)
    return not cells


def _make(text: Path) -> bool:
    nbformat.write(_timed(text), text.with_suffix(".ipynb"))
    return True


def _timed(text: Path) -> nbformat.NotebookNode:
    """Execute, and say how long it took, and how long processors were at work for it."""
    start, before = time.monotonic(), os.times()
    notebook = execute(text)
    used = os.times()
    work = used.children_user + used.children_system - before.children_user - before.children_system
    print(f"{text.stem}: {time.monotonic() - start:.0f} s, {work:.0f} s at work", flush=True)
    return notebook


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make the notebooks from their text.")
    parser.add_argument("prefixes", nargs="*", help="those whose name begins so; all without one")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--check", action="store_const", dest="do", const=_tell, help="run nothing")
    way.add_argument("--again", action="store_const", dest="do", const=_again, help="and compare")
    parser.set_defaults(do=_make)
    chosen = parser.parse_args(arguments)
    texts = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
    texts = [t for t in texts if t.name.startswith(tuple(chosen.prefixes or [""]))]
    return 0 if all([chosen.do(text) for text in texts]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
