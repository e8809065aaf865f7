"""A package of one's own adds schemes, methods and backbones: in the shell and in workers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
KINDS = ("schemes", "methods", "backbones")
ENTRY_POINTS = "".join(f"[simkit.{kind}]\nmine = mine\n" for kind in KINDS)
BACKBONE = """
import os
import sys

import torch
from simkit.study import jobs
from simkit.embed.backbones import BACKBONES
from simkit.embed.networks import Backbone

@BACKBONES.register
class Means(Backbone):
    \"""The mean colours of four by four tiles.\"""
    name, width, size = "means", 3, 32

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, images):
        return torch.nn.functional.avg_pool2d(images, 8) * self.scale

jobs.LEAST = 0.0  # a job for each draw; this little work would be one job, without a worker
print("loaded in", os.getpid(), file=sys.stderr)
"""
GRID = """
data = "scenes:images=200,val=40,test=100"
schemes = ["checklist"]
methods = ["an", "capped"]
budgets = [20]
draws = 2
backbone = "means"
weights = "random"
[train]
epochs = 2
"""


@pytest.fixture
def run(tmp_path: Path):
    """Call simkit in a process of its own, with the package installed in a folder."""
    (code,) = [text for text in PAGE.split("```python\n") if "class Checklist" in text]
    info = tmp_path / "site" / "mine-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    module = info.parent / "mine.py"
    module.write_text(code.split("runs = simkit.compare(")[0] + BACKBONE)
    (tmp_path / "grid.toml").write_text(GRID)
    path = os.pathsep.join([str(info.parent), str(ROOT)])
    env = {**os.environ, "PYTHONPATH": path, "SIMKIT_CACHE": str(tmp_path / "cache")}

    def called(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "simkit", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    called.module = module
    return called


def test_settings_are_listed_with_their_meaning(run) -> None:
    for words, meaning in (
        (("list", "schemes", "checklist"), r"length +10 +classes on the list"),
        (("simulate", "--help"), r"--length VALUE +classes on the list \[default: 10\]"),
        (("list", "methods", "capped"), r"cap +0.7 +largest loss of an unknown label"),
        (("list", "methods"), r"capped .*Take every unknown label"),
    ):
        assert re.search(meaning, run(*words).stdout)
    text = run.module.read_text()
    text = text.replace('"""Ask about the same few', '_ = """').replace(
        "setting(10, ", "int(10 or "
    )
    run.module.write_text(text)
    assert re.search(r"\nchecklist +Checklist ", run("list", "schemes").stdout)
    assert (
        "\nnot described: what it does: write a docstring in class Checklist; length: write "
        "`length: TYPE = setting(10, 'MEANING')`"
    ) in run("list", "schemes", "checklist").stdout


@pytest.mark.slow
def test_a_scheme_of_a_package_is_listed_and_simulated(run) -> None:
    assert "checklist" in run("list", "schemes").stdout
    labels = run("simulate", "--scheme", "checklist(length=3)", "--data", "scenes:images=200")
    assert labels.returncode == 0, labels.stderr


@pytest.mark.slow
def test_what_a_package_adds_is_listed_trained_and_compared(run, tmp_path: Path) -> None:
    assert "capped" in run("list", "methods").stdout
    assert "mean colours of four by four tiles" in run("list", "backbones", "means").stdout
    compared = run("compare", "grid.toml", "--workers", "2", "--out", "runs")
    assert compared.returncode == 0, compared.stderr
    assert len(set(re.findall(r"loaded in (\d+)", compared.stderr))) > 1  # workers loaded it, too
    table = (tmp_path / "runs" / "table.csv").read_text(encoding="utf-8")
    assert "checklist" in table and "capped" in table


def test_a_package_that_cannot_be_loaded_is_named_and_left_out(run) -> None:
    run.module.write_text("raise ImportError('a part is missing')")
    listed = run("list", "schemes")
    assert listed.returncode == 0 and "fpc" in listed.stdout
    assert "plug-in 'mine' (mine) cannot be loaded: a part is missing" in listed.stderr
