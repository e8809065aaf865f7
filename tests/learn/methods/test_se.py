import math

import numpy as np

from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.side_info import prepare


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
