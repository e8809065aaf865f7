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
    with pytest.warns(UserWarning, match=f"{rare} of 12 classes") as heard:
        simulate(truth, "fpc(per_class=40)")
    assert {each.filename for each in heard} == {__file__}


def test_what_is_paid_for_by_a_given_models_scores():
    # Every fifth of the 100 highest scores is of an image with the class, and 10 lie far below:
    # 10 found take 50 looks, whose 40 others give the absent labels.
    present = np.zeros(400, bool)
    present[4:100:5] = present[390:] = True
    scores = np.linspace(5, -5, 400)[:, None]
    truth = Truth.of(present[:, None])
    few = simulate(truth, "fpc(per_class=10, search=scores)", scores=scores)
    assert few.counts() == {"present": 10, "absent": 10, "unknown": 380}
    assert few.effort.counts() == {"search": 50, "workers": None, "dropped": 30}
    assert few.asked.tolist() == [True] * 50 + [False] * 350
    # All 20 are found after 100 looks; 50 more without the class end the search.
    most = simulate(truth, "fpc(per_class=25, search=scores)", scores=scores)
    assert most.counts() == {"present": 20, "absent": 25, "unknown": 355}
    assert most.effort.count("search") == 150
    # Absent images that the candidates lack are searched at random, past present ones.
    perfect = simulate(truth, "fpc(per_class=30, search=scores)", scores=present[:, None] * 9.0 - 4)
    assert perfect.counts() == {"present": 30, "absent": 30, "unknown": 340}
    assert perfect.effort.count("search") == 60
