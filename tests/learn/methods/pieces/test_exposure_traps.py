"""Labels that know one side alone are noticed, also where a handful say the other."""

import warnings

import numpy as np
import pytest

from simkit.labels.partial import PartialLabels
from simkit.learn.aids.prepare import prepare
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task, make

START = "compares the present with the absent, and"
N, L = 200, 20


def single():
    """One class of each image is known to be present."""
    Z = np.zeros((N, L), np.int8)
    Z[np.arange(N), np.random.default_rng(0).integers(L, size=N)] = 1
    return Z


def started(name, Z, asked=None):
    """Temperatures and what was said on the way."""
    features = np.abs(np.random.default_rng(1).normal(size=(len(Z), 8)))
    task = prepare(Task(PartialLabels.of(Z, asked=asked), FeatureInputs(features)), make(name))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        T = make(name).start(task).temperature.numpy()
    return T, [str(one.message) for one in heard]


@pytest.mark.parametrize(
    "name, lack, comes",
    [
        (
            "se",
            "something of both is known in only 1 of 200 images",
            "in the others most unknown labels fall to the side that is known",
        ),
        (
            "se-l",
            "something of both is known in only 1 of 200 images",
            "the unknown labels of all others are ignored, as 'ignore' does",
        ),
        (
            "se-i",
            "only 1 of 201 known labels say 'absent'",
            "nearly every unknown label that a neighbour covers gets the other sign",
        ),
    ],
)
def test_one_absent_label_does_not_silence_the_sentence(name, lack, comes):
    Z = single()
    Z[0, np.argmin(Z[0])] = -1
    T, heard = started(name, Z)
    assert heard == [f"method {name!r} {START} {lack}: {comes}"]
    assert (T > 0).sum() > 9 * (T < 0).sum() or (name == "se-l" and (T == 0).mean() > 0.99)


@pytest.mark.parametrize("name", ["se", "se-l", "se-i"])
def test_with_negatives_alone_nothing_is_positive(name):
    T, heard = started(name, -single())
    assert len(heard) == 1 and heard[0].startswith(
        f"method {name!r} {START} these labels say of nothing that it is present: every unknown "
    )
    assert not (T > 0).any()
    assert {"se": (T < 0).sum() == N * (L - 1), "se-l": not T.any(), "se-i": (T < 0).any()}[name]


def test_where_nothing_is_known_that_is_said():
    lack = f"{START} of these labels nothing is known"
    nothing, asked = np.zeros((5, 3), np.int8), np.ones(5, bool)
    T, heard = started("se", nothing, asked)
    assert heard == [f"method 'se' {lack}: every unknown label becomes a hard negative, as in 'an'"]
    assert (T == -1).all()
    T, heard = started("se-l", nothing, asked)
    assert heard == [f"method 'se-l' {lack}: every unknown label is ignored, as 'ignore' does"]
    assert not T.any()
    T, heard = started("se-i", nothing, asked)
    assert heard == [f"method 'se-i' {lack}: no neighbour says anything of an unknown label"]
    assert not T.any()


def test_images_that_know_one_side_each_are_enough_for_neighbours():
    Z = single()
    Z[::2] *= -1
    assert started("se-i", Z)[1] == []
    assert "in only 0 of 200 images" in started("se-l", Z)[1][0]
    both = single()
    both[:3] = np.where(both[:3] == 0, -1, 1)  # 3 of 200 are more than one in a hundred
    assert started("se", both)[1] == [] == started("se-l", both)[1]
