import math

import numpy as np

from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.side_info import prepare

# Images 0 and 1 are neighbours, and 2 and 3: cosines 0.96, distances sqrt(0.08).
F = np.array([[1, 0], [0.96, 0.28], [-0.96, 0.28], [-1, 0]], np.float32)
Z = np.array([[1, -1, 0], [0, 0, 1], [0, 1, 1], [-1, 0, 0]], np.int8)


def started(spec, labels=Z):
    method = make(spec)
    return method.start(prepare(Task(labels, FeatureInputs(F)), method)).temperature.numpy()


def test_by_hand():
    hot = math.exp(5 * (1 - math.sqrt(0.08)))
    wanted = [[0, 0, hot], [hot, -hot, 0], [-hot, 0, 0], [0, hot, hot]]
    np.testing.assert_allclose(started("se-i(k=1, maxima=joint)"), wanted, rtol=1e-6)
    # Each over its own maximum: where all d+ are alike they are 1, as d- is, and ties are negative.
    wanted = [[0, 0, -1], [hot, -hot, 0], [-1, 0, 0], [0, -1, -1]]
    np.testing.assert_allclose(started("se-i(k=1)"), wanted, rtol=1e-6)


def test_what_no_neighbour_covers_is_ignored_or_a_hard_negative():
    less = Z.copy()
    less[3] = [0, 1, -1]  # nothing about class 0 in image 3, nor in image 2
    ignored, hard = (started(f"se-i(k=1, uncovered={how})", less) for how in ("ignore", "negative"))
    assert ignored[2:, 0].tolist() == [0, 0] and hard[2:, 0].tolist() == [-1, -1]
    assert np.array_equal(ignored[:, 1:], hard[:, 1:])
