"""The probability of being best: true as often as it says, and silent where nothing is known."""

import math

import numpy as np
import pytest
from scipy import stats

from simkit.results.statistics import Scores, best_of


def named(Y):
    """Scores (n, m) by name and draw."""
    return {f"m{m}": Scores(dict(enumerate(Y[:, m].tolist()))) for m in range(Y.shape[1])}


def world(rng, *, draws, effects, noise=0.01):
    """Scores of methods that met the same draws: effects, luck of the draw, noise."""
    luck = rng.normal(0.4, 0.02, (draws, 1))
    return named(effects + luck + rng.normal(0, noise, (draws, len(effects))))


def test_claimed_probabilities_are_kept():
    rng, claims, hits = np.random.default_rng(0), [], []
    for place in range(800):
        m, draws = (2, 5, 15, 40)[place % 4], (2, 3, 5, 10)[place // 4 % 4]
        effects = rng.normal(0, 0.01 * rng.choice([0.3, 1.0, 3.0]), m)
        noise = 0.01 * np.exp(rng.uniform(-1, 1, m)) if place % 32 >= 16 else 0.01
        best = best_of(world(rng, draws=draws, effects=effects, noise=noise))
        claims.append((draws, best.probability[best.first]))
        hits.append(best.first == f"m{effects.argmax()}")
    draws, claims = np.array(claims).T
    hits = np.array(hits)
    low, high = claims < 0.5, claims >= 0.8
    for some in [claims < 2, low, ~low & ~high, high, *(draws == n for n in (2, 3, 5, 10))]:
        claimed, n = claims[some].mean(), some.sum()
        assert n > 100  # within three standard errors of what was claimed
        assert abs(hits[some].mean() - claimed) < 3 * math.sqrt(claimed * (1 - claimed) / n) + 0.01


@pytest.mark.parametrize("draws", [2, 3, 5, 10])
@pytest.mark.parametrize("m", [2, 12])
def test_of_nearly_equal_methods_the_wrong_one_is_seldom_called_best(draws, m):
    rng, wrong = np.random.default_rng(4), 0
    for _ in range(300):
        effects, noise = rng.normal(0, 0.001, m), 0.01 * np.exp(rng.uniform(-1, 1, m))
        best = best_of(world(rng, draws=draws, effects=effects, noise=noise))
        wrong += best.sure and best.first != f"m{effects.argmax()}"
    assert wrong <= 300 * 0.05 + 3 * math.sqrt(300 * 0.05 * 0.95)


@pytest.mark.parametrize("draws", [2, 3, 5, 10, 20])
def test_no_probability_contradicts_the_interval_of_a_difference(draws):
    rng, near = np.random.default_rng(8), 0
    for _ in range(100):
        effects, noise = rng.normal(0, 0.02, 4), 0.01 * np.exp(rng.uniform(-1, 1, 4))
        scores = world(rng, draws=draws, effects=effects, noise=noise)
        best = best_of(scores)
        first, *others = (scores[name] for name in best.order)
        by = [(first - other).gap() for other in others]
        for place, one in enumerate(by):
            with_others = {*best.order} - {best.order[1 + place]}
            assert (one.low <= 0) == (best.above[best.order[1 + place]] <= 0.975)
            if one.low <= 0:
                near += 1
                assert best.probability[best.first] <= best.of(with_others) <= 0.975
    assert near > 10


def test_of_many_equal_methods_none_is_claimed_at_three_draws():
    rng = np.random.default_rng(1)
    bests = [best_of(world(rng, draws=3, effects=np.zeros(40))) for _ in range(30)]
    claims = [best.probability[best.first] for best in bests]
    assert 0.03 < np.mean(claims) < 0.2 and max(claims) < 0.5
    assert not any(best.sure for best in bests) and all(best.rivals for best in bests)


def test_a_method_that_is_better_by_far_is_the_best_and_the_others_have_no_chance():
    effects = np.array([0.0, 0.3, 0.01, 0.02])
    best = best_of(world(np.random.default_rng(2), draws=3, effects=effects))
    assert best.first == "m1" and best.sure and best.extra_draws is None and best.rivals == ()
    assert best.probability["m1"] > 0.98 and sum(best.probability.values()) <= 1


def test_equal_scores_are_one_method_with_several_names():
    rng = np.random.default_rng(5)
    plain = world(rng, draws=4, effects=np.array([0.01, 0.0, 0.0]))
    best, twice = best_of(plain), best_of(plain | {"twin": plain["m0"]})
    assert best.ties == () and twice.ties == ("twin",)
    assert twice.probability["twin"] == twice.probability["m0"] == best.probability["m0"]
    assert twice.of(["twin", "m0"]) == twice.probability["m0"]
    assert twice.of(twice.order) == pytest.approx(1)
    same = best_of(dict.fromkeys("abc", Scores({0: 0.5, 1: 0.6})))
    assert same.ties == ("b", "c") and same.rivals == ()


def test_less_than_two_draws_in_common_have_no_probability():
    few = best_of({"a": Scores({0: 0.4}), "b": Scores({0: 0.9})})
    assert (few.order, few.probability, few.draws, few.sure) == (("b", "a"), {}, 1, False)
    apart = best_of({"a": Scores({0: 0.4, 1: 0.5}), "b": Scores({2: 0.5})})
    assert (apart.first, apart.probability, apart.draws) == ("b", {}, 0)


def test_a_difference_that_reads_as_none_in_every_draw_is_none():
    scores = named(np.array([[0.5, 0.5004], [0.6, 0.6004], [0.7, 0.7004], [0.4, 0.4004]]))
    assert best_of(scores).sure and best_of(scores).ties == ()
    alike = best_of(scores, smallest=0.0005)
    assert (alike.first, alike.ties, alike.rivals) == ("m1", ("m0",), ())
    one_more = best_of(named(np.array([[0.5, 0.5004], [0.6, 0.602]])), smallest=0.0005)
    assert one_more.ties == ()  # in one draw they differ


def test_the_rivals_are_the_fewest_that_include_the_best_with_97_5_per_cent():
    rng, sizes = np.random.default_rng(3), set()
    for place in range(60):
        m = (2, 4, 12)[place % 3]
        best = best_of(world(rng, draws=4, effects=rng.normal(0, 0.01, m)))
        p, may_be = best.probability, [best.first, *best.rivals]
        share = sum(p[name] for name in may_be)
        assert share >= 0.975 and best.sure == (not best.rivals)
        assert share - min(p[name] for name in may_be) < 0.975
        others = set(p) - set(may_be)
        assert max([p[name] for name in others], default=0) <= min(p[name] for name in may_be)
        sizes.add(len(may_be))
    assert {1, 2, 3} <= sizes


def of_means(means, *, draws=4, noise=0.01):
    """Scores with exactly these means, and residuals of variance `noise`**2 about each of them."""
    residuals = np.linalg.qr(np.random.default_rng(6).normal(0, 1, (draws, draws)))[0]
    residuals -= residuals.mean(0)
    columns = residuals[:, np.arange(len(means)) % draws]
    return named(np.asarray(means) + noise * columns / columns.std(0, ddof=1))


@pytest.mark.parametrize("draws", [2, 3, 4, 8, 19])
def test_two_methods_have_the_probability_of_students_t(draws):
    for gap in (0.002, 0.01, 0.02):
        scores = of_means([0.5, 0.5 - gap], draws=draws)
        first, second = (one.values for one in scores.values())
        known = 1 - stats.ttest_rel(first, second).pvalue / 2
        best = best_of(scores)
        assert best.above["m1"] == pytest.approx(known)
        assert best.probability["m0"] == pytest.approx(known, abs=0.02)
        assert sum(best.probability.values()) == pytest.approx(1, abs=0.01)


def test_methods_are_compared_at_once_with_a_common_first():
    # Differences with the correlation 1/2, each with its own standard error, by a plain loop.
    rng = np.random.default_rng(9)
    scores = named(0.5 - 0.01 * np.arange(4) + rng.normal(0, 0.01, (4, 5)).T)
    best, wins, total = best_of(scores), dict.fromkeys(scores, 0), 20_000
    values = {name: one.values for name, one in scores.items()}
    for _ in range(total):
        shared, ahead = rng.normal(), {best.first: 0.0}
        for other in best.order[1:]:
            gap = values[best.first] - values[other]
            t = (shared + rng.normal()) / 2**0.5 / (rng.chisquare(4) / 4) ** 0.5
            ahead[other] = gap.mean() + gap.std(ddof=1) / 5**0.5 * t
        wins[min(ahead, key=ahead.get)] += 1
    for name in scores:
        assert best.probability[name] == pytest.approx(wins[name] / total, abs=0.025)


def test_the_draws_that_would_tell_grow_as_the_gap_falls():
    needs = []
    for gap in (0.008, 0.005, 0.002, 0.0005):
        scores = of_means([0.5, 0.5 - gap])
        best = best_of(scores)
        first, second = (one.values for one in scores.values())
        spread = (first - second).std(ddof=1)
        total = 4 + best.extra_draws
        for n, enough in ((total, True), (total - 1, False)):
            assert (gap / spread * n**0.5 >= stats.t.ppf(0.975, n - 1)) == enough
        needs.append(best.extra_draws)
    assert needs == sorted(needs)
    assert best_of(of_means([0.7, 0.5])).extra_draws is None
    assert best_of(of_means([0.5, 0.5, 0.48])).extra_draws > 10_000
