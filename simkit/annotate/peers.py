"""Which person errs: the answers of each compared with those of the others to the same questions.

Nothing is assumed about the truth. Where people disagree, equally good people are in the minority
equally often, however hard the questions are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from simkit.annotate.annotators import Ints
from simkit.annotate.votes import NO, YES, Votes

FALSELY = 0.02  # bound on the probability that any of several equally good people is named
# Three rules name people: `peers`, `worse_of_pairs` and `worse_than_others`.
OF_RULE = FALSELY / 3
DIFFERENT = 0.05  # bound on the probability that equally good people differ in any class
TIMES = 3.0  # least odds of being in the minority, as a multiple of those of equally good people
_Z = 1.96


@dataclass(frozen=True)
class Contradiction:
    """A worker who contradicts most people clearly more often than equally good people would.

    Attributes
    ----------
    worker : int
    said : int
        What the worker says where most others do not: 0 no, 1 yes.
    about : int or None
        The class that the questions are about; None for all classes.
    against, disputed : int
        As of `Peers`.
    expected : float
        As of `Peers`.
    """

    worker: int
    said: int
    about: int | None
    against: int
    disputed: int
    expected: float


@dataclass(frozen=True, eq=False)
class Peers:
    """The agreement of R workers with the others, by what the others said: (R, 2), no and yes.

    Attributes
    ----------
    share : (R, 2) float
        Share of the others' no to which the worker said no, and of their yes to which the worker
        said yes; nan without any.
    low, high : (R, 2) float
        95 % intervals of the shares (Wilson, 1927), with questions taken as independent.
    questions : (R, 2) int
        Numbers of questions in these shares.
    disputed, against : (R, 2) int
        Disputed: questions that the worker and two others or more answered, on which they
        disagreed, and most said no, or yes; against: those on which the worker contradicted most.
    expected : (R, 2) float
        Expected number of the latter if all were equally good.
    named : list of Contradiction
        Who contradicts most people clearly more often than that, about all classes first.
    """

    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    questions: Ints
    disputed: Ints
    against: Ints
    expected: NDArray[np.float64]
    named: list[Contradiction]


def peers(votes: Votes, early: NDArray[np.bool_]) -> Peers:
    """Compare each worker with the others.

    Parameters
    ----------
    votes : Votes
        Yes and no only.
    early : (V,) bool
        The votes that were not asked for because of earlier ones. Only these are compared:
        questions that are asked again because of somebody's answers hold more of their errors.

    Returns
    -------
    Peers
    """
    about, who, R = votes.vote_question[early], votes.vote_worker[early], len(votes.workers)

    def by_worker(values: NDArray[np.generic]) -> NDArray[np.float64]:
        return np.stack([np.bincount(who, column, R) for column in values.T], axis=1)

    says = (votes.vote_answer[early] == YES)[:, None] == [False, True]
    counts = np.stack([np.bincount(about, one, len(votes.gold)) for one in says.T], axis=1)
    others = counts[about] - says
    questions, total = by_worker(others > 0), by_worker(others)
    share = by_worker(others * says) / np.where(total > 0, total, np.nan)
    n = np.where(questions > 0, questions, np.nan)
    half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    low, high = ((share + _Z**2 / (2 * n) + sign * half) / (1 + _Z**2 / n) for sign in (-1, 1))
    # Given the answers to a question, each of n equally good people is one of the k in the minority
    # with probability k / n. By Hoeffding (1956) the upper tail of a sum of different probabilities
    # is at most that of a binomial with their mean.
    number, fewer = counts.sum(1), counts.min(1)
    most = ((counts > fewer[:, None]) & (fewer > 0)[:, None])[about]
    cases = most, most & ~says, most * (fewer / np.maximum(number, 1))[about, None]
    disputed, against, expected = map(by_worker, cases)
    # The same about each class alone: (R, L, 2).
    L, place = len(votes.classes), who * len(votes.classes) + votes.question_class[about]
    of_class = (
        np.stack([np.bincount(place, column, R * L) for column in values.T], 1).reshape(R, L, 2)
        for values in cases
    )
    all_and_each = (
        np.concatenate([whole[:, None], one], axis=1)
        for whole, one in zip((disputed, against, expected), of_class, strict=True)
    )
    return Peers(
        share, low, high, questions.astype(np.int64), disputed.astype(np.int64),
        against.astype(np.int64), expected, _contradictions(*all_and_each),
    )  # fmt: skip


def _contradictions(
    disputed: NDArray[np.float64], against: NDArray[np.float64], expected: NDArray[np.float64]
) -> list[Contradiction]:
    """Who is named, by (R, 1 + L, 2) numbers about all classes and about each."""
    mean, cases = expected / np.maximum(disputed, 1), np.maximum(disputed, 1).astype(np.int64)
    tail = np.where(against > 0, bdtrc(against - 1, cases, mean), 1)
    odds = against * (disputed - expected) >= TIMES * expected * (disputed - against)
    named = odds & (tail <= _level(np.where(disputed > 0, mean**cases, 1)))
    return [
        Contradiction(
            worker, 1 - most, column - 1 if column else None, int(against[worker, column, most]),
            int(disputed[worker, column, most]), float(expected[worker, column, most]),
        )
        for column, worker, most in np.argwhere(named.transpose(1, 0, 2)).tolist()
    ]  # fmt: skip


def _level(least: NDArray[np.float64]) -> float:
    """The level of each of several tests, with `OF_RULE` for all of them together.

    least: the smallest p-value that each can have. Tests that cannot become significant do not
    count (Tarone, 1990).
    """
    tests = np.arange(1, least.size + 1)
    able = np.searchsorted(np.sort(least, axis=None), OF_RULE / tests, "right")
    return float(OF_RULE / tests[np.argmax(able <= tests)])


@dataclass(frozen=True)
class WorseWorker:
    """A worker who errs more often than another one, by the votes of third people.

    Attributes
    ----------
    worker, other : int
        The worker who errs more often, and the one who errs less often.
    about : int or None
        The class that the questions are about; None for all classes.
    against : int
        Number of the questions of `differ` to which the majority of the others votes like `other`.
    differ : int
        Number of questions on which the two differ, and the others have a majority.
    """

    worker: int
    other: int
    about: int | None
    against: int
    differ: int


def worse_of_pairs(votes: Votes, early: NDArray[np.bool_]) -> list[WorseWorker]:
    """The worse one of two workers, by the votes of others on questions on which the two differ.

    About all classes, and about each. Further votes contradict equally good people equally often,
    even if they were asked for because the two differ. Such a vote says nothing about the worker
    who gives it.

    Parameters
    ----------
    votes : Votes
        Yes and no only.
    early : (V,) bool
        The votes that were not asked for because of earlier ones.

    Returns
    -------
    list of WorseWorker
    """
    counts, R = votes.counts[:, [NO, YES]], len(votes.workers)
    said = np.full((R, len(counts)), -1, np.int8)
    said[votes.vote_worker[early], votes.vote_question[early]] = votes.vote_answer[early] == YES
    lead = counts[:, 1] - counts[:, 0]  # without the two, who cancel each other
    cases = list[WorseWorker]()
    for a, b in combinations(range(R), 2):
        differ = np.flatnonzero(
            (said[a] >= 0) & (said[b] >= 0) & (said[a] != said[b]) & (lead != 0)
        )
        about, wrong = votes.question_class[differ], said[a, differ] != (lead[differ] > 0)
        for c in (None, *np.unique(about).tolist()):
            some = wrong if c is None else wrong[about == c]
            k, n = int(some.sum()), len(some)
            cases += [WorseWorker(a, b, c, k, n), WorseWorker(b, a, c, n - k, n)][: 2 * n]
    tail = np.array([bdtrc(one.against - 1, one.differ, 0.5) if one.against else 1
                     for one in cases])  # fmt: skip
    level = _level(0.5 ** np.array([one.differ for one in cases])) if cases else 0
    found = [one for one, p in zip(cases, tail, strict=True) if p <= level]
    return sorted(found, key=lambda one: one.about is not None)


def worse_than_others(wrong: Ints, asked: Ints) -> NDArray[np.bool_]:
    """(R,) the workers who are wrong on questions with a known answer significantly more often than
    the others, by (R,) numbers of wrong answers and of all answers."""
    from scipy.stats import hypergeom  # its import takes a second

    total, errors = asked.sum(), wrong.sum()
    tail = hypergeom.sf(wrong - 1, total, errors, asked)
    return np.asarray((tail <= OF_RULE / max(len(asked), 1)) & (wrong > 0))


def class_differences(yes: Ints, asked: Ints) -> list[tuple[int, int, int]]:
    """The classes about which people say yes at significantly different rates, clearest first.

    Parameters
    ----------
    yes, asked : (R, T, L) int
        Numbers of yes, and of all answers, of R workers in T rounds about L classes. The images of
        a round are divided at random.

    Returns
    -------
    list of (int, int, int)
        A class, and the pair of workers with the most significant difference: the one who says yes
        more often, and the other one. The tests are exact, of both sides, at a level of 5 % for all
        of them together. Every class has the same part of it, and within a class every pair a part
        in proportion to the variance of its difference: a person with few answers, whose pairs show
        little, hardly raises the bound for the others.
    """
    R, _, L = yes.shape
    found = list[tuple[float, tuple[int, int, int]]]()
    for c in range(L):
        pairs = [*combinations(range(R), 2)]
        both = [np.where((asked[[a, b], :, c] > 0).all(0), asked[[a, b], :, c], 0)
                for a, b in pairs]  # fmt: skip
        weights = [float((m * n / np.maximum(m + n, 1)).sum()) for m, n in both]
        cases = list[tuple[float, tuple[int, int, int]]]()
        for (a, b), each, weight in zip(pairs, both, weights, strict=True):
            said = np.where(each > 0, yes[[a, b], :, c], 0)
            for first, second, order in ((a, b, [0, 1]), (b, a, [1, 0])):
                if weight:
                    tail = _more_yes(said[order], each[order])
                    cases.append((2 * tail * L * sum(weights) / weight, (c, first, second)))
        found += [one for one in [min(cases, default=(1.0, (c, 0, 0)))] if one[0] <= DIFFERENT]
    return [where for _, where in sorted(found)]


def _more_yes(yes: Ints, asked: Ints) -> float:
    """The probability that the first of two workers says yes as often as this or more often, over
    all rounds, if in each round every yes is equally likely in each of the answers."""
    from scipy.stats import hypergeom

    sums = np.ones(1)  # the distribution of the first one's number of yes
    for (k, other), (m, n) in zip(yes.T.tolist(), asked.T.tolist(), strict=True):
        sums = np.convolve(sums, hypergeom.pmf(np.arange(m + 1), m + n, k + other, m))
    return float(sums[int(yes[0].sum()) :].sum())
