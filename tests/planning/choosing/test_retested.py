"""Curves about new images, from a pilot with few to test on."""

from dataclasses import replace

import numpy as np
import pytest

from simkit.planning.choosing.followed import followed
from simkit.planning.choosing.retested import OWN, retested
from simkit.planning.evidence import tested
from simkit.planning.evidence.flattery import flattered
from simkit.planning.money.project import Project

SHARES = np.array([0.4, 0.3, 0.2, 0.1, 0.05, 0.02])
AP = np.array([0.8, 0.7, 0.7, 0.5, np.nan, np.nan])
FEW = tested.Tested(15, 6, 2, 14.0, *flattered(AP, np.array([6, 4, 3, 1, 0, 0]), 15, SHARES))
X = np.geomspace(5, 400, 30)


@pytest.fixture(scope="module")
def on_test(curves, evidence):
    return followed(curves, evidence, Project(400.0))


@pytest.fixture(scope="module")
def found(on_test):
    return retested(on_test, FEW)


def test_many_images_change_nothing(on_test) -> None:
    assert retested(on_test, tested.Tested(2000, 6, 0, 1.3)) == on_test
    assert retested(on_test, tested.Tested(None)) == on_test


def test_levels_are_those_of_new_images_and_every_sample_still_rises(found, on_test) -> None:
    for pair, curve in found.items():
        own = curve.samples(X)
        assert (np.diff(own, axis=1) >= -1e-12).all() and own.min() >= 0 and own.max() <= 1
        expected = FEW.elsewhere(on_test[pair].median(X))
        np.testing.assert_allclose(curve.median(X), expected, atol=0.015)
        assert (curve.median(X) < on_test[pair].median(X) - 0.02).all()


def test_bands_hold_the_luck_of_the_test_images(found, on_test) -> None:
    for pair, curve in found.items():
        (low, high), (before, after) = curve.band(40.0)[:, 0], on_test[pair].band(40.0)[:, 0]
        middle = curve.median(40.0)[0]
        luck = 2 * 1.645 / 1.96 * FEW.off(middle) / 100  # of a 90 % band
        assert high - low > 0.9 * luck > 2 * (after - before)


def test_the_order_of_curves_hardly_changes(found, on_test) -> None:
    """They are scored by the same images: differences vary 0.48 times as much as one curve."""
    one, other, *_ = [pair for pair in found if pair[0].scheme == "rpa"]
    before = [
        np.arcsin(np.sqrt(FEW.elsewhere(on_test[p].samples(40.0)[:, 0]))) for p in (one, other)
    ]
    after = [np.arcsin(np.sqrt(found[p].samples(40.0)[:, 0])) for p in (one, other)]
    luck = np.stack(after) - before
    assert np.corrcoef(luck)[0, 1] == pytest.approx(1 - OWN, abs=0.02)
    assert np.std(luck[0] - luck[1]) / np.std(luck[0]) == pytest.approx(0.48, abs=0.03)


def test_what_may_be_wrong_with_the_points_taken_off_is_the_same_for_all_curves(on_test) -> None:
    doubted = replace(FEW, measured=float(np.nanmean(AP)))
    assert doubted.spread > 1.02 * FEW.spread
    found = retested(on_test, doubted)
    one, other, *_ = [pair for pair in found if pair[0].scheme == "rpa"]
    before = [
        np.arcsin(np.sqrt(FEW.elsewhere(on_test[p].samples(40.0)[:, 0]))) for p in (one, other)
    ]
    after = [np.arcsin(np.sqrt(found[p].samples(40.0)[:, 0])) for p in (one, other)]
    luck = np.stack(after) - before
    assert np.std(luck[0]) == pytest.approx(doubted.spread, rel=0.05)
    assert np.std(luck[0] - luck[1]) == pytest.approx(0.48 * doubted.luck, rel=0.07)


def test_what_the_pilot_itself_measured_is_on_its_own_images(found, on_test) -> None:
    for pair, curve in found.items():
        np.testing.assert_array_equal(curve.on_pilot(), on_test[pair].on_pilot())
        assert curve.agrees == on_test[pair].agrees


def test_the_same_seed_gives_the_same_luck(found, on_test) -> None:
    again = retested(on_test, FEW)
    for pair, curve in found.items():
        np.testing.assert_array_equal(curve.samples(X), again[pair].samples(X))
