"""A fixed number of labels for each class."""

import numpy as np
import pytest

from simkit.annotate.simulate import simulate
from simkit.labels.truth import Truth

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("k", [1, 10, 50, 300])
@pytest.mark.parametrize("search", ["proposals", "random"])
def test_counts_by_class(truth, k, search):
    labels = simulate(truth, f"fpc(per_class={k}, search={search})")
    present = truth.counts
    assert np.array_equal(labels.per_class(1), np.minimum(k, present))
    assert np.array_equal(labels.per_class(-1), np.minimum(k, 300 - present))


def test_proposals_and_random_looks_find_the_same_labels(truth):
    proposals, random = (
        simulate(truth, f"fpc(per_class=5, search={search})") for search in ("proposals", "random")
    )
    assert np.array_equal(proposals.codes.toarray(), random.codes.toarray())
    # Looking at images as they come, people see more of them, and more is dropped.
    assert proposals.asked.sum() < random.asked.sum()
    assert proposals.effort.counts()["dropped"] < random.effort.counts()["dropped"]


def test_what_is_paid_for_at_half_precision():
    # 50 of 200 images show the class: 30 found take 60 looks, whose 30 false ones are the absent
    # labels; at precision 0.25 they take 120 looks, and 60 of the 90 false ones are dropped.
    truth = Truth.of(np.arange(200)[:, None] < 50)
    half = simulate(truth, "fpc(per_class=30)").effort
    assert half.counts() == {"search": 60, "workers": None, "dropped": 0}
    quarter = simulate(truth, "fpc(per_class=30, precision=0.25)")
    assert quarter.effort.counts() == {"search": 120, "workers": None, "dropped": 60}
    assert quarter.counts() == {"present": 30, "absent": 30, "unknown": 140}
    kept = simulate(truth, "fpc(per_class=30, precision=0.25, keep_looks=True)")
    assert kept.effort.counts() == {"search": 120, "workers": None, "dropped": 0}
    assert kept.counts() == {"present": 30, "absent": 90, "unknown": 80}


def test_classes_that_are_too_rare_are_told_of(truth):
    rare = int((truth.counts < 40).sum())
    assert 0 < rare < 12
    with pytest.warns(UserWarning, match=f"{rare} of 12 classes"):
        simulate(truth, "fpc(per_class=40)")


def test_kept_labels_are_a_uniform_choice():
    # Every one of 20 showing images is among the 5 kept with probability 1/4, over 4,000 classes.
    L = 4000
    truth = Truth.of(np.repeat(np.arange(60)[:, None] < 20, L, axis=1))
    codes = simulate(truth, "fpc(per_class=5)", seed=3).codes.toarray()
    for code, rows, share in ((1, slice(0, 20), 1 / 4), (-1, slice(20, 60), 1 / 8)):
        kept = (codes[rows] == code).sum(1) / L
        assert np.abs(kept - share).max() < 4.5 * np.sqrt(share * (1 - share) / L)


def test_lower_precision_costs_more():
    # One found by each of 30 looks more or all images: 2,000 images, 40 of which show the class.
    truth = Truth.of(np.arange(2000)[:, None] < 40)
    precisions = (1, 0.5, 0.1, 0.02, 0.001, 1e-5, 1e-6)
    looks = [
        simulate(truth, f"fpc(per_class=10, precision={p!r})").effort.count("search")
        for p in precisions
    ]
    # At 1 the ten absent labels are looks of their own; from 0.001 on nothing is left to look at.
    assert looks == [20, 20, 100, 500, 1970, 1970, 1970]
