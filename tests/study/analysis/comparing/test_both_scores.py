import numpy as np
import pytest
from simkit.study.material.material import Source, open_material

import simkit
from simkit.errors import BadInput
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Task, make
from simkit.learn.metrics import average_precision, f1, f1_thresholds, mean_ap
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train
from simkit.study import runs
from simkit.study.analysis.comparing.ablation import ablation
from simkit.study.analysis.comparing.both_scores import both_scores

SETTINGS = Settings(epochs=2, batch_size=32, lr=0.1)
DATA = "scenes:images=120,val=40,test=80"


@pytest.fixture(scope="module")
def material():
    return open_material(Source(DATA, ("train", "val", "test"), ("pooled",), "scenes-net"))


@pytest.fixture(scope="module")
def labelled(material):
    truth = material.truth("train")
    return {("rpa", d): simkit.simulate(truth, "rpa(keep=0.3)", draw=d) for d in (0, 1)}


@pytest.fixture(scope="module")
def table(material, labelled):
    return both_scores(material, labelled, ["an", "ignore"], settings=SETTINGS)


def test_a_row_for_each_draw_and_method(table, labelled):
    rows = table.to_pylist()
    assert [(row["scheme"], row["draw"], row["method"]) for row in rows] == [
        ("rpa", d, method) for d in (0, 1) for method in ("an", "ignore")
    ]
    known = labelled["rpa", 1].counts()
    assert {name: rows[2][name] for name in known} == known
    assert rows[2]["images"] == 120 and not rows[2]["reference"]
    assert len(runs.leaves(table)) and set(runs.SCHEMA.names) < set(table.column_names)


def test_scores_are_those_of_the_metrics(material, labelled, table):
    method, how = make("ignore"), {"settings": SETTINGS, "seed": 0, "draw": 1}
    task = Task(labelled["rpa", 1], material.inputs("train", "pooled"))
    trained = train(prepare(task, method, **how), method, **how)
    leaves, row = material.data.leaves, table.to_pylist()[3]
    scores, present = {}, {}
    for split in ("val", "test"):
        scores[split] = trained.scores(material.inputs(split, "pooled"))[:, leaves]
        present[split] = material.truth(split).present[:, leaves]
    limits = f1_thresholds(scores["val"], present["val"])
    for split, head in (("test", ""), ("val", "val_")):
        ap = average_precision(scores[split], present[split])
        assert row[f"{head}map"] == pytest.approx(mean_ap(ap), abs=1e-3)
        reached = mean_ap(f1(scores[split], present[split], limits))
        assert row[f"{head}mf1"] == pytest.approx(reached, abs=1e-3)


def test_ablations_take_it(table):
    rows = ablation(table, "an", metric="mf1").to_pylist()
    wanted = [row["mf1"] for row in table.to_pylist() if row["method"] == "ignore"]
    assert rows[1]["mean"] == pytest.approx(np.mean(wanted)) and rows[1]["draws"] == 2


def test_full_learns_from_complete_labels_once_in_a_draw(material, labelled):
    truth = material.truth("train")
    one = {
        ("rpa", 0): labelled["rpa", 0],
        ("fpc", 0): simkit.simulate(truth, "fpc(per_class=10)"),
    }
    rows = both_scores(material, one, "an, full", settings=SETTINGS).to_pylist()
    assert [(row["scheme"], row["method"], row["reference"]) for row in rows] == [
        ("rpa", "an", False),
        ("fpc", "an", False),
        ("full-subset", "full", True),
    ]
    assert rows[2]["unknown"] == 0 and rows[2]["images"] == 120
    whole = {("mine", 0): simkit.simulate(truth, "full-subset")}
    (own,) = both_scores(material, whole, "full", settings=SETTINGS).to_pylist()
    assert (own["scheme"], own["reference"]) == ("mine", False)
    assert own["map"] == pytest.approx(rows[2]["map"], abs=1e-6)


def test_what_is_missing_is_named(material, labelled):
    for labels, methods in (({}, ["an"]), (labelled, [])):
        with pytest.raises(BadInput, match=r"^both_scores: nothing to train; give labels"):
            both_scores(material, labels, methods)
    few = open_material(Source(DATA, ("train", "test"), ("pooled",), "scenes-net"))
    with pytest.raises(BadInput, match=r"has no pooled features of its val split; open it with"):
        both_scores(few, labelled, ["an"])
