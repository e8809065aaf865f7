"""Which person errs: the answers of each compared with those of the others to the same questions.

Nothing is assumed about the truth. Where people disagree, equally good people are in the minority
equally often, however hard the questions are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc
from scipy.stats import hypergeom, norm

from simkit.annotate.annotators import Ints
from simkit.annotate.votes import NO, YES, Votes, ratio

FALSELY = 0.02  # bound on the probability that any of several equally good people is named
TIMES = 3.0  # least odds of being in the minority, as a multiple of those of equally good people
CHOSEN = 0.5  # a difference of shares of yes, above which questions were chosen by these answers
_Z = 1.96


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
    named : (R, 2) bool
        Whether the worker contradicts most people clearly more often than that.
    """

    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    questions: Ints
    disputed: Ints
    against: Ints
    expected: NDArray[np.float64]
    named: NDArray[np.bool_]


def peers(votes: Votes) -> Peers:
    """Compare each worker with the others; a maybe counts as no vote."""
    votes = votes.decided("drop")
    about, who, R = votes.vote_question, votes.vote_worker, len(votes.workers)

    def by_worker(values: NDArray[np.generic]) -> NDArray[np.float64]:
        return np.stack([np.bincount(who, column, R) for column in values.T], axis=1)

    counts = votes.counts[:, [NO, YES]]
    says = (votes.vote_answer == YES)[:, None] == [False, True]
    others = counts[about] - says
    questions, total = by_worker(others > 0), by_worker(others)
    share = by_worker(others * says) / np.where(total > 0, total, np.nan)
    n = np.where(questions > 0, questions, np.nan)
    half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    low, high = ((share + _Z**2 / (2 * n) + sign * half) / (1 + _Z**2 / n) for sign in (-1, 1))
    # Questions that are asked again because of somebody's answers hold more errors of this person.
    yes, several = says[:, 1], counts.sum(1)[about] >= 3
    again, once = (
        ratio(np.bincount(who, yes & some, R), np.bincount(who, some, R))
        for some in (several, ~several)
    )
    free = ~(np.abs(again - once) > CHOSEN)[who]
    # Given the answers to a question, each of n equally good people is one of the k in the minority
    # with probability k / n. By Hoeffding (1956) the upper tail of a sum of different probabilities
    # is at most that of a binomial with their mean.
    counts = np.stack([np.bincount(about, says[:, s] & free, len(counts)) for s in (0, 1)], axis=1)
    number, fewer = counts.sum(1), counts.min(1)
    most = ((counts > fewer[:, None]) & (fewer > 0)[:, None])[about] & free[:, None]
    disputed, against = by_worker(most), by_worker(most & ~says)
    expected = by_worker(most * (fewer / np.maximum(number, 1))[about, None])
    mean = expected / np.maximum(disputed, 1)
    cases = np.maximum(disputed, 1).astype(np.int64)
    tail = np.where(against > 0, bdtrc(against - 1, cases, mean), 1)
    odds = against * (disputed - expected) >= TIMES * expected * (disputed - against)
    named = (tail <= FALSELY / (2 * R)) & odds
    return Peers(
        share, low, high, questions.astype(np.int64), disputed.astype(np.int64),
        against.astype(np.int64), expected, named,
    )  # fmt: skip


@dataclass(frozen=True)
class WorseWorker:
    """A worker who errs more often than another one, by the votes of third people.

    Attributes
    ----------
    worker, other : int
        The worker who errs more often, and the one who errs less often.
    against : int
        Number of the questions of `differ` to which the majority of the others votes like `other`.
    differ : int
        Number of questions on which the two differ, and the others have a majority.
    """

    worker: int
    other: int
    against: int
    differ: int


def worse_of_pairs(votes: Votes, early: NDArray[np.bool_]) -> list[WorseWorker]:
    """The worse one of two workers, by the votes of others on questions on which the two differ.

    Further votes contradict equally good people equally often, even if they were asked for because
    the two differ. Such a vote says nothing about the worker who gives it.

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
    pairs, found = R * (R - 1) // 2, list[WorseWorker]()
    for a in range(R):
        for b in range(a + 1, R):
            differ = (said[a] >= 0) & (said[b] >= 0) & (said[a] != said[b]) & (lead != 0)
            wrong, number = int((said[a] != (lead > 0))[differ].sum()), int(differ.sum())
            for worker, other, k in ((a, b, wrong), (b, a, number - wrong)):
                if k and bdtrc(k - 1, number, 0.5) <= FALSELY / (2 * pairs):
                    found.append(WorseWorker(worker, other, k, number))
    return found


def worse_than_others(wrong: Ints, asked: Ints) -> NDArray[np.bool_]:
    """(R,) the workers who are wrong on questions with a known answer significantly more often than
    the others, by (R,) numbers of wrong answers and of all answers."""
    total, errors = asked.sum(), wrong.sum()
    tail = hypergeom.sf(wrong - 1, total, errors, asked)
    return np.asarray((tail <= FALSELY / max(len(asked), 1)) & (wrong > 0))


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
        more often, and the other one. The tests are Cochran's (1954), at a level of 2 % for all of
        them together.
    """
    R, _, L = yes.shape
    found, tests = list[tuple[float, tuple[int, int, int]]](), max(1, L * R * (R - 1) // 2)
    least = norm.isf(FALSELY / (2 * tests))
    for c in range(L):
        pairs = [(_cochran(yes[[a, b], :, c], asked[[a, b], :, c]), a, b)
                 for a in range(R) for b in range(R) if a != b]  # fmt: skip
        z, a, b = max(pairs, default=(0.0, 0, 0))
        if z > least:
            found.append((z, (c, a, b)))
    return [where for _, where in sorted(found, reverse=True)]


def _cochran(yes: Ints, asked: Ints) -> float:
    """How much more often the first of two workers says yes over all rounds, in standard errors."""
    n, m = asked.sum(0), yes.sum(0)
    both = (asked > 0).all(0)
    n, m, first, second = n[both], m[both], asked[0, both], asked[1, both]
    excess = (yes[0, both] - first * m / n).sum()
    variance = (first * second * m * (n - m) / (n**2 * np.maximum(n - 1, 1))).sum()
    return float(max(excess - 0.5, 0) / np.sqrt(variance)) if variance > 0 else 0.0
