import numpy as np
import pytest

import simkit
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.study.analysis.labelling.depths import STATES, depths, levels_of

CLASSES = ("animal", "dog", "cat", "puppy", "thing")
EDGES = [("dog", "animal"), ("cat", "animal"), ("puppy", "dog"), ("puppy", "animal")]
TRUE = np.array([[1, 1, 0, 1, 0], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]], bool)
KNOWN = np.array([[1, 1, -1, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]], np.int8)


@pytest.fixture
def tree():
    return Hierarchy.of(CLASSES, EDGES)


@pytest.fixture
def truth():
    return Truth.of(TRUE, classes=CLASSES)


@pytest.fixture
def labels():
    return PartialLabels.of(KNOWN, classes=CLASSES, asked=np.array([True, True, False]))


def test_a_class_lies_below_its_deepest_parent(tree):
    assert levels_of(tree).tolist() == [0, 1, 1, 2, 0]


def test_counts_and_shares_of_each_level(truth, labels, tree):
    rows = depths(truth, {"ours": labels}, tree).to_pylist()
    assert [row["state"] for row in rows] == list(STATES) * 3
    counts = {(row["depth"], row["state"]): row["count"] for row in rows}
    # animal and thing: three present are known, one absent is not; the last image was not asked
    assert [counts[0, state] for state in STATES] == [3, 0, 0, 1]
    # dog and cat: known are a dog and no cat; unknown are no dog and a cat
    assert [counts[1, state] for state in STATES] == [1, 1, 1, 1]
    assert [counts[2, state] for state in STATES] == [0, 0, 1, 1]
    assert [(row["classes"], row["leaves"]) for row in rows[::4]] == [(2, 1), (2, 1), (1, 1)]
    for depth in range(3):
        assert sum(row["share"] for row in rows if row["depth"] == depth) == pytest.approx(1)


def test_the_knowledge_graph_knows_the_top_and_leaves_out_what_is_below():
    data = simkit.data.open("scenes:images=60,val=20,test=20")
    truth, tree = data.truth["train"], data.hierarchy
    labels = simkit.simulate(truth, "knowledge-graph", hierarchy=tree)
    share = {(r["depth"], r["state"]): r["share"] for r in
             depths(truth, {"kg": labels}, tree).to_pylist()}  # fmt: skip
    assert share[0, "missing present"] == share[0, "missing absent"] == 0
    assert share[1, "missing present"] > share[1, "present"]


def test_what_does_not_fit_is_refused(truth, labels, tree):
    with pytest.raises(BadInput, match=r"^depths: the hierarchy is over other classes"):
        depths(truth, {"ours": labels}, tree.over(["dog", "cat"]))
    none = PartialLabels.of(0 * KNOWN, classes=CLASSES, asked=np.zeros(3, bool))
    with pytest.raises(BadInput) as caught:
        depths(truth, {"ours": none}, tree)
    assert str(caught.value) == "depths: 'ours' asked about no image; ask about some"


def test_a_truth_that_is_not_complete_is_refused(labels, tree):
    partly = Truth.of(TRUE & (KNOWN >= 0), classes=CLASSES, known=KNOWN >= 0)
    with pytest.raises(BadInput) as error:
        depths(partly, {"ours": labels}, tree)
    assert str(error.value) == (
        "depths: the truth does not know all labels, so nobody can say what is missing; give a "
        "complete one"
    )


def test_labels_come_by_name(truth, labels, tree):
    for given, came in (({}, "came"), (labels, "came by name, but a PartialLabels")):
        with pytest.raises(BadInput) as error:
            depths(truth, given, tree)
        assert str(error.value) == f"depths: no labels {came}; give some, as {{'rpa': labels}}"
