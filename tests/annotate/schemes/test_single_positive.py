"""One present class for each image, uniformly."""

import numpy as np
import pytest

from simkit.annotate.simulate import simulate
from simkit.labels.truth import Truth


def test_one_label_in_each_image_that_shows_something():
    present = np.zeros((4, 3), bool)
    present[0] = True
    present[1, 2] = present[3, 0] = present[3, 1] = True
    with pytest.warns(UserWarning, match="^1 of 4 images show none"):
        labels = simulate(Truth.of(present), "single-positive")
    codes = labels.codes.toarray()
    assert (codes >= 0).all() and codes.sum(1).tolist() == [1, 1, 0, 1]
    # Everybody was asked once, the empty image too.
    assert labels.asked.all() and labels.effort.questions["name"].tolist() == [0, 4]
    assert labels.effort.counts() == {"name": 4, "workers": None, "dropped": 0}


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_each_present_class_is_equally_likely(classes):
    # Other columns are never present; N images show the same classes.
    N, L = 14_000, 11
    present = np.zeros((N, L), bool)
    shown = np.arange(classes) + 2
    present[:, shown] = True
    codes = simulate(Truth.of(present), "single-positive", seed=1).codes
    counts = np.bincount(codes.indices, minlength=L)[shown]
    assert counts.sum() == N
    chi = ((counts - N / classes) ** 2 / (N / classes)).sum()
    # Mean and variance of chi-square are its degrees of freedom and twice that.
    assert chi < (classes - 1) + 4.5 * np.sqrt(2 * (classes - 1)) + 4


def test_the_choice_does_not_follow_other_images(truth):
    whole = simulate(truth, "single-positive")
    other = truth.present.toarray()
    other[10:] = ~other[10:]
    other[10:, 0] = True
    changed = simulate(Truth.of(other), "single-positive")
    assert np.array_equal(whole.rows(np.arange(10)), changed.rows(np.arange(10)))
