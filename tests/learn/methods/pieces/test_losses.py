import math

import numpy as np
import pytest
import torch

from simkit.learn.methods.pieces.losses import bce, entropy, reduce
from tests.reference.methods import cross_entropy, negative_term, positive_term, slope
from tests.reference.methods import entropy as slow_entropy


def test_exact_terms_over_a_wide_range():
    x = torch.linspace(-90, 90, 37, dtype=torch.float64)
    present = bce(x, torch.ones(37, dtype=torch.bool))
    absent = bce(x, torch.zeros(37, dtype=torch.bool))
    np.testing.assert_allclose(present, [positive_term(v) for v in x.tolist()], atol=1e-13)
    np.testing.assert_allclose(absent, [negative_term(v) for v in x.tolist()], atol=1e-13)


def test_with_epsilon_the_loss_saturates_and_the_gradient_vanishes():
    x = torch.tensor([-30.0], dtype=torch.float64, requires_grad=True)
    loss = bce(x, torch.tensor([True]), "spml")
    loss.sum().backward()
    assert loss.item() == pytest.approx(-math.log(1e-5), abs=1e-6)
    assert abs(x.grad.item()) < 1e-7


def test_with_a_floor_the_loss_ends_without_gradient():
    x = torch.tensor([-30.0, -18.0], dtype=torch.float64, requires_grad=True)
    loss = bce(x, torch.tensor([True, True]), "csl")
    loss.sum().backward()
    assert loss.tolist() == pytest.approx([-math.log(1e-8), positive_term(-18.0)])
    assert x.grad.tolist() == pytest.approx([0, -1])


@pytest.mark.parametrize("epsilon", [None, "spml", "csl"])
def test_soft_targets(epsilon):
    x = torch.linspace(-30, 30, 13, dtype=torch.float64)
    for target in (0.0, 0.25, 1.0):
        found = bce(x, torch.full_like(x, target), epsilon)
        wanted = [cross_entropy(v, target, epsilon) for v in x.tolist()]
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("epsilon", [None, "spml"])
def test_entropy_is_largest_at_zero(epsilon):
    x = torch.linspace(-30, 30, 13, dtype=torch.float64, requires_grad=True)
    found = entropy(x, epsilon)
    found.sum().backward()
    wanted = [slow_entropy(v, epsilon) for v in x.tolist()]
    np.testing.assert_allclose(found.detach(), wanted, rtol=1e-9, atol=1e-12)
    slopes = [slope(lambda v: slow_entropy(v, epsilon), v) for v in x.tolist()]
    np.testing.assert_allclose(x.grad, slopes, rtol=1e-6, atol=1e-9)
    assert found.argmax() == 6 and x[6] == 0


def test_half_precision_is_computed_in_float32():
    x = torch.tensor([-3.0, 0.5, 9.0])
    for target in (torch.tensor([True, False, True]), torch.tensor([0.2, 0.9, 0.0])):
        for epsilon in (None, "spml", "csl"):
            assert torch.equal(bce(x.bfloat16(), target, epsilon), bce(x, target, epsilon))
    assert torch.equal(entropy(x.bfloat16()), entropy(x))


def test_reductions_by_hand():
    values = torch.tensor([[[1.0, 3.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 8.0]]])  # 2 runs
    counted = torch.tensor([[[True, True], [False, True]], [[False] * 2, [False] * 2]])
    assert reduce(values, "mean_all").tolist() == [1.5, 2.0]
    assert reduce(values, "sum_classes").tolist() == [3.0, 4.0]
    assert reduce(values, "sum").tolist() == [6.0, 8.0]
    assert reduce(values, "mean_observed", counted).tolist() == [2.0, 8.0]
