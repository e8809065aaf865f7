"""Comparisons, trainings and plans with the scores of an image-text model."""

import json

import pytest

import simkit
from simkit.cli.main import code
from simkit.errors import BadInput

DATA = "scenes:images=120,val=10,test=80"
GRID = {
    "data": DATA, "schemes": ["rpa", "machine(low=0.001, high=0.9)", "full-subset"],
    "methods": ["an", "vlpl", "aevlp"], "budgets": [3, 8, 20], "prices": "hourly",
    "draws": 2, "train": {"epochs": 2},
}  # fmt: skip


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    file = tmp_path_factory.mktemp("scores") / "scores.npz"
    words = ["score", "--data", DATA, "--model", "simulated", "--quality", "60"]
    assert code([*words, "--out", str(file)]) == 0
    return str(file)


def test_a_comparison_with_a_teacher_and_a_plan_from_it(scores, tmp_path):
    runs = simkit.compare({**GRID, "scores": scores}, out=tmp_path / "runs", workers=1)
    assert not runs.failures and {"vlpl", "aevlp"} <= {*runs.table["method"]}
    machine = runs.table[runs.table["scheme"].str.startswith("machine")]
    assert all(json.loads(effort)["machine"] == 120 for effort in machine["effort"])
    assert (machine["dollars"] <= machine["budget"] + 1e-9).all()
    assert runs.to_json()["zero_shot"] == pytest.approx(0.6, abs=0.01)
    assert "Without labels" in runs.text()
    plan = simkit.plan(tmp_path / "runs", 30, images=400, prices="hourly")
    options = {str(one.option) for one in plan.choice.every}
    assert any(option.startswith("machine") for option in options) and not plan.unpriced


@pytest.mark.parametrize(("field", "spec"), [("schemes", "machine"), ("methods", "vlpl")])
def test_missing_scores_are_named(field, spec, tmp_path):
    with pytest.raises(BadInput, match=f"lists '{spec}'.*simkit score"):
        simkit.compare({**GRID, "schemes": ["rpa"], field: [spec]}, out=tmp_path / "runs")


def test_training_with_a_teacher(scores, tmp_path, capsys):
    labels = str(tmp_path / "labels.parquet")
    words = ["simulate", "--data", DATA, "--scheme", "single-positive", "--out", labels]
    assert code(words) == 0
    train = ["train", "--data", DATA, "--method", "vlpl", "--labels", labels, "--epochs", "2"]
    capsys.readouterr()
    assert code([*train, "--scores", scores, "--json"]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["map"] < 1
    assert code(train) == 2
    assert "simkit score" in capsys.readouterr().err
