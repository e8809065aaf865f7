"""Every label with the same probability, by two routes."""

import numpy as np
import pytest

from simkit.annotate.schemes import rpa
from simkit.annotate.schemes.rpa import kept_places
from simkit.annotate.simulate import simulate
from simkit.annotate.sparse_draws import count_table
from simkit.chance import Chance, threshold
from simkit.labels.truth import Truth
from tests.reference.annotation import binomial_quantile

N, L = 900, 40
TRUTH = Truth.of(np.random.default_rng(2).random((N, L)) < np.linspace(0.02, 0.6, L))
CHANCE = Chance.seeded(6).of("rpa")


@pytest.fixture(params=["every place", "by row"])
def route(request, monkeypatch) -> str:
    if request.param == "by row":
        monkeypatch.setattr(rpa, "EVERY_PLACE", 0)
    return request.param


@pytest.mark.parametrize("keep", [0.003, 0.1, 0.5, 0.95])
def test_the_share_is_kept_overall_by_class_and_by_truth(route, keep):
    known = simulate(TRUTH, f"rpa(keep={keep})").codes.toarray() != 0
    deviation = np.sqrt(keep * (1 - keep))
    assert abs(known.mean() - keep) < 4 * deviation / np.sqrt(N * L)
    # The largest of 40 normal deviations stays below 4.5 with probability 0.9997.
    assert np.abs(known.mean(0) - keep).max() < max(4.5 * deviation / np.sqrt(N), 4.5 / N)
    present = TRUTH.present.toarray()
    for part in (present, ~present):
        assert abs(known[part].mean() - keep) < 4 * deviation / np.sqrt(part.sum())


def test_labels_of_an_image_are_independent(route):
    """The number kept in each image has the binomial's variance, and pairs of classes agree."""
    known = simulate(TRUTH, "rpa(keep=0.3)", seed=1).codes.toarray() != 0
    variance = known.sum(1).var()
    expected = L * 0.3 * 0.7
    assert abs(variance - expected) < 4.5 * expected * np.sqrt(2 / N)
    together = np.corrcoef(known.T)[~np.eye(L, dtype=bool)]
    # 780 pairs: the largest of as many normal deviations stays below 5.2 with probability 0.9998.
    assert np.abs(together).max() < 5.2 / np.sqrt(N)


def test_all_and_nothing(route):
    assert (simulate(TRUTH, "rpa(keep=1)").codes.toarray() != 0).all()
    nothing = simulate(TRUTH, "rpa(keep=0)")
    assert nothing.codes.nnz == 0 and not nothing.asked.any() and not nothing.effort.kinds()


def test_larger_shares_contain_smaller_ones(route):
    last = np.zeros((N, L), bool)
    for keep in (0.001, 0.01, 0.011, 0.2, 0.5, 0.99, 1.0):
        known = simulate(TRUTH, f"rpa(keep={keep})").codes.toarray() != 0
        assert (last <= known).all() and known.sum() > last.sum()
        last = known


def test_the_route_depends_on_the_size_of_the_truth_alone(monkeypatch):
    whole = {keep: simulate(TRUTH, f"rpa(keep={keep})").id for keep in (0.01, 0.9)}
    monkeypatch.setattr(rpa, "EVERY_PLACE", N * L)
    assert whole == {keep: simulate(TRUTH, f"rpa(keep={keep})").id for keep in (0.01, 0.9)}
    few = simulate(TRUTH, "rpa(keep=0.9)", images=3)
    monkeypatch.setattr(rpa, "EVERY_PLACE", N * L - 1)
    assert simulate(TRUTH, "rpa(keep=0.9)", images=3).id != few.id


@pytest.mark.parametrize("keep", [0.0, 1e-4, 0.3, 1 / 3, 0.5, 1.0])
def test_every_place_by_whole_numbers(keep):
    images = np.array([2, 3, 4, 9, 60])
    kept = set(zip(*(a.tolist() for a in kept_places(images, L, keep, CHANCE)), strict=True))
    expected = set()
    for image in images.tolist():
        leading = CHANCE.block(image, image + 1, L, bits=8)[0]
        for c in range(L):
            rest = int(CHANCE([image], c)[0]) >> 8
            if (int(leading[c]) << 56) + rest < threshold(keep):
                expected.add((image, c))
    assert kept == expected


def test_leading_bits_that_do_not_decide(monkeypatch):
    """All leading bits equal those of the limit: then the other 56 decide everywhere."""
    keep = 0.3
    top = threshold(keep) >> 56
    monkeypatch.setattr(
        Chance, "block", lambda self, a, b, width, bits: np.full((b - a, width), top, np.uint8)
    )
    rows, columns = kept_places(np.arange(500), L, keep, CHANCE)
    rest = CHANCE(np.arange(500)[:, None], np.arange(L)) >> np.uint64(8)
    expected = rest < threshold(keep) % 2**56
    assert 0 < expected.mean() < 1
    assert np.array_equal(np.stack([rows, columns]), np.nonzero(expected))


@pytest.mark.parametrize("share", [1e-3, 0.1, 0.5, 0.999])
@pytest.mark.parametrize("trials", [1, 7, 40])
def test_binomial_quantiles_in_fractions(trials, share):
    table = count_table(trials, share=share)
    numbers = [0, 1, 2**40, 2**63, 2**64 - 2**11, 2**64 - 1, *map(int, CHANCE(np.arange(50)))]
    fast = np.searchsorted(table, np.array(numbers, np.uint64), side="right")
    assert fast.tolist() == [binomial_quantile(number, trials, share) for number in numbers]
