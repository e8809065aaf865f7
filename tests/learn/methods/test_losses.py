import math

import numpy as np
import pytest
import torch

from simkit.learn.methods.losses import bce, reduce
from tests.reference.methods import negative_term, positive_term


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


def test_reductions_by_hand():
    values = torch.tensor([[[1.0, 3.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 8.0]]])  # 2 runs
    counted = torch.tensor([[[True, True], [False, True]], [[False] * 2, [False] * 2]])
    assert reduce(values, "mean_all").tolist() == [1.5, 2.0]
    assert reduce(values, "sum_classes").tolist() == [3.0, 4.0]
    assert reduce(values, "sum").tolist() == [6.0, 8.0]
    assert reduce(values, "mean_observed", counted).tolist() == [2.0, 8.0]
