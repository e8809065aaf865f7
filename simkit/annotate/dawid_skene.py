"""What people's error rates and the truth are, estimated from their votes alone.

Dawid & Skene, Applied Statistics 28 (1979), by expectation maximisation, with three additions:
workers are drawn towards the ordinary one where their votes are few; a question may be one of which
nobody is sure, where all people answer at another rate and so err together; and classes have rates
of their own. `fit` is the way in; the parts below it are in the order in which it uses them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.annotators import Bools, Habits, Ints, tilted
from simkit.annotate.votes import YES, Maybe, Votes, confusion, error_rates, ratio
from simkit.errors import BadInput

STATES = ("absent", "present", "absent, unsure", "present, unsure")
LEAST = 1e-9  # no rate is quite 0 or 1: a single odd vote must not decide everything
LEAST_VOTES = 50  # on present classes, and on absent ones: of fewer, no rate can be said
ENOUGH = 5  # votes on a question from which on doubtful questions can be told from bad workers
_MOST_STEPS = 500
_MOST_ROUNDS = 200

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What votes say about the people who gave them.

    habits     overall rates and the pool of workers, each as often as he voted
    by_class   rates for each class by name, those of rare classes near the mean; the states below
               follow from these
    present    (Q,) how probable it is that the class is present
    unsure     (Q,) how probable it is that nobody is sure
    confusion  (2, 3) votes by truth (absent, present) and answer (no, maybe, yes), in expectation
    votes, miss, false_alarm   (R,) of each worker: how many votes, and the shares of his votes that
               are wrong, weighed by what is probably true; nan without votes on such questions
    maybe      what a maybe counts as
    doubt      whether there are questions of which nobody is sure
    compared   log-likelihoods without such questions and with them, on which that was decided (as
               `choose` says); None: only one of the two was fitted
    steps, converged, log_likelihood   of the expectation maximisation, rates by class included
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
        """Miss and false alarm of a vote, over all people and all questions, unsure ones too."""
        return error_rates(self.confusion, self.maybe)

    def to_json(self) -> dict[str, Any]:
        """Habits by class, which `Habits.load` reads back, and how they were fitted."""
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
    """Estimate habits and truth from votes alone; experts' answers are not used.

    The rates are of questions like those that were asked. Where a machine proposed the classes, the
    absent ones among them are tempting, and false alarms on all other classes are rarer.

    Parameters
    ----------
    votes : Votes
    maybe : "yes", "no" or "drop"
        What a maybe counts as. On the votes behind the reassessed labels of ImageNet, yes comes
        nearest to the experts in rates and in how much is present.
    unsure : bool, optional
        Whether there are questions of which nobody is sure; by default where the votes bear it out
        (`choose`) and a question has five votes or more, since fewer cannot tell them from bad
        workers.
    shrink : float
        So many votes of an ordinary worker are added to each worker's own, and so many ordinary
        questions to each class.

    Returns
    -------
    Fitted

    Raises
    ------
    BadInput
        For votes that cannot say who errs: fewer than three on a typical question, or fewer than
        50 on classes that seem present or on those that seem absent (with a few hundred of a kind
        its rate is rough still), or votes that could all be on one kind.
    """
    if not 0 < shrink < float("inf"):
        raise BadInput(f"shrink is {shrink!r}; a number of votes above 0 is expected")
    decided = votes.decided(maybe)
    if decided.per_question < 3:
        raise BadInput(
            f"a typical question has {decided.per_question} votes; with fewer than 3 nobody can "
            "say who errs, so collect more or write the habits by hand"
        )
    if unsure is None and decided.per_question < ENOUGH:
        unsure = False
    ballots = Ballots(
        decided.vote_question,
        decided.vote_worker,
        decided.vote_answer == YES,
        decided.question_class,
        workers=len(decided.workers),
        classes=len(decided.classes),
        shrink=shrink,
    )
    overall, by_class, compared = choose(ballots, unsure)
    states = by_class.states
    present = states[1] + states[3]
    habits = _habits(decided, overall)
    on_absent, on_present = ballots.by_worker(np.stack([1 - present, present]))
    return Fitted(
        habits=habits,
        by_class=_by_class(habits, decided, by_class, shrink),
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


def _habits(votes: Votes, estimated: Estimate) -> Habits:
    model, workers = estimated.model, votes.per_question
    absent, present, open_absent, open_present = estimated.states.sum(1)
    work = np.maximum(np.bincount(votes.vote_worker, minlength=len(votes.workers)), 1)
    return Habits(
        miss=round(model.miss, 6),
        false_alarm=round(model.false_alarm, 6),
        workers=workers,
        unsure_present=_share(open_present, present + open_present),
        unsure_absent=_share(open_absent, absent + open_absent),
        unsure_yes=round(model.unsure_yes, 6),
        miss_by_person=_rounded(model.miss_by_person, 4),
        false_alarm_by_person=_rounded(model.false_alarm_by_person, 4),
        work_by_person=_capped(work, workers),
        roster="image" if votes.same_roster > 0.5 else "question",
    )


def _by_class(habits: Habits, votes: Votes, estimated: Estimate, shrink: float) -> Habits:
    """The rates of each class; of its doubt, `shrink` ordinary questions are added to its own."""
    L, of_class = len(votes.classes), votes.question_class
    absent, present, open_absent, open_present = (
        np.bincount(of_class, state, L) for state in estimated.states
    )
    shares = []
    for share, doubtful, sure in (
        (habits.unsure_present, open_present, present),
        (habits.unsure_absent, open_absent, absent),
    ):
        shares.append((doubtful + shrink * np.asarray(share)) / (doubtful + sure + shrink))
    return replace(
        habits,
        classes=votes.classes,
        false_alarm=_rounded(estimated.model.false_alarm, 6),
        miss=_rounded(estimated.model.miss, 6),
        unsure_present=_rounded(shares[0], 6),
        unsure_absent=_rounded(shares[1], 6),
    )


def _capped(work: Ints, seats: int) -> tuple[int, ...]:
    """The work, what is above 1 / seats of all cut down: nobody sits on two seats."""

    def too_much(most: int) -> bool:
        return bool(seats * most > np.minimum(work, most).sum())

    most = 1 + bisect_left(range(2, int(work.max()) + 1), True, key=too_much)
    return tuple(np.minimum(work, most).tolist())


def _share(part: float, whole: float) -> float:
    return round(float(part / whole), 6) if whole > 0 else 0.0


def _rounded(values: Floats, digits: int) -> tuple[float, ...]:
    return tuple(round(value, digits) for value in values.tolist())


def choose(
    ballots: Ballots, unsure: bool | None
) -> tuple[Estimate, Estimate, tuple[float, float] | None]:
    """Fit without questions of which nobody is sure (doubt) and, unless `unsure` is False, with
    them; None keeps the better fit.

    Returns the rates of people and workers, all classes alike; the same with each class's own
    rates; and the log-likelihoods without doubt and with it, classes having rates of their own and
    the share of such questions being the same for all (None: only one was fitted).

    Doubt has two numbers more (how much, and how often people say yes), so it must gain more than
    the logarithm of the number of questions (BIC: Schwarz, Annals of Statistics 1978). Classes have
    their own rates in both, since a hard class otherwise passes for doubt.

    Raises BadInput for votes that look like those on present or on absent classes alone.
    """
    sure = estimate(ballots, unsure=False)
    plain = estimate_by_class(ballots, sure)
    _check_both(ballots, plain)
    alone = estimate(ballots, unsure=False, start=one_kind(ballots))
    _check_differ(ballots, plain, estimate_by_class(ballots, alone))
    if unsure is False:
        return sure, plain, None
    doubtful = _doubtful(ballots, sure)
    alike = estimate_by_class(ballots, doubtful, own_doubt=False)
    compared = (plain.log_likelihood, alike.log_likelihood)
    if unsure is None and compared[1] - compared[0] <= np.log(ballots.questions):
        return sure, plain, compared
    by_class = estimate_by_class(ballots, doubtful)
    _check_both(ballots, by_class)
    return doubtful, by_class, compared


def _doubtful(ballots: Ballots, sure: Estimate) -> Estimate:
    """The fit with doubt; one that ends below the fit without starts again from that one."""
    usual = estimate(ballots, unsure=True)
    if usual.log_likelihood >= sure.log_likelihood:
        return usual
    again = estimate(ballots, unsure=True, start=with_doubt(sure.model))
    return max(usual, again, key=lambda each: each.log_likelihood)


def _check_both(ballots: Ballots, estimated: Estimate) -> None:
    """Raise BadInput without enough votes on present, or on absent classes.

    Counted are those on questions that are more probably so than not: the far ends of what many
    votes on the other kind look like are no sign of a second kind.
    """
    numbers = np.bincount(ballots.question, minlength=ballots.questions)
    for state, word, errs in ((1, "present", "miss"), (0, "absent", "imagine")):
        likely = estimated.states[state] > estimated.states[1 - state]
        votes = float((numbers * estimated.states[state])[likely].sum())
        if votes < LEAST_VOTES:
            raise BadInput(
                f"about {votes:.0f} of {len(ballots.question):,} votes are on classes that seem "
                f"{word}; with fewer than {LEAST_VOTES} nobody can say how often people {errs} "
                "them, so add such questions or write the habits by hand"
            )


def _check_differ(ballots: Ballots, estimated: Estimate, single: Estimate) -> None:
    """Raise BadInput where one kind of questions explains the votes about as well as two do.

    Two kinds have two numbers more, priced as above, and each worker a second rate, which has some
    freedom where his votes of the rarer kind outweigh `shrink` (priced one: Akaike, 1974).
    """
    rarer = ballots.by_worker(estimated.states[:2])[:, 0].min(0)
    price = np.log(ballots.questions) + (rarer / (rarer + ballots.shrink)).sum()
    if estimated.log_likelihood - single.log_likelihood <= price:
        raise BadInput(
            f"the {len(ballots.question):,} votes look as if all classes were present or all were "
            "absent; give votes on more questions of either kind, or write the habits by hand"
        )


@dataclass(frozen=True, eq=False)
class Model:
    """The rates of an ordinary person, the shares of the four states, and how workers differ.

    miss and false_alarm are of all classes, or (L,) of each, with shares (4,) or (4, L) of
    questions by STATES; miss_by_person and false_alarm_by_person (R,) are multiples of the
    ordinary odds.
    """

    miss: Any
    false_alarm: Any
    unsure_yes: float
    shares: Floats
    miss_by_person: Floats
    false_alarm_by_person: Floats

    def yes(self) -> Floats:
        """(4, R) how often each worker says yes in each state."""
        rates = np.stack(
            [
                tilted(self.false_alarm, self.false_alarm_by_person),
                1 - tilted(self.miss, self.miss_by_person),
                tilted(self.unsure_yes, self.false_alarm_by_person),
                1 - tilted(1 - self.unsure_yes, self.miss_by_person),
            ]
        )
        return np.clip(rates, LEAST, 1 - LEAST)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A model, and what it makes of each question.

    states (4, Q) probabilities by STATES; log_likelihood of the votes; `converged`: a further step
    would gain less than a ten-millionth per vote.
    """

    model: Model
    states: Floats
    log_likelihood: float
    steps: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Ballots:
    """V votes as numbers: question and worker of each, and whether it is a yes.

    of_class  (Q,) the class of each question.
    shrink    so many votes of an ordinary worker are added to each worker's own, and so many
              ordinary questions or votes to each class.
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
        """Q, how many questions there are."""
        return len(self.of_class)

    @cached_property
    def _cast(self) -> csr_array:
        """(Q, 2 R) the votes: a column for each worker's no and, R further, for his yes."""
        columns = self.worker + self.workers * self.yes
        ones = np.ones(len(columns))
        shape = (self.questions, 2 * self.workers)
        return csr_array((ones, (self.question, columns)), shape=shape)

    @cached_property
    def _by_vote(self) -> csr_array:
        return csr_array(self._cast.T)

    def by_worker(self, weights: Floats) -> Floats:
        """(k, 2, R) votes and yes votes of each worker, a vote counted by its question's weight.

        weights (k, Q).
        """
        no, yes = (self._by_vote @ weights.T).T.reshape(-1, 2, self.workers).swapaxes(0, 1)
        return np.stack([no + yes, yes], axis=1)

    def by_question(self, table: Floats) -> Floats:
        """(k, Q) sums over the votes of `table` (k, 2, R): a row for no, one for yes."""
        sums: Floats = (self._cast @ table.reshape(len(table), -1).T).T
        return sums


def estimate(ballots: Ballots, *, unsure: bool, start: Model | None = None) -> Estimate:
    """Rates and states that make the votes likely.

    start: where to begin; states of which it has no share keep none.

    Votes alone cannot tell what is true where nobody is sure: as many of those classes are taken
    to be present as people say yes to.
    """

    def expect(model: Model) -> tuple[Floats, float]:
        yes, some = model.yes(), model.shares > 0
        said = np.stack([np.log1p(-yes), np.log(yes)], axis=1)
        logs = np.full((4, ballots.questions), -np.inf)
        logs[some] = np.log(model.shares[some])[:, None] + ballots.by_question(said[some])
        return _posterior(logs)

    first = start or _first(ballots, unsure)
    return _climb(first, expect, partial(_maximise, ballots), ballots, _MOST_STEPS)


def _climb(
    model: Model,
    expect: Callable[[Model], tuple[Floats, float]],
    maximise: Callable[[Model, Floats], Model],
    ballots: Ballots,
    most: int,
) -> Estimate:
    """Expectation and maximisation in turns, at most `most` of them."""
    before, step, converged = -np.inf, 0, False
    while step < most and not converged:
        step += 1
        states, likelihood = expect(model)
        converged = likelihood - before < 1e-7 * len(ballots.question)
        if not converged:
            before, model = likelihood, maximise(model, states)
    return Estimate(model, states, likelihood, step, converged)


def one_kind(ballots: Ballots) -> Model:
    """A start in which all classes are absent, and every yes is an error."""
    return replace(
        _first(ballots, False),
        false_alarm=min(max(float(ballots.yes.mean()), LEAST), 1 - LEAST),
        shares=np.array([1.0, 0.0, 0.0, 0.0]),
    )


def with_doubt(model: Model) -> Model:
    """A start as likely as this fit without doubt: of a hundredth of the present classes nobody is
    sure, and people say yes to those as often as to the others."""
    absent, present = model.shares[:2] / model.shares[:2].sum()
    yes, some = 1 - model.miss, 0.01 * present
    shares = np.array([absent, present - some, some * (1 - yes), some * yes])
    return replace(model, unsure_yes=yes, shares=shares)


def _first(ballots: Ballots, unsure: bool) -> Model:
    yes = min(max(float(ballots.yes.mean()), 0.01), 0.99)
    some = 0.2 if unsure else 0.0
    sure = np.array([1 - yes, yes])
    ones = np.ones(ballots.workers)
    shares = np.concatenate([(1 - some) * sure, some * np.array([0.5, 0.5])])
    return Model(0.2, min(0.05, yes / 2), 0.5, shares, ones, ones)


def _posterior(logs: Floats) -> tuple[Floats, float]:
    """(4, Q) probabilities of the states from their log-weights, and the log-likelihood."""
    top = logs.max(0)
    weights = np.exp(logs - top)
    total = weights.sum(0)
    return weights / total, float((np.log(total) + top).sum())


def _maximise(ballots: Ballots, model: Model, states: Floats) -> Model:
    """The model that fits best what was expected; rates and workers take turns."""
    shares = (states.sum(1) + 0.25) / (ballots.questions + 1)
    none = model.shares == 0
    doubtful = shares[2:].sum()
    shares[2:] = doubtful * np.array([1 - model.unsure_yes, model.unsure_yes])
    shares = np.where(none, 0, shares)
    counted = ballots.by_worker(states)
    (sure_a, yes_a), (sure_p, yes_p), (open_a, also_a), (open_p, also_p) = counted
    no_p, none_p = sure_p - yes_p, open_p - also_p
    person_a, person_p = model.false_alarm_by_person, model.miss_by_person
    false_alarm = _rate(model.false_alarm, [(person_a, sure_a, yes_a)])
    miss = _rate(model.miss, [(person_p, sure_p, no_p)])
    # Of present classes a yes is what is not missed: its odds are divided, not multiplied.
    either = [(person_a, open_a, also_a), (1 / np.maximum(person_p, LEAST), open_p, also_p)]
    unsure_yes = _rate(model.unsure_yes, either) if doubtful and not none[2] else 0.5
    on_absent = [(false_alarm, sure_a, yes_a), (unsure_yes, open_a, also_a)]
    on_present = [(miss, sure_p, no_p), (1 - unsure_yes, open_p, none_p)]
    return replace(
        model,
        miss=miss,
        false_alarm=false_alarm,
        unsure_yes=unsure_yes,
        shares=shares / shares.sum(),
        miss_by_person=_times(person_p, on_present, ballots.shrink),
        false_alarm_by_person=_times(person_a, on_absent, ballots.shrink),
    )


_Parts = list[tuple[Floats, Floats, Floats]]


def _rate(rate: float, parts: _Parts) -> float:
    """The ordinary rate under which as many events are expected as there were.

    parts: multiples of odds, occasions and events, each (R,). Half an event and half a non-event
    are added, so that a rate never seen is small and not 0.
    """
    occasions = sum(float(of.sum()) for _, of, _ in parts) + 1
    events = sum(float(happened.sum()) for _, _, happened in parts) + 0.5
    for _ in range(8):
        expected = sum(float((of * tilted(rate, times)).sum()) for times, of, _ in parts) + rate
        rate = float(tilted(rate, _odds(events, occasions) / _odds(expected, occasions)))
        rate = min(max(rate, LEAST), 1 - LEAST)
    return rate


def _times(times: Floats, parts: list[tuple[float, Floats, Floats]], shrink: float) -> Floats:
    """(R,) multiples of odds under which each worker has the events he had.

    parts: ordinary rate, occasions and events. `shrink` further occasions come at the mix of rates
    that the worker met, with as many events as an ordinary person would have.
    """
    met = sum(of for _, of, _ in parts) + LEAST
    mixed = sum(rate * of for rate, of, _ in parts) / met
    mixed = np.where(met > 1e-6, mixed, parts[0][0])
    occasions = met + shrink
    events = sum(happened for _, _, happened in parts) + shrink * mixed
    for _ in range(8):
        expected = sum(of * tilted(rate, times) for rate, of, _ in parts)
        expected = expected + shrink * tilted(mixed, times)
        times = times * _odds(events, occasions) / _odds(expected, occasions)
    return np.clip(times, 1e-6, 1e6)


def _odds(events: Any, of: Any = 1) -> Any:
    return events / np.maximum(of - events, LEAST)


def estimate_by_class(ballots: Ballots, estimated: Estimate, *, own_doubt: bool = True) -> Estimate:
    """Rates of each class.

    Taken once from states that the same rates for all classes led to, rates by class stay too near
    the mean, however many votes there are: what is missed in a hard class passes for absent. So the
    states are found again under the rates of their class, until nothing changes.

    Workers, and how often people say yes where nobody is
    sure, stay as estimated. own_doubt: whether the share of questions of which nobody is sure is
    each class's own, too.
    """
    usual, of_class = estimated.model, ballots.of_class
    L, shrink, asked = ballots.classes, ballots.shrink, of_class[ballots.question]
    unsure_yes = usual.yes()[2:]
    unsure = ballots.by_question(np.stack([np.log1p(-unsure_yes), np.log(unsure_yes)], axis=1))
    # Of votes on absent classes, and on present ones: how the worker errs, and whether he did.
    times = usual.false_alarm_by_person[ballots.worker], usual.miss_by_person[ballots.worker]
    wrong = ballots.yes, ~ballots.yes

    def expect(model: Model) -> tuple[Floats, float]:
        sure = []
        for state, rate in enumerate((model.false_alarm, model.miss)):
            odds = _odds(rate)[asked] * times[state]
            logs = np.where(wrong[state], np.log(odds), 0.0) - np.log1p(odds)
            sure.append(np.bincount(ballots.question, logs, ballots.questions))
        prior = np.log(model.shares, out=np.full((4, L), -np.inf), where=model.shares > 0)
        return _posterior(prior[:, of_class] + np.concatenate([np.stack(sure), unsure]))

    def maximise(model: Model, states: Floats) -> Model:
        """The rates moved to where each class has about as many errors as it had."""
        moved = []
        pairs = ((model.false_alarm, usual.false_alarm), (model.miss, usual.miss))
        for state, (rate, ordinary) in enumerate(pairs):
            weight = states[state][ballots.question]
            odds = _odds(rate)[asked] * times[state]
            occasions, events, expected = (
                np.bincount(asked, each, L)
                for each in (weight, weight * wrong[state], weight * odds / (1 + odds))
            )
            met = occasions + shrink
            happened, foreseen = events + shrink * ordinary, expected + shrink * rate
            odds = _odds(rate) * (_odds(happened / met) / _odds(foreseen / met))
            moved.append(np.clip(odds / (1 + odds), LEAST, 1 - LEAST))
        counts = np.array([np.bincount(of_class, state, L) for state in states], np.float64)
        doubt = None if own_doubt else (counts[2] + counts[3]).sum() / ballots.questions
        shares = _shares_by_class(usual, counts, shrink, doubt)
        return replace(model, shares=shares, false_alarm=moved[0], miss=moved[1])

    start = replace(
        usual,
        miss=np.full(L, usual.miss),
        false_alarm=np.full(L, usual.false_alarm),
        shares=np.repeat(usual.shares[:, None], L, axis=1),
    )
    return _climb(start, expect, maximise, ballots, _MOST_ROUNDS)


def _shares_by_class(usual: Model, counts: Floats, shrink: float, doubt: float | None) -> Floats:
    """(4, L) from how many questions are in each state; doubt: common to all classes."""
    absent, present, *unsure = counts
    sure, doubtful = absent + present, unsure[0] + unsure[1]
    shown = (present + shrink * usual.shares[1] / usual.shares[:2].sum()) / (sure + shrink)
    unsure_share = (doubtful + shrink * usual.shares[2:].sum()) / (sure + doubtful + shrink)
    open_ = unsure_share if doubt is None else np.full(len(unsure_share), doubt)
    # Where nobody is sure, as many are present as people say yes to.
    clear, yes = 1 - open_, usual.unsure_yes
    return np.stack([clear * (1 - shown), clear * shown, open_ * (1 - yes), open_ * yes])
