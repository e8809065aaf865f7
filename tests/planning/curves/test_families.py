import numpy as np
import pytest

from simkit.planning.curves.families import FAMILIES
from tests.reference.curve_fits import best_loss

BY_NAME = {family.name: family for family in FAMILIES}
T = np.log(2.0) * np.arange(-4, 1)
BEYOND = np.log([0.01, 0.5, 1, 2, 5, 10, 50, 1e6])
TRUTH = {
    "pow2": lambda t: 1 - 0.4 * np.exp(-0.25 * t),
    "logit": lambda t: 1 / (1 + np.exp(-0.3 - 0.5 * t)),
    "pow3": lambda t: 0.8 - 0.2 * np.exp(-0.4 * t),
    "log": lambda t: 1 - 1 / (3 + 0.5 * t),
    "mmf4": lambda t: 0.05 + 0.8 / (1 + np.exp(-0.7 * (t + 0.5))),
}
CASES = {
    "convex": np.array([0.10, 0.11, 0.14, 0.19, 0.30]),
    "saturating": np.array([0.49, 0.63, 0.705, 0.765, 0.799]),
    "steady": np.array([0.354, 0.438, 0.526, 0.592, 0.655]),
    "falling": np.array([0.16, 0.155, 0.15, 0.147, 0.145]),
    "rough": np.array([0.30, 0.42, 0.41, 0.55, 0.56]),
    "at its end": np.array([0.9, 0.97, 0.999, 1.0, 1.0]),
    "nothing yet": np.array([0.0, 0.0, 0.0, 0.01, 0.02]),
}


@pytest.mark.parametrize("name", TRUTH)
def test_a_family_finds_its_own_curve_and_goes_on_along_it(name: str) -> None:
    family, truth = BY_NAME[name], TRUTH[name]
    found = family.fit(T, truth(T)[None], np.exp(2 * T))
    ahead = np.log([1, 2, 5, 10])
    # Shapes are tried on a grid, and four parameters leave a valley of nearly equal fits.
    close = 0.02 if name == "mmf4" else 0.0035
    np.testing.assert_allclose(family.value(found, ahead)[0], truth(ahead), atol=close)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", BY_NAME)
def test_fits_are_as_close_as_those_of_a_general_optimiser(name: str, case: str) -> None:
    scores, weights = CASES[case], np.exp(1.5 * T)
    family = BY_NAME[name]
    ours = family.value(family.fit(T, scores[None], weights), T)[0]
    loss = float((ours - scores) ** 2 @ (weights / weights.sum()))
    # 0.15 points of mAP in the root of the mean square are nothing beside the noise of a pilot.
    assert np.sqrt(loss) <= np.sqrt(best_loss(name, T, scores, weights)) + 0.0015


@pytest.mark.parametrize("name", BY_NAME)
def test_whatever_the_scores_a_curve_rises_and_stays_within_0_and_1(name: str) -> None:
    scores = np.random.default_rng(0).random((300, len(T)))
    family = BY_NAME[name]
    found = family.value(family.fit(T, scores, np.exp(T)), BEYOND)
    assert found.shape == (300, len(BEYOND))
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1
    assert (np.diff(found, axis=1) >= -1e-12).all()


@pytest.mark.parametrize("name", BY_NAME)
def test_resamples_are_fitted_independently_of_each_other(name: str) -> None:
    scores, family = np.stack(list(CASES.values())), BY_NAME[name]
    together = family.value(family.fit(T, scores, np.exp(T)), BEYOND)
    alone = [family.value(family.fit(T, one[None], np.exp(T)), BEYOND)[0] for one in scores]
    np.testing.assert_allclose(together, alone, atol=1e-7)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_size_of_more_weight_is_met_more_closely(name: str) -> None:
    scores, family = CASES["rough"][None], BY_NAME[name]
    gaps = []
    for weight in (1.0, 100.0):
        weights = np.array([1.0, 1.0, 1.0, weight, 1.0])
        fitted = family.value(family.fit(T, scores, weights), T)
        gaps.append(abs(fitted[0, 3] - scores[0, 3]))
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.parametrize("name", BY_NAME)
def test_values_may_be_asked_for_at_dollars_of_each_resample(name: str) -> None:
    family = BY_NAME[name]
    found = family.fit(T, np.stack(list(CASES.values())), np.exp(T))
    own = family.value(found, np.tile(BEYOND, (len(found), 1)))
    np.testing.assert_array_equal(own, family.value(found, BEYOND))


def test_every_family_has_a_name_of_its_own_and_a_formula() -> None:
    assert list(BY_NAME) == ["pow2", "logit", "pow3", "log", "mmf4"]
    assert all("x" in family.formula for family in FAMILIES)
