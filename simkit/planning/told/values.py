"""From candidates, rounds, runners-up and back-tests to the plain values of a plan."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simkit.planning.choosing.candidates import Candidate, Pair
from simkit.planning.choosing.rivals import RunnerUp
from simkit.planning.choosing.rounds import Round
from simkit.planning.curves.backtest import Backtest, BacktestRow
from simkit.planning.curves.fit import Curve
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money import bill as money
from simkit.planning.money.project import Project
from simkit.planning.told.parts import Check, CheckRow, Line, Purchase, Rival, Step

PLACES = 48  # at which a curve is drawn


def purchase(one: Candidate) -> Purchase:
    """A candidate."""
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
        low20=one.low,
        mean=one.mean,
        band50=one.band50,
        band90=one.band90,
        chance=one.p_target,
        grade=one.grade,
        times=one.dollars / one.reach,
        note=one.note,
    )


def step(one: Round) -> Step:
    """A round of buying."""
    return Step(
        dollars=one.dollars,
        total=one.so_far,
        images=one.amount.images,
        median=one.median,
        scheme=one.amount.spec,
        measure=one.measure,
    )


def rival(one: RunnerUp, curve: Curve, evidence: Evidence, project: Project) -> Rival:
    """A runner-up with what would be ordered of it; curve: its own."""
    way, method = one.pair
    amount = evidence.amount(way, one.dollars, project.prices, project.images)
    return Rival(
        way=str(way),
        method=method,
        scheme=amount.spec,
        images=amount.images,
        labels=amount.labels,
        dollars=one.dollars,
        total=money.bill(project, evidence, way, method, one.dollars).total,
        median=float(curve.median(one.dollars)[0]),
        difference=one.difference,
        low5=one.low,
        high95=one.high,
        sure=one.sure,
        break_even=tuple(turn.total for turn in one.turns),
        told=f"{one}: {one.told}.",
        saturated=one.saturated,
        paired=one.paired,
    )


def check(every: Backtest, own: Mapping[Pair, Backtest | None]) -> Check:
    """Coverage and width are of all curves; rows are of the choice and its rivals, equal ones of
    several methods once, as `every` counts them."""
    alike: dict[tuple[BacktestRow, ...], list[Pair]] = {}
    for pair, test in own.items():
        if test is not None:
            alike.setdefault(test.rows, []).append(pair)
    rows = tuple(
        CheckRow(
            way=str(way),
            method=method,
            times=row.factor,
            measured=row.measured,
            predicted=row.median,
            low5=row.low,
            high95=row.high,
            inside=row.covered,
            same=tuple(other for _, other in more),
        )
        for tested, ((way, method), *more) in alike.items()
        for row in tested
    )
    return Check(
        rows=rows,
        count=len(every.rows),
        inside=sum(row.covered for row in every.rows),
        coverage=every.coverage,
        width=every.width,
        error=every.error,
        passed=every.passed,
        factor=every.factor,
        singles=every.singles,
    )


def line(pair: Pair, curve: Curve, end: float) -> Line:
    """A curve from its smallest size up to so many dollars."""
    dollars = np.geomspace(float(curve.points.costs[0]), end, PLACES)
    low, high = curve.band(dollars)
    points = zip(curve.points.dollars.tolist(), curve.points.score.tolist(), strict=True)
    return Line(
        way=str(pair[0]),
        method=pair[1],
        dollars=tuple(dollars.tolist()),
        median=tuple(curve.median(dollars).tolist()),
        low5=tuple(low.tolist()),
        high95=tuple(high.tolist()),
        points=tuple(points),
    )
