import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import stats

from simkit.results.statistics import (
    SURE,
    Scores,
    best_of,
    error_of_choice,
    holm,
    interval,
    p_value,
    paired_interval,
)


def test_t_interval_by_hand():
    # mean 2, standard deviation 1, error 1/sqrt(3) = 0.57735, t(0.975, 2) = 4.302653
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2.0 and found.draws == 3
    assert found.high == pytest.approx(2 + 4.302653 * 0.577350, abs=1e-5)
    assert found.half == pytest.approx(4.302653 * 0.577350, abs=1e-5)


def test_intervals_of_few_draws_are_stated_within_all_scores():
    assert interval([0.02, 0.09]).percent == "5.5 mAP (0.0 to 50.0)"
    assert interval([0.50, 0.52]).percent == "51.0 ±12.7 mAP"


def test_one_draw_has_no_interval_and_no_test():
    found = interval([0.5])
    assert (found.low, found.high, found.half) == (None, None, None)
    assert p_value([0.1]) is None


@pytest.mark.parametrize("n", [2, 5, 19])
def test_small_samples_agree_with_scipy(n):
    values = np.random.default_rng(n).normal(0.3, 1, n)
    known = stats.ttest_1samp(values, 0)
    low, high = known.confidence_interval()
    found = interval(values)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert p_value(values) == pytest.approx(known.pvalue)


@pytest.mark.parametrize("n", [3, 20])
def test_levels_are_those_asked_for(n):
    values = np.random.default_rng(n).normal(0.3, 1, n)
    for how in (interval, paired_interval):
        halves = [how(values, level=level).half for level in (0.8, 0.9, 0.95, 0.99)]
        known = stats.t.ppf([0.9, 0.95, 0.975, 0.995], n - 1) * stats.sem(values)
        assert halves == pytest.approx(known, rel=1e-9 if n == 3 else 0.12)
        assert how(values).half == halves[2]


def test_scores_in_percent():
    assert interval([0.5]).percent == "50.0 mAP"
    assert interval([0.98, 0.99]).percent == "98.5 mAP (92.1 to 100.0)"
    assert interval([0.0, 0.0]).percent == "0.0 ±0.0 mAP" and interval([1.0]).half is None


@pytest.mark.parametrize("n", [20, 50])
def test_bootstrap_agrees_with_a_plain_loop(n):
    values = np.random.default_rng(n).exponential(1, n)
    rng, sizes = np.random.default_rng(1), []
    for _ in range(4000):
        again = rng.choice(values, n)
        sizes.append(abs(again.mean() - values.mean()) / (again.std(ddof=1) / n**0.5))
    error = values.std(ddof=1) / n**0.5
    found = interval(values)
    # The 95 % quantile of 4,000 numbers is known to about 0.06 standard errors.
    assert found.half / error == pytest.approx(np.quantile(sizes, 0.95), abs=0.2)
    assert p_value(values - values.mean() + 2 * error) == pytest.approx(
        np.mean(np.array(sizes) >= 2), abs=3 * (0.07 / 4000) ** 0.5
    )
    assert interval(values) == found


def test_holm_by_hand():
    # sorted 0.01, 0.02, 0.03, 0.5 times 4, 3, 2, 1 = 0.04, 0.06, 0.06, 0.5
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize("draws", [2, 3, 5, 20])
def test_gaps_that_agree_to_the_last_digit_spread_by_half_of_them(draws):
    # Half the gap over the root of n as the standard error: t = 2 sqrt n.
    known = 2 * stats.t.sf(2 * draws**0.5, draws - 1)
    assert p_value([0.25] * draws) == pytest.approx(known)
    rounded = 0.1 * np.arange(draws)
    assert p_value(rounded + 0.1 - rounded) == pytest.approx(known)
    gap = paired_interval([0.25] * draws)
    assert (gap.low <= 0) == (p_value([0.25] * draws) >= 0.05) == (draws < 4)
    assert p_value([0.0] * draws) == 1.0


def test_p_falls_with_the_gap_beyond_what_resamples_can_tell():
    noise = np.random.default_rng(14).normal(0, 1, 20)
    ps = [p_value(noise - noise.mean() + gap) for gap in np.linspace(0.1, 6, 60)]
    assert all(later < earlier for earlier, later in pairwise(ps)) and ps[-1] < 1e-10
    # Where some resamples are as far out their share is p.
    assert max(b / a for a, b in pairwise(reversed(ps))) < 10


@pytest.mark.parametrize("last", [[0.5], [0.5, 0.25], [0.31], [0.3 + 1e-16]])
def test_draws_that_nearly_all_agree_have_a_finite_interval(last):
    values = np.array([0.3] * (20 - len(last)) + last)
    found, error = interval(values), values.std(ddof=1) / 20**0.5
    assert found.low <= found.mean <= found.high
    assert found.half <= 4.001 * error + 1e-15
    assert 0 <= p_value(values) < 0.05


@pytest.mark.parametrize("draws", [2, 3, 4, 5])
def test_gaps_of_coarse_scores_are_seldom_a_win(draws):
    gaps = np.random.default_rng(15).integers(-2, 3, (2000, draws)) / 200
    wins = sum(p_value(each) < 0.05 for each in gaps)
    assert wins <= 0.075 * 2000  # t is not exact for five values; at 2 draws 16.7 % agree


# With so many repetitions a test that calls 8 % of nulls significant does not pass.
@pytest.mark.parametrize(
    ("methods", "draws", "repetitions"), [(4, 5, 1500), (11, 5, 200), (2, 20, 1000), (4, 3, 1000)]
)
def test_a_planted_null_is_seldom_significant(methods, draws, repetitions):
    rng = np.random.default_rng(11)
    wins = 0
    for _ in range(repetitions):
        scores = rng.normal(0, 1, draws) + rng.normal(0, 0.3, (methods, draws))
        ps = [p_value(a - b) for a, b in combinations(scores, 2)]
        wins += min(holm(ps)) < 0.05
    assert wins <= repetitions * 0.05 + 3 * (repetitions * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize("draws", [5, 20])
def test_a_planted_difference_is_found_and_its_interval_holds_it(draws):
    rng = np.random.default_rng(12)
    gaps = [0.8 + rng.normal(0, 0.1, draws) - rng.normal(0, 0.1, draws) for _ in range(100)]
    assert sum(p_value(gap) < 0.05 for gap in gaps) >= 95
    covered = sum(one.low <= 0.8 <= one.high for one in map(paired_interval, gaps))
    assert covered >= 95 - 3 * (100 * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize(("noise", "curve"), [(0.0, 2.0), (0.3, 2.0), (0.8, 2.0), (0.5, 0.0)])
def test_intervals_hold_the_mean_over_choices_of_settings(noise, curve):
    # The best of five settings, by its mean over two draws, is scored in ten others.
    rng, repetitions = np.random.default_rng(1), 400
    true = -curve * (np.linspace(-1, 1, 5) - 0.13) ** 2
    tried = true[:, None] + noise * rng.standard_normal((repetitions, 5, 2))
    tried += rng.standard_normal((repetitions, 1, 2))  # the luck of a draw, which settings share
    chosen = true[tried.mean(2).argmax(1)]
    errors = [error_of_choice(scores) for scores in tried]
    scored = chosen[:, None] + 0.5 * rng.standard_normal((repetitions, 10))
    ends = [interval(one, tuned_error=error) for one, error in zip(scored, errors, strict=True)]
    held = np.mean([one.low <= chosen.mean() <= one.high for one in ends])
    without = [interval(one) for one in scored]
    alone = np.mean([one.low <= chosen.mean() <= one.high for one in without])
    assert held >= 0.93 and held >= alone
    if noise == 0.8:
        assert alone < 0.85 and 0.7 * chosen.std() < np.sqrt(np.mean(np.square(errors)))
    if not noise:
        assert max(errors) < 1e-9
    if not curve:  # all settings are alike, and still the intervals are not much too wide
        assert np.mean([one.half for one in ends]) < 1.8 * np.mean([one.half for one in without])


def test_the_choice_of_settings_counts_in_differences_tests_and_the_best():
    scores = {"an": dict(enumerate([0.50, 0.52, 0.51])), "em": dict(enumerate([0.53, 0.55, 0.55]))}
    gaps = [0.03, 0.03, 0.04]
    sure, unsure = (
        best_of({name: Scores(one, error) for name, one in scores.items()}) for error in (0, 0.02)
    )
    assert sure.probability["em"] > SURE > unsure.probability["em"] > 0.5
    both = math.hypot(0.02, 0.02)
    by = paired_interval(gaps, tuned_error=both)
    error = math.hypot(np.std(gaps, ddof=1) / math.sqrt(3), both)
    assert by.half == pytest.approx(4.302653 * error) and by.low < 0
    assert p_value(gaps) < 0.05 < p_value(gaps, tuned_error=both)
    # More draws do not reduce the error of the choice; equal scores share their choice.
    apart = {
        "an": dict(enumerate([0.30, 0.301, 0.299])),
        "em": dict(enumerate([0.29, 0.291, 0.288])),
    }
    far, near = (
        best_of({name: Scores(one, error) for name, one in apart.items()})
        for error in (0.01, 0.003)
    )
    assert far.extra_draws == math.inf and 0 < near.extra_draws < 100
    assert paired_interval([0.0, 0.0, 0.0], tuned_error=0.02).half == 0
    assert p_value([0.0, 0.0], tuned_error=0.02) == 1
    assert error_of_choice(np.array([[0.5, 0.6]])) == error_of_choice(np.array([[0.5], [0.6]])) == 0
