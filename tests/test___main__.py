"""The command without its script."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["simkit", "simkit.cli.main"])
def test_python_runs_it_as_a_module(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Start here:\n    simkit quickstart" in done.stdout


def test_ctrl_c_during_the_first_imports_is_one_line(tmp_path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    search = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "simkit", "list"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": search},
    )  # fmt: skip
    said = "simkit: interrupted before any work began\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)
