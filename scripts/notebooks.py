"""Make the notebooks from their text: run notebooks/NN_*.py, write NN_*.ipynb with outputs.

    python scripts/notebooks.py            # all, in the size SIMKIT_SIZE says (default full)
    python scripts/notebooks.py 01         # those whose name begins so
    python scripts/notebooks.py --check    # whose outputs were made by other code; runs nothing
    python scripts/notebooks.py --again 01 # run again, and name the cells with other outputs
    python scripts/notebooks.py --prose 01 # take over Markdown and comments alone; runs nothing
    python scripts/notebooks.py --perturb 0.01 01  # run as on another processor; writes nothing

Processors round differently. --perturb moves this share of the fp16 features to a neighbouring
number, in all processes of a chapter and with a cache of its own (`perturbed/sitecustomize.py`),
and names the assertions that fail, of every cell, and in full size the cells with other text.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jupytext
import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from simkit.study.jobs import code_id

FOLDER = Path(__file__).parents[1] / "notebooks"
_FAILS = "fails: "


def execute(text: Path, timeout: int = 3600) -> NotebookNode:
    """The notebook of this text file, executed and marked; raises nbclient's CellExecutionError."""
    code = code_id()  # before the run: files may change meanwhile
    notebook = jupytext.read(text)
    _run(notebook, {}, timeout=timeout)
    notebook = nbformat.reads(nbformat.writes(tidy(notebook)), as_version=4)  # as a file has it
    size = os.environ.get("SIMKIT_SIZE", "full")
    notebook.metadata["simkit"] = {"size": size, "code": code, **digests(notebook)}
    return notebook


def _run(notebook: NotebookNode, variables: dict[str, str], **how: Any) -> None:
    """Execute in place, with these environment variables besides those of this process."""
    NotebookClient(
        notebook,
        kernel_name="python3",
        coalesce_streams=True,  # what is printed may arrive in one piece or in several
        resources={"metadata": {"path": str(FOLDER)}},
        **how,
    ).execute(env={"SIMKIT_PROGRESS": "off"} | os.environ | variables)  # bars would be outputs


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


def _tree(source: str) -> ast.Module:
    return ast.parse(TransformerManager().transform_cell(source))


def _bare(source: str) -> str:
    return ast.unparse(_tree(source)) + ";" * source.rstrip().endswith(
        ";"
    )  # a semicolon hides the last value


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
    with _timed(text):
        notebook = execute(text)
    pairs = enumerate(zip(earlier.cells, notebook.cells, strict=True))
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


def _perturb(text: Path, share: float) -> bool:
    """Execute with perturbed features, and name the assertions that fail."""
    with _timed(text):
        notebook = perturbed(text, share)
    failed = {place: failures(cell) for place, cell in enumerate(notebook.cells)}
    for place, line in ((place, line) for place, lines in failed.items() for line in lines):
        print(f"  cell {place} fails: {line}")
    if os.environ.get("SIMKIT_SIZE", "full") == "full":
        earlier = [printed(cell) for cell in committed(text).cells]
        pairs = enumerate(zip(earlier, map(printed, notebook.cells), strict=True))
        other = [place for place, (a, b) in pairs if a != b]
        print(
            f"  other text in {len(other)} of {sum(map(bool, earlier))} cells: {other}", flush=True
        )
    return not any(failed.values())


def perturbed(text: Path, share: float, timeout: int = 3600) -> NotebookNode:
    """The notebook of this text, executed with this share of the features moved by one unit.

    Its cells print the assertions that fail, and those after an error are executed too.
    """
    notebook = jupytext.read(text)
    for cell in code_cells(notebook):
        if "assert " in cell.source:
            cell.source = ast.unparse(_Noted().visit(_tree(cell.source)))
    seen = f"import sitecustomize\nassert sitecustomize.SHARE == {share}"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(seen))
    paths = [str(Path(__file__).parent / "perturbed"), os.environ.get("PYTHONPATH", "")]
    with TemporaryDirectory() as cache:
        variables = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "SIMKIT_CACHE": cache}
        variables |= {"SIMKIT_PERTURB": str(share)}
        _run(notebook, variables, timeout=timeout, allow_errors=True)
    if failures(notebook.cells.pop(0)):
        raise RuntimeError("the features were not perturbed: another sitecustomize was loaded")
    return notebook


class _Noted(ast.NodeTransformer):
    """Makes assertions print themselves when they fail, so that those after them are tried."""

    def visit_Assert(self, node: ast.Assert) -> ast.If:
        line = f"print({_FAILS + ast.unparse(node.test)!r})"
        return ast.If(ast.UnaryOp(ast.Not(), node.test), ast.parse(line).body, [])


def failures(cell: NotebookNode) -> list[str]:
    """The assertions that failed in an executed cell, and its error."""
    lines = printed(cell).splitlines()
    lines = [line.removeprefix(_FAILS) for line in lines if line.startswith(_FAILS)]
    errors = [one for one in cell.get("outputs", []) if one.output_type == "error"]
    return [*dict.fromkeys(lines), *(f"{one.ename}: {one.evalue}" for one in errors)]


def printed(cell: NotebookNode) -> str:
    """The text among the outputs of a cell."""
    outputs = cell.get("outputs", [])
    return "".join(
        one.get("text", "") + one.get("data", {}).get("text/plain", "") for one in outputs
    )


def _make(text: Path) -> bool:
    with _timed(text):
        notebook = execute(text)
    nbformat.write(notebook, text.with_suffix(".ipynb"))
    return True


@contextmanager
def _timed(text: Path) -> Iterator[None]:
    start, before = time.monotonic(), os.times()
    yield
    after = os.times()
    work = after.children_user + after.children_system
    work -= before.children_user + before.children_system
    elapsed = time.monotonic() - start
    print(f"{text.stem}: {elapsed:.0f} s, {work:.0f} s of processor time", flush=True)


def _perturbing(share: str) -> Callable[[Path], bool]:
    return partial(_perturb, share=float(share))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make the notebooks from their text.")
    parser.add_argument("prefixes", nargs="*", help="those whose name begins so; all without one")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_const", dest="do", const=_check, help="no runs")
    action.add_argument("--again", action="store_const", dest="do", const=_again, help="compare")
    action.add_argument("--prose", action="store_const", dest="do", const=_prose, help="text alone")
    action.add_argument(
        "--perturb", type=_perturbing, dest="do", metavar="SHARE", help="of features"
    )
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
