import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csc_array

from simkit.embed import medians as place
from simkit.embed.medians import LabelMedians
from simkit.embed.unit import UnitRows
from simkit.errors import BadInput
from simkit.learn.aids.aids import Aid
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task
from tests.reference import exposure as slow


def unit(values):
    values = values.astype(np.float64)
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def test_equal_to_the_slow_medians(monkeypatch):
    rng = np.random.default_rng(0)
    F = rng.standard_normal((25, 6)).astype(np.float32)
    Z = rng.choice([-1, 0, 0, 1], (25, 5)).astype(np.int8)
    Z[Z[:, 3] == 1, 3] = -1
    Z[4] = 0  # not asked
    wanted = slow.label_medians(unit(F).astype(float).tolist(), Z.tolist())
    for columns in (128, 4):
        monkeypatch.setattr(place, "_COLUMNS", columns)
        found = LabelMedians.build(Task(Z, FeatureInputs(F)))
        assert isinstance(found, Aid) and np.isnan(found.psi[3]).all()
        for c in (0, 1, 2, 4):
            np.testing.assert_allclose(found.psi[c], wanted[c], rtol=1e-15)


def test_of_two_images_the_median_is_their_mean():
    F = np.array([[1, 0], [0, 1]], np.float32)
    found = LabelMedians.build(Task(np.array([[1, 1], [1, -1]], np.int8), FeatureInputs(F)))
    assert found.psi.tolist() == [[0.5, 0.5], [1, 0]]  # and no length of one


def test_saved_and_loaded(tmp_path):
    F = np.eye(3, dtype=np.float32)
    Z = np.array([[1, 0], [1, 0], [1, 0]], np.int8)
    found = LabelMedians.build(Task(Z, FeatureInputs(F)))
    found.save(tmp_path / "psi.npz")
    again = LabelMedians.load(tmp_path / "psi.npz")
    assert again.id == found.id
    np.testing.assert_array_equal(again.psi, found.psi)
    np.savez(tmp_path / "psi.npz", psi=found.psi[0])
    with pytest.raises(BadInput) as error:
        LabelMedians.load(tmp_path / "psi.npz")
    assert str(error.value) == (
        f"{tmp_path / 'psi.npz'} cannot be read as label medians; a file that LabelMedians.save "
        "wrote is expected"
    )


def test_pictures_are_refused():
    with pytest.raises(BadInput) as error:
        LabelMedians.build(Task(np.eye(2, dtype=np.int8)))
    assert str(error.value) == (
        "label medians come from features, and this task has no inputs; give it features "
        "(FeatureInputs), or the aid itself with task.with_aids(...)"
    )


@pytest.mark.parametrize("count", [1, 2, 511, 512, 513, 1000, 1001])
def test_middles_of_few_and_of_many(count):
    values = np.random.default_rng(count).integers(0, 40, (count, 5)).astype(np.float32)
    present = csc_array(np.ones((count, 1), bool))
    assert np.array_equal(place.medians(values, present)[0], np.median(values.astype(float), 0))


def test_rows_on_disk_have_the_same_medians(monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((700, 11)).astype(np.float16)
    present = csc_array(rng.random((700, 6)) < [0, 0.01, 0.1, 0.5, 0.9, 1])
    rows = UnitRows(FeatureInputs(values), np.arange(700), "these")
    wanted = place.medians(rows.held(), present)
    for held, at_once in ((1 << 28, 1 << 23), (700 * 4, 1), (1, 3000)):
        monkeypatch.setattr(place, "_HELD", held)
        monkeypatch.setattr(place, "_VALUES", at_once)
        np.testing.assert_array_equal(place.medians(rows, present), wanted)


def test_memory_is_that_of_the_columns_held_not_of_the_features(monkeypatch):
    from simkit.embed import unit as below

    n, width = 4096, 512  # 8 MB in float32
    values = np.random.default_rng(0).random((n, width)).astype(np.float16)
    present = csc_array(np.arange(n)[:, None] % 4 == np.arange(4))
    monkeypatch.setattr(below, "_BLOCK", 1 << 14)
    monkeypatch.setattr(below, "_SHARD", 64)
    monkeypatch.setattr(place, "_HELD", 1 << 16)  # 256 KB
    monkeypatch.setattr(place, "_VALUES", 1 << 14)
    rows = UnitRows(FeatureInputs(values), np.arange(n), "these")
    tracemalloc.start()
    place.medians(rows, present)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
