"""Make the notebooks from their text: run notebooks/NN_*.py, write NN_*.ipynb with outputs.

    python scripts/notebooks.py            # all, in the size SIMKIT_SIZE says (default full)
    python scripts/notebooks.py 01         # those whose name begins so

Execution counts and times are stripped, so that equal results are equal files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"


def execute(text: Path, timeout: int = 3600) -> nbformat.NotebookNode:
    """The notebook of this text file, executed; raises nbclient's CellExecutionError."""
    notebook = jupytext.read(text)
    NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
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


def main(prefixes: list[str]) -> None:
    for text in sorted(FOLDER.glob("[0-9][0-9]_*.py")):
        if not prefixes or text.name.startswith(tuple(prefixes)):
            print(f"{text.name} ...", flush=True)
            nbformat.write(tidy(execute(text)), text.with_suffix(".ipynb"))


if __name__ == "__main__":
    main(sys.argv[1:])
