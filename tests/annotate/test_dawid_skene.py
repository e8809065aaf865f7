"""Rates and truth from votes: Bayes' rule, and parameters that generated votes were made with."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

from simkit.annotate.annotators import Habits, tilted
from simkit.annotate.dawid_skene import (
    Ballots,
    Estimate,
    Model,
    choose,
    estimate,
    estimate_by_class,
    fit_annotators,
    simulate_votes,
)
from simkit.annotate.votes import (
    YES,
    Votes,
    agreement,
    confusion,
    error_rates,
    measured,
    read_votes,
)
from simkit.chance import Chance
from simkit.errors import BadInput

MISS = np.array([0.4, 1.0, 1.0, 3.0, 0.7, 1.5])
IMAGINE = np.array([2.0, 1.0, 0.3, 1.0, 4.0, 0.6])


def generated(questions: int, *, doubt: float, seed: int = 0) -> tuple[Ballots, np.ndarray]:
    """Five of six workers vote on each question; returns the state of each question too.

    Ordinary rates 0.15 and 0.05, a quarter present, 0.4 yes where nobody is sure.
    """
    rng = np.random.default_rng(seed)
    model = Model(0.15, 0.05, 0.4, np.ones(4) / 4, MISS, IMAGINE)
    shares = [0.75 * (1 - doubt), 0.25 * (1 - doubt), doubt * 0.6, doubt * 0.4]
    state = rng.choice(4, questions, p=shares)
    away = rng.integers(6, size=questions)
    who = np.argwhere(np.arange(6) != away[:, None])
    question, worker = who[:, 0], who[:, 1]
    yes = rng.random(len(question)) < model.yes()[state[question], worker]
    return Ballots(question, worker, yes, np.zeros(questions, np.int64), 6), state


def by_bayes(ballots: Ballots, found: Estimate) -> list[list[float]]:
    """The probabilities of the four states, one question and one vote at a time."""
    yes, out = found.model.yes(), []
    for q in range(ballots.questions):
        weights = found.model.shares.tolist()
        for vote in np.flatnonzero(ballots.question == q):
            for state in range(4):
                rate = yes[state, ballots.worker[vote]]
                weights[state] *= rate if ballots.yes[vote] else 1 - rate
        out.append([weight / sum(weights) for weight in weights])
    return out


@pytest.mark.parametrize("unsure", [False, True])
def test_states_follow_from_the_model_by_bayes_rule(unsure):
    ballots, _ = generated(150, doubt=0.3)
    found = estimate(replace(ballots, shrink=5), unsure=unsure)
    assert np.allclose(found.states.T, by_bayes(ballots, found), atol=1e-9)
    assert unsure or not found.states[2:].any()


@pytest.mark.parametrize("doubt", [0.0, 0.3])
def test_the_rates_votes_were_made_with_are_found(doubt):
    ballots, state = generated(40_000, doubt=doubt)
    found = estimate(ballots, unsure=doubt > 0)
    model = found.model
    assert found.converged
    # The workers' scale is free: the ordinary person may be anybody, so compare people themselves.
    for rate, times, own, true in (
        (model.miss, model.miss_by_person, 0.15, MISS),
        (model.false_alarm, model.false_alarm_by_person, 0.05, IMAGINE),
    ):
        assert np.abs(tilted(rate, times) - tilted(own, true)).max() < 0.025
    shares = np.bincount(state, minlength=4) / len(state)
    # The likelihood is flat between a little more doubt and slightly worse people.
    assert np.abs(model.shares - shares).max() < 0.03
    present = found.states[1] + found.states[3]
    sure = state < 2
    assert ((present > 0.5) == (state == 1))[sure].mean() > 0.97
    # Probabilities mean what they say: of those near 0.8, about 80 % are present.
    likely = (present > 0.7) & (present < 0.9)
    assert abs((state % 2)[likely].mean() - present[likely].mean()) < 0.1


def test_few_votes_leave_a_worker_ordinary():
    ballots, _ = generated(3000, doubt=0.0)
    # A seventh worker votes twice, and both times against all others.
    yes = np.bincount(ballots.question, ballots.yes)
    odd = np.flatnonzero(yes == 0)[:2]
    more = Ballots(
        np.append(ballots.question, odd),
        np.append(ballots.worker, [6, 6]),
        np.append(ballots.yes, [True, True]),
        np.zeros(3000, np.int64),
        7,
    )
    trusting = estimate(replace(more, shrink=0.01), unsure=False).model.false_alarm_by_person[6]
    careful = estimate(replace(more, shrink=50), unsure=False).model.false_alarm_by_person[6]
    assert trusting > 100 and 1 < careful < 3


TIMES = np.array([0.5, 1.0, 1.0, 1.0, 2.0])


def by_two_classes(questions: int, *, doubt: tuple[float, float]) -> tuple[Ballots, np.ndarray]:
    """Five people on questions about two classes, of which the second is harder and more common."""
    rng = np.random.default_rng(3)
    of_class = np.arange(questions) % 2
    present = rng.random(questions) < np.array([0.2, 0.4])[of_class]
    unsure = rng.random(questions) < np.array(doubt)[of_class]
    state = present + 2 * unsure
    models = [Model(m, f, 0.4, np.ones(4) / 4, TIMES, TIMES) for m, f in ((0.1, 0.1), (0.3, 0.02))]
    yes = np.stack([model.yes() for model in models])
    question, worker = np.repeat(np.arange(questions), 5), np.tile(np.arange(5), questions)
    says = rng.random(len(question)) < yes[of_class[question], state[question], worker]
    return Ballots(question, worker, says, of_class, 5, 2), of_class


@pytest.mark.parametrize("unsure", [False, True])
def test_states_follow_by_bayes_rule(unsure):
    ballots, of_class = by_two_classes(120, doubt=(0.1, 0.3))
    found = estimate(replace(ballots, shrink=5), unsure=unsure)
    by_class = estimate_by_class(replace(ballots, shrink=5), found)
    assert np.allclose(by_class.model.shares.sum(0), 1) and np.allclose(by_class.states.sum(0), 1)
    total = 0.0
    for q in range(120):
        c = of_class[q]
        own = replace(
            found.model, miss=by_class.model.miss[c], false_alarm=by_class.model.false_alarm[c]
        ).yes()
        weights = by_class.model.shares[:, c].copy()
        for vote in np.flatnonzero(ballots.question == q):
            rate = own[:, ballots.worker[vote]]
            weights *= rate if ballots.yes[vote] else 1 - rate
        assert np.allclose(by_class.states[:, q], weights / weights.sum(), atol=1e-9)
        total += np.log(weights.sum())
    assert np.isclose(by_class.log_likelihood, total)


@pytest.mark.parametrize("doubt", [(0.0, 0.0), (0.1, 0.3)])
def test_the_rates_by_class_votes_were_made_with_are_found(doubt):
    ballots, _ = by_two_classes(40_000, doubt=doubt)
    found = estimate(ballots, unsure=doubt[1] > 0)
    by_class = estimate_by_class(ballots, found)
    assert by_class.converged and by_class.log_likelihood > found.log_likelihood + 500
    model = found.model
    # The workers' scale is free, so compare people themselves.
    for rates, times, true in (
        (by_class.model.miss, model.miss_by_person, (0.1, 0.3)),
        (by_class.model.false_alarm, model.false_alarm_by_person, (0.1, 0.02)),
    ):
        for own, made in zip(rates, true, strict=True):
            assert np.abs(tilted(float(own), times) - tilted(made, TIMES)).max() < 0.03
    assert np.abs(by_class.model.shares[2:].sum(0) - doubt).max() < 0.04


def test_the_rates_are_those_at_which_as_many_err_as_are_expected_to():
    """Observed and expected errors by hand, with the votes that the priors add, 200 questions."""
    ballots, _ = generated(200, doubt=0.3)
    found = estimate(replace(ballots, shrink=5.0), unsure=True)
    model, doubt = found.model, found.model.unsure_yes
    votes, yes = np.zeros((2, 4, 6))
    for question, worker, says in zip(ballots.question, ballots.worker, ballots.yes, strict=True):
        votes[:, worker] += found.states[:, question]
        yes[:, worker] += found.states[:, question] * says
    wrong = np.stack([yes[0], votes[1] - yes[1], yes[2], votes[3] - yes[3]])
    says = model.yes()
    errs = votes * np.stack([says[0], 1 - says[1], says[2], 1 - says[3]])
    assert errs[0].sum() + model.false_alarm == pytest.approx(wrong[0].sum() + 0.5, abs=0.02)
    assert errs[1].sum() + model.miss == pytest.approx(wrong[1].sum() + 0.5, abs=0.02)
    assert (votes * says)[2:].sum() + doubt == pytest.approx(yes[2:].sum() + 0.5, abs=0.02)
    for state, clear, unsure, times in (
        (0, model.false_alarm, doubt, model.false_alarm_by_person),
        (1, model.miss, 1 - doubt, model.miss_by_person),
    ):
        mixed = (clear * votes[state] + unsure * votes[state + 2]) / votes[state::2].sum(0)
        expected = errs[state::2].sum(0) + 5 * tilted(mixed, times)
        assert np.abs(expected - wrong[state::2].sum(0) - 5 * mixed).max() < 0.01
    counts = found.states.sum(1) + 0.25
    shares = [*counts[:2], counts[2:].sum() * (1 - doubt), counts[2:].sum() * doubt]
    assert np.abs(model.shares - np.array(shares) / 201).max() < 1e-4


@pytest.mark.parametrize("own_doubt", [True, False])
def test_the_rates_of_a_class_are_those_at_which_as_many_err_as_are_expected_to(own_doubt):
    ballots, of_class = by_two_classes(300, doubt=(0.1, 0.3))
    ballots = replace(ballots, shrink=5.0)
    found = estimate(ballots, unsure=True)
    by_class = estimate_by_class(ballots, found, own_doubt=own_doubt)
    usual, model = found.model, by_class.model
    for state, rates, ordinary, times, wrong in (
        (0, model.false_alarm, usual.false_alarm, usual.false_alarm_by_person, ballots.yes),
        (1, model.miss, usual.miss, usual.miss_by_person, ~ballots.yes),
    ):
        weight = by_class.states[state][ballots.question]
        for c, rate in enumerate(rates):
            own = of_class[ballots.question] == c
            errs = tilted(np.full(own.sum(), rate), times[ballots.worker[own]])
            expected = (weight[own] * errs).sum() + 5 * rate
            assert expected == pytest.approx((weight * wrong)[own].sum() + 5 * ordinary, abs=0.03)
    absent, present, *unsure = (np.bincount(of_class, state) for state in by_class.states)
    shown = 5 * usual.shares[1] / usual.shares[:2].sum() + present
    shown /= absent + present + 5
    doubt = (sum(unsure) + 5 * usual.shares[2:].sum()) / (150 + 5)
    if not own_doubt:
        doubt = np.full(2, sum(unsure).sum() / 300)
    yes = usual.unsure_yes
    shares = [(1 - doubt) * (1 - shown), (1 - doubt) * shown, doubt * (1 - yes), doubt * yes]
    assert np.abs(model.shares - shares).max() < 5e-4


def test_doubt_common_to_all_classes():
    ballots, _ = by_two_classes(4000, doubt=(0.1, 0.3))
    found = estimate(ballots, unsure=True)
    common = estimate_by_class(ballots, found, own_doubt=False)
    first, second = common.model.shares[2:].sum(0)
    assert first == second > 0.1
    own = estimate_by_class(ballots, found).model.shares[2:].sum(0)
    assert own[0] < first < own[1]


def test_a_class_with_few_votes_stays_near_the_ordinary():
    ballots, of_class = by_two_classes(3000, doubt=(0.0, 0.0))
    # A third class with one question, on which all but the last say yes; a fourth with none.
    of_class = of_class.copy()
    of_class[7] = 2
    yes = np.where(ballots.question == 7, ballots.worker < 4, ballots.yes)
    ballots = replace(ballots, yes=yes)
    found = estimate(ballots, unsure=False)
    by_class = estimate_by_class(replace(ballots, of_class=of_class, classes=4), found)
    assert abs(by_class.model.miss[2] - found.model.miss) < 0.05
    assert by_class.model.miss[3] == pytest.approx(found.model.miss, abs=1e-6)
    assert by_class.model.shares[:, 3] == pytest.approx(found.model.shares, abs=1e-6)


def cast(rates: np.ndarray, *, seed: int = 0) -> Ballots:
    """Five people on each question, who say yes at its rate."""
    rng = np.random.default_rng(seed)
    question, worker = np.repeat(np.arange(len(rates)), 5), np.tile(np.arange(5), len(rates))
    yes = rng.random(len(question)) < rates[question]
    return Ballots(question, worker, yes, np.zeros(len(rates), np.int64), 5)


ALIKE = np.tile([0.05, 0.05, 0.8], 1500)
DOUBTED = np.where(np.arange(4500) % 5 == 4, 0.45, ALIKE)


def chosen(rates, unsure=None, classes=1):
    of_class = np.arange(len(rates)) % classes
    _, by_class, compared = choose(replace(cast(rates), of_class=of_class, classes=classes), unsure)
    doubt = bool(by_class.states[2:].any())
    return SimpleNamespace(by_class=by_class, compared=compared, doubt=doubt)


def test_doubt_must_earn_its_numbers():
    without = chosen(ALIKE)
    assert not without.doubt and not without.by_class.states[2:].any()
    assert without.compared[1] - without.compared[0] < np.log(4500)
    doubted = chosen(DOUBTED)
    assert doubted.doubt and doubted.compared[1] - doubted.compared[0] > 30
    assert abs(doubted.by_class.states[2:].sum() / 4500 - 0.2) < 0.06


def test_what_is_asked_for_is_done():
    assert chosen(ALIKE, unsure=True).doubt and chosen(ALIKE, unsure=True).compared is not None
    forced = chosen(DOUBTED, unsure=False)
    assert not forced.doubt and forced.compared is None


def test_hard_classes_are_no_doubt():
    rates = np.tile([0.05, 0.05, 0.05, 0.05, 0.95, 0.5], 1000)  # every second class is easy
    together, apart = chosen(rates), chosen(rates, classes=2)
    assert together.doubt and not apart.doubt
    assert np.allclose(apart.by_class.model.miss, [0.05, 0.5], atol=0.03)


def test_doubt_does_not_end_below_the_fit_without():
    """Where nearly all is present, the usual start with much doubt ends on a lower hill."""
    rng = np.random.default_rng(0)
    rates = np.where(rng.random(20_000) < 0.97, 0.8, 0.05)
    question = np.repeat(np.arange(20_000), 5)
    who = np.argsort(rng.random((20_000, 20)), axis=1)[:, :5].ravel()
    yes = rng.random(100_000) < rates[question]
    ballots = Ballots(question, who, yes, np.zeros(20_000, np.int64), 20)
    found, *_ = choose(ballots, True)
    sure = estimate(ballots, unsure=False)
    usual = estimate(ballots, unsure=True)
    assert usual.log_likelihood < sure.log_likelihood - 1 < found.log_likelihood - 0.5


TRUE = Habits(
    miss=0.15,
    false_alarm=0.05,
    workers=5,
    unsure_present=0.30,
    unsure_absent=0.10,
    unsure_yes=0.4,
    miss_by_person=(0.3, 0.6, 1, 1, 1, 1, 1.5, 3),
    false_alarm_by_person=(4, 1, 1, 1, 1, 1, 0.5, 0.3),
    work_by_person=(3, 2, 2, 2, 2, 2, 2, 2),
)


def made(habits: Habits = TRUE, *, images: int = 15_000) -> tuple[Votes, np.ndarray]:
    """Votes by these habits on two classes of each image, and what is present (a fifth)."""
    chance = Chance.seeded(8)
    image, of_class = np.repeat(np.arange(images), 2), np.tile([0, 1], images)
    present = (chance.of("truth")(image, of_class) % np.uint64(5)) == 0
    who = habits._rosters(habits.workers or 1, chance.of("who")(image, of_class))
    about, seats = np.repeat(np.arange(len(image)), who.shape[1]), who.ravel()
    says = habits.votes(
        image[about], of_class[about], present[about], who=seats, chance=chance.of("votes")
    )
    gold = np.where(image % 10 == 0, present, -1).astype(np.int8)
    votes = Votes(
        images=np.arange(images),
        classes=("cat", "dog"),
        workers=tuple("abcdefgh"),
        question_image=image,
        question_class=of_class,
        vote_question=about,
        vote_worker=seats,
        vote_answer=np.where(says, YES, 0).astype(np.int8),
        gold=gold,
    )
    return votes, present


@pytest.fixture(scope="module")
def known():
    votes, present = made()
    return votes, present, fit_annotators(votes)


def test_habits_are_recovered(known):
    votes, present, fitted = known
    found = fitted.habits
    says = votes.vote_answer == YES
    there = present[votes.vote_question]
    miss, false_alarm = 1 - says[there].mean(), says[~there].mean()
    # Votes do not tell what is true where nobody is sure: 0.4 of those are taken to be present, and
    # 3 / (3 + 4) are. That moves the rates by a few points, and no number of votes helps.
    assert abs(fitted.rates[0] - miss) < 0.03 and abs(fitted.rates[1] - false_alarm) < 0.02
    assert abs(found.unsure_yes - 0.4) < 0.03
    assert abs(fitted.unsure.mean() - (0.2 * 0.3 + 0.8 * 0.1)) < 0.02
    assert abs(fitted.present.mean() - 0.2) < 0.015
    assert found.workers == 5 and found.roster == "question" and found.people == 8
    assert 1.4 < found.work_by_person[0] / found.work_by_person[1] < 1.6
    for name in ("miss_by_person", "false_alarm_by_person"):
        ratio = np.array(getattr(found, name)) / getattr(TRUE, name)
        assert (np.abs(np.log(ratio / np.median(ratio))) < 0.35).all()


def test_the_shares_of_doubt_add_up_to_the_doubted_questions(known):
    votes, _, fitted = known
    found, by_class, of_class = fitted.habits, fitted.by_class, votes.question_class
    there, doubted = fitted.present.sum(), fitted.unsure.sum()
    seen, rest = there * found.unsure_present, len(of_class) - there
    assert seen + rest * found.unsure_absent == pytest.approx(doubted, rel=0.02)
    assert seen == pytest.approx(0.4 * doubted, rel=0.05)
    # Of each class, with 20 ordinary questions more.
    for c in range(2):
        there, doubted = (
            np.array([1 - each, each]) @ (of_class == c) for each in (fitted.present, fitted.unsure)
        )
        parts = [
            share[c] * (number + 20) - 20 * usual
            for share, number, usual in (
                (by_class.unsure_absent, there[0], found.unsure_absent),
                (by_class.unsure_present, there[1], found.unsure_present),
            )
        ]
        assert sum(parts) == pytest.approx(doubted[1], abs=0.1)


def test_a_person_who_answered_most_questions_alone_does_no_more_than_one_seat_of_each():
    votes, _ = plain(0.4, questions=1000)
    alone = votes.vote_question >= 600
    kept = ~alone | (np.arange(len(alone)) % 5 == 0)
    who = (votes.vote_question + np.arange(len(alone)) % 5) % 6
    votes = replace(
        votes, workers=tuple("abcdef"), vote_question=votes.vote_question[kept],
        vote_worker=np.where(alone, 0, who)[kept], vote_answer=votes.vote_answer[kept],
    )  # fmt: skip
    fitted = fit_annotators(votes)
    assert fitted.votes.tolist() == [900, 500, 500, 500, 500, 500]
    # The most of which five seats are no more than all work: 5 * 625 = 625 + 5 * 500.
    assert fitted.habits.work_by_person == (625, 500, 500, 500, 500, 500)


def test_simulated_votes_agree_as_real_ones_do(known):
    votes, present, fitted = known
    real = agreement(votes)
    for truth in (None, present):
        again = agreement(simulate_votes(fitted, votes, truth=truth, seed=3))
        assert np.abs(real.yes_counts - again.yes_counts).max() < 0.015
        assert abs(real.kappa - again.kappa) < 0.03
    # Independent people of the same rates agree far less: the tolerance can fail.
    alone = agreement(simulate_votes(fit_annotators(votes, unsure=False), votes, seed=3))
    assert np.abs(real.yes_counts - alone.yes_counts).max() > 0.02


def test_confusion_by_hand(known):
    votes, _, _ = known
    table = confusion(votes, np.where(np.arange(len(votes.question_image)) < 1, 0.25, np.nan))
    counts = votes.counts[0]
    assert table.tolist() == [(0.75 * counts).tolist(), (0.25 * counts).tolist()]


def test_error_rates_by_hand():
    table = np.array([[80.0, 10.0, 10.0], [20.0, 20.0, 60.0]])
    assert error_rates(table, "yes") == (0.2, 0.2)
    assert error_rates(table, "no") == (0.4, 0.1)
    assert error_rates(table, "drop") == (0.25, pytest.approx(1 / 9))
    miss, false_alarm = error_rates(np.array([[0.0, 0.0, 0.0], [20.0, 0.0, 80.0]]), "yes")
    assert miss == 0.2 and np.isnan(false_alarm)


def test_what_is_written_is_read_back(known, tmp_path):
    _, _, fitted = known
    file = tmp_path / "habits.json"
    file.write_text(json.dumps(fitted.to_json()))
    assert Habits.load(file) == fitted.by_class
    assert fitted.to_json()["fit"]["converged"] is True


def test_the_prior_draws_people_together():
    votes, _ = made(images=400)
    own, alike = (fit_annotators(votes, unsure=False, shrink=n).habits for n in (1, 2000))
    for times in ("miss_by_person", "false_alarm_by_person"):
        loose, tight = (np.ptp(np.log(getattr(habits, times))) for habits in (own, alike))
        assert tight < 0.5 and loose > 1.9


def test_votes_that_say_nothing_about_errors():
    votes, _ = made(Habits(0.1, 0.1, workers=2, work_by_person=(1,) * 8), images=20)
    with pytest.raises(BadInput, match="a typical question has 2 votes"):
        fit_annotators(votes)
    with pytest.raises(BadInput, match="shrink is 0"):
        fit_annotators(votes, shrink=0)


def plain(
    present: float, *, miss=(0.2,), false_alarm=0.05, questions=20_000, seed=0
) -> tuple[Votes, np.ndarray]:
    """Five of twenty equal people on each question, nobody ever unsure; classes take turns."""
    rng = np.random.default_rng(seed)
    there = rng.random(questions) < present
    who = np.argsort(rng.random((questions, 20)), axis=1)[:, :5].ravel()
    about, of_class = np.repeat(np.arange(questions), 5), np.arange(questions) % len(miss)
    rate = np.where(there, 1 - np.array(miss)[of_class], false_alarm)
    says = rng.random(len(about)) < rate[about]
    votes = Votes(
        images=np.arange(questions),
        classes=tuple(f"class {c}" for c in range(len(miss))),
        workers=tuple(f"w{n}" for n in range(20)),
        question_image=np.arange(questions),
        question_class=of_class,
        vote_question=about,
        vote_worker=who,
        vote_answer=np.where(says, YES, 0).astype(np.int8),
        gold=np.full(questions, -1, np.int8),
    )
    return votes, there


@pytest.mark.parametrize("present", [0.1, 0.4, 0.9])
def test_no_doubt_is_found_where_there_is_none(present):
    votes, there = plain(present)
    fitted = fit_annotators(votes)
    assert not fitted.doubt and not fitted.unsure.any()
    without, doubtful = fitted.compared
    assert fitted.log_likelihood == without > doubtful - np.log(20_000)
    # In brackets the farthest of the three: few present, or few absent classes make a rate rough.
    assert abs(fitted.rates[0] - 0.2) < 0.008 and abs(fitted.rates[1] - 0.05) < 0.008  # 0.0045
    assert abs(fitted.habits.miss - 0.2) < 0.008
    assert abs(fitted.habits.false_alarm - 0.05) < 0.008
    assert fitted.habits.unsure_absent == fitted.habits.unsure_present == 0
    assert abs(fitted.present.mean() - there.mean()) < 0.004
    # So the majority of simulated people errs as seldom as theirs does: 0.12 % of absent classes.
    again = simulate_votes(fitted, votes, truth=there, seed=1).counts[:, YES]
    assert (again[~there] >= 3).mean() < 0.004


def test_rates_by_class_with_many_votes_are_those_the_votes_were_made_with():
    """Hard classes are no questions of which nobody is sure, either."""
    miss = (0.05, 0.1, 0.2, 0.4)
    fitted = fit_annotators(plain(0.3, miss=miss)[0])
    found = fitted.by_class
    assert not fitted.doubt
    assert np.abs(np.array(found.miss) - miss).max() < 0.02  # 0.010; 0.09 in a single round
    assert np.abs(np.array(found.false_alarm) - 0.05).max() < 0.01  # 0.004


@pytest.mark.parametrize(
    "present,false_alarm,miss,message",
    [
        (0, 0.0, 0.2, "about 0 of 10,000 votes are on classes that seem present"),
        (1, 0.05, 0.0, "about 0 of 10,000 votes are on classes that seem absent"),
        (0, 0.2, 0.2, "the 10,000 votes look as if all classes were present or all"),
    ],
)  # fmt: skip
def test_votes_on_one_kind_of_questions(present, false_alarm, miss, message):
    votes, _ = plain(present, miss=(miss,), false_alarm=false_alarm, questions=2000)
    with pytest.raises(BadInput) as error:
        fit_annotators(votes)
    assert message in str(error.value)


REAL = Path(os.environ.get("SIMKIT_DATA", "")) / "labels" / "imagenet_real_votes.npz"


def with_majority(votes: Votes) -> tuple[np.ndarray, np.ndarray]:
    """(R,) votes of each worker where the others have a majority, and the share that agrees."""
    votes = votes.decided()
    (no, _, yes), says = votes.counts[votes.vote_question].T, votes.vote_answer == YES
    lead = (yes - says) - (no - ~says)
    who = votes.vote_worker[lead != 0]
    cast, agreed = np.bincount(who), np.bincount(who, (says == (lead > 0))[lead != 0])
    return cast, agreed / np.maximum(cast, 1)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("SIMKIT_DATA") or not REAL.is_file(),
    reason="SIMKIT_DATA names no folder with labels/imagenet_real_votes.npz",
)
def test_real_votes_are_reproduced():
    """924,810 votes; in brackets what was measured when this was written."""
    votes = read_votes(REAL)
    fitted = fit_annotators(votes)
    miss, false_alarm = error_rates(measured(votes), fitted.maybe)
    without, doubtful = fitted.compared  # -342,621 and -340,894
    assert fitted.doubt and doubtful - without > 1500 and fitted.log_likelihood > doubtful
    # Experts: 0.290 and 0.090; votes alone: 0.292 and 0.080.
    assert abs(fitted.rates[0] - miss) < 0.02 and abs(fitted.rates[1] - false_alarm) < 0.015
    asked = votes.gold >= 0
    wrong = (fitted.present[asked] > 0.5) != (votes.gold[asked] == 1)
    assert wrong.mean() < 0.095  # 0.083 of 1,135; 0.084 with a plain majority
    real, again = agreement(votes), agreement(simulate_votes(fitted, votes, seed=1))
    assert np.abs(real.yes_counts - again.yes_counts).max() < 0.005  # 0.0038
    assert abs(real.unanimous - again.unanimous) < 0.006  # 0.0014
    assert abs(real.pairwise - again.pairwise) < 0.004  # 0.0001
    assert abs(real.kappa - again.kappa) < 0.01  # 0.0007
    (cast, own), (_, simulated) = map(with_majority, (votes, simulate_votes(fitted, votes, seed=1)))
    busy = cast >= 100
    ranks = spearmanr(own[busy], simulated[busy]).statistic
    assert busy.sum() > 75 and ranks > 0.9  # 0.950 over 81 workers
    # On what experts say is there, 1,135 questions.
    truth = np.where(asked, votes.gold == 1, fitted.present > 0.5)
    said = simulate_votes(fitted, votes, truth=truth, seed=1).counts[:, YES]
    heard = votes.decided(fitted.maybe).counts[:, YES]
    for code, most in ((0, 0.05), (1, 0.11)):  # 0.017 and 0.081
        own = votes.gold == code
        shares = [np.bincount(x[own], minlength=6) / own.sum() for x in (said, heard)]
        assert np.abs(shares[0] - shares[1]).max() < most
    # Workers who err independently, as Dawid and Skene have it, are off by far more.
    alone = agreement(simulate_votes(fit_annotators(votes, unsure=False), votes, seed=1))
    assert np.abs(real.yes_counts - alone.yes_counts).max() > 0.02  # 0.0237
    assert abs(real.unanimous - alone.unanimous) > 0.02  # 0.0268
