"""The command without its script."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["simkit", "simkit.cli.main"])
def test_python_runs_it_as_a_module(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Start here:\n    simkit quickstart" in done.stdout
