"""Who contradicts the others: agreement by hand, and people who are named, by simulation."""

import numpy as np
import pytest

from simkit.annotate.peers import (
    WorseWorker,
    class_differences,
    peers,
    worse_of_pairs,
    worse_than_others,
)
from simkit.annotate.votes import Votes
from tests.annotate.test_repeated_answers import simulated


def votes_of(question, worker, yes, *, people: int, classes: int) -> Votes:
    number = int(np.max(question)) + 1
    return Votes(
        np.arange(-(-number // classes)), tuple(map(str, range(classes))),
        tuple(map(str, range(people))), np.arange(number) // classes, np.arange(number) % classes,
        np.asarray(question), np.asarray(worker), np.where(yes, 2, 0).astype(np.int8),
        np.full(number, -1, np.int8),
    )  # fmt: skip


def team(seed: int, *, junk: str = "", people: int = 4, images: int = 100) -> Votes:
    """Three of the people answer 20 questions about each image, a tenth present.

    They miss 10 % and report 2 %, and of every 20th question nobody is sure. junk: the last one
    answers about the first 5 images alone, at random or with yes only.
    """
    rng = np.random.default_rng(seed)
    number = 20 * images
    likely = np.where(rng.random(number) < 0.1, 0.9, 0.02)
    likely[rng.random(number) < 0.05] = 0.5
    honest = people - bool(junk)
    chosen = np.argsort(rng.random((images, honest)), axis=1)[:, :3]
    chosen[:5, 2] = honest if junk else chosen[:5, 2]
    worker, question = (
        chosen[np.arange(number) // 20],
        np.arange(number)[:, None] + np.zeros(3, int),
    )
    odds = np.where((worker == honest) & bool(junk), {"": 0, "coin": 0.5, "yes": 1}[junk],
                    likely[question])  # fmt: skip
    yes = rng.random(odds.shape) < odds
    return votes_of(question.ravel(), worker.ravel(), yes.ravel(), people=people, classes=20)


def test_agreement_by_hand():
    # Worker 2 is alone in saying no to question 0, and yes to 1; 0 and 1 share question 2.
    found = peers(votes_of(
        [0, 0, 0, 1, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1],
        np.array([1, 1, 0, 0, 0, 1, 1, 1], bool), people=3, classes=3,
    ))  # fmt: skip
    # Worker 0 heard no twice (worker 2 on 0, worker 1 on 1), and yes three times.
    np.testing.assert_allclose(found.share, [[1 / 2, 2 / 3], [1 / 2, 2 / 3], [0, 0]])
    assert found.questions.tolist() == [[2, 3], [2, 3], [1, 1]]
    # Wilson: of 2 with 1, and of 1 with 0.
    assert found.low[0, 0] == pytest.approx(0.0945, abs=1e-4)
    assert found.high[0, 0] == pytest.approx(0.9055, abs=1e-4)
    assert found.low[2, 1] == 0 and found.high[2, 1] == pytest.approx(0.7935, abs=1e-4)
    assert found.disputed.tolist() == [[1, 1]] * 3
    assert found.against.tolist() == [[0, 0], [0, 0], [1, 1]]
    np.testing.assert_allclose(found.expected, 1 / 3)
    assert not found.named.any()  # of one question each


@pytest.mark.parametrize("options", [{}, {"people": 3}, {"people": 8}, {"images": 20}])
def test_equally_good_people_are_rarely_named(options):
    named = [peers(team(seed, **options)).named.any() for seed in range(200)]
    assert np.mean(named) < 0.04


@pytest.mark.parametrize("junk", ["coin", "yes"])
@pytest.mark.parametrize("people", [4, 8])
def test_a_hundred_answers_without_looking_are_named_and_nobody_else(junk, people):
    found = [peers(team(seed, junk=junk, people=people)).named.any(1) for seed in range(40)]
    assert np.mean([np.flatnonzero(one).tolist() == [people - 1] for one in found]) >= 0.95


def test_questions_asked_again_because_of_an_answer_accuse_nobody():
    for doubtful in (False, True):
        found = [peers(simulated(s, (0.03, 0.03), doubtful=doubtful)) for s in range(60)]
        assert np.mean([one.named.any() for one in found]) < 0.05


def test_two_people_alone_cannot_say_who_errs():
    rng = np.random.default_rng(0)
    question, worker = np.divmod(np.arange(2000), 2)
    yes = np.where(worker == 0, question % 2, rng.random(2000) < 0.5)
    found = peers(votes_of(question, worker, yes, people=2, classes=10))
    assert not found.named.any() and not found.disputed.any()
    assert (found.high[:, 1] < 0.6).all()  # though they agree no more than by chance


def test_third_votes_tell_who_of_two_errs():
    # Workers 0 and 1 differ on ten questions; worker 2 is with 0 on all but the last `two`.
    question, worker = np.repeat(np.arange(10), 3), np.tile([0, 1, 2], 10)
    early = worker < 2

    def found(two: int) -> list[WorseWorker]:
        yes = np.array([[1, 0, 1]] * (10 - two) + [[1, 0, 0]] * two, bool)
        return worse_of_pairs(votes_of(question, worker, yes.ravel(), people=3, classes=2), early)

    # All 10 have the probability 1 / 1024, and 9 or more 11 / 1024; the bound is 1 / 300.
    assert found(0) == [WorseWorker(1, 0, 10, 10)]
    assert found(1) == found(5) == []


def test_people_who_are_equally_good_are_not_named_by_third_votes():
    named = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        yes = rng.random((3, 3000)) < 0.3
        asked = yes[0] != yes[1]  # the third one only where the first two differ
        question, worker = np.where([asked | True, asked | True, asked])[::-1]
        votes = votes_of(question, worker, yes[worker, question], people=3, classes=20)
        named += bool(worse_of_pairs(votes, worker < 2))
    assert named <= 3


def test_known_answers_tell_who_errs():
    worse = worse_than_others(np.array([12, 3, 2]), np.array([40, 40, 40]))
    assert worse.tolist() == [True, False, False]  # 12 or more of 17: 5e-4
    assert not worse_than_others(np.array([6, 3, 2]), np.array([40, 40, 40])).any()
    assert not worse_than_others(np.array([9]), np.array([40])).any()


def test_classes_in_which_people_say_yes_at_different_rates():
    asked = np.full((2, 1, 3), 100)
    yes = np.array([[[77, 50, 30]], [[25, 40, 60]]])
    # In standard errors 7.3, 1.3 and 4.2; the bound for three tests is 2.7.
    assert class_differences(yes, asked) == [(0, 0, 1), (2, 1, 0)]
    # Rounds with other images are compared each with itself.
    asked = np.array([[[90], [10]], [[10], [90]]])
    yes = np.array([[[81], [1]], [[9], [9]]])
    assert class_differences(yes, asked) == []
    assert class_differences(yes.sum(1, keepdims=True), asked.sum(1, keepdims=True)) == [(0, 0, 1)]
