import itertools
import math

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from simkit.embed import temperatures as place
from simkit.embed.medians import LabelMedians
from simkit.embed.neighbours import Neighbours
from simkit.embed.temperatures import (
    closest,
    from_images,
    from_labels,
    label_distances,
    scaled,
    temperatures,
)
from simkit.labels.partial import PartialLabels
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task
from tests.reference import exposure as slow


@pytest.fixture(scope="module")
def vectors(golden):
    with np.load(golden / "soft_exposure_reference.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def reference_task(vectors):
    """The images of the reference vectors, all of them asked, also those with nothing known."""
    Z = vectors["Z"]
    labels = PartialLabels.of(Z, asked=np.ones(len(Z), bool))
    return Task(labels, FeatureInputs(vectors["features_l2norm"]))


def test_reference_neighbours_and_medians(vectors, reference_task):
    near, medians = Neighbours.build(reference_task), LabelMedians.build(reference_task)
    np.testing.assert_allclose(medians.psi, vectors["psi_median"], rtol=1e-9, atol=1e-12)
    for distance in ["euclidean", "cosine"]:
        assert np.array_equal(near.index[:, :10], vectors[f"{distance}_knn"])
        between, wanted = (
            label_distances(medians.psi, distance),
            vectors[f"{distance}_label_distance"],
        )
        known = ~np.isnan(wanted)
        np.testing.assert_allclose(between[known], wanted[known], rtol=1e-9, atol=1e-12)
        assert (between[~known] == np.inf).all()


@pytest.mark.parametrize(
    "distance, nearest", list(itertools.product(["euclidean", "cosine"], ["min", "median5"]))
)
def test_reference_distances(vectors, reference_task, distance, nearest):
    codes = reference_task.labels.codes
    near, medians = Neighbours.build(reference_task), LabelMedians.build(reference_task)
    away = near.distance if distance == "euclidean" else near.cosine
    labels = from_labels(codes, label_distances(medians.psi, distance), nearest)
    images = from_images(codes, near.index[:, :10], away[:, :10], nearest)
    images = np.where(np.isinf(images), 1.0, images)
    unknown = vectors["Z"] == 0
    for side, of in enumerate(("pos", "neg")):
        for kind, found in (("dL", labels), ("dI", images)):
            wanted = vectors[f"{distance}_{nearest}_{kind}_{of}"]
            np.testing.assert_array_equal(np.isnan(wanted), ~unknown)
            np.testing.assert_allclose(found[side][unknown], wanted[unknown], rtol=1e-9, atol=1e-12)


def test_label_distances_are_those_between_medians():
    psi = np.array([[1.0, 0.0], [0.0, 1.0], [np.nan, np.nan], [2.0, 0.0]])
    inf = np.inf
    root, far = math.sqrt(2), math.sqrt(5)
    assert label_distances(psi, "euclidean").tolist() == [
        [0, root, inf, 1],
        [root, 0, inf, far],
        [inf, inf, inf, inf],
        [1, far, inf, 0],
    ]
    assert label_distances(psi, "cosine").tolist() == [
        [0, 1, inf, 0],
        [1, 0, inf, 1],
        [inf, inf, inf, inf],
        [0, 1, inf, 0],
    ]


@pytest.mark.parametrize("m", [0, 1, 2, 4, 5, 6, 9])
def test_closest_counts_what_is_there(m):
    values = np.random.default_rng(m).random((4, m, 3))
    values[np.random.default_rng(m + 1).random(values.shape) < 0.4] = np.inf
    for nearest in ("min", "median5"):
        found = closest(values, nearest)
        for b in range(4):
            for c in range(3):
                there = [v for v in values[b, :, c].tolist() if v < np.inf]
                wanted = slow.agreed(there, nearest)
                assert found[b, c] == (np.inf if wanted is None else wanted)


@pytest.mark.parametrize("entries", [1 << 22, 60, 1])
def test_blocks_change_nothing(entries, monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.choice([-1, 0, 0, 1], (15, 6)).astype(np.int8)
    Z[3] = 0
    between = label_distances(rng.standard_normal((6, 4)), "euclidean")
    index, away = rng.integers(0, 15, (8, 4), np.int32), rng.random((8, 4))
    monkeypatch.setattr(place, "_ENTRIES", entries)
    for nearest in ("min", "median5"):
        labels = from_labels(csr_array(Z), between, nearest)
        images = from_images(csr_array(Z), index, away, nearest)
        for side, code in enumerate((1, -1)):
            for n in range(15):
                for u in range(6):
                    d = [between[u, c] for c in range(6) if Z[n, c] == code]
                    assert labels[side, n, u] == (slow.agreed(d, nearest) if d else np.inf)
            for n in range(8):
                for u in range(6):
                    d = [a for m, a in zip(index[n], away[n], strict=True) if Z[m, u] == code]
                    assert images[side, n, u] == (slow.agreed(d, nearest) if d else np.inf)


def test_maxima_are_those_of_what_counts():
    d = torch.tensor([[[1.0, 2.0, 8.0]], [[4.0, 3.0, 9.0]]], dtype=torch.float64)
    counted = torch.tensor([[True, True, False]])
    assert scaled(d, counted, "separate").tolist() == [[[0.5, 1, 4]], [[1, 0.75, 2.25]]]
    assert scaled(d, counted, "joint").tolist() == [[[0.25, 0.5, 2]], [[1, 0.75, 2.25]]]
    assert scaled(0 * d, counted, "separate").tolist() == (0 * d).tolist()
    assert scaled(d, counted & False, "joint").tolist() == d.tolist()


def test_the_nearer_the_higher_the_temperature_as_printed():
    d = torch.tensor([[0.0, 0.5, 0.5, 1.0], [1.0, 0.6, 0.5, 0.2]], dtype=torch.float64)
    e = math.exp
    printed = temperatures(d, beta=5, gamma=0, form="printed")
    np.testing.assert_allclose(printed, [e(5), e(2.5), -e(2.5), -e(4)], rtol=1e-15)
    inverse = temperatures(d, beta=5, gamma=0, form="inverse")
    np.testing.assert_allclose(inverse, [1, e(2.5), -e(2.5), -e(1)], rtol=1e-15)


def test_gamma_raises_both_and_zero_is_avoided():
    d = torch.tensor([[0.0, 1.0, 1.0], [1.0, 1.0, 0.5]], dtype=torch.float64)
    found = temperatures(d, beta=0, gamma=0.25, form="printed")
    assert found.tolist() == [1.25, -0.75, -0.75]
    assert temperatures(d, beta=0, gamma=1, form="printed").tolist() == [2, -1e-6, -1e-6]


def test_a_huge_beta_is_flat():
    d = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    assert temperatures(d, beta=1000, gamma=0, form="printed").tolist() == [np.inf, -np.inf]
