"""Who contradicts the others: agreement by hand, and people who are named, by simulation."""

import numpy as np
import pytest

from simkit.annotate.peers import (
    Peers,
    WorseWorker,
    class_differences,
    peers,
    worse_of_pairs,
    worse_than_others,
)
from simkit.annotate.votes import Votes
from tests.annotate.test_repeated_answers import simulated


def votes_of(question, worker, yes, *, people: int, classes: int, gold=-1) -> Votes:
    number = int(np.max(question)) + 1
    return Votes(
        np.arange(-(-number // classes)), tuple(map(str, range(classes))),
        tuple(map(str, range(people))), np.arange(number) // classes, np.arange(number) % classes,
        np.asarray(question), np.asarray(worker), np.where(yes, 2, 0).astype(np.int8),
        np.full(number, gold, np.int8),
    )  # fmt: skip


def team(seed: int, *, junk: str = "", people: int = 4, images: int = 100) -> Votes:
    """Three of the people answer 20 questions about each image, a tenth present.

    They miss 10 % and report 2 %, and of every 20th question nobody is sure. Of another 20th the
    answer is known. junk: the last one answers about the first 5 images alone, at random or with
    yes only; or (misses) about as many as the others, and misses 60 % of a class that is present in
    half of the images.
    """
    rng = np.random.default_rng(seed)
    number = 20 * images
    class_ = np.arange(number) % 20
    often = np.where((class_ == 0) & (junk == "misses"), 0.5, 0.1)
    likely = np.where(rng.random(number) < often, 0.9, 0.02)
    likely[doubtful := rng.random(number) < 0.05] = 0.5
    known = ~doubtful & (rng.random(number) < 0.05)
    few = junk in ("coin", "yes")
    honest = people - few
    chosen = np.argsort(rng.random((images, honest)), axis=1)[:, :3]
    chosen[:5, 2] = honest if few else chosen[:5, 2]
    worker, question = (
        chosen[np.arange(number) // 20],
        np.arange(number)[:, None] + np.zeros(3, int),
    )
    odds = likely[question]
    if few:
        odds[worker == honest] = {"coin": 0.5, "yes": 1}[junk]
    if junk == "misses":
        odds[(worker == people - 1) & (class_ == 0)[:, None]] *= 0.4 / 0.9
    yes = rng.random(odds.shape) < odds
    return votes_of(question.ravel(), worker.ravel(), yes.ravel(), people=people, classes=20,
                    gold=np.where(known, likely > 0.5, -1))  # fmt: skip


def test_agreement_by_hand():
    # Worker 2 is alone in saying no to question 0, and yes to 1; 0 and 1 share question 2.
    found = compared(votes_of(
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
    assert not found.named  # of one question each


def compared(votes: Votes) -> Peers:
    return peers(votes, np.ones(len(votes.vote_question), bool))


def named(votes: Votes, early: np.ndarray | None = None) -> set[int]:
    """Whom any of the rules names."""
    early = np.ones(len(votes.vote_question), bool) if early is None else early
    known = votes.gold[votes.vote_question]
    asked = np.bincount(votes.vote_worker, known >= 0, len(votes.workers)).astype(int)
    errs = (known >= 0) & (known != (votes.vote_answer == 2))
    wrong = np.bincount(votes.vote_worker, errs, len(votes.workers)).astype(int)
    pairs = worse_of_pairs(votes, early)
    return {
        *(one.worker for one in peers(votes, early).named),
        *np.flatnonzero(worse_than_others(wrong, asked)).tolist(),
        *(one.worker for one in pairs),
    }  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"people": 3}, {"people": 8}, {"images": 20}])
def test_equally_good_people_are_rarely_named_by_any_rule(options):
    false = [bool(named(team(seed, **options))) for seed in range(400)]
    assert np.mean(false) <= 0.02


@pytest.mark.parametrize("junk", ["coin", "yes"])
@pytest.mark.parametrize("people", [4, 8])
def test_a_hundred_answers_without_looking_are_named_and_nobody_else(junk, people):
    found = [named(team(seed, junk=junk, people=people)) for seed in range(40)]
    assert np.mean([one == {people - 1} for one in found]) >= 0.95


def test_somebody_who_misses_one_class_is_named_and_nobody_else():
    found = [
        named(team(seed, junk="misses", people=people)) for seed in range(20) for people in (3, 4)
    ]
    assert np.mean([one == {2 + n % 2} for n, one in enumerate(found)]) >= 0.95


def test_questions_asked_again_because_of_an_answer_accuse_nobody():
    for doubtful in (False, True):
        found = list[bool]()
        for seed in range(100):
            votes = simulated(seed, (0.03, 0.03), doubtful=doubtful)
            early = np.arange(len(votes.vote_question)) < (10_000 if doubtful else 11_000)
            found.append(bool(named(votes, early)))
        assert np.mean(found) <= 0.02


def test_two_people_alone_cannot_say_who_errs():
    rng = np.random.default_rng(0)
    question, worker = np.divmod(np.arange(2000), 2)
    yes = np.where(worker == 0, question % 2, rng.random(2000) < 0.5)
    found = compared(votes_of(question, worker, yes, people=2, classes=10))
    assert not found.named and not found.disputed.any()
    assert (found.high[:, 1] < 0.6).all()  # though they agree no more than by chance


def test_third_votes_tell_who_of_two_errs():
    def found(two: int, of: int = 10) -> list[WorseWorker]:
        """Workers 0 and 1 differ on `of` questions; 2 is with 0 on all but the last `two`."""
        question, worker = np.repeat(np.arange(of), 3), np.tile([0, 1, 2], of)
        yes = np.array([[1, 0, 1]] * (of - two) + [[1, 0, 0]] * two, bool)
        votes = votes_of(question, worker, yes.ravel(), people=3, classes=2)
        return worse_of_pairs(votes, worker < 2)

    # All 10 have the probability 1 / 1024, and 9 or more 11 / 1024. Of six tests the four about one
    # class, with at most 5 questions, cannot be significant, so the bound is 1 / 150 over 2.
    assert found(0) == [WorseWorker(1, 0, None, 10, 10)]
    assert found(1) == found(5) == []
    assert found(0, of=9) == [WorseWorker(1, 0, None, 9, 9)]  # 1 / 512
    assert found(0, of=8) == []  # 1 / 256
    assert found(1, of=12) == [WorseWorker(1, 0, None, 11, 12)]  # 1 / 315
    # 1 / 478; with 8 questions a class is significant at the bound of one test, but not of two.
    assert found(2, of=16) == [WorseWorker(1, 0, None, 14, 16)]


def test_people_who_are_equally_good_are_not_named_by_third_votes():
    count = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        yes = rng.random((3, 3000)) < 0.3
        asked = yes[0] != yes[1]  # the third one only where the first two differ
        question, worker = np.where([asked | True, asked | True, asked])[::-1]
        votes = votes_of(question, worker, yes[worker, question], people=3, classes=20)
        count += bool(named(votes, worker < 2))
    assert count <= 4


def test_known_answers_tell_who_errs():
    worse = worse_than_others(np.array([12, 3, 2]), np.array([40, 40, 40]))
    assert worse.tolist() == [True, False, False]  # 12 or more of 17: 5e-4
    assert not worse_than_others(np.array([6, 3, 2]), np.array([40, 40, 40])).any()
    assert not worse_than_others(np.array([9]), np.array([40])).any()


def test_classes_in_which_people_say_yes_at_different_rates():
    asked = np.full((2, 1, 3), 100)
    yes = np.array([[[77, 50, 30]], [[25, 40, 60]]])
    # Both sides: 1e-13, 0.20 and 3e-5; the bound for three classes is 1 / 60.
    assert class_differences(yes, asked) == [(0, 0, 1), (2, 1, 0)]
    # Rounds with other images are compared each with itself.
    asked = np.array([[[90], [10]], [[10], [90]]])
    yes = np.array([[[81], [1]], [[9], [9]]])
    assert class_differences(yes, asked) == []
    assert class_differences(yes.sum(1, keepdims=True), asked.sum(1, keepdims=True)) == [(0, 0, 1)]


@pytest.mark.parametrize("third", [0, 20])
def test_a_class_that_one_of_two_misses_is_found_also_beside_a_third_person(third):
    # 77 and 46 of 163 images: 0.0007 by Fisher's exact test, 0.015 with 22 classes.
    asked = np.repeat([[[163]], [[163]], [[third]]], 22, axis=2)
    yes = asked // 4
    yes[:, 0, 7] = 77, 46, third // 3
    assert class_differences(yes, asked) == [(7, 0, 1)]
    yes[:, 0, 7] = 70, 46, third // 3  # 0.0078, 0.17 with 22 classes
    assert class_differences(yes, asked) == []


@pytest.mark.parametrize("images", [[163, 163], [163, 163, 20], [60, 60, 60, 60], [400, 10]])
def test_equally_good_people_rarely_differ_in_any_class(images):
    rng, count = np.random.default_rng(0), 0
    share = rng.permutation(np.minimum(0.5, 1 / np.arange(1, 23)))  # also rare classes
    for _ in range(400):
        asked = np.repeat(np.array(images)[:, None, None], 22, axis=2)
        count += bool(class_differences(rng.binomial(asked, share), asked))
    assert count <= 0.05 * 400
