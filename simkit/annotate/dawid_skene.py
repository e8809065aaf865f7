"""Error rates of annotators and the truth, estimated from votes alone.

The model of Dawid and Skene (Applied Statistics 28, 1979), fitted by expectation maximisation:
question q has an unknown state s with prior pi_s, and worker r says yes with probability y_rs,
independently of the other workers given the state. We add three things.

Pooling of workers: y_rs comes from the rate of an ordinary worker and the worker's multiple m_r of
its odds, odds(error_r) = m_r odds(error); a worker with few votes is drawn towards m_r = 1.
Doubt: besides "absent" and "present" there are two unsure states, in which all workers say yes at
a common rate of their own. Their errors on such a question are therefore correlated, which the
original model cannot express.
Classes: each class has separate rates and priors, drawn towards the overall ones.

`fit_annotators` is the entry point; the functions below it follow in the order of their use.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.annotators import Bools, Habits, Ints, limits, tilted, under
from simkit.annotate.votes import NO, YES, Maybe, Votes, confusion, error_rates, ratio
from simkit.chance import Chance
from simkit.errors import BadInput

STATES = ("absent", "present", "absent, unsure", "present, unsure")
LEAST = 1e-9  # rates stay this far from 0 and 1: a single odd vote must not decide a question
LEAST_VOTES = 50  # votes on present, and on absent, classes; fewer do not determine a rate
_BY_HAND = 'write a file by hand, such as {"miss": 0.1, "false_alarm": 0.02}, for --habits'
ENOUGH = 5  # votes per question that separate ambiguous questions from unreliable workers
_MOST_STEPS = 500
_MOST_ROUNDS = 200

Floats = NDArray[np.float64]
_Step = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fitted annotator model and truth of Q questions and R workers.

    Attributes
    ----------
    habits : Habits
        Overall rates, and the pool of workers with the number of votes of each as its work.
    by_class : Habits
        Rates of each class by name, those of rare classes near the mean. `present` and `unsure`
        follow from these.
    present, unsure : (Q,) float
        Probability that the class is present, and that the question is ambiguous.
    confusion : (2, 3) float
        Expected number of votes by truth (absent, present) and answer (no, maybe, yes).
    votes : (R,) int
        Number of votes of each worker.
    miss, false_alarm : (R,) float
        Share of each worker's votes on present, and on absent, classes that is wrong, weighted by
        the probability of presence; nan without such votes.
    maybe : str
        How a maybe was counted.
    doubt : bool
        Whether the model has ambiguous questions.
    compared : (float, float) or None
        Log-likelihoods without and with ambiguous questions, by which `choose` decided; None if
        only one model was fitted.
    steps, converged, log_likelihood
        Of the expectation maximisation, including the rates by class.
    """

    habits: Habits
    by_class: Habits
    present: Floats
    unsure: Floats
    confusion: Floats
    votes: Ints
    miss: Floats
    false_alarm: Floats
    maybe: Maybe
    doubt: bool
    compared: tuple[float, float] | None
    steps: int
    converged: bool
    log_likelihood: float

    @property
    def rates(self) -> tuple[float, float]:
        """Miss and false-alarm rate of a vote, over all workers and all questions."""
        return error_rates(self.confusion, self.maybe)

    def to_json(self) -> dict[str, Any]:
        """The annotator model by class, which `Habits.load` reads back, and facts about the fit."""
        miss, false_alarm = self.rates
        about = {
            "method": "Dawid & Skene 1979, with questions of which nobody is sure",
            "maybe": self.maybe,
            "votes": int(self.votes.sum()),
            "questions": len(self.present),
            "miss": miss,
            "false_alarm": false_alarm,
            "doubt": self.doubt,
            "log_likelihood": self.log_likelihood,
            "without_and_with_doubt": None if self.compared is None else list(self.compared),
            "steps": self.steps,
            "converged": self.converged,
        }
        return {"habits": self.by_class.to_json(), "fit": about}


def fit_annotators(
    votes: Votes, *, maybe: Maybe = "yes", unsure: bool | None = None, shrink: float = 20.0
) -> Fitted:
    """Estimate the annotator model and the truth from votes alone, without answers of experts.

    The rates hold for questions like those that were asked. If a model proposed the classes, its
    absent candidates are easily mistaken, and false alarms on all other classes are rarer.

    Parameters
    ----------
    votes : Votes
    maybe : "yes", "no" or "drop"
        How to count a maybe. On the votes behind the reassessed labels of ImageNet, "yes" is
        closest to the experts, in error rates and in the number of present classes.
    unsure : bool, optional
        Whether to fit ambiguous questions, on which all workers are unsure; by default if the votes
        support it (`choose`) and a typical question has five votes or more, because fewer votes
        cannot separate them from unreliable workers.
    shrink : float
        Strength of the prior: the number of votes of an average worker added to the votes of each
        worker, and of average questions added to each class.

    Returns
    -------
    Fitted

    Raises
    ------
    BadInput
        If the votes cannot identify the errors: fewer than three on a typical question; fewer than
        50 on apparently present or on apparently absent classes (a few hundred still give only a
        rough rate); or votes that could all be on present, or all on absent, classes.

    References
    ----------
    Dawid and Skene, Applied Statistics 28, 1979.
    """
    if not 0 < shrink < float("inf"):
        raise BadInput(f"shrink is {shrink!r}; a number of votes above 0 is expected")
    decided = votes.decided(maybe)
    if decided.per_question < 3:
        raise BadInput(
            f"a typical question has {decided.per_question} votes; with fewer than 3 nobody can "
            f"say who errs, so collect more, or {_BY_HAND}"
        )
    if unsure is None and decided.per_question < ENOUGH:
        unsure = False
    ballots = Ballots(
        decided.vote_question, decided.vote_worker, decided.vote_answer == YES,
        decided.question_class, len(decided.workers), len(decided.classes), shrink,
    )  # fmt: skip
    overall, by_class, compared = choose(ballots, unsure)
    states = by_class.states
    present = states[1] + states[3]
    habits, habits_by_class = _habits(decided, overall, by_class, shrink)
    on_absent, on_present = ballots.by_worker(np.stack([1 - present, present]))
    return Fitted(
        habits=habits,
        by_class=habits_by_class,
        present=present,
        unsure=states[2] + states[3],
        confusion=confusion(votes, present),
        votes=np.bincount(decided.vote_worker, minlength=len(decided.workers)),
        miss=ratio(on_present[0] - on_present[1], on_present[0]),
        false_alarm=ratio(on_absent[1], on_absent[0]),
        maybe=maybe,
        doubt=bool(overall.model.shares[2:].any()),
        compared=compared,
        steps=overall.steps + by_class.steps,
        converged=overall.converged and by_class.converged,
        log_likelihood=by_class.log_likelihood,
    )


def _habits(
    votes: Votes, overall: Estimate, by_class: Estimate, shrink: float
) -> tuple[Habits, Habits]:
    """The annotator model of all classes, and the one with rates by class."""

    def rounded(values: Floats, digits: int) -> tuple[float, ...]:
        return tuple(round(value, digits) for value in values.tolist())

    model, seats = overall.model, votes.per_question
    work = np.maximum(np.bincount(votes.vote_worker, minlength=len(votes.workers)), 1)
    # Nobody takes two seats of one question, so no share of the work may exceed 1 / seats. The
    # largest cap at which this holds: it shrinks the total as well, hence the search.
    most = 1 + bisect_left(
        range(2, int(work.max()) + 1), True,
        key=lambda most: bool(seats * most > np.minimum(work, most).sum()),
    )  # fmt: skip
    absent, present, unsure_absent, unsure_present = overall.states.sum(1)
    shares = [
        round(float(unsure / (sure + unsure)), 6) if sure + unsure > 0 else 0.0
        for sure, unsure in ((present, unsure_present), (absent, unsure_absent))
    ]
    habits = Habits(
        miss=round(model.miss, 6),
        false_alarm=round(model.false_alarm, 6),
        workers=seats,
        unsure_present=shares[0],
        unsure_absent=shares[1],
        unsure_yes=round(model.unsure_yes, 6),
        miss_by_person=rounded(model.miss_by_person, 4),
        false_alarm_by_person=rounded(model.false_alarm_by_person, 4),
        work_by_person=tuple(np.minimum(work, most).tolist()),
        roster="image" if votes.same_roster > 0.5 else "question",
    )
    # Per class, `shrink` ordinary questions are added, as in the priors of `estimate_by_class`.
    absent, present, unsure_absent, unsure_present = (
        np.bincount(votes.question_class, state, len(votes.classes)) for state in by_class.states
    )
    doubt = [
        rounded((unsure + shrink * share) / (unsure + sure + shrink), 6)
        for share, unsure, sure in (
            (shares[0], unsure_present, present), (shares[1], unsure_absent, absent),
        )
    ]  # fmt: skip
    return habits, replace(
        habits,
        classes=votes.classes,
        false_alarm=rounded(by_class.model.false_alarm, 6),
        miss=rounded(by_class.model.miss, 6),
        unsure_present=doubt[0],
        unsure_absent=doubt[1],
    )


def choose(
    ballots: Ballots, unsure: bool | None
) -> tuple[Estimate, Estimate, tuple[float, float] | None]:
    """Fit the model without ambiguous questions and, unless `unsure` is False, with them.

    Returns the estimate with common rates, the one with rates by class, and the log-likelihoods
    without and with ambiguous questions (None if only one was fitted). With `unsure` None the
    better model is returned. Raises BadInput for votes that could all be on one kind of questions.
    """
    sure = estimate(ballots, unsure=False)
    plain = estimate_by_class(ballots, sure)
    _check_votes(ballots, plain)
    # All classes absent, and every yes a false alarm: does one kind of questions explain the votes?
    start = replace(
        _start(ballots, False),
        false_alarm=min(max(float(ballots.yes.mean()), LEAST), 1 - LEAST),
        shares=np.array([1.0, 0.0, 0.0, 0.0]),
    )
    single = estimate_by_class(ballots, estimate(ballots, unsure=False, start=start))
    # The second kind has two parameters, a rate and a share, each priced 1/2 log Q (BIC: Schwarz,
    # Annals of Statistics 1978), and a second multiple for each worker. The prior leaves this
    # multiple n / (n + shrink) of its freedom, n votes on the rarer kind, each priced 1 (AIC:
    # Akaike, 1974).
    rarer = ballots.by_worker(plain.states[:2])[:, 0].min(0)
    price = np.log(ballots.questions) + (rarer / (rarer + ballots.shrink)).sum()
    if plain.log_likelihood - single.log_likelihood <= price:
        raise BadInput(
            f"the {len(ballots.question):,} votes look as if all classes were present or all were "
            f"absent; give votes on more questions of either kind, or {_BY_HAND}"
        )
    if unsure is False:
        return sure, plain, None
    doubtful = estimate(ballots, unsure=True)
    if doubtful.log_likelihood < sure.log_likelihood:  # a local maximum: start from `sure` instead
        # A point as likely as `sure`: 1 % of the present classes are ambiguous, and workers say
        # yes to these as often as to the others.
        absent, present = sure.model.shares[:2] / sure.model.shares[:2].sum()
        yes, part = 1 - sure.model.miss, 0.01 * present
        shares = np.array([absent, present - part, part * (1 - yes), part * yes])
        start = replace(sure.model, unsure_yes=yes, shares=shares)
        again = estimate(ballots, unsure=True, start=start)
        doubtful = max(doubtful, again, key=lambda each: each.log_likelihood)
    # Doubt has two parameters more, its share and its rate of yes, so by BIC it must gain log Q.
    # Classes have their own rates in both models, because a hard class otherwise passes for doubt.
    alike = estimate_by_class(ballots, doubtful, own_doubt=False)
    compared = (plain.log_likelihood, alike.log_likelihood)
    if unsure is None and compared[1] - compared[0] <= np.log(ballots.questions):
        return sure, plain, compared
    by_class = estimate_by_class(ballots, doubtful)
    _check_votes(ballots, by_class)
    return doubtful, by_class, compared


def _check_votes(ballots: Ballots, estimated: Estimate) -> None:
    """Raise BadInput without enough votes on present, or on absent classes."""
    numbers = np.bincount(ballots.question, minlength=ballots.questions)
    for state, word, errs in ((1, "present", "miss"), (0, "absent", "imagine")):
        # Questions that are more likely of the other kind do not count: the sum of many small
        # probabilities is no evidence that the kind exists.
        likely = estimated.states[state] > estimated.states[1 - state]
        votes = float((numbers * estimated.states[state])[likely].sum())
        if votes < LEAST_VOTES:
            raise BadInput(
                f"about {votes:.0f} of {len(ballots.question):,} votes are on classes that seem "
                f"{word}; with fewer than {LEAST_VOTES} nobody can say how often people {errs} "
                f"them, so add such questions, or {_BY_HAND}"
            )


@dataclass(frozen=True, eq=False)
class Model:
    """Rates of an ordinary worker, shares of the four states, and how workers differ.

    Attributes
    ----------
    miss, false_alarm : float or (L,) float
        Error rates of an ordinary worker, of all classes or of each.
    unsure_yes : float
        Probability that an ordinary worker says yes in the unsure states.
    shares : (4,) or (4, L) float
        Prior probabilities of STATES, of all classes or of each.
    miss_by_person, false_alarm_by_person : (R,) float
        Odds of an error of each worker, as multiples of the ordinary odds.
    """

    miss: Any
    false_alarm: Any
    unsure_yes: float
    shares: Floats
    miss_by_person: Floats
    false_alarm_by_person: Floats

    def yes(self) -> Floats:
        """(4, R) probability that each worker says yes in each state."""
        rates = [
            tilted(self.false_alarm, self.false_alarm_by_person),
            1 - tilted(self.miss, self.miss_by_person),
            tilted(self.unsure_yes, self.false_alarm_by_person),
            # A no is the error here: its odds, not those of a yes, are multiplied.
            1 - tilted(1 - self.unsure_yes, self.miss_by_person),
        ]
        return np.clip(np.stack(rates), LEAST, 1 - LEAST)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A model with the posterior of each question.

    Attributes
    ----------
    model : Model
    states : (4, Q) float
        Posterior probabilities of STATES.
    log_likelihood : float
    steps : int
    converged : bool
        A further step would gain less than 1e-7 per vote.
    """

    model: Model
    states: Floats
    log_likelihood: float
    steps: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Ballots:
    """V votes on Q questions by number: question, worker, and whether the answer is yes.

    Attributes
    ----------
    question, worker, yes : (V,)
    of_class : (Q,) int
        The class of each question.
    workers, classes : int
        R and L.
    shrink : float
        Strength of the prior; see `fit_annotators`.
    """

    question: Ints
    worker: Ints
    yes: Bools
    of_class: Ints
    workers: int
    classes: int = 1
    shrink: float = 20.0

    @property
    def questions(self) -> int:
        """Q, the number of questions."""
        return len(self.of_class)

    @cached_property
    def _matrices(self) -> tuple[csr_array, csr_array]:
        """The votes (Q, 2 R), with a column for each worker's no and, R further, the yes; and its
        transpose, so that both sums below run over rows."""
        columns = self.worker + self.workers * self.yes
        shape = (self.questions, 2 * self.workers)
        votes = csr_array((np.ones(len(columns)), (self.question, columns)), shape=shape)
        return votes, csr_array(votes.T)

    def by_worker(self, weights: Floats) -> Floats:
        """(k, 2, R) votes and yes votes of each worker, weighted by question; weights (k, Q)."""
        sums = (self._matrices[1] @ weights.T).T
        no, yes = sums.reshape(-1, 2, self.workers).swapaxes(0, 1)
        return np.stack([no + yes, yes], axis=1)

    def by_question(self, table: Floats) -> Floats:
        """(k, Q) sums over the votes of a table (k, 2, R): a row for no, one for yes."""
        sums: Floats = (self._matrices[0] @ table.reshape(len(table), -1).T).T
        return sums


def _start(ballots: Ballots, unsure: bool) -> Model:
    """The usual starting point: as many classes present as people say yes to."""
    yes = min(max(float(ballots.yes.mean()), 0.01), 0.99)
    doubt = 0.2 if unsure else 0.0
    shares = np.concatenate([(1 - doubt) * np.array([1 - yes, yes]), doubt * np.array([0.5, 0.5])])
    ones = np.ones(ballots.workers)
    return Model(0.2, min(0.05, yes / 2), 0.5, shares, ones, ones)


def estimate(ballots: Ballots, *, unsure: bool, start: Model | None = None) -> Estimate:
    """The model with rates common to all classes, by expectation maximisation.

    A state without a share in the model `start` keeps none.
    """

    def expect(model: Model) -> tuple[Floats, float]:
        # E-step: log P(s, votes of q) = log pi_s + sum over votes v of q of log y_rs if v is yes,
        # else log(1 - y_rs).
        yes, possible = model.yes(), model.shares > 0
        logs_of_votes = np.stack([np.log1p(-yes), np.log(yes)], axis=1)
        logs = np.full((4, ballots.questions), -np.inf)
        prior = np.log(model.shares[possible])[:, None]
        logs[possible] = prior + ballots.by_question(logs_of_votes[possible])
        return _posterior(logs)

    def maximise(model: Model, states: Floats) -> Model:
        # M-step, shares: expected counts, with a quarter of a question added to each state.
        shares = (states.sum(1) + 0.25) / (ballots.questions + 1)
        impossible = model.shares == 0
        doubt = shares[2:].sum()
        # Votes cannot tell the truth of an ambiguous question, as both unsure states have one rate
        # of yes: present is taken to be as frequent as yes.
        shares[2:] = doubt * np.array([1 - model.unsure_yes, model.unsure_yes])
        shares = np.where(impossible, 0, shares)
        # Expected votes and yes votes of each worker, by state (4, R), and votes that are wrong.
        votes, yes = ballots.by_worker(states).swapaxes(0, 1)
        wrong = np.stack([yes[0], votes[1] - yes[1], yes[2], votes[3] - yes[3]])
        # M-step, rates and workers in turns: first the ordinary rates given the multiples ...
        m_absent, m_present = model.false_alarm_by_person, model.miss_by_person
        false_alarm = _rate(model.false_alarm, [(m_absent, votes[0], wrong[0])])
        miss = _rate(model.miss, [(m_present, votes[1], wrong[1])])
        # On present classes m multiplies the odds of a no, so it divides those of a yes.
        m_yes = 1 / np.maximum(m_present, LEAST)
        both = [(m_absent, votes[2], yes[2]), (m_yes, votes[3], yes[3])]
        unsure_yes = _rate(model.unsure_yes, both) if doubt and not impossible[2] else 0.5
        # ... then the multiples given the rates; clear and ambiguous questions count together.
        on_absent = [(false_alarm, votes[0], wrong[0]), (unsure_yes, votes[2], wrong[2])]
        on_present = [(miss, votes[1], wrong[1]), (1 - unsure_yes, votes[3], wrong[3])]
        return Model(
            miss, false_alarm, unsure_yes, shares / shares.sum(),
            miss_by_person=_multiples(m_present, on_present, ballots.shrink),
            false_alarm_by_person=_multiples(m_absent, on_absent, ballots.shrink),
        )  # fmt: skip

    return _climb(start or _start(ballots, unsure), expect, maximise, ballots, _MOST_STEPS)


def _climb(model: Model, expect: _Step, maximise: _Step, ballots: Ballots, most: int) -> Estimate:
    """E-steps and M-steps in turns, at most `most` of each."""
    before, step, converged = -np.inf, 0, False
    while step < most and not converged:
        step += 1
        states, likelihood = expect(model)
        converged = likelihood - before < 1e-7 * len(ballots.question)
        if not converged:
            before, model = likelihood, maximise(model, states)
    return Estimate(model, states, likelihood, step, converged)


def _posterior(logs: Floats) -> tuple[Floats, float]:
    """(4, Q) posterior of the states from log P(state, votes), and the log-likelihood.

    P(s | votes of q) = P(s, votes) / sum over t of P(t, votes); the sum of the logarithms of the
    denominators is the log-likelihood. The largest term is factored out against underflow.
    """
    top = logs.max(0)
    weights = np.exp(logs - top)
    total = weights.sum(0)
    return weights / total, float((np.log(total) + top).sum())


def _rate(rate: float, parts: list[tuple[Floats, Floats, Floats]]) -> float:
    """The ordinary rate p at which the expected number of events equals the observed one.

    Solves sum over r of n_r p_r + p = sum over r of k_r + 1/2, with odds(p_r) = m_r odds(p), from
    the old rate; parts: multiples m, votes n and events k, each (R,).
    """
    # Half an event in one further vote: a rate that was never observed is small, but not 0.
    occasions = sum(float(of.sum()) for _, of, _ in parts) + 1
    events = sum(float(happened.sum()) for _, _, happened in parts) + 0.5
    # The equation has no closed form. Multiplying the odds by observed over expected odds solves it
    # exactly for equal workers, and in a few rounds otherwise.
    for _ in range(8):
        expected = sum(float((of * tilted(rate, times)).sum()) for times, of, _ in parts) + rate
        rate = float(tilted(rate, _odds(events, occasions) / _odds(expected, occasions)))
        rate = min(max(rate, LEAST), 1 - LEAST)
    return rate


def _multiples(times: Floats, parts: list[tuple[float, Floats, Floats]], shrink: float) -> Floats:
    """(R,) multiples of odds at which each worker's expected events equal the observed ones.

    parts: the ordinary rate, votes and events of clear and of ambiguous questions. The prior are
    `shrink` further votes, with as many events as an ordinary worker would have.
    """
    met = sum(of for _, of, _ in parts) + LEAST
    # The prior votes are on the mix of clear and ambiguous questions that the worker met.
    mixed = sum(rate * of for rate, of, _ in parts) / met
    mixed = np.where(met > 1e-6, mixed, parts[0][0])
    occasions = met + shrink
    events = sum(happened for _, _, happened in parts) + shrink * mixed
    for _ in range(8):  # as in `_rate`
        expected = sum(of * tilted(rate, times) for rate, of, _ in parts)
        expected = expected + shrink * tilted(mixed, times)
        times = times * _odds(events, occasions) / _odds(expected, occasions)
    return np.clip(times, 1e-6, 1e6)


def _odds(events: Any, of: Any = 1) -> Any:
    return events / np.maximum(of - events, LEAST)


def estimate_by_class(ballots: Ballots, estimated: Estimate, *, own_doubt: bool = True) -> Estimate:
    """Rates and shares of each class; workers and the rate of yes in doubt stay as estimated.

    This is a separate expectation maximisation. Estimated once from the states of the common rates,
    rates by class stay too near the mean however many votes there are, because misses in a hard
    class pass for absent classes. own_doubt: whether the share of ambiguous questions differs
    between classes, too.
    """
    usual, of_class = estimated.model, ballots.of_class
    L, shrink, class_of_vote = ballots.classes, ballots.shrink, of_class[ballots.question]
    yes = usual.yes()[2:]
    logs_unsure = ballots.by_question(np.stack([np.log1p(-yes), np.log(yes)], axis=1))
    # By state (absent, present): the multiple of each vote's worker, and whether the vote is wrong.
    times = usual.false_alarm_by_person[ballots.worker], usual.miss_by_person[ballots.worker]
    wrong = ballots.yes, ~ballots.yes

    def expect(model: Model) -> tuple[Floats, float]:
        # With odds o = m_r odds(rate of the class), a vote is wrong with probability o / (1 + o)
        # and right with 1 / (1 + o).
        sure = []
        for state, rate in enumerate((model.false_alarm, model.miss)):
            odds = _odds(rate)[class_of_vote] * times[state]
            logs = np.where(wrong[state], np.log(odds), 0.0) - np.log1p(odds)
            sure.append(np.bincount(ballots.question, logs, ballots.questions))
        prior = np.log(model.shares, out=np.full((4, L), -np.inf), where=model.shares > 0)
        return _posterior(prior[:, of_class] + np.concatenate([np.stack(sure), logs_unsure]))

    def maximise(model: Model, states: Floats) -> Model:
        moved = []
        pairs = ((model.false_alarm, usual.false_alarm), (model.miss, usual.miss))
        for state, (rate, ordinary) in enumerate(pairs):
            weight = states[state][ballots.question]
            odds = _odds(rate)[class_of_vote] * times[state]
            votes, events, expected = (
                np.bincount(class_of_vote, each, L)
                for each in (weight, weight * wrong[state], weight * odds / (1 + odds))
            )
            # One step of the equation of `_rate`, with `shrink` votes at the common rate as prior;
            # the next M-steps do the rest.
            met, happened = votes + shrink, events + shrink * ordinary
            odds = _odds(rate) * (_odds(happened / met) / _odds((expected + shrink * rate) / met))
            moved.append(np.clip(odds / (1 + odds), LEAST, 1 - LEAST))
        counts = np.array([np.bincount(of_class, state, L) for state in states], np.float64)
        # The expected numbers of questions in each state give the shares of the states.
        absent, present, *doubtful = counts
        prior = shrink * usual.shares[1] / usual.shares[:2].sum()
        shown = (present + prior) / (absent + present + shrink)
        unsure = doubtful[0] + doubtful[1]
        doubt = unsure + shrink * usual.shares[2:].sum()
        doubt = doubt / (absent + present + unsure + shrink)
        if not own_doubt:
            doubt = np.full(L, float(unsure.sum()) / ballots.questions)
        # As in `estimate`: among ambiguous questions, present is as frequent as yes.
        clear, yes = 1 - doubt, usual.unsure_yes
        shares = np.stack([clear * (1 - shown), clear * shown, doubt * (1 - yes), doubt * yes])
        return replace(model, shares=shares, false_alarm=moved[0], miss=moved[1])

    start = replace(
        usual,
        miss=np.full(L, usual.miss),
        false_alarm=np.full(L, usual.false_alarm),
        shares=np.repeat(usual.shares[:, None], L, axis=1),
    )
    return _climb(start, expect, maximise, ballots, _MOST_ROUNDS)


def simulate_votes(
    fitted: Fitted, votes: Votes, *, truth: Bools | None = None, seed: int = 0
) -> Votes:
    """Simulate the votes of the same workers on the same questions, by the fitted model.

    Parameters
    ----------
    fitted : Fitted
    votes : Votes
        Votes that tell who answered which question; a maybe is decided as in the fit.
    truth : (Q,) bool, optional
        Whether the class is present; by default drawn for each question from its posterior.
    seed : int
        Same seed, same votes.

    Returns
    -------
    Votes
    """
    votes = votes.decided(fitted.maybe)
    chance = Chance.seeded(seed).of("votes")
    image, of_class = votes.question_image, votes.question_class
    if truth is None:
        numbers = chance.of("truth")(image, of_class)
        truth = under(numbers, limits(fitted.present), np.arange(len(image)))
    about = votes.vote_question
    says = fitted.by_class.for_classes(votes.classes).votes(
        image[about], of_class[about], truth[about], who=votes.vote_worker, chance=chance
    )
    return replace(votes, vote_answer=np.where(says, YES, NO).astype(np.int8))
