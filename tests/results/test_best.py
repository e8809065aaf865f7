"""The probability of being best: true as often as it says, and silent where nothing is known."""

import math

import numpy as np
import pytest
from scipy import stats

from simkit.results.statistics import best_of


def named(Y):
    """Scores (n, m) by name and draw."""
    return {f"m{m}": dict(enumerate(Y[:, m].tolist())) for m in range(Y.shape[1])}


def world(rng, *, draws, effects, noise=0.01):
    """Scores of methods that met the same draws: effects, luck of the draw, noise."""
    luck = rng.normal(0.4, 0.02, (draws, 1))
    return named(effects + luck + rng.normal(0, noise, (draws, len(effects))))


def test_claimed_probabilities_are_kept():
    rng, claims, hits = np.random.default_rng(0), [], []
    for place in range(200):
        m, draws = (2, 5, 15, 40)[place % 4], (3, 4, 5, 10)[place // 4 % 4]
        effects = rng.normal(0, 0.01 * rng.choice([0.3, 1.0, 3.0]), m)
        best = best_of(world(rng, draws=draws, effects=effects))
        claims.append(best.probability[best.first])
        hits.append(best.first == f"m{effects.argmax()}")
        assert sum(best.probability.values()) == pytest.approx(1)
    claims, hits = np.array(claims), np.array(hits)
    groups = [claims < 2, claims < 0.4, (claims >= 0.4) & (claims < 0.8), claims >= 0.8]
    for some in groups:  # within three standard errors of what was claimed
        claimed, n = claims[some].mean(), some.sum()
        assert n > 20
        assert abs(hits[some].mean() - claimed) < 3 * math.sqrt(claimed * (1 - claimed) / n) + 0.01


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
    assert best.probability == {"m0": 0, "m1": 1, "m2": 0, "m3": 0}


def test_equal_scores_are_one_method_with_several_names():
    rng = np.random.default_rng(5)
    plain = world(rng, draws=4, effects=np.array([0.01, 0.0, 0.0]))
    best, twice = best_of(plain), best_of(plain | {"twin": plain["m0"]})
    assert best.ties == () and twice.ties == ("twin",)
    assert twice.probability["twin"] == twice.probability["m0"] == best.probability["m0"]
    assert twice.of(["twin", "m0"]) == twice.probability["m0"]
    assert twice.of(twice.order) == pytest.approx(1)
    same = best_of({name: {0: 0.5, 1: 0.6} for name in "abc"})
    assert same.ties == ("b", "c") and same.rivals == ()


def test_less_than_three_draws_in_common_have_no_probability():
    for draws in (1, 2):
        scores = {"a": 0.4, "b": 0.9}
        few = best_of({name: dict.fromkeys(range(draws), x) for name, x in scores.items()})
        assert (few.order, few.probability, few.draws, few.sure) == (("b", "a"), {}, draws, False)
    apart = best_of({"a": {0: 0.4, 1: 0.5}, "b": {2: 0.5}})
    assert (apart.first, apart.probability, apart.draws) == ("b", {}, 0)


def test_a_difference_that_reads_as_none_in_every_draw_is_none():
    scores = named(np.array([[0.5, 0.5004], [0.6, 0.6004], [0.7, 0.7004], [0.4, 0.4004]]))
    assert best_of(scores).sure and best_of(scores).ties == ()
    alike = best_of(scores, smallest=0.0005)
    assert (alike.first, alike.ties, alike.rivals) == ("m1", ("m0",), ())
    one_more = best_of(named(np.array([[0.5, 0.5004], [0.6, 0.602]])), smallest=0.0005)
    assert one_more.ties == ()  # in one draw they differ


def test_the_rivals_are_the_fewest_that_include_the_best_with_95_per_cent():
    rng, sizes = np.random.default_rng(3), set()
    for place in range(60):
        m = (2, 4, 12)[place % 3]
        best = best_of(world(rng, draws=4, effects=rng.normal(0, 0.01, m)))
        p, may_be = best.probability, [best.first, *best.rivals]
        assert best.of(may_be) >= 0.95 and best.settled(may_be) and best.sure == (not best.rivals)
        assert best.of(may_be) - min(p[name] for name in may_be) < 0.95
        others = set(p) - set(may_be)
        assert max([p[name] for name in others], default=0) <= min(p[name] for name in may_be)
        sizes.add(len(may_be))
    assert {1, 2, 3} <= sizes


def of_means(means, *, draws=4, noise=0.01):
    """Scores with exactly these means, and residuals of variance `noise`**2 about them."""
    residuals = np.random.default_rng(6).normal(0, 1, (draws, len(means)))
    residuals -= residuals.mean(0)
    residuals -= residuals.mean(1, keepdims=True)
    v = (residuals**2).sum() / ((draws - 1) * (len(means) - 1))
    return named(np.asarray(means) + noise * residuals / math.sqrt(v))


def by_quadrature(gap, *, v, draws, freedom):
    """Probability of the higher of two means: over the noise's chi squared and a flat prior of the
    methods' spread, given which the difference of their effects is normal."""
    tau, p = np.linspace(0.05, 50, 20_001) * math.sqrt(v / draws), []
    for error in v * freedom / stats.chi2.ppf((np.arange(200) + 0.5) / 200, freedom) / draws:
        total = tau**2 + error
        weights = total**-0.5 * np.exp(-(gap**2) / 4 / total)
        above = stats.norm.cdf(tau / np.sqrt(total) * gap / np.sqrt(2 * error))
        p.append((weights * above).sum() / weights.sum())
    return np.mean(p)


@pytest.mark.parametrize("draws", [3, 4, 8])
@pytest.mark.parametrize("low", [0, 20])
def test_two_methods_by_quadrature_whatever_lies_far_below(draws, low):
    for gap in (0.002, 0.01, 0.02):
        best = best_of(of_means([0.5, 0.5 - gap, *np.linspace(0.1, 0.3, low)], draws=draws))
        freedom = (draws - 1) * (1 + low)  # far methods tell the noise, and nothing else
        known = by_quadrature(gap, v=0.01**2, draws=draws, freedom=freedom)
        assert best.probability["m0"] == pytest.approx(known, abs=0.025)
        assert sum(best.probability.values()) == pytest.approx(1)
        assert not any(p for name, p in best.probability.items() if name not in ("m0", "m1"))


def test_the_draws_that_would_tell_grow_as_the_gap_falls():
    spread = np.linspace(0.45, 0.49, 20).tolist()
    needs = []
    for gap in (0.008, 0.005, 0.002, 0.0005):
        best = best_of(of_means([0.5, 0.5 - gap, *spread]))
        # 2 v (1.64 / gap)^2 draws in all where the gap is as it looks; shrunken ones take more.
        least = math.ceil(2 * 0.01**2 * (1.64 / gap) ** 2) - 4
        assert (
            best.first == "m0"
            and "m1" in best.rivals
            and least <= best.extra_draws < 4 * least + 10
        )
        needs.append(best.extra_draws)
    assert needs == sorted(needs)
    assert best_of(of_means([0.6, 0.5, *spread])).extra_draws is None
    assert best_of(of_means([0.5, 0.5, 0.48])).extra_draws > 100
