import numpy as np
import pytest

from simkit.planning.curves.backtest import backtest
from simkit.planning.curves.fit import ALONE, Points, fit
from simkit.planning.curves.peers import AHEAD, Peers
from tests.planning.curves.test_fit import FEW, PLANTED, measured

LOW, HIGH = 0.06, 0.8
FASTER = (0.05, 0.2, 0.5, 1.0, 3.0, 10.0)  # by how much each curve of a comparison is ahead


def logistic(faster: float, slope: float = 1.0):
    return lambda x: LOW + (HIGH - LOW) / (1 + (faster * np.asarray(x)) ** -slope)


@pytest.fixture(scope="module")
def pilots() -> list[Points]:
    return [measured(logistic(f), seed=i, spread=0.004) for i, f in enumerate(FASTER)]


@pytest.fixture(scope="module")
def peers(pilots) -> Peers:
    return Peers.of(pilots)


def test_common_ends_are_found(peers) -> None:
    ends = peers.ends(FEW, seed=0)
    assert ends.shape == (FEW, 2)
    assert np.median(ends, 0) == pytest.approx([LOW, HIGH], abs=0.05)
    more = peers.ends(2 * FEW, seed=0)
    np.testing.assert_array_equal(more[:FEW], ends)


def test_what_a_slow_pilot_leads_to_is_told_by_faster_ones(pilots, peers) -> None:
    slow, truth = pilots[1], logistic(FASTER[1])
    alone, together = fit(slow, resamples=FEW), fit(slow, peers=peers, resamples=FEW)
    ahead = 100 * np.array([5.0, 10.0])
    off = [abs(curve.median(ahead) - truth(ahead / 100)) for curve in (alone, together)]
    assert (off[0] > 0.08).all()  # it sees a slow start only
    assert (off[1] < 0.5 * off[0]).all()
    low, high = together.band(ahead)
    assert ((low <= truth(ahead / 100)) & (truth(ahead / 100) <= high)).all()


def test_bands_of_a_curve_near_its_end_become_narrower(pilots, peers) -> None:
    fast = pilots[-1]
    widths = [np.ptp(fit(fast, peers=p, resamples=FEW).band(1000.0)) for p in (None, peers)]
    assert widths[1] < 0.9 * widths[0]


@pytest.mark.parametrize("name", PLANTED)
def test_bands_hold_planted_curves_of_each_family_together(name: str) -> None:
    """Those that no logistic curve fits as well: then a curve's own word holds the truth."""
    ahead, held = np.array([2.0, 5.0, 10.0]), []
    for seed in range(3):
        faster = 2.0 ** np.random.default_rng(seed).uniform(-1, 2, 5)
        truths = [lambda x, f=f: PLANTED[name](f * np.asarray(x)) for f in faster]
        points = [measured(truth, seed=10 * seed + i) for i, truth in enumerate(truths)]
        together = Peers.of(points)
        for own, truth in zip(points, truths, strict=True):
            low, high = fit(own, peers=together, resamples=FEW).band(100 * ahead)
            held.append((low <= truth(ahead)) & (truth(ahead) <= high))
    assert (np.mean(held, 0) >= 0.85).all()


def test_one_resample_in_some_is_the_curve_s_own(pilots, peers) -> None:
    alone, together = (fit(pilots[1], peers=p, resamples=FEW) for p in (None, peers))
    for one, other in zip(alone.parameters, together.parameters, strict=True):
        same = (one == other).all(1)
        assert same[::ALONE].all()
        assert not same[1::ALONE].any()
    assert alone.id != together.id
    np.testing.assert_array_equal(alone.luck, together.luck)


def test_equal_curves_count_once_and_flat_ones_not_at_all(pilots) -> None:
    one = pilots[0]
    copy = Points(one.dollars, one.score, one.draw, one.size)
    flat = Points(one.dollars, np.full(len(one.score), 0.1), one.draw, one.size)
    assert Peers.of([*pilots, copy, flat]).name == Peers.of(pilots).name
    assert Peers.of([one, copy, flat, pilots[1]]) is None
    assert Peers.of([]) is None


def test_their_order_does_not_matter_and_the_seed_does(pilots, peers) -> None:
    turned, slow = Peers.of(pilots[::-1]), pilots[1]
    first, second = (fit(slow, peers=p, resamples=FEW).samples(500.0) for p in (peers, turned))
    np.testing.assert_array_equal(first, second)
    assert (fit(slow, peers=peers, resamples=FEW, seed=1).samples(500.0) != first).any()


def test_foretold_means_rise_and_stay_within_the_ends(pilots, peers) -> None:
    for own in pilots:
        means = np.tile(own.table.mean(0), (FEW, 1))
        found = peers.foretold(own, means, seed=0)
        assert found.shape == (FEW, len(AHEAD))
        assert (np.diff(found) >= 0).all()
        ends = peers.ends(FEW, seed=0)
        assert (found >= ends[:, :1]).all() and (found <= ends[:, 1:]).all()


def test_a_method_that_never_gets_better_is_foretold_not_to(pilots) -> None:
    stuck = measured(lambda x: 0.145 - 0.002 * np.log(x))
    curve = fit(stuck, peers=Peers.of([*pilots, stuck]), resamples=FEW)
    assert curve.median(1000.0)[0] == pytest.approx(0.145, abs=0.02)


def test_shorter_peers_are_as_they_were_known_before(pilots, peers) -> None:
    before = peers.shorter(2)
    assert {p.reach for p in before.points} == {25.0}
    assert peers.shorter(2) is before
    assert peers.shorter(0).name == peers.name
    assert peers.shorter(3) is None  # two sizes are left


def test_a_back_test_holds_out_the_largest_sizes_of_peers_too(pilots, peers) -> None:
    found = backtest(pilots[1], peers=peers, resamples=FEW)
    curve = fit(pilots[1].up_to(50.0), peers=peers.shorter(1), resamples=FEW)
    assert (found.rows[0].low, found.rows[0].high) == pytest.approx(curve.band(100.0)[:, 0])
    assert found.rows[0] != backtest(pilots[1], resamples=FEW).rows[0]
