"""Distances of labels to known ones, in blocks, and their maxima."""

import itertools

import numpy as np
import pytest
import torch

from simkit.labels.partial import PartialLabels
from simkit.learn.methods import soft_exposure as place
from simkit.learn.methods.soft_exposure import (
    by_images,
    by_labels,
    label_distances,
    packed_labels,
    scaled,
)
from tests.reference import exposure as slow


def example(seed):
    """Labels, distances of classes, neighbours and how far these are."""
    rng = np.random.default_rng(seed)
    Z = rng.choice([-1, 0, 0, 1], (15, 6)).astype(np.int8)
    Z[3] = 0
    between = label_distances(rng.standard_normal((6, 4)), "euclidean")
    return Z, between, rng.integers(0, 15, (15, 4)), rng.random((15, 4))


@pytest.mark.parametrize("entries", [1 << 22, 60, 1])
@pytest.mark.parametrize("nearest", ["min", "median5"])
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
