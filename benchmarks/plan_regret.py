"""What a plan recommends, and what would have been best: for benchmarks/plan_backtest.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from simkit.annotate.prices import Prices, cost, prices
from simkit.errors import BadInput
from simkit.planning.choosing.candidates import Pair, candidates
from simkit.planning.choosing.choice import choose
from simkit.planning.choosing.followed import followed
from simkit.planning.curves.fit import Curve
from simkit.planning.curves.points import Points
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.project import Project
from simkit.planning.plan import fitted

LISTS = ("coco-tagging", "careful", "google", "aws", "openimages")
TIMES = (2, 5, 10)  # a budget is so many times the median of what the ways' pilots reach
PAIRS = 30  # of price list and budget, at least
CLOSE = 1.1  # times the largest measured cost: a budget up to there counts as measured


@dataclass(frozen=True)
class Choice:
    """A recommendation and the best that was measured at the same budget; mAP in points."""

    prices: str
    budget: float
    times: int
    recommended: str
    best: str
    regret: float
    of: int  # ways and methods that were measured at this budget


def choices(evidence: Evidence, bought: str, pilots: Sequence[float]) -> Iterator[Choice]:
    """For every price list, pilot and budget at which there are ways to choose from.

    A pilot holds the sizes that cost up to so many dollars by the list they were bought by, in
    every way; it is priced again by the other lists.
    """
    for name in LISTS:
        listed = prices(name)
        measured = {pair: p for pair in evidence.pairs if (p := evidence.points(*pair, listed))}
        for end in pilots:
            pilot = up_to(evidence, prices(bought), end)
            try:
                curves = fitted(pilot, Project(budget=1.0, prices=listed))[0]
            except BadInput:
                continue  # this list asks the same for all sizes
            reach = {way: curve.reach for (way, _), curve in curves.items()}
            for times in TIMES:
                budget = times * median(reach.values())
                scores = dict(_measured(measured, evidence, listed, budget))
                known = {pair: c for pair, c in curves.items() if pair in scores}
                if len({way for way, _ in known}) > 1:
                    project = Project(budget=budget, images=evidence.images, prices=listed)
                    plans = followed(known, pilot, project)
                    asked = {pair: plans[pair] for pair in known}
                    yield _asked(times, pilot, project, asked, measured, scores)


def _measured(
    measured: dict[Pair, Points], evidence: Evidence, listed: Prices, budget: float
) -> Iterator[tuple[Pair, float]]:
    """Mean mAP at the budget of all pairs that were measured there, or had nothing left to buy."""
    for (way, method), points in measured.items():
        spent = min(budget, evidence.most(way, listed, evidence.images))
        if spent <= CLOSE * points.reach:
            yield (way, method), score(points, spent)


def score(points: Points, dollars: float) -> float:
    """Mean measured mAP at so many dollars, along log dollars between sizes."""
    return float(np.interp(np.log(dollars), np.log(points.costs), np.nanmean(points.table, 0)))


def _asked(
    times: int,
    pilot: Evidence,
    project: Project,
    curves: Mapping[Pair, Curve],
    measured: Mapping[Pair, Points],
    scores: Mapping[Pair, float],
) -> Choice:
    """What a plan recommends that knows the pilot, and how far it stays behind the best."""
    best = max(scores, key=lambda pair: scores[pair])
    chosen = choose(candidates(curves, pilot, project))
    got = score(measured[chosen.pair], chosen.dollars)
    return Choice(
        prices=project.prices.name,
        budget=project.budget,
        times=times,
        recommended=str(chosen),
        best=f"{best[0]} with {best[1]}",
        regret=100 * (scores[best] - got),
        of=len(scores),
    )


def up_to(evidence: Evidence, listed: Prices, dollars: float) -> Evidence:
    """The evidence of those sizes whose labels cost at most so much by this list."""
    bills: dict[int, float] = {}
    groups: dict[tuple[object, ...], list[float]] = {}
    for run in evidence.runs:
        if run.effort is not None:
            if id(run.effort) not in bills:
                bills[id(run.effort)] = cost(run.effort, listed.once_set_up()).dollars
            groups.setdefault((run.way, run.nominal), []).append(bills[id(run.effort)])
    small = {key for key, spent in groups.items() if fmean(spent) <= dollars * 1.001}
    runs = tuple(run for run in evidence.runs if (run.way, run.nominal) in small)
    return dataclasses.replace(evidence, runs=runs, _bills={}, _ladders={})


def regret(found: Sequence[Choice]) -> list[str]:
    """How far recommendations stayed behind the best, in markdown."""
    lines = [
        "| price list | budgets | choices | within 1.5 points of the best | median regret | "
        "worst |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    rows = [(name, [c for c in found if c.prices == name]) for name in LISTS]
    rows += [(f"all, {t}x the pilot", [c for c in found if c.times == t]) for t in TIMES]
    for name, own in [*rows, ("all", list(found))]:
        if own:
            gaps = [c.regret for c in own]
            lines.append(
                f"| {name} | {len({(c.prices, c.budget) for c in own})} | {len(own)} | "
                f"{100 * np.mean([gap <= 1.5 for gap in gaps]):.0f} % | {np.median(gaps):.2f} | "
                f"{max(gaps):.1f} |"
            )
    worst = sorted((c for c in found if c.regret > 0), key=lambda c: -c.regret)[:5]
    lines += ["", "The worst: budget, times the pilot, recommended, best."]
    lines += [
        f"- {c.prices} ${c.budget:,.0f}, {c.times}x: {c.recommended}; {c.best} was "
        f"{c.regret:.1f} points better"
        for c in worst
    ]
    return lines
