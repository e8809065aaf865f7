"""What was not chosen: how far behind for the same money, and at which budget it overtakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simkit.planning.choosing.axis import Axis
from simkit.planning.choosing.candidates import Candidate, Curves, How, Pair, score
from simkit.planning.choosing.choice import by_pair, difference
from simkit.planning.choosing.complete import is_complete, same_as_complete
from simkit.planning.choosing.limits import limits
from simkit.planning.curves.fit import Curve
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.bill import Project
from simkit.study.grids.limit import money

CLEAR = 0.002  # of mAP: curves that stay closer than this have no order that could turn
EARLY = 0.01  # of the choice's total: a rival that spends so much less is read at its end
BEYOND = 4.0  # times the budget up to which a turn is looked for
STEPS = 160  # places on the way there


@dataclass(frozen=True)
class BreakEven:
    """A budget at which the order of two purchases turns.

    dollars  of labels of the chosen way;  total  of the project;  then  whether the choice is ahead
    beyond it.  share  of the samples that have this order before and that one after.
    """

    dollars: float
    total: float
    then: bool
    share: float


@dataclass(frozen=True)
class RunnerUp:
    """A curve that was not chosen, at the same total as the choice, or where it ends before.

    dollars  of its labels;  difference, low, high  of mAP, the choice less this: median and 90 %
    interval of paired samples;  sure  share of the samples in which the choice is ahead.
    turns    break-even budgets, ascending, from `start` to `end` (totals) where both are known and
             hold what their pilots measured.
    lead     the median difference between these, where it is clearest.
    ends     whether `end` is where its own curve does, below the total of the choice.
    least    dollars of its smallest pilot size, or of the first that its curve agrees with.
    paired   whether both curves have a draw in common;  saturated  whether its pilot ran out of
             images, so that more labels on more images are rather better than its curve.
    """

    pair: Pair
    dollars: float
    difference: float
    low: float
    high: float
    sure: float
    turns: tuple[BreakEven, ...]
    start: float
    end: float
    lead: float = 0.0
    least: float = 0.0
    paired: bool = True
    saturated: bool = False
    ends: bool = False

    def __str__(self) -> str:
        way, method = self.pair
        return f"{way} with {method}"

    @property
    def told(self) -> str:
        """Where the order turns, for people, and what the comparison lacks."""
        return "; ".join([self._order, *self._lacks()])

    def _lacks(self) -> Iterator[str]:
        if self.saturated:
            yield (
                "its pilot ran out of images, so that on more images it is rather better than this "
                "and nothing here is sure"
            )
        if self.dollars < self.least * (1 - 1e-9):
            yield (
                f"its ${self.dollars:,.2f} of labels lie below the ${self.least:,.2f} from which "
                "on its curve was measured"
            )
        if not self.paired:
            yield "it was measured on other draws of images, so that the two are not paired"

    @property
    def _order(self) -> str:
        if self.end <= self.start:
            return "whether the order turns is not known"
        ends = f"{money(self.end)}, where its curve ends" if self.ends else money(self.end)
        if not self.turns:
            order = "level" if abs(self.lead) < CLEAR else "ahead" if self.lead > 0 else "behind"
            return f"the choice is {order} from {money(self.start)} to {ends}"
        told = [
            f"the choice is {'ahead' if turn.then else 'behind'} from {money(turn.total)} on "
            f"({'only ' if turn.share < 0.5 else ''}{100 * turn.share:.0f} % of samples agree)"
            for turn in self.turns
        ]
        return "; ".join([*told, f"up to {ends}"] if self.ends else told)


def runners_up(
    found: Sequence[Candidate],
    chosen: Candidate,
    curves: Curves,
    *,
    evidence: Evidence,
    project: Project,
    how: How = "robust",
    most: int = 8,
) -> list[RunnerUp]:
    """The best method of every other way, and the best other methods of the chosen way.

    At most so many in all, best first. Methods compete at the total that the choice costs.
    """
    groups = by_pair(found)
    ends = limits({pair: curves[pair] for pair in groups}, evidence, project)
    axes = {pair: Axis.of(pair, curves[pair], end, evidence, project) for pair, end in ends.items()}

    def at_total(pair: Pair) -> float:
        dollars = axes[pair].dollars(np.array([chosen.total]))
        own = curves[pair].samples(dollars)[:, 0]
        target = None if project.target is None else float((own >= project.target).mean())
        return score(own, how, target)

    def same(pair: Pair) -> bool:
        """Whether these are the very labels of the choice, by another name."""
        if not is_complete(chosen.way) or pair[0].habits != chosen.way.habits:
            return False
        dollars = float(axes[pair].dollars(np.array([chosen.total]))[0])
        amount = evidence.amount(pair[0], dollars, project.prices, project.images)
        return same_as_complete(pair[0], amount, len(evidence.classes))

    rest = (pair for pair in groups if pair != chosen.pair and not same(pair))
    others = sorted(rest, key=at_total, reverse=True)
    best: list[Pair] = []
    for pair in others:
        if pair[0] == chosen.way or pair[0] not in {way for way, _ in best}:
            best.append(pair)
    return [
        _against(
            pair,
            chosen,
            curves=curves,
            axes=axes,
            budget=project.budget,
            fresh=_fresh(groups[pair]),
        )
        for pair in best[:most]
    ]


def _against(
    pair: Pair,
    chosen: Candidate,
    *,
    curves: Curves,
    axes: dict[Pair, Axis],
    budget: float,
    fresh: float,
) -> RunnerUp:
    mine, theirs = axes[chosen.pair], axes[pair]
    spent = theirs.dollars(np.array([chosen.total]))
    own = curves[pair].samples(spent)[:, 0]
    median, low, high = difference(chosen.samples, own)
    start = max(mine.start, theirs.start)
    end = float(max(start, min(mine.end, theirs.end, fresh, BEYOND * budget)))
    totals = np.geomspace(start, end, STEPS) if end > start else np.array([start])
    along = mine.dollars(totals)
    gap = curves[chosen.pair].samples(along) - curves[pair].samples(theirs.dollars(totals))
    medians = np.median(gap, axis=0)
    return RunnerUp(
        pair=pair,
        dollars=float(spent[0]),
        difference=median,
        low=low,
        high=high,
        sure=float((chosen.samples > own).mean()),
        turns=tuple(_turns(gap, totals, along)) if end > start else (),
        start=start,
        end=end,
        lead=float(medians[np.argmax(np.abs(medians))]),
        least=max(float(curves[pair].points.costs[0]), theirs.agrees),
        paired=_paired(curves[chosen.pair], curves[pair]),
        saturated=chosen.total > fresh,
        ends=end == theirs.end < chosen.total * (1 - EARLY),
    )


def _fresh(own: Sequence[Candidate]) -> float:
    """The total up to which a pilot had images enough; beyond, its curve shows no order."""
    short = [k for k, one in enumerate(own) if one.saturated]
    return np.inf if not short else own[max(short[0] - 1, 0)].total


def _paired(one: Curve, other: Curve) -> bool:
    return bool(np.isin(one.points.draws, other.points.draws).any())


def _turns(
    gap: NDArray[np.float64], totals: NDArray[np.float64], spent: NDArray[np.float64]
) -> Iterator[BreakEven]:
    """Where the median of gap (S, n) changes its sign, having been clear on both sides."""
    median = np.median(gap, axis=0)
    clear = np.flatnonzero(np.abs(median) > CLEAR)
    changes = np.flatnonzero(np.diff(np.sign(median[clear])))
    edges = [0, *(changes + 1), len(clear)]
    for k, change in enumerate(changes):
        before, after = clear[edges[k] : change + 1], clear[change + 1 : edges[k + 2]]
        at = _crossing(median, int(clear[change]), int(clear[change + 1]))
        # Where either side is clearest: next to the turn nearly every order is one of noise.
        peaks = [part[np.argmax(np.abs(median[part]))] for part in (before, after)]
        signs = [np.sign(gap[:, peak]) == np.sign(median[peak]) for peak in peaks]
        yield BreakEven(
            dollars=float(_log_interp(at, spent)),
            total=float(_log_interp(at, totals)),
            then=bool(median[peaks[1]] > 0),
            share=float((signs[0] & signs[1]).mean()),
        )


def _crossing(median: NDArray[np.float64], start: int, stop: int) -> float:
    """The place between two others, of different signs, where the median is 0."""
    last = start + int(np.flatnonzero(np.sign(median[start:stop]) == np.sign(median[start]))[-1])
    low, high = float(median[last]), float(median[last + 1])
    return last + low / (low - high)


def _log_interp(at: float, values: NDArray[np.float64]) -> float:
    return float(np.exp(np.interp(at, np.arange(len(values)), np.log(values))))
