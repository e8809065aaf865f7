"""Two disjoint sets of images for every class, as many as a long tail gives it."""

import numpy as np
import pytest

from simkit.annotate.schemes.federated import Federated
from simkit.annotate.simulate import simulate
from simkit.chance import Chance

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("search", ["proposals", "random"])
@pytest.mark.parametrize("ratio,exponent", [(1, 1), (2.5, 0.5), (0, 1), (0.3, 0)])
def test_counts_by_class(truth, search, ratio, exponent):
    scheme = Federated(per_class=60, ratio=ratio, exponent=exponent, search=search)
    labels = simulate(truth, scheme, seed=2)
    goals = sorted((max(1, int(60 / (r + 1) ** exponent)) for r in range(12)), reverse=True)
    present, absent = scheme.goals(12, 300)
    assert present.tolist() == goals
    assert absent.tolist() == [round(ratio * goal) for goal in goals]
    got = labels.per_class(1), labels.per_class(-1)
    # Which class has which goal: the goals are met or the class is exhausted, in some order.
    ranks = simulate_ranks(2, 12)
    assert np.array_equal(got[0], np.minimum(present[ranks], truth.counts))
    assert np.array_equal(got[1], np.minimum(absent[ranks], 300 - truth.counts))


def simulate_ranks(seed: int, L: int) -> np.ndarray:
    chance = Chance.seeded(seed).of("draw", 0).of("scheme", "federated")
    return chance.of("ranks").permutation(L).rank(np.arange(L))


def test_goals_by_hand():
    present, absent = Federated(per_class=7, ratio=1.5).goals(9, 1000)
    assert present.tolist() == [7, 3, 2, 1, 1, 1, 1, 1, 1]
    # Halves go to the even neighbour: 10.5 is 10, 4.5 is 4, 1.5 is 2.
    assert absent.tolist() == [10, 4, 3, 2, 2, 2, 2, 2, 2]
    present, absent = Federated(per_class=10**15, ratio=10**6).goals(2, 1000)
    assert present.tolist() == absent.tolist() == [1001, 1001]
