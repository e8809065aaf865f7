"""The crowd: what it answers, and that everything is billed."""

import numpy as np
import pytest

from simkit.annotate import simulated_crowd as module
from simkit.annotate.annotators import Habits
from simkit.annotate.crowd import Crowd, Descent
from simkit.annotate.simulated_crowd import SimulatedCrowd
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Boxes, Truth
from tests.reference.annotation import descend

ERRORS, CHANCE = Chance.seeded(0).of("errors"), Chance.seeded(0).of("choice")
# Image 0 shows a and b, image 1 shows b, image 2 nothing.
SMALL = Truth.of(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]], bool), classes=("a", "b", "c"))


def crowd_of(truth: Truth = SMALL, images=None, **settings) -> Crowd:
    crowd = SimulatedCrowd(truth, chance=ERRORS, **settings)
    return crowd if images is None else crowd.among(np.asarray(images))


def labels_of(crowd: Crowd) -> PartialLabels:
    return crowd.labels(History("test"))


def test_verified_pairs_by_hand():
    crowd = crowd_of()
    assert crowd.verify([1, 0, 0], [1, 0, 2]).tolist() == [True, True, False]
    labels = labels_of(crowd)
    assert labels.codes.toarray().tolist() == [[1, 0, -1], [0, 1, 0], [0, 0, 0]]
    assert labels.asked.tolist() == [True, True, False]
    # One image was asked one question, one was asked two.
    assert labels.effort.questions["verify"].tolist() == [0, 1, 1]


def test_images_and_classes_that_are_no_pairs_are_refused():
    with pytest.raises(BadInput, match=r"shape \(3,\) and classes of shape \(2,\); one class for"):
        crowd_of().verify([0, 1, 2], [0, 1])


def test_a_question_asked_twice_is_billed_twice_and_answered_alike():
    crowd = crowd_of(habits=Habits(0.5, 0.5))
    pairs = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    first, again = crowd.verify(*pairs), crowd.verify(*pairs)
    assert np.array_equal(first, again)
    assert labels_of(crowd).effort.count("verify") == 18


def test_naming_by_hand():
    crowd = crowd_of()
    named = crowd.name([0, 1, 2], chance=CHANCE, most=2)
    assert sorted(named[0].tolist()) == [0, 1] and named[1:].tolist() == [[1, -1], [-1, -1]]
    labels = labels_of(crowd)
    assert labels.codes.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    # Two names; a name and "nothing else"; "nothing". The empty image was asked all the same.
    assert labels.effort.questions["name"].tolist() == [0, 1, 2]
    assert labels.asked.all()


def test_sweeping_by_hand():
    crowd = crowd_of()
    crowd.sweep([0, 2], classes=[2, 0])
    labels = labels_of(crowd)
    assert labels.codes.toarray().tolist() == [[1, 0, -1], [0, 0, 0], [-1, 0, -1]]
    assert labels.effort.questions["sweep"].tolist() == [0, 0, 2]
    crowd.sweep([1])
    assert labels_of(crowd).codes.toarray()[1].tolist() == [-1, 1, -1]


def test_descending_needs_a_hierarchy():
    with pytest.raises(BadInput, match="questions down a class hierarchy need one"):
        crowd_of().descend([0], chance=CHANCE)


@pytest.mark.parametrize("dense", [1 << 21, 10])
@pytest.mark.parametrize("habits", [Habits(), Habits(0.2, 0.1, workers=3)])
def test_all_ways_of_asking_agree(closed, diamond, dense, habits, monkeypatch):
    """Whoever says yes when verifying says yes in a sweep, in a search and when naming."""
    monkeypatch.setattr(module, "DENSE", dense)
    images, L = np.arange(0, 200, 3), len(diamond.classes)
    rows, columns = np.repeat(images, L), np.tile(np.arange(L), len(images))
    settings = {"images": images, "hierarchy": diamond, "habits": habits}
    verified, swept, searched = (crowd_of(closed, **settings) for _ in range(3))
    says = np.zeros(closed.shape, bool)
    says[rows, columns] = verified.verify(rows, columns)
    swept.sweep(images)
    searched.search(
        np.arange(L), chance=CHANCE, present=len(images), absent=len(images), keep_looks=True
    )
    ids = {labels_of(crowd).id for crowd in (verified, swept, searched)}
    assert len(ids) == 1
    named = crowd_of(closed, **settings).name(images, chance=CHANCE)[:, 0]
    assert says[images[named >= 0], named[named >= 0]].all()
    assert (~says[images[named < 0]]).all()
    down = crowd_of(closed, **settings)
    down.descend(images, chance=CHANCE)
    codes = labels_of(down).codes
    assert habits.perfect is False or (codes.toarray()[says] >= 0).all()


def test_a_truth_known_in_part_is_refused():
    known = np.ones((3, 3), bool)
    known[0, 0] = False
    partial = Truth.of(SMALL.present, classes=SMALL.classes, known=known)
    with pytest.raises(
        BadInput, match="this truth is known in part only, but people answer from a"
    ):
        crowd_of(partial)


def test_too_many_answers_are_refused_before_they_are_given(monkeypatch):
    monkeypatch.setattr("simkit.annotate.crowd.LIMIT", 8)
    crowd = crowd_of()
    for ask in (lambda: crowd.sweep([0, 1, 2]), lambda: crowd.expect(9)):
        with pytest.raises(BadInput, match="this would store about 9 answers, and 8 are the limit"):
            ask()
    assert labels_of(crowd).effort.counts() == {"workers": None, "dropped": 0}


@pytest.mark.parametrize(
    "habits,places",
    [
        (Habits(false_alarm=0.5), 4),
        (Habits(false_alarm=(0.0, 0.9, 0.6)), 4),
        (Habits(unsure_absent=0.8, unsure_yes=0.6), 4),
        (Habits(miss=0.5), 99),
    ],
)
def test_what_is_imagined_everywhere_is_refused_before_it_is_worked_out(
    habits, places, monkeypatch
):
    monkeypatch.setattr("simkit.annotate.crowd.LIMIT", 4)
    crowd = crowd_of(habits=habits)
    if places > 4:
        crowd.name([0], chance=CHANCE)
        return
    for ask in (
        lambda: crowd.name([0], chance=CHANCE),
        lambda: crowd.search([0], chance=CHANCE, present=1, absent=1),
    ):
        with pytest.raises(BadInput, match=r"^this would store about 4\.\d+ answers, and 4 are"):
            ask()


@pytest.mark.parametrize("boxes", [None, Boxes(*np.zeros((2, 0), int), np.zeros((0, 4)))])
def test_naming_by_size_needs_boxes(boxes):
    with pytest.raises(BadInput, match="naming by size needs boxes of the objects"):
        crowd_of(boxes=boxes).name([0], chance=CHANCE, bias="size")


def test_ruling_out_by_hand():
    crowd = crowd_of()
    crowd.rule_out(2, chance=CHANCE)
    labels = labels_of(crowd)
    # Image 0 lacks c alone, image 1 a and c, image 2 all; what was affirmed is dropped.
    assert (labels.codes.toarray() < 0).sum(1).tolist() == [1, 2, 2]
    assert (labels.codes.toarray() <= 0).all()
    assert labels.effort.questions["verify"][3] >= 1  # image 0: all three were asked
    assert labels.effort.counts()["dropped"] == labels.effort.count("verify") - 5


def test_naming_a_share_of_everything_by_hand():
    crowd = crowd_of(images=[0, 2])
    assert crowd.name_share(0.5, chance=CHANCE) == 1
    labels = labels_of(crowd)
    assert labels.codes.toarray()[0].sum() == 1 and labels.codes.nnz == 1
    assert labels.effort.counts() == {"name": 1, "workers": None, "dropped": 0}
    assert labels.asked.tolist() == [True, False, False]


def test_a_part_of_the_images_shares_the_bill(truth):
    crowd = SimulatedCrowd(truth, chance=Chance.seeded(1).of("errors"))
    crowd.sweep(np.arange(10))
    part = crowd.among(np.array([20, 12]))
    assert part.images.tolist() == [12, 20] and len(crowd.images) == 300
    part.verify([12, 20], [0, 3])
    labels = crowd.labels(History("test", {}, 0, ()))
    assert labels.effort.counts() == {"verify": 2, "sweep": 120, "workers": None, "dropped": 0}
    assert np.flatnonzero(labels.asked).tolist() == [*range(10), 12, 20]
    with pytest.raises(BadInput, match="image 13 is not among those this crowd is asked about"):
        part.verify([13], [0])
    with pytest.raises(BadInput):
        part.among(np.array([13]))


def forest(parent: np.ndarray) -> Hierarchy:
    names = [f"node-{c}" for c in range(len(parent))]
    return Hierarchy.of(names, [(names[c], names[p]) for c, p in enumerate(parent) if p >= 0])


@pytest.mark.parametrize("mode", ["verify", "truth", "path-only"])
def test_labels_equal_the_reference_vectors(golden, mode):
    stored = np.load(golden / "kg_reference.npz", allow_pickle=False)
    descent = Descent(forest(stored["parent"]))
    says_yes = stored["T_closed"].astype(bool)
    codes, asked = descent.reveal(stored["chosen_node"], says_yes, mode)
    assert np.array_equal(codes, stored[f"Z_{mode.replace('-', '_')}"])
    assert asked.any() == (mode != "path-only")


def test_a_small_forest_by_hand():
    # animal: dog (terrier, collie), cat (siamese); plant: tree.
    names = ["animal", "dog", "terrier", "collie", "cat", "siamese", "plant", "tree"]
    hierarchy = forest(np.array([-1, 0, 1, 1, 0, 4, -1, 6]))
    yes = np.zeros((3, 8), bool)
    yes[:2, [0, 1, 2, 4]] = True  # a terrier and some cat
    codes, asked = Descent(hierarchy).reveal(np.array([1, 2, -1]), yes)
    # "dog" was named: animal follows, cat and plant are asked about, below dog nothing is known.
    assert [names[c] for c in np.flatnonzero(asked[0])] == ["cat", "plant"]
    assert codes[0].tolist() == [1, 1, 0, 0, 1, 0, -1, -1]
    # "terrier" was named: collie is asked about as well.
    assert [names[c] for c in np.flatnonzero(asked[1])] == ["collie", "cat", "plant"]
    assert codes[1].tolist() == [1, 1, 1, -1, 1, 0, -1, -1]
    # Nothing was named: both top classes are denied, and with them everything.
    assert [names[c] for c in np.flatnonzero(asked[2])] == ["animal", "plant"]
    assert codes[2].tolist() == [-1] * 8


@pytest.mark.parametrize("consistent", [True, False])
def test_labels_equal_the_walk_by_sets(closed, diamond, consistent):
    """Also where answers do not fit together, as people's errors make them."""
    L = len(diamond.classes)
    rng = np.random.default_rng(0)
    yes = closed.present.toarray() if consistent else rng.random((200, L)) < 0.4
    v = np.array([rng.choice(np.flatnonzero(row)) if row.any() else -1 for row in yes])
    codes, asked = Descent(diamond).reveal(v, yes)
    parents = [list(above) for above in diamond.parents]
    for n in range(len(yes)):
        labels, questions = descend(int(v[n]), set(np.flatnonzero(yes[n])), parents)
        assert {c: bool(codes[n, c] > 0) for c in np.flatnonzero(codes[n])} == labels
        assert set(np.flatnonzero(asked[n])) == questions
