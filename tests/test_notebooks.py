"""Every notebook runs from its text, and its committed twin shows the same cells with outputs."""

import importlib.util
from pathlib import Path

import jupytext
import nbformat
import pytest

ROOT = Path(__file__).parents[1]
TEXTS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.py"))


def maker():
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts" / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_notebooks() -> None:
    assert TEXTS


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: p.stem)
def test_runs_quickly(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMKIT_SIZE", "quick")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = maker().execute(text, timeout=600)
    shown = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    assert any("image/png" in o.get("data", {}) for o in shown), "no figure was drawn"


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: p.stem)
def test_committed_twin_has_the_same_cells_and_no_errors(text: Path) -> None:
    twin = nbformat.read(text.with_suffix(".ipynb"), as_version=4)
    source = jupytext.read(text)
    assert [(c.cell_type, c.source) for c in twin.cells] == [
        (c.cell_type, c.source) for c in source.cells
    ], f"run: python scripts/notebooks.py {text.name[:2]}"
    outputs = [o for cell in twin.cells if cell.cell_type == "code" for o in cell.outputs]
    assert outputs and not [o for o in outputs if o.output_type == "error"]


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: p.stem)
def test_cells_are_short_and_define_nothing(text: Path) -> None:
    for cell in jupytext.read(text).cells:
        if cell.cell_type == "code":
            lines = [line for line in cell.source.splitlines() if line.strip()]
            assert len(lines) <= 12, cell.source
            assert not any(line.lstrip().startswith(("def ", "class ")) for line in lines)
