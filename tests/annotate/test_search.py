"""Searches against a person who walks through the images one by one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.annotate.annotators import Habits
from simkit.annotate.simulated_crowd import SimulatedCrowd
from simkit.chance import Chance
from simkit.history import History
from simkit.labels.truth import Truth
from tests.reference.annotation import Notes, search_as_they_come, search_candidates

CHANCE = Chance.seeded(2).of("search")
ERRORS = Chance.seeded(2).of("errors")


def fast(truth: Truth, images=None, habits=Habits(), **settings) -> tuple[Notes, np.ndarray]:
    """A search by the crowd, as the slow twin's notes."""
    crowd = SimulatedCrowd(truth, chance=ERRORS, habits=habits)
    crowd = crowd if images is None else crowd.among(np.asarray(images))
    found = crowd.search(np.arange(truth.shape[1]), chance=CHANCE, **settings)
    labels = crowd.labels(History("test"))
    dense = labels.codes.toarray()
    answers = {
        (int(n), int(c)): bool(dense[n, c] > 0) for n, c in zip(*dense.nonzero(), strict=True)
    }
    looks = dict(enumerate(labels.effort.looks.tolist()))
    asked = set(np.flatnonzero(labels.asked).tolist())
    return Notes(answers, looks, asked, labels.effort.counts()["dropped"]), found


def slow(
    truth: Truth, images=None, habits=Habits(), *, precision=None, keep_looks=False, **goals
) -> Notes:
    N, L = truth.shape
    images = np.arange(N) if images is None else images
    rows, columns = np.mgrid[:N, :L].reshape(2, -1)
    present = truth.present.toarray()[rows, columns]
    says = habits.answers(rows, columns, present, chance=ERRORS)
    yes, shows = (
        {(int(n), int(c)) for n, c in zip(rows[those], columns[those], strict=True)}
        for those in (says, present > 0)
    )
    notes = Notes()
    for c in range(L):
        order = images[CHANCE.permutation(len(images)).at(np.arange(len(images)), c)].tolist()
        if precision is None:
            search_as_they_come(notes, yes, order, c, keep=keep_looks, **goals)
        else:
            share = Fraction(str(precision))
            goals |= {"precision": share, "keep": keep_looks, "shows": shows}
            search_candidates(notes, yes, order, c, **goals)
    return notes


CASES = [
    {"precision": precision, "keep_looks": keep, "present": present, "absent": absent}
    for precision in (None, 0.5, 0.3, 1.0)
    for keep in (False, True)
    for present, absent in ((1, 1), (5, 5), (5, 0), (0, 3), (40, 40), (1000, 1000))
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_search_equals_walking_through_the_images(case, truth):
    quick, found = fast(truth, **case)
    assert quick == slow(truth, **case)
    if not (case["keep_looks"] and case["precision"] is None):
        assert found.tolist() == np.minimum(truth.counts, case["present"]).tolist()


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_search_among_fewer_images_and_with_errors(case, truth):
    images, habits = np.arange(5, 300, 3), Habits(0.2, 0.1, workers=3)
    assert fast(truth, images, habits, **case)[0] == slow(truth, images, habits, **case)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 12),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 6),
    st.integers(0, 6),
    st.sampled_from([None, 0.5, 0.07]),
    st.booleans(),
    st.integers(0, 20),
)
def test_search_in_odd_matrices(N, L, share, present, absent, precision, keep, seed):
    truth = Truth.of(np.random.default_rng(seed).random((N, L)) < share)
    goals = {"present": present, "absent": absent, "precision": precision, "keep_looks": keep}
    assert fast(truth, **goals)[0] == slow(truth, **goals)


def test_candidates_by_hand():
    # Ten images show the class and ninety do not. Finding 6 at precision 0.3 takes 20 looks, 14 of
    # them false. With 4 absent ones wanted, 10 answers are dropped; with 20 wanted, none is, and 6
    # more looks pay for the rest.
    truth = Truth.of(np.arange(100)[:, None] < 10)
    notes, _ = fast(truth, present=6, absent=4, precision=0.3)
    assert (notes.looks[0], notes.dropped, len(notes.answers), len(notes.asked)) == (20, 10, 10, 20)
    notes, _ = fast(truth, present=6, absent=20, precision=0.3)
    assert (notes.looks[0], notes.dropped, len(notes.answers)) == (26, 0, 26)
    # All ten found at precision 0.01 would take 1,000 candidates, but only 90 false ones exist.
    notes, _ = fast(truth, present=50, absent=5, precision=0.01)
    assert (notes.looks[0], notes.dropped) == (100, 85)


def test_candidates_are_right_or_wrong_whatever_people_say():
    # Half of a machine's candidates show the class, whoever looks at them. People say yes to 95 %
    # of these and to 5 % of the others: half of the looks are answered with yes, as without errors,
    # and a twentieth of the present labels is wrong.
    truth = Truth.of(np.random.default_rng(0).random((4000, 5)) < 0.15)
    notes, found = fast(truth, habits=Habits(0.05, 0.05), present=200, absent=200, precision=0.5)
    said = [place for place, answer in notes.answers.items() if answer]
    wrong = np.mean([not truth.present[place] for place in said])
    assert found.tolist() == [200] * 5 and len(said) == 1000
    assert 0.03 < wrong < 0.07
    assert 1950 < sum(notes.looks.values()) < 2150


def test_a_search_by_scores_says_how_many_images_of_each_class_it_kept(truth):
    shown = truth.counts
    scores = np.where(truth.present.toarray(), 1.0, -1.0)
    for wanted in (3, 10_000):
        crowd = SimulatedCrowd(truth, chance=ERRORS)
        every = np.arange(truth.shape[1])
        found = crowd.search(every, chance=CHANCE, present=wanted, absent=2, scores=scores)
        assert found.tolist() == np.minimum(shown, wanted).tolist()
        codes = crowd.labels(History("test")).codes.toarray()
        assert (codes > 0).sum(0).tolist() == found.tolist()


@pytest.mark.parametrize("precision", [None, 0.4])
@pytest.mark.parametrize("keep_looks", [False, True])
def test_goals_for_each_class_are_those_of_single_searches(truth, precision, keep_looks):
    present, absent = np.arange(12) % 5, np.arange(12)[::-1] * 3

    def searched(classes, *goals):
        crowd = SimulatedCrowd(truth, chance=ERRORS).among(np.arange(0, 300, 2))
        settings = {"precision": precision, "keep_looks": keep_looks}
        wanted = dict(zip(("present", "absent"), goals, strict=True))
        return crowd.search(classes, chance=CHANCE, **settings, **wanted), crowd.labels(
            History("test")
        )

    found, together = searched(np.arange(12), present, absent)
    codes, dropped, asked = together.codes.toarray(), 0, np.zeros(300, bool)
    for c in range(12):
        single, alone = searched(np.array([c]), present[c], absent[c])
        assert found[c] == single[0]
        assert np.array_equal(codes[:, c], alone.codes.toarray()[:, c])
        dropped += sum(alone.effort.dropped.values())
        asked |= alone.asked
    assert sum(together.effort.dropped.values()) == dropped
    assert np.array_equal(together.asked, asked)
