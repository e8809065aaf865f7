"""What labels reveal, counted by hand; and answers of people beside what was fitted to them."""

import numpy as np
import pytest

import simkit
from simkit.annotate.dawid_skene import fit_annotators, simulate_votes
from simkit.annotate.prices import prices
from simkit.annotate.votes import YES, Votes, agreement
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.papers.analysis.labelling import STATES, confusion, depths, distributions, revealed

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
    table = revealed(TRUTH, {"full": whole, "ours": LABELS}, 0, prices=PRICES)
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


@pytest.fixture(scope="module")
def votes() -> Votes:
    """Three of four workers on 400 questions, a third present; experts saw every fifth."""
    rng = np.random.default_rng(6)
    question = np.repeat(np.arange(400), 3)
    worker = (question + np.tile([0, 1, 2], 400)) % 4
    present = np.arange(400) % 3 == 0
    yes = rng.random(1200) < np.where(present[question], 0.8, 0.1)
    answer = np.where(yes, YES, np.where(rng.random(1200) < 0.1, 1, 0)).astype(np.int8)
    gold = np.where(np.arange(400) % 5 == 0, present, -1).astype(np.int8)
    names = tuple("abcd")
    return Votes(
        np.arange(400), ("cat",), names, np.arange(400), np.zeros(400, np.int64),
        question, worker, answer, gold,
    )  # fmt: skip


def test_confusion_says_what_votes_and_fit_say(votes) -> None:
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
