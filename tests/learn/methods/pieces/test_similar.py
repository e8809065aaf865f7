import numpy as np
import pytest
import torch

from simkit.learn.methods.pieces.similar import similar
from tests.reference import estimators as slow


@pytest.mark.parametrize("say", [(0.5, 0.25), (1.0, 0.0), (0.2, 1.0)])
@pytest.mark.parametrize("threshold", [1e-9, 0.05])
@pytest.mark.parametrize("atoms", [1, 3, 20])
def test_equal_to_the_slow_loop(say, threshold, atoms):
    rng = np.random.default_rng(atoms)
    targets = rng.standard_normal((6, 30)), rng.standard_normal((6, 25))
    entries = rng.standard_normal((8, 30)), rng.standard_normal((8, 25))
    targets[0][3], targets[1][3] = entries[0][2] * 2, entries[1][2]  # one entry says it all
    allowed = rng.random((6, 8)) < 0.7
    allowed[5] = False
    chosen, weights = similar(
        tuple(map(torch.tensor, targets)),
        tuple(map(torch.tensor, entries)),
        torch.tensor(allowed),
        say=say,
        atoms=atoms,
        threshold=threshold,
    )
    assert chosen.shape == weights.shape == (6, min(atoms, 8))
    for i in range(6):
        wanted = slow.pursuit([t[i] for t in targets], entries, allowed[i], say, atoms, threshold)
        found = {m: w for m, w in zip(chosen[i].tolist(), weights[i].tolist(), strict=True) if w}
        assert found.keys() == wanted.keys()
        for m, weight in found.items():
            assert weight == pytest.approx(wanted[m], rel=1e-3, abs=1e-5)


def test_views_that_disagree_count_nothing():
    target = torch.tensor([[1.0, 0.0]])
    against = torch.tensor([[-1.0, 0.0]])
    entries = (torch.cat([target, target]), torch.cat([against, target]))
    allowed = torch.ones(1, 2, dtype=torch.bool)
    settings = {"say": (1.0, 1.0), "atoms": 1, "threshold": 1e-3}
    chosen, weights = similar((target, target), entries, allowed, **settings)
    assert chosen.tolist() == [[1]] and weights.item() == pytest.approx(1)
    allowed[0, 1] = False
    assert similar((target, target), entries, allowed, **settings)[1].item() == 0


def test_nothing_to_compare_with_gives_finite_zeros():
    zeros = torch.zeros(2, 3)
    allowed = torch.ones(2, 4, dtype=torch.bool)
    _, weights = similar(
        (zeros, zeros),
        (torch.zeros(4, 3), torch.zeros(4, 3)),
        allowed,
        say=(1.0, 1.0),
        atoms=3,
        threshold=1e-3,
    )
    assert (weights == 0).all()
