import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task
from simkit.learn.steps.optim import Settings
from simkit.study.analysis.priors.readings import readings

QUICK = Settings(epochs=2, batch_size=8)
N, L = 40, 6


def task() -> tuple[Truth, Task]:
    chance = np.random.default_rng(1)
    present = chance.random((N, L)) < np.linspace(0.9, 0.1, L)
    codes = np.where(chance.random((N, L)) < 0.3, np.where(present, 1, -1), 0).astype(np.int8)
    features = present + 0.3 * chance.standard_normal((N, L))
    return Truth.of(present), Task(codes, FeatureInputs(features.astype(np.float32)))


def test_every_label_is_known_left_out_or_assumed():
    truth, given = task()
    methods = ["an", "ignore", "csl(prior=none,top_k=2)"]
    table = readings(given, truth, methods, settings=QUICK).to_pandas()
    assert table["method"].unique().tolist() == methods and len(table) == 3 * L
    parts = table[["present", "absent", "ignored", "assumed"]].sum(axis=1)
    assert (parts == N).all() and (table["images"] == N).all()
    assert (table["true"].iloc[:L].diff().dropna() <= 0).all()
    an, ignore, csl = (table[table["method"] == name] for name in methods)
    unknown = (given.labels.rows(np.arange(N)) == 0).sum()
    missed = ((given.labels.rows(np.arange(N)) == 0) & truth.rows(np.arange(N))).sum()
    assert an["assumed"].sum() == unknown and an["wrong"].sum() == missed
    assert an["ignored"].sum() == 0 and ignore["assumed"].sum() == 0
    assert ignore["ignored_present"].sum() == missed
    assert 0 < csl["ignored"].sum() <= 2 * N  # two of each image, where so many are unknown
    assert csl["wrong"].sum() + csl["ignored_present"].sum() == missed


def test_a_truth_about_other_classes_is_refused():
    _, given = task()
    other = Truth.of(np.ones((N, L), bool), classes=tuple("abcdef"))
    with pytest.raises(BadInput, match="labels of another data set"):
        readings(given, other, ["an"], settings=QUICK)
