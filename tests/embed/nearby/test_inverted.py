"""Looking into some lists alone finds nearly all neighbours, and says truly how many."""

import tracemalloc

import numpy as np
import pytest

from simkit.embed.nearby import inverted as place
from simkit.embed.nearby.inverted import nearest_in_lists
from simkit.embed.nearby.nearest import nearest
from simkit.embed.unit import UnitRows
from simkit.learn.feeding.inputs import FeatureInputs

pytest.importorskip("faiss")


def unit(n, width, seed=0):
    values = np.random.default_rng(seed).standard_normal((n, width))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("enough", [0.5, 0.9, 1.0])
def test_recall_is_reached_and_distances_are_exact(enough):
    F = unit(3000, 16)
    exact = nearest(F, 5)
    found, recall = nearest_in_lists(F, 5, enough=enough, sample=400)
    assert recall >= enough
    true = (found.place[:, :, None] == exact.place[:, None]).any(2).mean()
    assert abs(true - recall) < 5 * np.sqrt(0.25 / 2000)  # of 400 rows with 5 neighbours each
    gap = F[found.place].astype(np.float64) - F[:, None]
    np.testing.assert_array_equal(found.distance, np.sqrt((gap**2).sum(-1)))
    assert (np.diff(found.distance) >= 0).all() and (found.place != np.arange(3000)[:, None]).all()


def test_more_lists_are_looked_into_until_enough_is_found(monkeypatch):
    F, probes = unit(3000, 32), []
    search = place._searched

    def counted(index, *more):
        probes.append(index.nprobe)
        return search(index, *more)

    monkeypatch.setattr(place, "_searched", counted)
    _, recall = nearest_in_lists(F, 5, enough=1.0, sample=50)
    assert recall == 1 and probes[:3] == [8, 16, 32] and probes[-1] == probes[-2] <= 75


def test_rows_that_meet_too_few_and_rows_of_zeros_ask_all():
    F = unit(400, 8)
    F[[3, 200]] = 0
    F[:60] = F[0]
    found, _ = nearest_in_lists(F, 100, enough=0.0)
    exact = nearest(F, 100, own=np.array([200]))
    assert np.array_equal(found.place[[200]], exact.place)
    assert found.place.min() >= 0 and all(len(set(row)) == 100 for row in found.place.tolist())


def test_repeats_bit_for_bit():
    F = unit(2000, 8)
    one, other = nearest_in_lists(F, 4), nearest_in_lists(F, 4)
    assert np.array_equal(one[0].place, other[0].place) and one[1] == other[1]


def test_no_rows_and_one_have_no_neighbours():
    for n in (0, 1):
        found, recall = nearest_in_lists(unit(n, 4), 3)
        assert found.place.shape == (n, 0) and recall == 1


def test_rows_to_learn_from_take_little_more_than_they_are():
    rows = UnitRows(FeatureInputs(unit(20_000, 64).astype(np.float16)), np.arange(20_000), "these")
    tracemalloc.start()
    found = place._gathered(rows, np.arange(0, 20_000, 2), 500)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.array_equal(found, rows[::2]) and peak < 1.5 * found.nbytes


def test_lists_are_laid_in_turns(monkeypatch):
    monkeypatch.setattr(place, "_READ", 16 * 100)
    F, read = unit(3000, 16), []

    class Counted:
        shape = F.shape

        def __getitem__(self, index):
            read.append(len(F[index]))
            return F[index]

    place._filled(place.imported_faiss(), Counted(), "cpu")
    assert max(read) <= 100 and sum(read) == 2 * 3000
