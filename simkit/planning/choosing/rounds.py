"""Buying in rounds: how much in each, what to measure after it, when to stop and when to turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simkit.errors import BadInput
from simkit.planning.choosing.candidates import Candidate, Curves
from simkit.planning.choosing.rivals import RunnerUp
from simkit.planning.evidence.evidence import Amount, Evidence
from simkit.planning.money.bill import Project

COUNT = 3  # Mahmood et al., CVPR 2022, find five rounds safer where much is at stake
MOST = 10
SURE = 0.95  # share of samples from which on a rival is behind
GROWTH = 2.0  # all rounds together, each time: the next is never predicted more than 2 times ahead


@dataclass(frozen=True)
class Round:
    """One purchase of several, all of the same way.

    number   from 1;  dollars  of labels in this round;  so_far  with those before;  amount  what
             all of them together give;  new  images that are new in this round.
    median, band90  of mAP after it, 0 to 1, predicted before the first.
    stop     the measured mAP, 0 to 1, from which on no more is needed; None: there is no target.
    turn     the measured mAP below which the curve was wrong.
    measure  what to do after it, in a sentence or two.
    """

    number: int
    dollars: float
    so_far: float
    amount: Amount
    new: int
    median: float
    band90: tuple[float, float]
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
) -> list[Round]:
    """The choice in `count` purchases, each of which doubles what was bought before.

    What is bought is nested: a round adds images, or labels, to those that are there. Rounds that
    would end below the smallest pilot size, which tell nothing new, are joined to the next. Raises
    BadInput for a number of rounds that is none.
    """
    if type(count) is not int or not 1 <= count <= MOST:
        raise BadInput(f"rounds is {count!r}; a whole number from 1 to {MOST} is expected")
    totals = chosen.dollars * GROWTH ** np.arange(1.0 - count, 1.0)
    least = float(curves[chosen.pair].points.costs[0])
    totals = totals[np.minimum(np.searchsorted(totals, least), count - 1) :]
    levels = np.quantile(curves[chosen.pair].samples(totals), [0.05, 0.5, 0.95], axis=0)
    amounts = [
        evidence.amount(chosen.way, total, project.prices, project.images)
        for total in totals.tolist()
    ]
    found = []
    for k, (low, median, high) in enumerate(levels.T.tolist()):
        last = k + 1 == len(totals)
        stop = None if project.target is None else project.target + (median - low)
        found.append(
            Round(
                number=k + 1,
                dollars=float(totals[k] - (totals[k - 1] if k else 0.0)),
                so_far=float(totals[k]),
                amount=amounts[k],
                new=amounts[k].images - (amounts[k - 1].images if k else 0),
                median=median,
                band90=(low, high),
                stop=stop,
                turn=low,
                measure=_last(low) if last else _between(low, stop, _other(chosen, rivals)),
            )
        )
    return found


def _last(low: float) -> str:
    return (
        f"train and measure mAP; below {100 * low:.1f} the plan was wrong: add this purchase to "
        "the runs before the next plan"
    )


def _between(low: float, stop: float | None, other: str) -> str:
    """What to do after a round that is not the last."""
    told = ["train and measure mAP"]
    if stop is not None and stop < 1:
        told.append(
            f"stop from {100 * stop:.1f} on, where the target lies below the measured mAP by more "
            "than the lower half of the band"
        )
    told.append(f"below {100 * low:.1f} the curve was wrong, so {other}")
    told.append("fit again with this point before the next round")
    return "; ".join(told)


def _other(chosen: Candidate, rivals: Sequence[RunnerUp] | None) -> str:
    """What a disappointing round speaks for: the best of what is not surely behind."""
    rival = next((one for one in rivals or () if one.sure < SURE), None)
    if rival is None:
        return "plan again before buying more"
    way, method = rival.pair
    if way == chosen.way:
        return f"train {method} on the same labels too"
    return f"buy a few labels by {way} and compare again"
