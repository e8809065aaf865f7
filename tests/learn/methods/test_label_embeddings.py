"""Medians and means of the features of a class: by hand, by slow loops, in files."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csc_array

from simkit.embed.unit_features import UnitFeatures
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn import label_embeddings as place
from simkit.learn.inputs import FeatureInputs
from simkit.learn.label_embeddings import LabelMeans, LabelMedians
from simkit.learn.methods import Task
from tests.reference import exposure as slow

KINDS = pytest.mark.parametrize("kind", [LabelMedians, LabelMeans])


def unit(values):
    values = values.astype(np.float64)
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def example():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((25, 6)).astype(np.float32)
    Z = rng.choice([-1, 0, 0, 1], (25, 5)).astype(np.int8)
    Z[Z[:, 3] == 1, 3] = -1  # present nowhere
    Z[4] = 0
    return F, Z, Task(PartialLabels.of(Z, asked=np.arange(25) != 4), FeatureInputs(F))


@pytest.mark.parametrize("columns", [128, 4])
def test_medians_equal_the_slow_ones(columns, monkeypatch):
    F, Z, task = example()
    wanted = slow.label_medians(unit(F).astype(float).tolist(), Z.tolist())
    monkeypatch.setattr(place, "_COLUMNS", columns)
    medians = LabelMedians.build(task)
    assert np.isnan(medians.psi[3]).all() and not medians.psi.flags.writeable
    for c in (0, 1, 2, 4):
        np.testing.assert_allclose(medians.psi[c], wanted[c], rtol=1e-15)


def test_means_equal_the_slow_ones(monkeypatch):
    F, Z, task = example()
    monkeypatch.setattr(place, "_ROWS", 6)
    means = LabelMeans.build(task)
    for c in range(5):
        rows = unit(F)[Z[:, c] == 1].astype(float)
        wanted = rows.mean(0) if len(rows) else np.full(6, np.nan)
        np.testing.assert_allclose(means.psi[c], wanted, atol=1e-6)


@KINDS
def test_they_fit_the_task_that_they_were_built_from(kind):
    task = Task(np.eye(3, dtype=np.int8), FeatureInputs(np.eye(3)))
    built = kind.build(task)
    assert built.labels == task.labels.id
    assert built.inputs == task.inputs.id
    assert built.fits(task) and not built.fits(Task(-np.eye(3, dtype=np.int8)))
    other = LabelMeans if kind is LabelMedians else LabelMedians
    assert other(built.psi).id != built.id


@KINDS
def test_a_task_without_features_is_refused(kind):
    with pytest.raises(BadInput, match="this task has no inputs; give it features"):
        kind.build(Task(np.eye(3, dtype=np.int8)))


def test_rows_on_disk_have_the_same_medians(monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((700, 11)).astype(np.float16)
    present = csc_array(rng.random((700, 6)) < [0, 0.01, 0.1, 0.5, 0.9, 1])
    rows = UnitFeatures(FeatureInputs(values), np.arange(700), "these")
    wanted = LabelMedians.of(rows[:], present)
    every = present.toarray().astype(bool)
    for c in range(1, 6):  # few and many images, odd and even numbers of them
        middle = np.median(rows[:][every[:, c]].astype(np.float64), axis=0)
        assert wanted[c].tobytes() == middle.tobytes()
    for held, at_once in ((1 << 28, 1 << 23), (700 * 4, 1), (1, 3000)):
        monkeypatch.setattr(place, "_HELD", held)
        monkeypatch.setattr(place, "_VALUES", at_once)
        np.testing.assert_array_equal(LabelMedians.of(rows, present), wanted)


def test_memory_is_that_of_the_columns_held_not_of_the_features(monkeypatch):
    from simkit.embed import unit_features as below

    n, width = 4096, 512  # 8 MB in float32
    values = np.random.default_rng(0).random((n, width)).astype(np.float16)
    present = csc_array(np.arange(n)[:, None] % 4 == np.arange(4))
    monkeypatch.setattr(below, "_BLOCK", 1 << 14)
    monkeypatch.setattr(place, "_HELD", 1 << 16)  # 256 KB
    monkeypatch.setattr(place, "_VALUES", 1 << 14)
    rows = UnitFeatures(FeatureInputs(values), np.arange(n), "these")
    tracemalloc.start()
    LabelMedians.of(rows, present)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
