"""What is ahead of the choice for less money, and was not measured far enough to be chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simkit.planning.choosing.axis import Axis
from simkit.planning.choosing.candidates import Candidate, Curves, Pair
from simkit.planning.choosing.choice import TIE
from simkit.planning.choosing.limits import limits
from simkit.planning.choosing.rivals import EARLY, STEPS, RunnerUp
from simkit.planning.choosing.rounds import GROWTH
from simkit.planning.curves.reach import MOST
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.bill import Project


@dataclass(frozen=True)
class Ahead:
    """Another way of buying that is told more mAP than the choice for the same total.

    start, total  dollars of the project between which it is;  dollars  of labels at `total`.
    ends     whether its own curve ends there; else that is what is spent after the first round.
    median, choice  of mAP there, 0 to 1: its own, the choice's;  share  of samples with it ahead.
    back     the total from which on the choice is ahead again; None: not known.
    reach    dollars of its largest pilot size;  larger  of one at least twice as large, whose
             curve goes as far as the choice, and its images; None: its scores let no curve go on.
    """

    pair: Pair
    start: float
    total: float
    dollars: float
    ends: bool
    median: float
    choice: float
    share: float
    back: float | None
    reach: float
    larger: tuple[float, int] | None

    def __str__(self) -> str:
        way, method = self.pair
        return f"{way} with {method}"


def ahead(
    chosen: Candidate,
    rivals: Sequence[RunnerUp],
    *,
    curves: Curves,
    evidence: Evidence,
    project: Project,
    first: float | None = None,
) -> Ahead | None:
    """The best other way that is ahead where its own curve ends, below the total of the choice;
    where there is none, the best that is ahead after the first round. None where neither is.

    rivals: to look at;  first: dollars of labels in the first of several rounds; None: there is one
    purchase. Leads below what counts as equal (`choice.TIE`) are none.
    """
    others = [one for one in rivals if one.pair[0] != chosen.way]
    pairs = [chosen.pair, *(one.pair for one in others)]
    ends = limits({pair: curves[pair] for pair in pairs}, evidence, project)
    axes = {pair: Axis.of(pair, curves[pair], ends[pair], evidence, project) for pair in pairs}
    mine = axes[chosen.pair]

    def found(ending: bool) -> Iterator[Ahead]:
        for one in others:
            theirs = axes[one.pair]
            total = theirs.end if ending else chosen.total if first is None else mine.total(first)
            if total < chosen.total * (1 - EARLY) and total <= theirs.end:
                lead = _lead(one, total, chosen, curves, mine, theirs)
                if lead is not None:
                    yield _told(one, total, lead, ending, chosen, curves, theirs, evidence, project)

    for ending in (True, False):
        best = max(found(ending), key=lambda one: one.median, default=None)
        if best is not None:
            return best
    return None


@dataclass(frozen=True)
class _Lead:
    start: float
    median: float
    choice: float
    share: float


def _lead(
    one: RunnerUp, total: float, chosen: Candidate, curves: Curves, mine: Axis, theirs: Axis
) -> _Lead | None:
    """How far it is ahead at a total, where both curves hold their pilots, and since when."""
    start = max(mine.start, theirs.start)
    if start > total:
        return None
    totals = np.geomspace(start, total, STEPS)
    samples = curves[chosen.pair].samples(mine.dollars(totals))
    own = curves[one.pair].samples(theirs.dollars(totals))
    gaps = np.median(samples - own, axis=0)
    if gaps[-1] > -TIE:
        return None
    behind = np.flatnonzero(gaps >= 0)
    since = totals[behind[-1] + 1] if len(behind) else start
    return _Lead(
        float(since),
        float(np.median(own[:, -1])),
        float(np.median(samples[:, -1])),
        float((own[:, -1] > samples[:, -1]).mean()),
    )


def _told(
    one: RunnerUp, total: float, lead: _Lead, ends: bool, chosen: Candidate, curves: Curves,
    theirs: Axis, evidence: Evidence, project: Project,
) -> Ahead:  # fmt: skip
    reach, limit = curves[one.pair].reach, theirs.limit
    most = min(limit.everything, limit.complete)
    wanted = min(max(min(chosen.dollars, most) / MOST, GROWTH * reach), most)
    again = [turn.total for turn in one.turns if turn.then and turn.total > total]
    larger = None
    if not limit.measured and wanted > reach:
        larger = wanted, evidence.amount(one.pair[0], wanted, project.prices, project.images).images
    return Ahead(
        pair=one.pair,
        start=lead.start,
        total=total,
        dollars=float(theirs.dollars(np.array([total]))[0]),
        ends=ends,
        median=lead.median,
        choice=lead.choice,
        share=lead.share,
        back=again[0] if again else None,
        reach=reach,
        larger=larger,
    )
