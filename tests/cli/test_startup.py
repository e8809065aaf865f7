"""The commands that buy, decide and order run without torch, and most without other libraries that
are slow to load: they answer in a second."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.planning import planted

SMALL = "scenes:images=60,val=10,test=20"
CHILD = """
import json, sys
from simkit.cli.main import code
results = [code(line.split()) for line in sys.argv[1:]]
print("\\n" + json.dumps([results, sorted(sys.modules)]))
"""
HEAVY = {"torch", "torchvision", "faiss"}
PLANS = HEAVY | {"networkx", "sklearn", "matplotlib", "scipy.optimize", "scipy.stats"}
LABELS = PLANS | {"pandas", "scipy.special", "pyarrow.compute"}
LISTS = "schemes data formats figures prices protocols columns"  # methods and backbones compute


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Runs and a received order beside the labels; commands run in this folder."""
    place = tmp_path_factory.mktemp("startup")
    planted.write(place / "runs", planted.data(place / "data", 120))
    light(place, f"order --data {SMALL} --scheme rpa --to csv --out order1",
          f"simulate --scheme fpc --data {SMALL}")  # fmt: skip
    table = pd.read_csv(place / "order1/round-1/questions.csv", dtype=str)
    table.assign(answer="no", worker="w").to_csv(place / "answers.csv", index=False)
    return place


def light(place: Path, *lines: str, slow: set[str] = HEAVY) -> None:
    """Run commands in one process, which must not import what is slow."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *lines], cwd=place, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results, modules = json.loads(done.stdout.splitlines()[-1])
    assert (set(results), slow & {*modules}) == ({0}, set()), done.stderr


@pytest.mark.parametrize("slow, lines", [
    (LABELS, (f"simulate --scheme fpc --data {SMALL} --out other.parquet",)),
    (PLANS, ("plan runs --budget 20 --images 500",)),
    (HEAVY, ("cost fpc.parquet", "convert fpc.parquet fpc.csv", "show fpc.parquet")),
    (HEAVY, ("receive order1 answers.csv", "show order1")),
    (HEAVY, ("show runs", *(f"list {what}" for what in LISTS.split()))),
])  # fmt: skip
def test_nothing_slow(folder: Path, slow: set[str], lines: tuple[str, ...]) -> None:
    light(folder, *lines, slow=slow)
