import math

import numpy as np
import pytest

from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Sizes, Task, make
from simkit.learn.side_info import prepare
from tests.learn.methods.steps import loss_and_gradient


def test_by_hand():
    # Medians: class 0 (1, 0), class 1 (0, 1), class 2 (0.6, 0.8). In the last image class 2 lies
    # sqrt(0.8) from class 0, which is present, and sqrt(0.4) from class 1, which is absent.
    F = np.array([[1, 0], [0, 1], [0.6, 0.8], [1, 0]], np.float32)
    Z = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0]], np.int8)
    method = make("se-l(maxima=joint)")
    T = method.start(prepare(Task(Z, FeatureInputs(F)), method)).temperature.numpy()
    assert T[3, 2] == pytest.approx(-math.exp(5 * (1 - math.sqrt(0.5))), rel=1e-6)
    T[3, 2] = 0
    assert (T == 0).all()  # the other images say of nothing that it is absent


def test_without_negatives_it_is_ignore():
    rng = np.random.default_rng(0)
    Z, F = (rng.random((30, 5)) < 0.2).astype(np.int8), rng.standard_normal((30, 4))
    method = make("se-l")
    task = prepare(Task(Z, FeatureInputs(F)), method)
    with pytest.warns(UserWarning, match="say of nothing that it is absent"):
        state = method.start(task)
    X = rng.standard_normal(Z.shape)
    ours = loss_and_gradient(method, state, Z, X)
    ignore = make("ignore", reduction="sum_classes")
    theirs = loss_and_gradient(ignore, ignore.start(Sizes(*Z.shape)), Z, X)
    for mine, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-12)
