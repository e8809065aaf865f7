import math

import numpy as np
import pytest

from simkit.learn.aids.prepare import prepare
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task, make


def test_by_hand():
    # Medians: class 0 (1, 0), class 1 (0, 1), class 2 (0.8, 0.4); so class 0 and 2 are sqrt(0.2)
    # apart, 1 and 2 are 1, 0 and 1 sqrt(2). Images 0 and 3 are alike, 1 and 2 sqrt(0.4) apart.
    F = np.array([[1, 0], [0, 1], [0.6, 0.8], [1, 0]], np.float32)
    Z = np.array([[1, 0, 1], [0, 1, -1], [0, 0, 1], [1, -1, 0]], np.int8)
    method = make("se(k=1, maxima=joint)")
    T = method.start(prepare(Task(Z, FeatureInputs(F)), method)).temperature
    wanted = [
        [0, -math.exp(5), 0],  # absent in the same picture again
        [-math.exp(5 * (1 - math.sqrt(0.2))), 0, 0],  # like class 2, absent; d+ is 1: no neighbour
        [math.exp(5 * (1 - math.sqrt(0.2))), math.exp(5 * (1 - math.sqrt(0.4))), 0],
        [0, 0, math.exp(5)],
    ]
    np.testing.assert_allclose(T, wanted, rtol=1e-6)


def test_without_negatives_the_unknown_become_soft_positives():
    rng = np.random.default_rng(0)
    Z, F = (rng.random((30, 12)) < 0.3).astype(np.int8), rng.standard_normal((30, 4))
    task = prepare(Task(Z, FeatureInputs(F)), make("se"))
    with pytest.warns(UserWarning) as heard:
        T = make("se").start(task).temperature
    assert [str(one.message) for one in heard] == [
        "method 'se' compares the present with the absent, and these labels say of nothing "
        "that it is absent: nearly every unknown label becomes a soft positive"
    ]
    assert (T > 0).sum() > 4 * (T < 0).sum()
