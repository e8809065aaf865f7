"""Bars in notebooks, and the memory a process has held at most."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import simkit
from simkit import progress as module
from simkit.progress import notebook_bar, peak_memory


class ZMQInteractiveShell:
    """What get_ipython returns in a kernel."""


@pytest.fixture
def kernel(monkeypatch):
    ipython = SimpleNamespace(get_ipython=ZMQInteractiveShell, version_info=(9, 0))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.delenv(module.SWITCH, raising=False)


def test_a_comparison_has_one_line_in_a_notebook(kernel, tmp_path, capsys):
    interrupted = notebook_bar("interrupted")
    interrupted(1, 9)  # as after an interrupted cell, whose bar is never closed
    small = "scenes:images=120,val=40,test=80"
    grid = {"data": small, "schemes": ["rpa"], "methods": ["csl"], "budgets": [9], "draws": 2}
    simkit.compare(grid | {"train": {"epochs": 2}}, out=tmp_path, workers=1)
    shown = capsys.readouterr().err
    assert "\n" not in shown and "comparing" in shown
    assert "training" not in shown  # of the model that csl needs, and of those that score for plans


@pytest.mark.skipif(not module._STATUS.exists(), reason="only Linux counts for the process alone")
def test_a_process_does_not_count_what_its_parent_held():
    held = np.ones(60_000_000)  # 458 MB
    program = "from simkit.progress import peak_memory; print(peak_memory())"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert float(told.stdout) < 300 < peak_memory() and held[-1] == 1


def test_where_linux_says_nothing_the_platform_is_asked(monkeypatch):
    monkeypatch.setattr(module, "_STATUS", Path("/nowhere/status"))
    assert 10 < peak_memory() < 100_000
