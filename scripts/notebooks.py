"""Make the notebooks from their text: run notebooks/NN_*.py, write NN_*.ipynb with outputs.

    python scripts/notebooks.py            # all, in the size SIMKIT_SIZE says (default full)
    python scripts/notebooks.py 01         # those whose name begins so
    python scripts/notebooks.py --check    # whose outputs were made by other code; runs nothing
    python scripts/notebooks.py --again 01 # run again, and name the cells with other outputs
    python scripts/notebooks.py --prose 01 # take over Markdown and comments alone; runs nothing

Whatever differs from run to run is stripped, so that equal results are equal files. A notebook's
metadata hold, under `simkit`, the size, the hash of simkit's code (`simkit.study.jobs`), and
digests of the executed cells and of their outputs.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from simkit.study.jobs import code_id

FOLDER = Path(__file__).parents[1] / "notebooks"


def execute(text: Path, timeout: int = 3600) -> NotebookNode:
    """The notebook of this text file, executed and marked; raises nbclient's CellExecutionError."""
    os.environ.setdefault("SIMKIT_PROGRESS", "off")  # bars would be outputs
    code = code_id()  # before the run: files may change meanwhile
    notebook = jupytext.read(text)
    NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        coalesce_streams=True,  # what is printed may arrive in one piece or in several
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
    notebook = nbformat.reads(nbformat.writes(tidy(notebook)), as_version=4)  # as a file has it
    size = os.environ.get("SIMKIT_SIZE", "full")
    notebook.metadata["simkit"] = {"size": size, "code": code, **digests(notebook)}
    return notebook


def tidy(notebook: NotebookNode) -> NotebookNode:
    """The notebook without what differs from run to run; cell ids follow the place."""
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


def digests(notebook: NotebookNode) -> dict[str, str]:
    """Digests of the code cells, without comments and layout, and of their outputs."""
    cells = code_cells(notebook)
    shown = [cell.get("outputs", []) for cell in cells]
    parts = {
        "cells": "\n\f".join(_bare(cell.source) for cell in cells),
        "outputs": json.dumps(shown, sort_keys=True),
    }
    return {k: hashlib.sha256(part.encode()).hexdigest()[:12] for k, part in parts.items()}


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _bare(source: str) -> str:
    code = ast.unparse(ast.parse(TransformerManager().transform_cell(source)))
    return code + ";" * source.rstrip().endswith(";")  # a semicolon hides the last value


def faults(text: Path) -> list[str]:
    """Errors of the committed notebook of this text: cells or outputs of no full execution."""
    mend = f"run: SIMKIT_SIZE=full python scripts/notebooks.py {text.name[:2]}"
    if not text.with_suffix(".ipynb").exists():
        return [f"{text.with_suffix('.ipynb').name} is missing; {mend}"]
    notebook = committed(text)
    mark, actual = notebook.metadata.get("simkit", {}), digests(notebook)
    cells = digests(jupytext.read(text))["cells"]
    wrong = {
        "its code cells differ from the text": actual["cells"] != cells,
        "its code cells are not those that were executed": actual["cells"] != mark.get("cells"),
        "its outputs are not those of the execution": actual["outputs"] != mark.get("outputs"),
        "it was not executed in full": mark.get("size") != "full",
    }
    return [f"{fault}; {mend}" for fault, holds in wrong.items() if holds]


def committed(text: Path) -> NotebookNode:
    """The executed notebook beside the text."""
    return nbformat.read(text.with_suffix(".ipynb"), as_version=4)


def _check(text: Path) -> bool:
    wrong = faults(text)
    same = not wrong and committed(text).metadata["simkit"].get("code") == code_id()
    for line in wrong or ["made by this code" if same else "made by earlier code"]:
        print(f"{text.stem}: {line}")
    return not wrong


def _again(text: Path) -> bool:
    """Execute once more, in the size of the committed outputs, and compare the outputs."""
    if not _check(text):
        return False
    earlier = committed(text)
    os.environ["SIMKIT_SIZE"] = earlier.metadata["simkit"]["size"]
    pairs = enumerate(zip(earlier.cells, _timed(text).cells, strict=True))
    cells = [place for place, (a, b) in pairs if a.get("outputs") != b.get("outputs")]
    print(f"other outputs in cells {cells}" if cells else "the same outputs", flush=True)
    return not cells


def _prose(text: Path) -> bool:
    """Take over Markdown and comments, if the code is that which was executed."""
    if not _check(text):
        return False
    executed, notebook = committed(text), tidy(jupytext.read(text))
    for cell, earlier in zip(code_cells(notebook), code_cells(executed), strict=True):
        cell.outputs = earlier.outputs
    notebook.metadata["simkit"] = executed.metadata["simkit"]
    nbformat.write(notebook, text.with_suffix(".ipynb"))
    return True


def _make(text: Path) -> bool:
    nbformat.write(_timed(text), text.with_suffix(".ipynb"))
    return True


def _timed(text: Path) -> NotebookNode:
    start, before = time.monotonic(), os.times()
    notebook = execute(text)
    after = os.times()
    work = after.children_user + after.children_system
    work -= before.children_user + before.children_system
    elapsed = time.monotonic() - start
    print(f"{text.stem}: {elapsed:.0f} s, {work:.0f} s of processor time", flush=True)
    return notebook


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make the notebooks from their text.")
    parser.add_argument("prefixes", nargs="*", help="those whose name begins so; all without one")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_const", dest="do", const=_check, help="no runs")
    action.add_argument("--again", action="store_const", dest="do", const=_again, help="compare")
    action.add_argument("--prose", action="store_const", dest="do", const=_prose, help="text alone")
    parser.set_defaults(do=_make)
    chosen = parser.parse_args(arguments)
    texts = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
    for prefix in chosen.prefixes:
        if not any(text.name.startswith(prefix) for text in texts):
            parser.error(f"no notebook begins with {prefix}; give numbers, such as 01")
    texts = [t for t in texts if t.name.startswith(tuple(chosen.prefixes or [""]))]
    return 0 if all([chosen.do(text) for text in texts]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
