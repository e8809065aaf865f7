"""What labels reveal, counted by hand; and answers of people beside what was fitted to them."""

from dataclasses import replace

import numpy as np
import pytest

import simkit
from simkit.annotate.dawid_skene import fit_annotators, simulate_votes
from simkit.annotate.prices import prices
from simkit.annotate.votes import agreement
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.papers.analysis.labelling import STATES, confusion, depths, distributions, revealed
from tests.results.figures.made import drawn_votes

CLASSES = ("animal", "dog", "cat", "puppy", "thing")
EDGES = [("dog", "animal"), ("cat", "animal"), ("puppy", "dog"), ("puppy", "animal")]
TRUE = np.array([[1, 1, 0, 1, 0], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]], bool)
KNOWN = np.array([[1, 1, -1, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]], np.int8)
TREE = Hierarchy.of(CLASSES, EDGES)
TRUTH = Truth.of(TRUE, classes=CLASSES)
LABELS = PartialLabels.of(KNOWN, classes=CLASSES, asked=np.array([True, True, False]))
PRICES = prices("openimages")


def test_complete_labels_reveal_everything_and_cost_their_price() -> None:
    whole = simkit.simulate(TRUTH, "full-subset", images=2)
    ours = replace(LABELS, effort=whole.effort)
    table = revealed(TRUTH, {"full": whole, "ours": ours}, 0, prices=PRICES)
    full, ours = (table[table["scheme"] == name] for name in ("full", "ours"))
    image = whole.rows([0])[0].any()  # whether the one left out is the first
    assert full["present"].tolist() == TRUE[0].tolist()
    assert full["state"].tolist() == (np.where(TRUE[0], 1, -1) * image).tolist()
    # Five classes at $0.0058 each, for an asked image.
    assert full["dollars"].tolist() == pytest.approx([5 * 0.0058] * 5)
    assert ours["state"].tolist() == KNOWN[0].tolist()


def test_classes_stand_in_the_order_of_their_true_frequency() -> None:
    truth = Truth.of(np.array([[0, 1, 0], [1, 1, 0], [0, 1, 0]]), classes=("cat", "dog", "cow"))
    labels = PartialLabels.of(np.array([[-1, 1, 0], [1, 0, -1], [0, 1, 0]]), classes=truth.classes)
    table = distributions(truth, {"some": labels})
    assert table["class"].tolist() == ["dog", "cat", "cow"]
    assert table[["rank", "true", "present", "absent"]].to_numpy().tolist() == [
        [0, 3, 2, 0],
        [1, 1, 1, 1],
        [2, 0, 0, 1],
    ]
    np.testing.assert_array_equal(table["found"], [2 / 3, 1, np.nan])


def test_depths_count_each_level() -> None:
    table = depths(TRUTH, {"ours": LABELS}, TREE)
    assert table["state"].tolist() == list(STATES) * 3
    # animal and thing: three present are known, one absent is not; the last image was not asked.
    # dog and cat: known are a dog and no cat; unknown are no dog and a cat. puppy, below both its
    # parents: nothing is known
    counts = table["count"].to_numpy().reshape(3, 4).tolist()
    assert counts == [[3, 0, 0, 1], [1, 1, 1, 1], [0, 0, 1, 1]]
    assert table[["depth", "classes", "leaves"]][::4].to_numpy().tolist() == [
        [0, 2, 1],
        [1, 2, 1],
        [2, 1, 1],
    ]
    assert table.groupby("depth")["share"].sum().tolist() == pytest.approx([1, 1, 1])


OTHER = Truth.of(TRUE, classes=tuple("abcde"))
PARTLY = Truth.of(TRUE & (KNOWN >= 0), classes=CLASSES, known=KNOWN >= 0)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: revealed(OTHER, {"x": LABELS}, 0, prices=PRICES), "labels 'x'"),
        (lambda: distributions(OTHER, {"x": LABELS}), "labels 'x'"),
        (lambda: depths(TRUTH, {"x": LABELS}, TREE.over(["dog", "cat"])), "has other classes"),
        (lambda: depths(PARTLY, {"x": LABELS}, TREE), "truth is incomplete"),
    ],
)
def test_labels_that_do_not_fit_are_refused(act, words) -> None:
    with pytest.raises(BadInput, match=words):
        act()


def test_confusion_says_what_votes_and_fit_say() -> None:
    votes = drawn_votes(400)
    fitted = fit_annotators(votes)
    parts = dict(list(confusion(votes, fitted, seed=4).groupby("part")))
    absent, present = fitted.confusion
    cells = parts["matrix"].set_index(["name", "answer"])
    assert cells.loc[("present", "yes"), "votes"] == present[2]
    assert cells.loc[("present", "yes"), "share"] == pytest.approx(present[2] / present.sum())
    assert cells.loc[("absent", "maybe"), "votes"] == absent[1]
    assert cells["votes"].sum() == pytest.approx(1200)
    experts = parts["gold"][parts["gold"]["name"] == "present"]
    assert experts["votes"].tolist() == votes.counts[votes.gold == 1].sum(0).tolist()
    assert parts["worker"]["name"].tolist() == list("abcd")
    assert parts["worker"]["votes"].tolist() == [300] * 4
    assert parts["worker"]["miss"].tolist() == fitted.miss.tolist()
    real, again = agreement(votes), agreement(simulate_votes(fitted, votes, seed=4))
    assert parts["yes"]["share"].tolist() == real.yes_counts.tolist()
    assert parts["yes"]["simulated"].tolist() == again.yes_counts.tolist()
    kappa = parts["agreement"].set_index("name").loc["Fleiss' kappa"]
    assert (kappa["share"], kappa["simulated"]) == (real.kappa, again.kappa)
