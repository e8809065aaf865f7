"""Buying in rounds: how much in each, what to measure after it, when to stop and when to turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.planning.choosing.candidates import Candidate, Curves
from simkit.planning.choosing.rivals import RunnerUp
from simkit.planning.evidence.evidence import Amount, Evidence
from simkit.planning.evidence.tested import Tested
from simkit.planning.money.bill import Project
from simkit.planning.money.project import ROUNDS

COUNT = 3  # Mahmood et al., CVPR 2022, find five rounds safer where much is at stake
SURE = 0.95  # share of samples from which on a rival is behind
GROWTH = 2.0  # times, of all rounds together, from one to the next, where the budget is no larger
LITTLE = 1.5  # times what is there: a round that adds less shows nothing new


@dataclass(frozen=True)
class Round:
    """One purchase of several, all of the same way.

    number   from 1;  dollars  of labels in this round;  so_far  with those before;  amount  what
             all of them together give;  new  images that are new in this round.
    median, band90  of mAP after it, 0 to 1, predicted before the first; the band as the pilot's own
             test images show it, where `measured` is expected.
    stop     the measured mAP, 0 to 1, from which on no more is needed: the target, and what a
             test set of the project's precision, else the pilot's own, may be off; None: there is
             no target, or it lies above what this round may show. What these labels are good for
             has been measured then, luck of theirs and all, so that the width of the band has no
             part in it.
    turn     the measured mAP below which the curve was wrong: the low end of the band. It may lie
             above `stop`: then the target is reached, and more is not to be bought by this curve.
    measure  what to do after it, in a sentence or two.
    """

    number: int
    dollars: float
    so_far: float
    amount: Amount
    new: int
    median: float
    band90: tuple[float, float]
    measured: float
    stop: float | None
    turn: float
    measure: str


def rounds(
    project: Project,
    chosen: Candidate,
    count: int = COUNT,
    *,
    curves: Curves,
    evidence: Evidence,
    rivals: Sequence[RunnerUp] | None = None,
    enough: float | None = None,
    tested: Tested = Tested(),
    on_test: Curves | None = None,
) -> list[Round]:
    """The choice in at most `count` purchases, each of which about doubles what was bought before.

    enough: dollars of labels with which nearly every sample has the target; where that is less than
    the choice, the first round ends there.
    tested: the test split of the pilot;  on_test: curves about its own images, by which a round is
    measured where the project buys no others; None: `curves` are.

    What is bought is nested: a round adds images, or labels, to those that are there. The first
    ends where the pilot did, so that it tells something, and at most twice as far; what lies
    further is reached in equal factors, of more than 2 where the rounds are too few. A choice
    within the pilot's reach is one purchase. Raises BadInput for a number of rounds that is none.
    """
    if type(count) is not int or not 1 <= count <= ROUNDS:
        raise BadInput(f"rounds is {count!r}; a whole number from 1 to {ROUNDS} is expected")
    totals = _totals(chosen.dollars, curves[chosen.pair].reach, count, enough)
    same = curves if on_test is None or project.precision is not None else on_test
    medians = curves[chosen.pair].median(totals).tolist()
    expected = same[chosen.pair].median(totals).tolist()
    bands = same[chosen.pair].band(totals).T.tolist()
    amounts = [
        evidence.amount(chosen.way, total, project.prices, project.images)
        for total in totals.tolist()
    ]
    apart = tested.small and project.precision is None
    found = []
    for k, (median, (low, high)) in enumerate(zip(medians, bands, strict=True)):
        last, where = k + 1 == len(totals), _where(expected[k]) if apart else ""
        stop = _stop(project, high, tested)
        found.append(
            Round(
                number=k + 1,
                dollars=float(totals[k] - (totals[k - 1] if k else 0.0)),
                so_far=float(totals[k]),
                amount=amounts[k],
                new=amounts[k].images - (amounts[k - 1].images if k else 0),
                median=median,
                band90=(low, high),
                measured=expected[k],
                stop=stop,
                turn=low,
                measure=_last(low, where)
                if last
                else _between(low, stop, _other(chosen, rivals), where),
            )
        )
    return found


def _where(expected: float) -> str:
    """On few images mAP is another than on new ones, so that an alarm needs its own number."""
    return f" on the pilot's test images, where {100 * expected:.1f} is expected"


def _stop(project: Project, high: float, tested: Tested) -> float | None:
    """The measured mAP that is surely the target; high: what hardly any purchase would exceed."""
    if project.target is None:
        return None
    stop = project.target + (project.precision or 0.0) / 100
    if project.precision is None:
        stop = tested.on_it(min(1.0, stop + tested.off(project.target) / 100))
    return stop if stop <= min(high, 1.0) else None


def _totals(
    dollars: float, reach: float, count: int, enough: float | None = None
) -> NDArray[np.float64]:
    """Dollars of labels after each round, ascending to `dollars`."""
    beyond = dollars / reach
    if count > 1 and enough is not None and LITTLE * enough < dollars:
        count = min(count, 1 + max(1, round(np.log(dollars / enough) / np.log(GROWTH))))
        return np.geomspace(enough, dollars, count)
    if count == 1 or beyond < LITTLE:
        return np.array([dollars])
    count = min(count, 1 + max(1, round(np.log(beyond) / np.log(GROWTH))))
    first = np.clip(dollars * GROWTH ** (1.0 - count), reach, GROWTH * reach)
    return np.geomspace(first, dollars, count)


def _last(low: float, where: str) -> str:
    return (
        f"train and measure mAP{where}; below {100 * low:.1f} the plan was wrong: add this "
        "purchase to the runs before the next plan"
    )


def _between(turn: float, stop: float | None, other: str, where: str) -> str:
    """What to do after a round that is not the last: what is measured decides for one of these."""
    again = "fit again with this point before the next round"
    if stop is None:
        rules = [f"below {100 * turn:.1f} the curve was wrong, so {other}", again]
    else:
        there = f"at {100 * stop:.1f} or more the target is reached"
        rules = [f"{there}, so stop buying unless more is wanted"]
        if turn < stop and f"{100 * turn:.1f}" != f"{100 * stop:.1f}":
            rules.append(f"from {100 * turn:.1f} up to that fit again and buy the next round")
        rules.append(f"below {100 * turn:.1f} the curve was wrong, so {other}")
    return "; ".join([f"train and measure mAP{where}", *rules])


def _other(chosen: Candidate, rivals: Sequence[RunnerUp] | None) -> str:
    """What a disappointing round speaks for: the best of what is not surely behind."""
    rival = next((one for one in rivals or () if one.sure < SURE or one.saturated), None)
    if rival is None:
        return "plan again before buying more"
    way, method = rival.pair
    if way == chosen.way:
        return f"train {method} on the same labels too"
    return f"buy a few labels by {way} and compare again"
