"""Products that are taken once for both rows lead to what sorting all of them gives."""

import numpy as np
import pytest

from simkit.embed.nearby import pairs as place
from simkit.embed.nearby import shortlist as lists
from simkit.embed.nearby.nearest import nearest
from simkit.embed.nearby.pairs import Largest, pairs


def unit(values):
    values = np.asarray(values, np.float64)
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def rows(kind, n=2500, width=12):
    rng = np.random.default_rng(2)
    F = rng.standard_normal((n, width))
    if kind == "in order of their place":  # so that the first say nothing of the others
        F = np.sort(rng.integers(0, 30, n))[:, None] + 0.3 * F
    if kind == "few places":
        F = F[rng.integers(0, 60, n)]
    return unit(F)


@pytest.mark.parametrize("kind", ["wide", "in order of their place", "few places"])
@pytest.mark.parametrize("products", [1 << 24, 700 * 700])
def test_nothing_above_the_rest_is_missing(kind, products, monkeypatch):
    monkeypatch.setattr(place, "_WAITING", 30_000)  # so that what is large rises on the way
    F = rows(kind)
    found = pairs(F, 18, products)
    product = F @ F.T
    np.fill_diagonal(product, -np.inf)
    full = np.isfinite(found.product)
    assert full[:, :10].mean() > 0.99
    there = np.take_along_axis(product, found.place.astype(np.int64), 1)
    assert np.abs(there - found.product)[full].max() < 1e-6
    for n in range(0, len(F), 7):
        kept = found.place[n][full[n]]
        assert len(set(kept.tolist())) == len(kept)
        assert np.delete(product[n], kept).max() <= found.rest[n] + 1e-6


@pytest.mark.parametrize("kind", ["wide", "in order of their place", "few places"])
def test_neighbours_are_those_of_looking_at_all(kind, monkeypatch):
    F = rows(kind)
    found = nearest(F, 10)
    monkeypatch.setattr(lists, "_MANY", 1 << 30)
    wanted = nearest(F, 10)
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_rows_that_the_sample_misjudges_are_asked_again(monkeypatch):
    F = rows("wide")
    wanted = nearest(F, 10)
    honest = place._enough

    def too_much(*given):
        least = honest(*given)
        least[::5] = 0.999
        return least

    monkeypatch.setattr(place, "_enough", too_much)
    found = nearest(F, 10)
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_of_equal_products_no_more_wait_once_enough_are_kept():
    largest = Largest(np.zeros(4, np.float32), 2)
    block = np.full((4, 4), 0.5, np.float32)
    np.fill_diagonal(block, -np.inf)
    largest.meet(block, 0, 0)
    assert largest._count == 12
    largest.settle()
    assert (largest.product == 0.5).all() and (largest.rest == 0.5).all()
    largest.meet(block, 0, 0)
    assert largest._count == 0
