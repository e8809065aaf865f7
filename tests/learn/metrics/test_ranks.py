import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.metrics.ranking import ranked
from simkit.learn.metrics.ranks import refuse_nan


def test_ranks_by_hand():
    scores = np.array([[3, 1, 2, 7], [3, 1, 4, 7], [1, 1, 9, 7]])
    present = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0]], bool)
    (ranks,) = ranked(scores, present, np.array([[1, 1, 1, 0]] * 3, bool))
    assert ranks.classes == slice(0, 4)
    assert ranks.present.tolist() == [2, 0, 2, 0] and ranks.pointers.tolist() == [0, 2, 2, 4, 4]
    assert ranks.scores.tolist() == [1, 3, 2, 9]
    assert ranks.hits.tolist() == [2, 1, 2, 1]
    assert ranks.images.tolist() == [3, 2, 3, 1]  # the image that ties counts too
    assert ranks.known.tolist() == [3, 3, 3, 0] and ranks.top.tolist() == [3, 1, 9, -np.inf]
    assert ranks.reduce(np.add, ranks.images, -1).tolist() == [5, -1, 4, -1]


def test_nothing_present_reduces_to_the_empty_value():
    (ranks,) = ranked(np.zeros((2, 3)), np.zeros((2, 3), bool))
    assert ranks.reduce(np.maximum, ranks.hits / ranks.images, 0.0).tolist() == [0, 0, 0]


def test_refusal():
    with pytest.raises(BadInput, match="the model that gave them has diverged"):
        refuse_nan()
