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
