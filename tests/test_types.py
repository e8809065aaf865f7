"""Public names have types: a type checker accepts right uses and refuses wrong ones."""

from pathlib import Path

from mypy import api

ROOT = Path(__file__).parents[1]
USES = """
import numpy as np
import pandas as pd
import simkit
from simkit.analysis import ablation

scenes = simkit.data.open("scenes")
labels: simkit.PartialLabels = simkit.simulate(scenes.truth["train"], "fpc")
simkit.simulate(scenes.truth["train"], "fpc", sed=3)  # wrong
simkit.simulate(scenes.truth["train"], "fpc", draw="second")  # wrong
dollars: float = simkit.cost(labels).dollars
price: int = simkit.cost("nonsense", 3)  # wrong
runs = simkit.open_runs("runs")
table: pd.DataFrame = runs.table
variations: pd.DataFrame = ablation(runs, "an")
variations = ablation(runs)  # wrong
grid = simkit.Grid(schemes=("fpc",), methods=("an",), draws=3)
simkit.Grid(schemes=("fpc",), methods=("an",), draw=3)  # wrong
simkit.Grid(["fpc"], ["an"], budgets=[20, 50], hours=[], errors=[[0.03, 0.002]])
comparison = simkit.compare(grid, out="runs")
comparison.summry()  # wrong
picture = simkit.figures.make("heat-map")(runs)
task = simkit.Task(labels, simkit.FeatureInputs(np.zeros((3, 4), np.float32)))
trained: str = simkit.train(task, simkit.methods.make("ll-r"))  # wrong
model = simkit.train(task, simkit.methods.make("ll-r"), device="cpu", compile=False)
simkit.train(task, simkit.methods.make("ll-r"), devise="cpu")  # wrong
simkit.nothing  # wrong
"""


def test_right_uses_pass_and_wrong_ones_do_not(tmp_path: Path) -> None:
    file = tmp_path / "uses.py"
    file.write_text(USES)
    config = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
    ]
    shown, crash, _ = api.run([*config, str(file)])
    assert not crash
    refused = {int(line.split(":")[1]) for line in shown.splitlines() if ": error:" in line}
    wrong = {n for n, line in enumerate(USES.splitlines(), 1) if line.endswith("# wrong")}
    assert refused == wrong, shown
