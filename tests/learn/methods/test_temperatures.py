import itertools
import math

import numpy as np
import pytest
import torch

from simkit.embed.neighbours import Neighbours
from simkit.labels.partial import PartialLabels
from simkit.learn.label_embeddings import LabelMedians
from simkit.learn.methods import soft_exposure as place
from simkit.learn.methods.soft_exposure import (
    by_images,
    by_labels,
    label_distances,
    packed_labels,
    scaled,
    temperatures,
)
from tests.reference import exposure as slow


def test_reference_neighbours_and_medians(exposure_vectors, exposure_task):
    near, medians = Neighbours.build(exposure_task), LabelMedians.build(exposure_task)
    np.testing.assert_allclose(medians.psi, exposure_vectors["psi_median"], rtol=1e-9, atol=1e-12)
    for distance in ["euclidean", "cosine"]:
        assert np.array_equal(near.index[:, :10], exposure_vectors[f"{distance}_knn"])
        between, wanted = (
            label_distances(medians.psi, distance),
            exposure_vectors[f"{distance}_label_distance"],
        )
        known = ~np.isnan(wanted)
        np.testing.assert_allclose(between[known], wanted[known], rtol=1e-9, atol=1e-12)
        assert (between[~known] == np.inf).all()


NEAREST = ["min", "median5"]


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("nearest", NEAREST)
def test_reference_distances(exposure_vectors, exposure_task, distance, nearest):
    codes = torch.from_numpy(exposure_vectors["Z"].astype(np.int8))
    near, medians = Neighbours.build(exposure_task), LabelMedians.build(exposure_task)
    between = torch.from_numpy(label_distances(medians.psi, distance))
    away = torch.from_numpy((near.distance if distance == "euclidean" else near.cosine)[:, :10])
    index = torch.from_numpy(near.index[:, :10]).long()
    labels = by_labels(codes, between, nearest).numpy()
    images = by_images(packed_labels(exposure_task.labels), index, away, nearest).numpy()
    images = np.where(np.isinf(images), 1.0, images)[..., : codes.shape[1]]
    unknown = exposure_vectors["Z"] == 0
    for side, of in enumerate(("pos", "neg")):
        for kind, computed in (("dL", labels), ("dI", images)):
            wanted = exposure_vectors[f"{distance}_{nearest}_{kind}_{of}"]
            np.testing.assert_array_equal(np.isnan(wanted), ~unknown)
            ours = computed[side][unknown]
            np.testing.assert_allclose(ours, wanted[unknown], rtol=1e-9, atol=1e-12)


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


def example(seed):
    """Labels, distances of classes, neighbours and how far these are."""
    rng = np.random.default_rng(seed)
    Z = rng.choice([-1, 0, 0, 1], (15, 6)).astype(np.int8)
    Z[3] = 0
    between = label_distances(rng.standard_normal((6, 4)), "euclidean")
    return Z, between, rng.integers(0, 15, (15, 4)), rng.random((15, 4))


@pytest.mark.parametrize("entries", [1 << 22, 60, 1])
@pytest.mark.parametrize("nearest", NEAREST)
def test_distances_equal_the_slow_loops_whatever_the_blocks(entries, nearest, monkeypatch):
    Z, between, index, away = example(0)
    monkeypatch.setattr(place, "_ENTRIES", entries)
    labels = by_labels(torch.from_numpy(Z), torch.from_numpy(between), nearest)
    packed = packed_labels(PartialLabels.of(Z))
    images = by_images(packed, torch.from_numpy(index), torch.from_numpy(away), nearest)
    for side, code in enumerate((1, -1)):
        for n, u in itertools.product(range(15), range(6)):
            d = [between[u, c] for c in range(6) if Z[n, c] == code]
            assert labels[side, n, u] == (slow.agreed(d, nearest) if d else np.inf)
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
