"""Whatever proposes candidates, the same neighbours come out, to the last bit."""

import numpy as np
import pytest
import torch

from simkit.embed.nearby import nearest as place
from simkit.embed.nearby.nearest import nearest
from simkit.embed.unit import UnitRows
from simkit.errors import BadInput
from simkit.learn.feeding.inputs import FeatureInputs
from tests.reference import exposure as slow

ENGINES = ["blocks", "faiss"]


def unit(values):
    values = np.asarray(values, np.float64)
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("k", [1, 3, 7, 100])
def test_equal_to_the_slow_search(k):
    F = unit(np.random.default_rng(k).standard_normal((20, 5)))
    index, distance, cosine = nearest(F, k)
    wanted = slow.neighbours(F.astype(float).tolist(), [True] * 20, k)
    assert index.tolist() == wanted
    for n, row in enumerate(wanted):
        there = [F[m].astype(float) for m in row]
        own = F[n].astype(float)
        np.testing.assert_allclose(distance[n], [slow.euclidean(own, x) for x in there], rtol=1e-12)
        np.testing.assert_allclose(cosine[n], [slow.cosine(own, x) for x in there], atol=1e-15)


def clouds(rng, kind):
    """Features that are hard for products in float32: near one another, or equal, or zero."""
    F = rng.standard_normal((150, 64))
    if kind == "close":
        F = F[:1] + 1e-4 * F
    if kind == "few places":
        F = F[rng.integers(0, 4, 150)]
    if kind == "one place":
        F = np.repeat(F[:1], 150, axis=0)
    F = unit(F)
    if kind == "zeros":
        F[rng.integers(0, 150, 40)] = 0
    return F


def plainly(F, k):
    exact = F.astype(np.float64)
    distance = np.sqrt(((exact[:, None] - exact) ** 2).sum(-1))
    np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distance, order, 1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["wide", "close", "few places", "one place", "zeros"])
@pytest.mark.parametrize("k", [1, 10, 120])
def test_candidates_miss_nobody_and_blocks_change_nothing(engine, kind, k):
    F = clouds(np.random.default_rng(3), kind)
    order, away = plainly(F, k)
    for scores in (1 << 24, 150 * 7, 1):
        index, distance, _ = nearest(F, k, scores=scores, engine=engine)
        assert np.array_equal(index, order)
        assert np.array_equal(distance, away)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["wide", "few places", "zeros"])
def test_some_rows_ask(engine, kind):
    F = clouds(np.random.default_rng(4), kind)
    own = np.array([149, 3, 3, 77, 0, 20, 21])
    everyone, some = nearest(F, 9), nearest(F, 9, own=own, engine=engine)
    for whole, part in zip(everyone, some, strict=True):
        assert np.array_equal(whole[own], part)
    assert nearest(F, 9, own=own[:0], engine=engine).place.shape == (0, 9)


def test_a_list_that_rounding_leaves_open_is_widened(monkeypatch):
    F = clouds(np.random.default_rng(5), "close")
    seen = []
    widened = place._widened
    monkeypatch.setattr(place, "_widened", lambda *a: seen.append(len(a[2])) or widened(*a))
    nearest(F, 10)
    nearest(clouds(np.random.default_rng(5), "wide"), 10)
    assert seen == [150, 0]


def test_candidates_that_are_off_by_as_much_as_they_say_change_nothing(monkeypatch):
    F = clouds(np.random.default_rng(6), "wide")
    order, away = plainly(F, 10)
    honest = place.shortlist
    off = 2.0**-9

    def shaken(*given, **how):
        short = honest(*given, **how)
        product = short.product + off * np.random.default_rng(0).uniform(-1, 1, short.product.shape)
        turn = np.argsort(-product, axis=1, kind="stable")
        parts = (np.take_along_axis(part, turn, 1) for part in (short.place, product))
        return short.__class__(*parts, short.rest + off, off + short.off)

    monkeypatch.setattr(place, "shortlist", shaken)
    index, distance, _ = nearest(F, 10)
    assert np.array_equal(index, order) and np.array_equal(distance, away)


def test_a_picture_without_features_is_as_far_as_length_says():
    F = unit([[1, 0], [0.6, 0.8], [-1, 0]])
    F[1] = 0  # stays zero
    index, distance, cosine = nearest(F, 2)
    assert index.tolist() == [[1, 2], [0, 2], [1, 0]]
    assert distance.tolist() == [[1, 2], [1, 1], [1, 2]]
    assert cosine.tolist() == [[1, 2], [1, 1], [1, 2]]
    assert nearest(np.zeros((4, 2), np.float32), 2).place.tolist() == [
        [1, 2],
        [0, 2],
        [0, 1],
        [0, 1],
    ]


def test_rows_on_disk_give_the_same(monkeypatch):
    values = np.random.default_rng(7).standard_normal((90, 6)).astype(np.float16)
    rows = UnitRows(FeatureInputs(values), np.arange(0, 90, 2), "these")
    held, monkey = nearest(rows.held(), 5), nearest(rows, 5, scores=1)
    assert all(np.array_equal(a, b) for a, b in zip(held, monkey, strict=True))


def test_products_are_full_float32_whatever_the_program_allows():
    F = unit(np.random.default_rng(8).standard_normal((60, 512)))
    wanted = nearest(F, 5)
    torch.set_float32_matmul_precision("medium")
    try:
        found = nearest(F, 5)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert all(np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))


def test_other_engines_are_refused():
    with pytest.raises(BadInput) as error:
        nearest(unit(np.eye(3)), 1, engine="fais")
    assert str(error.value) == "no search is called 'fais'; did you mean 'faiss'?"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is at hand")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_gpu_gives_the_same(engine):
    F = clouds(np.random.default_rng(9), "zeros")
    wanted, found = nearest(F, 10, device="cpu"), nearest(F, 10, engine=engine, device="cuda")
    assert all(np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))
