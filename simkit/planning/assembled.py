"""A plan's parts as plain values, from curves, candidates and what was chosen of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simkit.history import versions
from simkit.planning.changed import Note, changed
from simkit.planning.choosing import limits
from simkit.planning.choosing import rounds as buying
from simkit.planning.choosing.ahead import Ahead, ahead
from simkit.planning.choosing.candidates import Candidate, Curves, How, Pair
from simkit.planning.choosing.choice import front
from simkit.planning.choosing.contradicted import contradicted
from simkit.planning.choosing.outside import outside, unspent
from simkit.planning.choosing.rivals import RunnerUp, runners_up
from simkit.planning.choosing.target import enough, to_target
from simkit.planning.choosing.unmeasured import worth_trying
from simkit.planning.curves.backtest import Backtest, backtest, together
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.tested import Tested
from simkit.planning.money import bill as money
from simkit.planning.money.project import Project
from simkit.planning.told import telling, values
from simkit.planning.told.alarms import few_tested, overtaken, warnings
from simkit.planning.told.headline import question, recommendation
from simkit.planning.told.larger import larger
from simkit.planning.told.parts import Item, Line, Purchase, Reach
from simkit.planning.told.planned import Plan
from simkit.planning.told.trained_with import trained_with
from simkit.study.summary import SMALLEST

WAYS, METHODS = 5, 3  # other ways, and other methods of the chosen one, that are told
DRAWN = 3  # of these are drawn
OPTIONS = 6  # purchases along the front that are told


@dataclass(frozen=True, eq=False)
class Ground:
    """What a plan stands on: runs, wishes, curves by (way, method), candidates and the choice.

    tested  the test split of the runs;  on_test  curves about its own images alone, which is what
    is measured after a round; None: `curves` are.
    """

    evidence: Evidence
    project: Project
    curves: Curves
    found: tuple[Candidate, ...]
    chosen: Candidate
    tested: Tested = field(default_factory=Tested)
    on_test: Curves | None = None

    @property
    def measured(self) -> Curves:
        """Curves about mAP as the pilot measures it."""
        return self.curves if self.on_test is None else self.on_test


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
    target, own_target = _reach(on)
    steps = _steps(on, rounds, rivals, own_target)
    better = _better(on, rivals, steps)
    tests = {pair: backtest(c.points, peers=c.peers, **how) for pair, c in on.curves.items()}
    every, own = together(list(tests.values())), tests[chosen.pair]
    told = [pair for pair in (chosen.pair, *(rival.pair for rival in rivals)) if tests[pair]]
    held = all(test.passed for test in (own, every) if test is not None)
    trained = trained_with(evidence.folders, chosen.way, chosen.method)
    how |= {"risk": risk, "note": note, "tested": on.tested}
    return Plan(
        question=question(project, evidence),
        recommendation=recommendation(
            chosen, project, len(steps), target,
            held=held, besides=money.besides(project, evidence), better=better,
        ),
        chosen=values.purchase(chosen),
        budget=float(project.budget),
        left=money.left(project, evidence),
        target=project.target,
        prices=project.prices.name,
        prices_from=_sources(on),
        bill=_bill(on),
        rivals=tuple(values.rival(one, on.curves[one.pair], evidence, project) for one in rivals),
        method_spec=trained.spec,
        settings=trained.settings,
        steps=tuple(map(values.step, steps)),
        changes=changed(evidence, project, on.curves, chosen, **how),
        check=None if every is None else values.check(every, {pair: tests[pair] for pair in told}),
        reach=target,
        lines=tuple(_lines(on, [chosen.pair, *_drawn(rivals)])),
        assumptions=_assumed(on, rivals),
        left_out=tuple(telling.left_out(evidence, project, unfit)),
        ends=tuple(limits.told(on.curves, evidence, project)),
        warnings=tuple(_alarms(on, own, every, target, better)),
        worth_trying=worth_trying(on.curves, chosen, evidence, project),
        options=tuple(_options(on.found, chosen, on.curves)),
        risk=risk,
        command=command,
        images=on.tested.told,
        rounds=rounds,
        seed=seed,
        ids=tuple(evidence.ids.items()),
        versions=tuple(versions().items()),
    )  # fmt: skip


def _steps(
    on: Ground, count: int, rivals: Sequence[RunnerUp], enough: float | None
) -> list[buying.Round]:
    return buying.rounds(
        on.project, on.chosen, count, curves=on.curves, evidence=on.evidence, rivals=rivals,
        enough=enough, tested=on.tested, on_test=on.measured,
    )  # fmt: skip


def _better(on: Ground, rivals: Sequence[RunnerUp], steps: Sequence[buying.Round]) -> Ahead | None:
    return ahead(
        on.chosen, rivals, curves=on.curves, evidence=on.evidence, project=on.project,
        first=steps[0].so_far if len(steps) > 1 else None,
    )  # fmt: skip


def _assumed(on: Ground, rivals: Sequence[RunnerUp]) -> tuple[str, ...]:
    ways = [one.pair[0] for one in rivals]
    return tuple(telling.assumptions(on.chosen, on.evidence, on.project, ways, tested=on.tested))


def _alarms(
    on: Ground, own: Backtest | None, every: Backtest | None, target: Reach | None,
    better: Ahead | None,
) -> Iterator[str]:  # fmt: skip
    """What to read first. own: the back-test of the choice;  every: of all curves."""
    chosen, curve = on.chosen, on.curves[on.chosen.pair]
    more = larger(chosen, on.evidence, on.project, on.tested)
    project = on.project
    yield from warnings(chosen, own, every, curve.note, target, budget=project.budget, larger=more)
    yield from outside(chosen, curve, own)
    yield from unspent(chosen, project)
    yield from few_tested(on.tested, chosen.median)
    yield from overtaken(better)
    yield from contradicted(chosen, on.measured, on.evidence, on.project)


def _told(on: Ground, risk: How) -> list[RunnerUp]:
    """The best method of each other way first, then other methods of the chosen way."""
    found = runners_up(
        on.found, on.chosen, on.curves,
        evidence=on.evidence, project=on.project, how=risk, most=len(on.curves),
    )  # fmt: skip
    ways = [one for one in found if one.pair[0] != on.chosen.way][:WAYS]
    return ways + [one for one in found if one.pair[0] == on.chosen.way][:METHODS]


def _sources(on: Ground) -> tuple[str, ...]:
    ladder = on.evidence.ladder(on.chosen.way, on.project.prices)
    return telling.sources(list(ladder.lines), on.project.prices)


def _bill(on: Ground) -> tuple[Item, ...]:
    way, method, dollars = on.chosen.way, on.chosen.method, on.chosen.dollars
    found = money.bill(on.project, on.evidence, way, method, dollars)
    return tuple(Item(line.what, line.dollars, line.how) for line in found.lines)


def _reach(on: Ground) -> tuple[Reach | None, float | None]:
    """Dollars to the target where it takes the least; and those of the choice's own labels."""
    cheapest = to_target(on.curves, on.evidence, on.project)
    if cheapest is None:
        return None, None
    bought = enough(cheapest, on.curves, on.evidence, on.project)
    (way, method), own = cheapest.pair, on.chosen.pair
    mine = to_target({own: on.curves[own]}, on.evidence, on.project)
    told = Reach(
        target=cheapest.target,
        way=str(way),
        method=method,
        quantiles=cheapest.quantiles,
        reached=cheapest.share,
        most=cheapest.most,
        total=cheapest.total,
        enough=None if bought is None else values.purchase(bought),
    )
    return told, None if mine is None else mine.dollars


def _drawn(rivals: Sequence[RunnerUp]) -> list[Pair]:
    """Of what differs from the choice: a line on top of another hides it."""
    other = [one for one in rivals if max(abs(one.low), abs(one.high)) >= SMALLEST]
    return [one.pair for one in other[:DRAWN]]


def _lines(on: Ground, pairs: Sequence[Pair]) -> Iterator[Line]:
    left = money.left(on.project, on.evidence)
    ends = limits.limits(on.curves, on.evidence, on.project)
    for way, method in pairs:
        curve = on.curves[way, method]
        end = max(curve.reach, min(left, ends[way, method].known))
        yield values.line((way, method), curve, end)


def _options(found: Sequence[Candidate], chosen: Candidate, curves: Curves) -> Iterator[Purchase]:
    """What nothing cheaper equals, evenly up to the choice, where curves hold their own pilots."""
    held = [one for one in found if one.dollars >= curves[one.pair].agrees * (1 - 1e-9)]
    # One row for one purchase: between two amounts that can be ordered dollars buy the lower one.
    ordered = {_order(chosen): chosen}
    for one in front(held):
        if one.total < 0.95 * chosen.total:
            ordered.setdefault(_order(one), one)
    cheaper = [one for one in ordered.values() if one is not chosen]
    places = np.unique(np.linspace(0, len(cheaper) - 1, OPTIONS - 1).round().astype(int))
    yield from (values.purchase(cheaper[place]) for place in places if cheaper)
    yield values.purchase(chosen)


def _order(one: Candidate) -> tuple[object, ...]:
    """What would be ordered, and trained on it."""
    return one.pair, one.amount.spec, one.amount.images
