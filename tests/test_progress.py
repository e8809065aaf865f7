"""The memory a process has held at most."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simkit import progress as module
from simkit.progress import peak_memory


@pytest.mark.skipif(not module._STATUS.exists(), reason="only Linux counts for the process alone")
def test_a_process_does_not_count_what_its_parent_held():
    held = np.ones(60_000_000)  # 458 MB
    program = "from simkit.progress import peak_memory; print(peak_memory())"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert float(told.stdout) < 300 < peak_memory() and held[-1] == 1


def test_where_linux_says_nothing_the_platform_is_asked(monkeypatch):
    monkeypatch.setattr(module, "_STATUS", Path("/nowhere/status"))
    assert 10 < peak_memory() < 100_000
