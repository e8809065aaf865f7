"""The crowd: what it answers, and that everything is billed."""

import numpy as np
import pytest

from simkit.annotate import crowd as module
from simkit.annotate.crowd import Crowd
from simkit.annotate.habits import Habits
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth

ERRORS, CHANCE = Chance.seeded(0).of("errors"), Chance.seeded(0).of("choice")
# Image 0 shows a and b, image 1 shows b, image 2 nothing.
SMALL = Truth.of(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]], bool), classes=("a", "b", "c"))


def crowd_of(truth: Truth = SMALL, **settings) -> Crowd:
    return Crowd(truth, chance=ERRORS, **settings)


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


def test_a_question_asked_twice_is_billed_twice_and_answered_alike():
    crowd = crowd_of(habits=Habits(0.5, 0.5))
    pairs = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    first, again = crowd.verify(*pairs), crowd.verify(*pairs)
    assert np.array_equal(first, again)
    assert labels_of(crowd).effort.count("verify") == 18


def test_kinds_of_questions_are_kept_apart():
    crowd = crowd_of()
    crowd.verify([0], [0], kind="descend")
    assert labels_of(crowd).effort.counts() == {"descend": 1, "workers": None, "dropped": 0}


def test_naming_by_hand():
    crowd = crowd_of()
    named = crowd.name([0, 1, 2], chance=CHANCE, most=2)
    assert sorted(named[0].tolist()) == [0, 1] and named[1:].tolist() == [[1, -1], [-1, -1]]
    labels = labels_of(crowd)
    assert labels.codes.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    # Two names; a name and "nothing else"; "nothing". The empty image was asked all the same.
    assert labels.effort.questions["name"].tolist() == [0, 1, 2]
    assert labels.asked.all()


def test_more_names_add_to_fewer(truth):
    images = np.arange(truth.shape[0])
    one = crowd_of(truth).name(images, chance=CHANCE)
    three = crowd_of(truth).name(images, chance=CHANCE, most=3)
    assert np.array_equal(three[:, :1], one)


def test_sweeping_by_hand():
    crowd = crowd_of()
    crowd.sweep([0, 2], classes=[2, 0])
    labels = labels_of(crowd)
    assert labels.codes.toarray().tolist() == [[1, 0, -1], [0, 0, 0], [-1, 0, -1]]
    assert labels.effort.questions["sweep"].tolist() == [0, 0, 2]
    crowd.sweep([1])
    assert labels_of(crowd).codes.toarray()[1].tolist() == [-1, 1, -1]


def test_descending_needs_a_hierarchy():
    with pytest.raises(BadInput) as error:
        crowd_of().descend([0], chance=CHANCE)
    assert str(error.value) == (
        "asking down a hierarchy needs one; pass hierarchy=Hierarchy.load(FILE)"
    )


def test_descending_bills_the_name_and_the_branches(closed, diamond):
    crowd = crowd_of(closed, hierarchy=diamond)
    crowd.descend(np.arange(200), chance=CHANCE)
    effort = labels_of(crowd).effort
    assert effort.questions["name"].tolist() == [0, 200]
    assert effort.count("descend") > 200 and effort.images("descend") == 200


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


def test_only_the_given_images_may_be_asked_about():
    crowd = crowd_of(images=[2, 0])
    assert crowd.images.tolist() == [0, 2]
    for question in (
        lambda: crowd.verify([0, 1], [0, 0]),
        lambda: crowd.name([1], chance=CHANCE),
        lambda: crowd.sweep([1]),
    ):
        with pytest.raises(BadInput) as error:
            question()
        assert str(error.value) == "image 1 is not among those this crowd is asked about"
    assert not labels_of(crowd_of(images=[2, 0])).asked.any()


def test_a_truth_known_in_part_is_refused():
    known = np.ones((3, 3), bool)
    known[0, 0] = False
    partial = Truth.of(SMALL.present, classes=SMALL.classes, known=known)
    with pytest.raises(BadInput) as error:
        crowd_of(partial)
    assert str(error.value) == (
        "this truth is known in part only, but people answer from a complete one; open the data "
        "with unknown=absent-in-train, which takes what is not known for absent (an assumption), "
        "or train on the label file itself"
    )


def test_too_many_answers_are_refused_before_they_are_given(monkeypatch):
    monkeypatch.setattr("simkit.annotate.asking.ledger.LIMIT", 8)
    crowd = crowd_of()
    for ask in (lambda: crowd.sweep([0, 1, 2]), lambda: crowd.expect(9)):
        with pytest.raises(BadInput) as error:
            ask()
        assert str(error.value) == (
            "this would write down about 9 answers, and 8 are the limit; "
            "ask about fewer images (the setting images) or choose a smaller amount"
        )
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
    monkeypatch.setattr("simkit.annotate.asking.ledger.LIMIT", 4)
    crowd = crowd_of(habits=habits)
    if places > 4:
        crowd.name([0], chance=CHANCE)
        return
    for ask in (
        lambda: crowd.name([0], chance=CHANCE),
        lambda: crowd.search([0], chance=CHANCE, present=1, absent=1),
    ):
        with pytest.raises(
            BadInput, match=r"^this would write down about 4\.\d+ answers, and 4 are"
        ):
            ask()


def test_naming_by_size_needs_boxes():
    with pytest.raises(BadInput) as error:
        crowd_of().name([0], chance=CHANCE, bias="size")
    assert str(error.value) == (
        "naming by size needs boxes of the objects; pass boxes=data.boxes[split]"
    )


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


def test_the_truth_is_left_alone(truth):
    before = truth.present.copy()
    crowd = crowd_of(truth, habits=Habits(0.3, 0.3))
    crowd.sweep(np.arange(300))
    crowd.search(np.arange(12), chance=CHANCE, present=5, absent=5)
    assert (before != truth.present).nnz == 0
    assert not truth.present.data.flags.writeable


def test_a_part_of_the_images_shares_the_bill(truth):
    crowd = Crowd(truth, chance=Chance.seeded(1).of("errors"))
    crowd.sweep(np.arange(10))
    part = crowd.among(np.array([20, 12]))
    assert part.images.tolist() == [12, 20] and len(crowd.images) == 300
    part.verify([12, 20], [0, 3])
    labels = crowd.labels(History("test", {}, 0, ()))
    assert labels.effort.counts() == {"verify": 2, "sweep": 120, "workers": None, "dropped": 0}
    assert np.flatnonzero(labels.asked).tolist() == [*range(10), 12, 20]
    with pytest.raises(BadInput) as error:
        part.verify([13], [0])
    assert str(error.value) == "image 13 is not among those this crowd is asked about"
    with pytest.raises(BadInput):
        part.among(np.array([13]))
