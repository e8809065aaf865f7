import numpy as np
import pytest

from simkit.embed import unit_features as place
from simkit.embed.unit_features import UnitFeatures, unit_rows
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task


def task(values, asked=None):
    codes = np.zeros((len(values), 1), np.int8)
    everyone = np.ones(len(values), bool) if asked is None else asked
    return Task(PartialLabels.of(codes, asked=everyone), FeatureInputs(values))


def test_asked_rows_have_length_one():
    values = np.array([[3, 4], [5, 12], [0, 0], [8, 6]], np.float16)
    found = unit_rows(task(values, np.array([True, False, True, True])), "these")
    assert found.dtype == np.float32
    assert found.tolist() == np.array([[0.6, 0.8], [0, 0], [0.8, 0.6]], np.float32).tolist()


def test_rows_of_length_one_keep_their_bits():
    rng = np.random.default_rng(0)
    once = unit_rows(task(rng.standard_normal((2000, 2))), "these")
    assert np.array_equal(unit_rows(task(once), "these"), once)
    lengths = np.linalg.norm(once.astype(np.float64), axis=1)
    assert np.abs(lengths - 1).max() < 1e-6


def test_maps_are_averaged_over_their_places():
    maps = np.zeros((1, 2, 2, 1), np.float32)
    maps[0, 0] = [[1], [5]]  # 3
    maps[0, 1] = [[8], [0]]  # 4
    np.testing.assert_allclose(unit_rows(task(maps), "these"), [[0.6, 0.8]], rtol=1e-7)


@pytest.mark.parametrize("shape", [(2100, 7), (50, 7, 3, 2)])
@pytest.mark.parametrize("every", [1, 3])
def test_rows_on_disk_are_the_same_rows_and_columns(monkeypatch, shape, every):
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float16)
    values[5] = 0
    asked = np.arange(len(values)) % every == 0
    held = unit_rows(task(values, asked), "these")
    assert isinstance(held, np.ndarray)
    monkeypatch.setattr(place, "_HELD", 1)
    monkeypatch.setattr(place, "_BLOCK", 200)
    rows = unit_rows(task(values, asked), "these")
    assert isinstance(rows, UnitFeatures) and rows.shape == held.shape
    assert np.array_equal(rows[3:9], held[3:9]) and np.array_equal(rows[[8, 1]], held[[8, 1]])
    assert np.array_equal(rows[:], held)
    assert np.array_equal(rows.block(np.array([8, 1, 2]), slice(2, 5)), held[[8, 1, 2], 2:5])


def test_values_that_are_not_finite_are_refused_when_they_are_read(monkeypatch):
    monkeypatch.setattr(place, "_HELD", 1)
    values = np.ones((20, 3), np.float32)
    values[11, 1] = np.nan
    rows = unit_rows(task(values), "these")
    assert rows[:11].shape == (11, 3)
    for reads in (lambda: rows[11:12], lambda: rows.block(np.arange(20), slice(1))):
        with pytest.raises(BadInput, match=r"^these come from features.*; clean them first"):
            reads()
