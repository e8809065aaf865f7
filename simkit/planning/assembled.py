"""A plan's parts as plain values, from curves, candidates and what was chosen of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simkit.history import versions
from simkit.planning.changed import Note, changed
from simkit.planning.choosing import rounds as buying
from simkit.planning.choosing.candidates import Candidate, Curves, How, Pair
from simkit.planning.choosing.choice import front
from simkit.planning.choosing.outside import outside
from simkit.planning.choosing.rivals import RunnerUp, runners_up
from simkit.planning.choosing.rounds import Round
from simkit.planning.choosing.unmeasured import worth_trying
from simkit.planning.curves import reach
from simkit.planning.curves.backtest import Backtest, backtest, together
from simkit.planning.curves.fit import Curve
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money import bill as money
from simkit.planning.money.project import Project
from simkit.planning.told import telling
from simkit.planning.told.planned import Check, Item, Line, Plan, Purchase, Reach, Rival, Step
from simkit.planning.told.trained_with import trained_with
from simkit.study.summary import SMALLEST

WAYS, METHODS = 5, 3  # other ways, and other methods of the chosen one, that are told
DRAWN = 3  # of these are drawn
OPTIONS = 6  # purchases along the front that are told
PLACES = 48  # at which a curve is drawn


@dataclass(frozen=True, eq=False)
class Ground:
    """What a plan stands on: runs, wishes, curves by (way, method), candidates and the choice."""

    evidence: Evidence
    project: Project
    curves: Curves
    found: tuple[Candidate, ...]
    chosen: Candidate


def assembled(
    on: Ground,
    *,
    rounds: int,
    risk: How,
    seed: int,
    resamples: int,
    unfit: Sequence[str] = (),
    command: str = "",
    note: Note = lambda: None,
) -> Plan:
    """The plan for a choice; unfit: sentences about what has no curve; note is called on the way,
    once for each of the `changes`."""
    evidence, project, chosen = on.evidence, on.project, on.chosen
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    rivals = _told(on, risk)
    target = _reach(on)
    steps = buying.rounds(
        project, chosen, rounds, curves=on.curves, evidence=evidence, rivals=rivals,
        enough=None if target is None else target.quantiles[-1],
    )  # fmt: skip
    tests = {pair: backtest(curve.points, **how) for pair, curve in on.curves.items()}
    every = together(list(tests.values()))
    told = [pair for pair in (chosen.pair, *(rival.pair for rival in rivals)) if tests[pair]]
    curve, own = on.curves[chosen.pair], tests[chosen.pair]
    alarms = [*telling.warnings(chosen, own, every, curve.note, target)]
    alarms += outside(chosen, curve, own)
    trained = trained_with(evidence.folders, chosen.way, chosen.method)
    changes = changed(evidence, project, on.curves, chosen, risk=risk, note=note, **how)
    return Plan(
        question=telling.question(project, evidence),
        recommendation=telling.recommendation(chosen, project, len(steps), target),
        chosen=purchase(chosen),
        budget=float(project.budget),
        left=money.left(project, evidence),
        target=project.target,
        prices=project.prices.name,
        prices_from=_sources(on),
        bill=_bill(on),
        rivals=tuple(map(_rival, rivals)),
        method_spec=trained.spec,
        settings=trained.settings,
        steps=tuple(map(_step, steps)),
        changes=changes,
        check=None if every is None else _check(every, {pair: tests[pair] for pair in told}),
        reach=target,
        lines=tuple(_lines(on, [chosen.pair, *_drawn(rivals)])),
        assumptions=tuple(
            telling.assumptions(chosen, evidence, project, [one.pair[0] for one in rivals])
        ),
        left_out=tuple(telling.left_out(on.curves, evidence, project, unfit)),
        warnings=tuple(alarms),
        worth_trying=worth_trying(on.curves, chosen, evidence, project),
        options=tuple(_options(on.found, chosen, on.curves)),
        risk=risk,
        command=command,
        seed=seed,
        ids=tuple(evidence.ids.items()),
        versions=tuple(versions().items()),
    )


def _told(on: Ground, risk: How) -> list[RunnerUp]:
    """The best method of each other way first, then other methods of the chosen way."""
    found = runners_up(
        on.found, on.chosen, on.curves,
        evidence=on.evidence, project=on.project, how=risk, most=len(on.curves),
    )  # fmt: skip
    ways = [one for one in found if one.pair[0] != on.chosen.way][:WAYS]
    return ways + [one for one in found if one.pair[0] == on.chosen.way][:METHODS]


def purchase(one: Candidate) -> Purchase:
    """A candidate as plain values."""
    return Purchase(
        way=str(one.way),
        scheme=one.amount.spec,
        method=one.method,
        images=one.amount.images,
        labels=one.amount.labels,
        per_image=one.amount.per_image,
        workers=one.way.habits.workers,
        dollars=one.dollars,
        total=one.total,
        median=one.median,
        low=one.low,
        mean=one.mean,
        band50=one.band50,
        band90=one.band90,
        target=one.p_target,
        grade=one.grade,
        times=one.dollars / one.reach,
        note=one.note,
    )


def _sources(on: Ground) -> tuple[str, ...]:
    ladder = on.evidence.ladder(on.chosen.way, on.project.prices)
    return telling.sources(list(ladder.lines), on.project.prices)


def _step(one: Round) -> Step:
    return Step(
        dollars=one.dollars,
        total=one.so_far,
        images=one.amount.images,
        median=one.median,
        scheme=one.amount.spec,
        measure=one.measure,
    )


def _bill(on: Ground) -> tuple[Item, ...]:
    way, method, dollars = on.chosen.way, on.chosen.method, on.chosen.dollars
    found = money.bill(on.project, on.evidence, way, method, dollars)
    return tuple(Item(line.what, line.dollars, line.how) for line in found.lines)


def _rival(one: RunnerUp) -> Rival:
    way, method = one.pair
    return Rival(
        way=str(way),
        method=method,
        difference=one.difference,
        low=one.low,
        high=one.high,
        sure=one.sure,
        break_even=tuple(turn.total for turn in one.turns),
        told=f"{one}: {one.told}.",
        saturated=one.saturated,
        paired=one.paired,
    )


def _check(every: Backtest, own: dict[Pair, Backtest | None]) -> Check:
    """Coverage and width are of all curves; rows are of the choice and its rivals."""
    rows = tuple(
        (str(way), method, row.factor, row.measured, row.median, row.low, row.high, row.covered)
        for (way, method), test in own.items()
        for row in (test.rows if test else ())
    )
    inside = sum(row.covered for row in every.rows)
    return Check(
        rows=rows,
        count=len(every.rows),
        inside=inside,
        coverage=every.coverage,
        width=every.width,
        error=every.error,
        passed=every.passed,
        factor=every.factor,
        singles=every.singles,
    )


def _reach(on: Ground) -> Reach | None:
    """Dollars of labels to the target by the chosen way, as far as its curve can be followed."""
    target = on.project.target
    if target is None:
        return None
    curve = on.curves[on.chosen.pair]
    everything = on.evidence.most(on.chosen.way, on.project.prices, on.project.images)
    most = min(everything, reach.MOST * curve.reach)
    found = curve.dollars_to(target, most)
    return Reach(target, tuple(found.quantiles.values()), found.share, most)


def _drawn(rivals: Sequence[RunnerUp]) -> list[Pair]:
    """Of what differs from the choice: a line on top of another hides it."""
    other = [one for one in rivals if max(abs(one.low), abs(one.high)) >= SMALLEST]
    return [one.pair for one in other[:DRAWN]]


def _lines(on: Ground, pairs: Sequence[Pair]) -> Iterator[Line]:
    left = money.left(on.project, on.evidence)
    for way, method in pairs:
        curve = on.curves[way, method]
        everything = on.evidence.most(way, on.project.prices, on.project.images)
        end = max(curve.reach, min(left, everything, reach.MOST * curve.reach))
        yield _line(str(way), method, curve, end)


def _line(way: str, method: str, curve: Curve, end: float) -> Line:
    dollars = np.geomspace(float(curve.points.costs[0]), end, PLACES)
    low, high = curve.band(dollars)
    points = zip(curve.points.dollars.tolist(), curve.points.score.tolist(), strict=True)
    return Line(
        way=way,
        method=method,
        dollars=tuple(dollars.tolist()),
        median=tuple(curve.median(dollars).tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        points=tuple(points),
    )


def _options(found: Sequence[Candidate], chosen: Candidate, curves: Curves) -> Iterator[Purchase]:
    """What nothing cheaper equals, evenly up to the choice, where curves hold their own pilots."""
    held = [one for one in found if one.dollars >= curves[one.pair].agrees * (1 - 1e-9)]
    cheaper = [one for one in front(held) if one.total < 0.95 * chosen.total]
    places = np.unique(np.linspace(0, len(cheaper) - 1, OPTIONS - 1).round().astype(int))
    yield from (purchase(cheaper[place]) for place in places if cheaper)
    yield purchase(chosen)
