"""Make the notebooks from their text: run notebooks/NN_*.py, write NN_*.ipynb with outputs.

    python scripts/notebooks.py            # all, in the size SIMKIT_SIZE says (default full)
    python scripts/notebooks.py 01         # those whose name begins so
    python scripts/notebooks.py --check    # which outputs were made by other code; runs nothing
    python scripts/notebooks.py --again 01 # run again, and say which cells now show something else
    python scripts/notebooks.py --prose 01 # take over Markdown and comments alone; runs nothing

Whatever differs from run to run is stripped, so that equal results are equal files.

What made the outputs is written into the notebook: see notebook_marks.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
import notebook_marks as marks
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"


def execute(text: Path, timeout: int = 3600) -> nbformat.NotebookNode:
    """The notebook of this text file, executed and marked; raises nbclient's CellExecutionError."""
    os.environ.setdefault("SIMKIT_PROGRESS", "off")  # bars would be outputs
    marks.remember()  # files as they are now, whoever edits them in the meantime
    notebook = jupytext.read(text)
    cells = [marks.python(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    used = marks.imports("\n".join(cells))
    notebook.cells.insert(0, nbformat.v4.new_code_cell(marks.NOTE))
    notebook.cells.append(nbformat.v4.new_code_cell(marks.TELL))
    NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        coalesce_streams=True,  # what is printed may arrive in one piece or in several
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
    used |= set(json.loads(notebook.cells.pop().outputs[0].text))
    del notebook.cells[0]
    notebook = nbformat.reads(nbformat.writes(tidy(notebook)), as_version=4)  # as a file has it
    marks.mark(notebook, os.environ.get("SIMKIT_SIZE", "full"), marks.had_a_part(used))
    return notebook


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


def differing(one: nbformat.NotebookNode, other: nbformat.NotebookNode) -> list[int]:
    """The places of the cells whose outputs differ in two notebooks of the same cells."""
    pairs = enumerate(zip(one.cells, other.cells, strict=True))
    return [place for place, (a, b) in pairs if a.get("outputs") != b.get("outputs")]


def _tell(text: Path) -> bool:
    """Say what the check found; is it right?"""
    wrong, changed = marks.check(text)
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


def _prose(text: Path) -> bool:
    """Take over what the text says around its code, if that is the code that was executed."""
    if not _tell(text):
        return False
    committed = nbformat.read(text.with_suffix(".ipynb"), as_version=4)
    notebook = tidy(jupytext.read(text))
    for cell, executed in zip(*map(marks.code_cells, (notebook, committed)), strict=True):
        cell.outputs = executed.outputs
    notebook.metadata["simkit"] = committed.metadata["simkit"]
    nbformat.write(notebook, text.with_suffix(".ipynb"))
    return True


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
    way.add_argument("--prose", action="store_const", dest="do", const=_prose, help="text alone")
    parser.set_defaults(do=_make)
    chosen = parser.parse_args(arguments)
    texts = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
    texts = [t for t in texts if t.name.startswith(tuple(chosen.prefixes or [""]))]
    return 0 if all([chosen.do(text) for text in texts]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
