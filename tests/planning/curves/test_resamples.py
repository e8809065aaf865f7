import numpy as np
import pytest

from simkit.planning.curves.points import Points
from simkit.planning.curves.resamples import ONE_DRAW, resample

COUNT = 4000


def points(table: np.ndarray) -> Points:
    draws, sizes = np.indices(table.shape)
    dollars = 10.0 * 2.0**sizes
    return Points(dollars.ravel(), table.ravel(), draws.ravel(), sizes.ravel())


def resampled(table: np.ndarray, *, seed: int = 0, name: str = "one", exact: bool = True):
    """Without jitter where the curve goes through the means exactly."""
    made = points(table)
    centre = np.nanmean(table, 0)[None] + (0 if exact else [[0.01, -0.01, 0.01, -0.01]])
    return resample(made, centre, made.costs, COUNT, seed=seed, name=name)


def several(draws: int, spread: float = 0.01) -> np.ndarray:
    luck = np.linspace(-1, 1, draws)
    luck *= spread / luck.std(ddof=1)
    return np.array([0.3, 0.4, 0.5, 0.55]) + luck[:, None]


@pytest.mark.parametrize("draws", [3, 5, 8])
def test_the_spread_of_means_is_that_of_student_and_not_of_the_plain_bootstrap(draws: int) -> None:
    means = resampled(several(draws)).means[:, -1]
    low, high = np.quantile(means, [0.05, 0.95])
    normal = 2 * 1.645 * 0.01 / np.sqrt(draws)
    plain = normal * np.sqrt((draws - 1) / draws)
    # Student's would be 1.78, 1.30 and 1.15 times normal.
    assert high - low > 1.1 * normal > plain
    assert high - low < 2.2 * normal


def test_the_luck_of_a_draw_has_the_measured_spread_with_few_degrees_of_freedom() -> None:
    luck = resampled(several(5)).luck
    low, high = np.quantile(luck, [0.05, 0.95])
    assert abs(np.median(luck)) < 0.001
    assert high - low == pytest.approx(2 * 2.13 * 0.01, rel=0.1)  # Student's t of 4 degrees


def test_all_sizes_of_a_draw_are_taken_together() -> None:
    means = resampled(several(4)).means
    gaps = means - means[:, :1]
    np.testing.assert_allclose(gaps, np.tile([0, 0.1, 0.2, 0.25], (COUNT, 1)), atol=1e-12)


def test_curves_of_the_same_draws_share_their_luck_but_not_their_jitter() -> None:
    first = resampled(several(5), name="one")
    second = resampled(several(5) - 0.1, name="two")
    np.testing.assert_allclose(first.means - second.means, 0.1, atol=1e-12)
    np.testing.assert_allclose(first.luck, second.luck, atol=1e-12)
    flat = np.tile(several(5).mean(0), (5, 1))
    jitter = [resampled(flat, name=name, exact=False).means[:, 0] for name in ("one", "two")]
    assert abs(np.corrcoef(jitter)[0, 1]) < 0.05
    assert jitter[0].std() > 0.005


def test_another_seed_gives_other_resamples_and_the_same_seed_the_same() -> None:
    found = [resampled(several(3), seed=seed).means for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_a_size_that_one_draw_lacks_counts_by_the_others() -> None:
    table = several(4)
    table[0, -1] = np.nan
    whole = points(np.nan_to_num(table, nan=0.5))
    keep = ~np.isnan(table.ravel())
    short = Points(whole.dollars[keep], whole.score[keep], whole.draw[keep], whole.size[keep])
    means = resample(short, short.table[1:2], short.costs, COUNT, seed=0, name="").means
    assert np.median(means[:, -1]) == pytest.approx(np.nanmean(table[:, -1]), abs=0.002)


def test_one_draw_has_the_spread_that_is_assumed() -> None:
    found = resampled(several(5)[:1])
    assert found.luck.std() == pytest.approx(ONE_DRAW, rel=0.1)
    assert found.means[:, 0].std() == pytest.approx(ONE_DRAW, rel=0.1)


def without(table: np.ndarray, keep: np.ndarray, numbers: np.ndarray | None = None):
    """Resamples of the scores that are kept; numbers (D,) of the draws."""
    draws, sizes = np.indices(table.shape)
    if numbers is not None:
        draws = numbers[draws]
    dollars = 10.0 * 2.0**sizes
    made = Points(dollars[keep], table[keep], draws[keep], sizes[keep])
    weights = made.costs**2.5
    return resample(made, made.table[:1] * 0 + np.nanmean(made.table, 0), weights, COUNT,
                    seed=0, name="")  # fmt: skip


def test_a_largest_size_that_is_the_whole_pool_hides_no_luck() -> None:
    table, keep = several(3, spread=0.015), np.ones((3, 4), bool)
    plain = without(table, keep)
    keep[1:, -1] = False
    whole = without(table, keep)
    assert whole.luck.std() > 0.9 * plain.luck.std()
    # One set of labels says less of its own luck than three do.
    assert whole.means[:, -1].std() > 1.3 * plain.means[:, -1].std()


def test_draws_that_share_a_pool_differ_less_than_new_images_would() -> None:
    table = several(4)
    made = points(table)
    taken = np.array([0.05, 0.1, 0.25, 0.5])[made.size]
    shared = Points(made.dollars, made.score, made.draw, made.size, taken)
    centre, weights = np.nanmean(table, 0)[None], made.costs**2.5
    plain, pooled = (resample(p, centre, weights, COUNT, seed=0, name="") for p in (made, shared))
    assert 1.1 < pooled.luck.std() / plain.luck.std() < 1.5  # up to sqrt(2), by weight
    assert pooled.means[:, -1].std() > 1.2 * plain.means[:, -1].std()


def test_draws_are_paired_by_their_numbers() -> None:
    table, every = several(4), np.ones((4, 4), bool)
    whole = without(table, every).means[:, -1]
    for missing in range(4):
        keep = every.copy()
        keep[missing] = False
        part = without(table, keep).means[:, -1]
        assert np.corrcoef(whole, part)[0, 1] > 0.6
    other = without(table, every, np.arange(4) + 4)
    assert abs(np.corrcoef(whole, other.means[:, -1])[0, 1]) < 0.06
    assert abs(np.corrcoef(without(table, every).luck, other.luck)[0, 1]) < 0.06


def test_single_draws_of_different_numbers_are_independent() -> None:
    one, keep = several(4)[:1], np.ones((1, 4), bool)
    found = [without(one, keep, np.array([k])).luck for k in (0, 1)]
    assert abs(np.corrcoef(*found)[0, 1]) < 0.06
