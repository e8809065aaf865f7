"""Every kind of file beside labels and data sets: read in any state, or refused in one sentence."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simkit.annotate.annotators import Habits
from simkit.annotate.prices import prices
from simkit.cli.main import main
from simkit.embed.feature_files import FeatureWriter, Index
from simkit.embed.features import read_features
from simkit.embed.similarities import Similarities, write_similarities
from simkit.errors import located
from simkit.history import History
from simkit.learn import checkpoint, trained
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.side_info import ClassPrior
from simkit.learn.train import train
from simkit.orders.project import Project
from simkit.study import runs, store
from simkit.study.grid import DEMO, Grid
from tests.mutations import COUNT, survives
from tests.study import planted

RNG = np.random.default_rng(0)
TASK = Task(RNG.integers(-1, 2, (30, 3)), FeatureInputs(RNG.normal(size=(30, 4))))
TRAINING = {"settings": Settings(epochs=1)}


def _damaged(tmp_path: Path, read: Any, count: int = COUNT) -> None:
    files = {
        str(file.relative_to(tmp_path)): file.read_bytes()
        for file in tmp_path.rglob("*") if file.is_file()
    }  # fmt: skip
    survives(read, files, tmp_path=tmp_path, count=count)


def test_damaged_grids(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(Grid.load(DEMO).to_toml())
    _damaged(tmp_path, lambda folder: Grid.load(folder / "grid.toml"))


def test_damaged_price_lists(tmp_path: Path) -> None:
    text = 'like = "hourly"\nworkers = 2\n[verify]\nper = "page"\npage = 5\nseconds = 2.5\n'
    (tmp_path / "mine.toml").write_text(text)
    _damaged(tmp_path, lambda folder: prices(folder / "mine.toml"))


def test_damaged_habits(tmp_path: Path) -> None:
    (tmp_path / "habits.json").write_text(json.dumps(Habits(workers=3, miss=0.1).to_json()))
    _damaged(tmp_path, lambda folder: Habits.load(folder / "habits.json"))


def test_damaged_projects(tmp_path: Path) -> None:
    Project(tmp_path, "scenes", ("cat", "dog", "owl"), 20.0).write()
    _damaged(tmp_path, Project.read)


def test_damaged_class_priors(tmp_path: Path) -> None:
    ClassPrior(np.array([0.5, 0.25]), ("cat", "dog")).save(tmp_path / "prior.json")
    _damaged(tmp_path, lambda folder: ClassPrior.load(folder / "prior.json"))


def test_damaged_plans_of_a_comparison(tmp_path: Path) -> None:
    table = runs.tidy([planted.row(key="a")])
    store.save(store.Result(table), tmp_path / "bundles", "a")
    store.begin(tmp_path, grid="draws = 2", keys=["a", "b"], classes=["cat", "dog"], leaves=[1])
    _damaged(tmp_path, runs.describe)


def test_damaged_metadata_of_runs(tmp_path: Path) -> None:
    about = {"classes": ["cat", "dog"], "leaves": [1], "failures": ["no wörker"], "planned": 153}
    runs.writers(runs.tidy(planted.rows(draws=1), **about))["table.parquet"](
        tmp_path / "table.parquet"
    )
    _damaged(tmp_path, lambda folder: (runs.describe(folder), runs.open_runs(folder).planned))


def test_damaged_plans_of_a_purchase(tmp_path: Path) -> None:
    order = [{"scheme": "fpc(per_class=2, keep_looks=False)", "images": 20}]
    (tmp_path / "plan.json").write_text(json.dumps({"order": order}))
    words = ["order", "--data", "scenes:images=20,val=2,test=2", "--to", "csv", "--out"]

    def read(folder: Path) -> None:
        out = folder.parent / f"{folder.name}.order"
        shutil.rmtree(out, ignore_errors=True)
        with located(str(folder)):  # a scheme that does not exist is named, its file need not be
            main([*words, str(out), "--plan", str(folder / "plan.json")], standalone_mode=False)

    _damaged(tmp_path, read)


@pytest.mark.parametrize("saved", [np.savez, np.savez_compressed])
def test_damaged_features(tmp_path: Path, saved: Any) -> None:
    saved(tmp_path / "own.npz", features=RNG.normal(size=(30, 4)))
    _damaged(tmp_path, lambda folder: read_features(folder / "own.npz"))


def test_damaged_folders_of_features(tmp_path: Path) -> None:
    index = Index("x", "pooled", (30, 4), History("features"))
    FeatureWriter(tmp_path, index).put(0, RNG.normal(size=(30, 4)).astype(np.float16))
    _damaged(tmp_path, lambda folder: read_features(folder).values[:])


def test_damaged_similarities(tmp_path: Path) -> None:
    values = RNG.uniform(-1, 1, (30, 3))
    part = Similarities(values, np.arange(30), ("a", "b", "c"), bias=-1.0)
    write_similarities({"train": part}, tmp_path / "scores.npz")
    _damaged(tmp_path, lambda folder: Similarities.read(folder / "scores.npz", "train"))


def test_damaged_models(tmp_path: Path) -> None:
    train(TASK, make("ll-r"), **TRAINING).save(tmp_path)

    def read(folder: Path) -> None:
        trained.describe(folder)
        trained.Trained.load(folder).scores(TASK.inputs)

    _damaged(tmp_path, read)


def test_damaged_checkpoints(tmp_path: Path) -> None:
    train(TASK, make("ll-r"), **TRAINING, checkpoint=tmp_path / "a.safetensors")

    def read(folder: Path) -> None:
        checkpoint.describe(folder / "a.safetensors")
        train(TASK, make("ll-r"), **TRAINING, checkpoint=folder / "a.safetensors")

    _damaged(tmp_path, read)
