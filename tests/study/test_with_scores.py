"""Comparisons, trainings and plans with the scores of an image-text model."""

import json

import numpy as np
import pandas as pd
import pytest

import simkit
from simkit import methods
from simkit.annotate.similarities import Similarities
from simkit.cli.main import code
from simkit.errors import BadInput
from simkit.metrics import average_precision
from simkit.planning.evidence import Evidence
from simkit.study.trial import trial

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


def test_tables_and_named_arrays_of_scores_serve_schemes_as_similarities_do(scores, tmp_path):
    truth = simkit.data.open(DATA).truth["train"]
    values = Similarities.read(scores, "train").logits(truth.images, truth.classes)
    table, arrays, names = tmp_path / "table.csv", tmp_path / "arrays.npz", truth.images.astype(str)
    pd.DataFrame(values, names, truth.classes).to_csv(table, index_label="image")
    np.savez(arrays, scores=values, file_names=names, class_names=np.array(truth.classes))
    schemes = ["machine(low=0.001, high=0.9)", "fpc(per_class=3, search=scores)"]
    grid = {**GRID, "schemes": [*schemes, "proposals(by=scores)"], "methods": ["an"], "draws": 1}
    runs = [
        simkit.compare({**grid, "scores": str(file)}, out=tmp_path / str(n), workers=1)
        for n, file in enumerate((scores, table, arrays))
    ]
    rows = [one.table[["scheme", "budget", "effort", "map"]].to_numpy().tolist() for one in runs]
    assert not runs[0].failures and rows[0] == rows[1] == rows[2]
    assert any(row[1] > 0 and "looks" in row[2] for row in rows[0])
    plan = simkit.plan(tmp_path / "1", 30, images=400, prices="hourly")
    assert any(str(one.option).startswith("machine") for one in plan.choice.every)
    with pytest.raises(
        BadInput, match=r"table\.csv is a table of scores, as of a detector, which 'vlpl' cannot"
    ):
        simkit.compare({**grid, "methods": ["vlpl"], "scores": str(table)}, out=tmp_path / "x")
    method, labels = methods.make("vlpl"), simkit.simulate(truth, "single-positive")
    with pytest.raises(BadInput, match=r"table\.csv is a table of scores, as of a detector, which"):
        trial(labels, method, simkit.Source(DATA, (), (), "scenes-net", scores=str(table)))
    unused = {**grid, "schemes": ["fpc", "proposals"], "scores": str(table)}
    with pytest.raises(BadInput, match=r"no scheme or method.*uses them.*fpc\(search=scores\)"):
        simkit.compare(unused, out=tmp_path / "x")


@pytest.mark.parametrize("missing", [0, 2])
def test_zero_shot_map_is_over_the_classes_that_the_scores_have(missing, tiny, tmp_path):
    """A mAP over some classes is stated as such, and nothing is compared with it."""
    file, rng = str(tmp_path / "scores.csv"), np.random.default_rng(1)
    grid = tiny(schemes=["machine", "full-subset"], budgets=[1, 2], reference=True, scores=file)
    truth = simkit.data.open(grid.data).truth
    splits = {split: np.sort(truth[split].images) for split in ("train", "test")}
    table = pd.DataFrame(rng.normal(0, 3, (80, 4)), [*splits["train"], *splits["test"]],
                         ["cat", "dog", "cow", "owl"])  # fmt: skip
    test = truth["test"]
    ap = average_precision(table.loc[test.images, [*test.classes]].to_numpy(), test.present)
    table[[*test.classes[:missing]]] = np.nan  # such as those that a detector does not know
    table.to_csv(file, index_label="image")
    runs = simkit.compare(grid, out=tmp_path / "runs", workers=1)
    mean, found, summary = ap[missing:].mean(), runs.to_json(), tmp_path / "runs" / "summary.md"
    assert found["zero_shot"] == pytest.approx(mean)
    assert (found["zero_shot_over"] == (2, 4)) == bool(missing)
    said = f"Without labels, the scores reach {100 * mean:.1f} mAP"
    said += " over 2 of 4 classes, those" if missing else " for $0"
    free, bought = (runs.text(details=False).index(part) for part in (said, "\n$1: "))
    assert free < bought and runs.text().count(said) == 1
    for text in (runs.text(), summary.read_text(), simkit.open_runs(tmp_path / "runs").text()):
        assert said in text
    assert ("| no labels |" in summary.read_text()) != bool(missing)
    assert Evidence.of(tmp_path / "runs").zero_shot == (None if missing else (mean, "a file"))


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
