"""Error rates from questions of which few have several answers, by simulation."""

import dataclasses

import numpy as np
import pytest

from simkit.annotate.votes import Votes, repeated_answers


def simulated(seed: int, rates: tuple[float, float], *, doubtful: bool = False) -> Votes:
    """10,000 questions, a tenth present; 5 % get three answers, of three of five people.

    doubtful: the further answers are about questions that the first person answered yes.
    """
    rng = np.random.default_rng(seed)
    present = rng.random(10_000) < 0.1
    numbers = np.arange(10_000)

    def said(questions: np.ndarray) -> np.ndarray:
        wrong = rng.random(len(questions)) < np.where(present[questions], *rates)
        return present[questions] ^ wrong

    first = said(numbers)
    chosen = numbers[first][:500] if doubtful else rng.choice(numbers, 500, replace=False)
    people = np.argsort(rng.random((len(chosen), 4)), axis=1)[:, :2] + 1  # 0 answers everything
    questions = np.concatenate([numbers, np.repeat(chosen, 2)])
    return Votes(
        np.arange(1000), tuple("abcdefghij"), tuple("vwxyz"), numbers // 10, numbers % 10,
        questions,
        np.concatenate([np.zeros(10_000, np.int64), people.ravel()]),
        np.where(np.concatenate([first, said(np.repeat(chosen, 2))]), 2, 0).astype(np.int8),
        np.full(10_000, -1, np.int8),
    )  # fmt: skip


@pytest.mark.parametrize("rates", [(0.03, 0.03), (0.03, 0.002)])
def test_rates_have_no_bias_and_intervals_hold(rates):
    found = [repeated_answers(simulated(seed, rates)) for seed in range(60)]
    assert {one.questions for one in found} == {500}
    for kind, rate in enumerate(rates):
        values = np.array([one.rates[kind] for one in found])
        assert abs(values.mean() - rate) < 0.15 * rate + 3 * values.std() / 60**0.5
        assert values.std() < (0.02, 0.006)[kind]
        held = [one.intervals[kind][0] <= rate <= one.intervals[kind][1] for one in found]
        assert np.mean(held) >= 0.85


@pytest.mark.parametrize("other", [(0.2, 0.02), (0.5, 0.02)])
def test_intervals_hold_their_rates_where_every_third_answer_has_other_rates(other):
    rates, numbers, found = (0.06, 0.01), np.arange(3000), []
    several = numbers[:400]
    asked = np.concatenate([numbers, several, several])
    who = np.repeat([0, 1, 2], [3000, 400, 400])
    for seed in range(30):
        rng = np.random.default_rng(seed)
        present = rng.random(3000) < 0.2
        errs = np.where(who == 2, *(np.where(present[asked], *own) for own in (other, rates)))
        said = present[asked] ^ (rng.random(len(asked)) < errs)
        votes = Votes(
            numbers, ("x",), tuple("abc"), numbers, 0 * numbers, asked, who,
            np.where(said, 2, 0).astype(np.int8), np.full(3000, -1, np.int8),
        )  # fmt: skip
        found.append(repeated_answers(votes, who == 2))
    for kind, rate in enumerate(rates):
        low, high = np.array([one.intervals[kind] for one in found]).T
        own = np.array([one.rates[kind] for one in found])
        assert abs(own.mean() - rate) < 0.15 * rate + 3 * own.std() / 30**0.5
        assert np.mean((low <= rate) & (rate <= high)) >= 0.9
        assert np.mean(high - low) < (0.16, 0.05)[kind]
    guessed = np.where(who == 2, rng.random(len(asked)) < 0.5, said)
    votes = dataclasses.replace(votes, vote_answer=np.where(guessed, 2, 0).astype(np.int8))
    assert repeated_answers(votes, who == 2) is None


def test_asking_doubtful_questions_again_does_not_bias_the_rates():
    found = [repeated_answers(simulated(seed, (0.03, 0.03), doubtful=True)) for seed in range(60)]
    miss, false_alarm = np.mean([one.rates for one in found], axis=0)
    assert np.mean([one.intervals[1][0] <= 0.03 <= one.intervals[1][1] for one in found]) >= 0.85
    assert false_alarm == pytest.approx(0.03, rel=0.25) and miss == pytest.approx(0.03, abs=0.015)


def twice(seed: int, rates: tuple[float, float]) -> Votes:
    """600 questions with two answers each, and a third one to up to 13 on which the two differ."""
    rng = np.random.default_rng(seed)
    present, numbers = rng.random(600) < 0.15, np.arange(600)
    asked, who = np.concatenate([numbers, numbers]), np.repeat([0, 1], 600)
    said = present[asked] ^ (rng.random(1200) < np.where(present[asked], *rates))
    third = np.flatnonzero(said[:600] != said[600:])[:13]
    more = present[third] ^ (rng.random(len(third)) < np.where(present[third], *rates))
    return Votes(
        numbers, ("x",), tuple("abc"), numbers, 0 * numbers, np.concatenate([asked, third]),
        np.concatenate([who, np.full(len(third), 2)]),
        np.where(np.concatenate([said, more]), 2, 0).astype(np.int8), np.full(600, -1, np.int8),
    )  # fmt: skip


def test_intervals_hold_their_rates_where_only_some_ties_have_a_third_answer():
    rates = 0.05, 0.01
    found = [one for seed in range(100) if (one := repeated_answers(twice(seed, rates)))]
    for kind, rate in enumerate(rates):
        low, high = np.array([one.intervals[kind] for one in found]).T
        own = np.array([one.rates[kind] for one in found])
        assert ((low <= own) & (own <= high)).all()
        assert np.mean((low <= rate) & (rate <= high)) >= 0.9
        assert np.mean(high - low) < (0.12, 0.02)[kind]


def test_single_answers_say_nothing():
    votes = simulated(0, (0.03, 0.03))
    alone = Votes(
        votes.images, votes.classes, votes.workers, votes.question_image, votes.question_class,
        votes.vote_question[:10_000], votes.vote_worker[:10_000], votes.vote_answer[:10_000],
        votes.gold,
    )  # fmt: skip
    assert repeated_answers(alone) is None
