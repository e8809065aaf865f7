"""Do a plan's predictions hold, and is what it recommends a good buy?

    SIMKIT_DATA=... python benchmarks/plan_backtest.py --runs FOLDER   # hours, of which judging minutes
    python benchmarks/plan_backtest.py --runs FOLDER --worlds scenes --no-compare
    python benchmarks/plan_backtest.py --quick --json                  # a minute; does it work?

FOLDER holds the comparisons of plan_worlds.py, which says what its worlds are; missing ones are made
first. Every pilot's complete labels are those of its own images: nothing larger is known to it.

(a) *Same pool, end known.* A pilot has complete labels of a pool and the first 3 to 7 sizes of every
label option and method. The sizes that cost 2, 5 and 10 times as much as its largest are predicted.
A prediction holds if the mean over draws lies in its 90 % band. An option "with an end" is as good
as complete labels at its largest amount, so that the pilot has measured where its curve ends.

(b) *Pilot and project.* Pilots of 150, 300 and 600 images predict every purchase of projects of 10
and 30 times as many, whose shares of labels they have measured.

Regret: the plan chooses a purchase for a budget, by each of several price lists, and is compared
with the best that was measured within the budget on all images of the pool or project. mAP is
interpolated along the logarithm of dollars between measured sizes, and along that of images between
the pools of a world, as a smaller one is the first part of a larger one. Purchases that no run
measured are left out of the choice. The labels alone are judged by the best method on them, which
can still be found out once they are bought. Two simple rules stand beside the plan: complete labels
for the whole budget, with the method that is best on them in the pilot; and the label option and
method of the pilot's highest mAP.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import plan_worlds
from plan_worlds import WORLDS, World, folder_of

from simkit.annotate.prices import prices
from simkit.errors import BadInput
from simkit.planning.choose import UNSEEN, Candidate, Project, candidates, choose
from simkit.planning.costs import Purchases, count
from simkit.planning.curves import Curves
from simkit.planning.evidence import COMPLETE, Evidence, LabelOption, Pair, Size
from simkit.planning.test_set import TestSet
from simkit.study import runs

LISTS = ("hourly", "coco-tagging", "careful", "google", "aws", "openimages")
FACTORS = (2, 5, 10)  # of the dollars of a pilot's largest size
SHARES = (0.02, 0.05, 0.1, 0.25, 0.5)  # of the price of complete labels of a project
KNOWN = range(3, 8)  # sizes of a pilot in (a)
NEAR = 0.15  # of log dollars: a size counts as one 2, 5 or 10 times as large
CLOSE = 1.1  # times the largest or smallest measured dollars: counts as measured
HELD = 0.85  # share of means within their bands
LEVEL = 0.5  # mAP of a pilot's largest size from which bands are to be narrow
WIDEST = {
    True: (6.5, 7.0, 8.0),
    False: (14.0, 17.0, 18.0),
}  # points at FACTORS; from LEVEL on, below
POINTS = {"a": 1.5, "b": 3.0}  # regret that is still good
GOOD = {"a": 0.9, "b": 0.8}  # share of choices with such a regret
GOOD_BY_LIST = 0.8
TABLE = "table.parquet"
QUICK = World("scenes", (120,), ((120, 10),))


@dataclass(frozen=True)
class Prediction:
    """A measured purchase and its predicted 90 % band; mAP in points.

    `times` is the factor of dollars in (a), of images in (b); `end` the mAP of the pilot's largest
    size of the same option and method; `kind` in (a) whether the option has an end.
    """

    test: str
    world: str
    pool: str
    times: int
    pair: str
    kind: str
    end: float
    measured: float
    low: float
    median: float
    high: float

    @property
    def held(self) -> bool:
        return self.low - 1e-9 <= self.measured <= self.high + 1e-9

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class Decision:
    """A choice for a budget, and how far it and simple rules stay behind the best, in points."""

    test: str
    world: str
    pool: str
    prices: str
    budget: str
    chosen: str
    best: str
    regret: float
    labels: float  # regret of the best method on the chosen labels
    complete: float
    pilots_best: float


@dataclass(frozen=True, eq=False)
class Measured:
    """What each option and method gave in a pool for how many dollars by one price list.

    Attributes
    ----------
    purchases
        Of every label option in the pool.
    points
        Dollars, ascending, and mAP from 0 to 1.
    """

    images: int
    purchases: Mapping[LabelOption, Purchases]
    points: Mapping[Pair, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]
    smaller: Sequence[Measured] = ()

    @staticmethod
    def of(evidence: Evidence, name: str, scale: TestSet | None = None) -> Measured:
        """Priced by a list; with the bias of another test set where `scale` is it."""
        listed, images = prices(name), evidence.pool.images
        options = dict.fromkeys(option for option, _ in evidence.cells)
        bought = {option: count(option, evidence.pool, listed) for option in options}
        curves, points = Curves(evidence, bought), {}
        for pair, sizes in evidence.cells.items():
            dollars = [dollars_of(size, bought[pair[0]], images) for size in sizes]
            scores = [size.score for size in sizes]
            if pair[0].complete or curves.reaches_complete(pair):
                dollars.append(float(bought[pair[0]].dollars[-1]))
                scores.append(float(np.nanmean(evidence.complete_labels(*pair).scores)))
            rises = np.append(True, np.diff(np.maximum.accumulate(dollars)) > 1e-9)
            points[pair] = (np.array(dollars)[rises], rescaled(scores, evidence, scale)[rises])
        for option in options:  # "full" is "an" where no label is unknown
            if option.complete and (option, "an") in points:
                points[option, "full"] = points[option, "an"]
        return Measured(images, bought, points)

    def score(self, pair: Pair, dollars: float, images: int | None = None) -> float:
        """mAP of a purchase on so many images, or on as many as the option asks about."""
        low, high, part = self._around(pair, images)
        if high is not low and images:
            below, above = (pool.score(pair, dollars * pool.images / images) for pool in (low, high))
            return (1 - part) * below + part * above
        spent, scores = self.points[pair]
        return float(np.interp(np.log(dollars), np.log(spent), scores))

    def covers(self, pair: Pair, dollars: float, images: int) -> bool:
        """Whether runs measured such a purchase, or two around it."""
        low, high, _ = self._around(pair, images)
        if high is not low:
            return all(pool.covers(pair, dollars * pool.images / images, pool.images)
                       for pool in (low, high))  # fmt: skip
        spent, _ = self.points.get(pair, (np.array([np.inf]), None))
        return bool(spent[0] / CLOSE <= dollars <= spent[-1] * CLOSE)

    def _around(self, pair: Pair, images: int | None) -> tuple[Measured, Measured, float]:
        """The pools with fewer and with more images, and the part of the way between them."""
        pools = [*self.smaller, self]
        if images is None or pair[0].amount == "images" or images >= self.images or not self.smaller:
            return self, self, 1.0
        sizes = np.log([pool.images for pool in pools])
        place = float(np.interp(np.log(images), sizes, np.arange(len(pools))))
        low = min(int(place), len(pools) - 2)
        return pools[low], pools[low + 1], place - low

    def best(self, budget: float) -> tuple[float, Pair]:
        """The highest mAP within a budget."""
        ways = []
        for pair, (spent, scores) in self.points.items():
            if spent[0] <= budget * CLOSE:
                within = scores[spent <= budget].max(initial=self.score(pair, budget))
                ways.append((float(within), pair))
        return max(ways, key=lambda way: way[0])


def dollars_of(size: Size, bought: Purchases, images: int) -> float:
    """The price of a measured size."""
    if bought.option.amount == "images":
        return float(bought.dollars[-1] * size.amount / images)
    return float(np.interp(size.amount, bought.amounts, bought.dollars))


def rescaled(scores: Sequence[float], evidence: Evidence, scale: TestSet | None) -> Any:
    """mAP as the test set of a pilot corrects it, from as the project's own corrects it."""
    if scale is None or not evidence.test.small:
        return np.array(scores)
    raw = np.interp(scores, evidence.test.on_many, evidence.test.on_few)
    return scale.on_new_images(raw)


# ------------------------------------------------------------------------- (a) the same pool


def shorter(evidence: Evidence) -> Iterator[Evidence]:
    """Pilots that know the first sizes of each option and method."""
    for most in KNOWN:
        if any(len(sizes) > most for sizes in evidence.cells.values()):
            yield replace(evidence, cells={p: sizes[:most] for p, sizes in evidence.cells.items()})


def same_pool(world: str, evidence: Evidence) -> Iterator[Prediction]:
    bought = Measured.of(evidence, plan_worlds.PRICES).purchases
    for known in shorter(evidence):
        curves = Curves(known, bought)
        for pair, sizes in known.cells.items():
            longer = evidence.cells[pair]
            dollars = [dollars_of(s, bought[pair[0]], evidence.pool.images) for s in longer]
            for factor in FACTORS:
                away = np.abs(np.log(np.array(dollars) / (factor * dollars[len(sizes) - 1])))
                k = int(away.argmin())
                if away[k] < NEAR and k >= len(sizes):
                    kind = "with an end" if curves.reaches_complete(pair) else "without an end"
                    band = np.quantile(curves.at_size(pair, longer[k]), [0.05, 0.5, 0.95])
                    yield Prediction(
                        "a", world, f"{evidence.pool.images:,}", factor, _named(pair), kind,
                        sizes[-1].score, 100 * longer[k].score, *(100 * band).tolist(),
                    )  # fmt: skip


def same_pool_choices(world: str, evidence: Evidence) -> Iterator[Decision]:
    images = evidence.pool.images
    for name in LISTS:
        measured = Measured.of(evidence, name)
        for known in shorter(evidence):
            ends = [dollars_of(s[-1], measured.purchases[p[0]], images)
                    for p, s in known.cells.items()]  # fmt: skip
            curves = Curves(known, measured.purchases)
            for factor in FACTORS:
                where = ("a", world, f"{images:,}", name, f"{factor}x")
                yield from decided(where, curves, measured, factor * float(np.median(ends)))


# -------------------------------------------------------------------- (b) a pilot and a project


def beyond(world: str, pilot: Evidence, project: Evidence) -> Iterator[Prediction]:
    bought = Measured.of(pilot, plan_worlds.PRICES).purchases
    measured = Measured.of(project, plan_worlds.PRICES, pilot.test)
    curves, times = Curves(pilot, bought), project.pool.images / pilot.pool.images
    pools = f"{pilot.pool.images:,} to {project.pool.images:,}"
    for pair, (dollars, scores) in measured.points.items():
        if pair[1] == "full":
            continue
        for spent, score in zip(dollars.tolist(), scores.tolist(), strict=True):
            part = bought[pair[0]].at(np.array([spent / times]))
            at = np.array([times])
            kind = "more labels"
            if pair[0].amount == "images":
                kind = "complete labels" if pair[0].complete else "more images"
                at = at * spent / measured.purchases[pair[0]].dollars[-1]
            elif UNSEEN * curves.shares(pair, part.present, part.absent) < curves.cell(pair).u[0]:
                continue
            values = curves(pair, part.present, part.absent, at)[:, 0]
            band = (100 * np.quantile(values, [0.05, 0.5, 0.95])).tolist()
            end = pilot.cells[pair][-1].score
            yield Prediction(
                "b", world, pools, round(times), _named(pair), kind, end, 100 * score, *band
            )


def beyond_choices(world: str, pilot: Evidence, project: Evidence) -> Iterator[Decision]:
    pools = f"{pilot.pool.images:,} to {project.pool.images:,}"
    for name in LISTS:
        measured = Measured.of(project, name, pilot.test)
        curves = Curves(pilot, Measured.of(pilot, name).purchases)
        whole = float(measured.purchases[LabelOption(COMPLETE)].dollars[-1])
        for share in SHARES:
            where = ("b", world, pools, name, f"{100 * share:.0f} %")
            yield from decided(where, curves, measured, share * whole)


def decided(
    where: tuple[str, str, str, str, str], curves: Curves, measured: Measured, budget: float
) -> Iterator[Decision]:
    """What the plan chooses; nothing where it can judge no purchase that was measured."""
    pilot, project = curves.evidence, Project(dollars=budget, images=measured.images)
    try:
        every = [one for one in candidates(curves, project) if measured.covers(one.pair, one.dollars, one.images)]
    except BadInput:
        return
    if not every:
        return
    chosen = choose(every, project).chosen
    highest, best = measured.best(budget)
    ends = {method: float(np.nanmean(one.scores)) for (_, method), one in pilot.complete.items()}
    complete = (LabelOption(COMPLETE), max(ends, key=lambda method: ends[method]))
    largest = max(pilot.cells, key=lambda pair: pilot.cells[pair][-1].score)

    order = (chosen.pair, chosen.dollars, chosen.images)
    methods = [m for option, m in measured.points if option == chosen.option]

    def regret(pair: Pair, dollars: float, images: int | None = None) -> float:
        return 100 * max(0.0, highest - measured.score(pair, dollars, images))

    yield Decision(
        *where, f"{_named(chosen.pair)} on {chosen.images:,} images for "
        f"{chosen.dollars / budget:.0%} of the budget", _named(best),
        regret(*order), min(regret((order[0][0], m), *order[1:]) for m in methods),
        regret(complete, budget), regret(largest, budget),
    )  # fmt: skip


def _named(pair: Pair) -> str:
    return f"{pair[0]} with {pair[1]}"


# ------------------------------------------------------------------------------------- tables


def groups(
    every: Sequence[Any], *names: str | Callable[[Any], str]
) -> Iterator[tuple[str, list[Any]]]:
    """Items with equal attributes or values, in the order of their first."""
    made: dict[str, list[Any]] = {}
    for one in every:
        parts = [str(getattr(one, n)) if isinstance(n, str) else n(one) for n in names]
        made.setdefault(", ".join(parts), []).append(one)
    yield from made.items()


def predicted(title: str, every: Sequence[Prediction], *names: str | Callable[[Any], str]) -> None:
    heads = ("predictions", "means held", "width, points", "median error", "predicted - measured")
    rows = []
    for name, part in groups(every, *names):
        errors = np.array([one.median - one.measured for one in part])
        rows.append([
            name, f"{len(part):,}", f"{np.mean([one.held for one in part]):.0%}",
            f"{np.mean([one.width for one in part]):.1f}", f"{np.median(abs(errors)):.2f}",
            f"{errors.mean():+.1f}",
        ])  # fmt: skip
    print()
    measuring.table((title, *heads), rows)


def chosen(title: str, every: Sequence[Decision], *names: str) -> None:
    """Regret of the plan and of the two simple rules."""
    if not every:
        return
    points = POINTS[every[0].test]
    heads = (title, "choices", f"within {points:g} points", "median", "90 %", "worst",
             "complete labels: within, 90 %", "the pilot's best: within, 90 %")  # fmt: skip
    rows = []
    for name, part in [*groups(every, *names), ("all", list(every))]:
        columns = [[getattr(one, n) for one in part] for n in ("regret", "complete", "pilots_best")]
        within = [f"{np.mean(np.array(column) <= points):.0%}" for column in columns]
        high = [f"{np.quantile(column, 0.9):.1f}" for column in columns]
        rows.append([
            name, f"{len(part):,}", within[0], f"{np.median(columns[0]):.2f}", high[0],
            f"{max(columns[0]):.1f}", f"{within[1]}, {high[1]}", f"{within[2]}, {high[2]}",
        ])  # fmt: skip
    print()
    measuring.table(heads, rows)


def worst(every: Sequence[Decision], most: int = 8) -> None:
    """The largest regrets, one of each pool and way."""
    ranked = sorted(every, key=lambda one: -one.regret)
    first = {(one.world, one.pool, one.chosen.split(" for ")[0]): one for one in reversed(ranked)}
    print("\nThe largest regrets, the worst of each pool and way:\n")
    for one in sorted(first.values(), key=lambda one: -one.regret)[:most]:
        print(f"- {one.world} {one.pool}, {one.prices}, {one.budget}: {one.chosen}; {one.best} was "
              f"{one.regret:.1f} points better")  # fmt: skip


def judged(every: Sequence[Prediction], decisions: Sequence[Decision]) -> dict[str, bool]:
    """The criteria, each with what was measured, overall and by world, and whether it is met."""
    met: dict[str, bool] = {}

    def judge(what: str, part: Sequence[Any], value: Callable[[Sequence[Any]], float],
              fine: Callable[[float], bool], form: str) -> None:  # fmt: skip
        if part:
            worlds = ", ".join(f"{name} {value(own):{form}}" for name, own in groups(part, "world"))
            met[f"{what}: {value(part):{form}} ({worlds})"] = fine(value(part))

    def held(part: Sequence[Prediction]) -> float:
        return float(np.mean([one.held for one in part]))

    def width(part: Sequence[Prediction]) -> float:
        return float(np.mean([one.width for one in part]))

    def good(part: Sequence[Decision]) -> float:
        return float(np.mean([one.regret <= POINTS[one.test] for one in part]))

    ended = [one for one in every if one.test == "a" and one.kind == "with an end"]
    for place, factor in enumerate(FACTORS):
        at = [one for one in ended if one.times == factor]
        judge(f"(a) {HELD:.0%} of means held at {factor}x", at, held, lambda x: x >= HELD, ".0%")
        for high, limits in WIDEST.items():
            part = [one for one in at if (one.end >= LEVEL) == high]
            what = f"(a) bands at {factor}x, pilot {_level(high)}, at most {limits[place]:g} points wide"
            judge(what, part, width, lambda x, most=limits[place]: x <= most, ".1f")  # type: ignore[misc]
    far = [one for one in every if one.test == "b"]
    for times in dict.fromkeys(one.times for one in far):
        part = [one for one in far if one.times == times]
        judge(f"(b) {HELD:.0%} of means held at {times}x", part, held, lambda x: x >= HELD, ".0%")
    for test, points in POINTS.items():
        own = [one for one in decisions if one.test == test]
        what = f"({test}) regret within {points:g} points in {GOOD[test]:.0%} of choices"
        judge(what, own, good, lambda x, least=GOOD[test]: x >= least, ".0%")  # type: ignore[misc]
        for name, part in groups(own, "prices") if test == "a" else ():
            what = f"(a) regret within {points:g} points in {GOOD_BY_LIST:.0%} by {name}"
            judge(what, part, good, lambda x: x >= GOOD_BY_LIST, ".0%")
    return met


def _level(high: bool) -> str:
    return f"from {LEVEL:g} mAP on" if high else f"below {LEVEL:g} mAP"


def report(every: Sequence[Prediction], decisions: Sequence[Decision]) -> dict[str, bool]:
    """Print all tables; the criteria and whether they are met."""
    same = sorted(
        (p for p in every if p.test == "a"), key=lambda p: (p.kind, p.times, p.end < LEVEL)
    )
    far = sorted((p for p in every if p.test == "b"), key=lambda p: (p.times, p.kind))
    own = [one for one in decisions if one.test == "a"]
    other = [one for one in decisions if one.test == "b"]
    print("## (a) Same pool, end known")
    predicted("option, times the pilot's dollars", same, "kind",
              lambda p: f"{p.times}x", lambda p: f"pilot {_level(p.end >= LEVEL)}")  # fmt: skip
    predicted("world", same, "world", "kind", lambda p: f"{p.times}x")
    chosen("price list", own, "prices")
    chosen("times the pilot's dollars", own, "budget")
    chosen("world", own, "world")
    worst(own)
    print("\n## (b) Pilot and project")
    predicted("times the pilot's images", far, lambda p: f"{p.times}x", "kind")
    predicted("world, images", far, "world", "pool")
    chosen("price list", other, "prices")
    chosen("part of the price of complete labels", other, "budget")
    chosen("world, images", other, "world", "pool")
    worst(other)
    met = judged(every, decisions)
    print("\n## What is expected\n")
    for what, fine in met.items():
        print(f"- {'met' if fine else 'NOT met'}: {what}")
    return met


# ----------------------------------------------------------------------------------------- runs


def opened(folder: Path) -> Evidence:
    """The runs of a pool; none on complete labels may be of more images than it has."""
    evidence, table = Evidence.of(folder), runs.table(folder)
    whole = table.filter(table["reference"])["images"].to_pylist()
    assert set(whole) == {evidence.pool.images}, f"{folder}: complete labels of other images"
    return evidence


def compared(worlds: Sequence[World], folder: Path, *, quick: bool, workers: int | None) -> None:
    """Run the comparisons that are missing; few sizes and ways where only `quick` is asked for."""
    for world in worlds:
        for images, pilot in world.pools.items():
            pool = folder_of(folder, world.name, images)
            if not (pool / TABLE).is_file():
                grid = plan_worlds.grid(world, images, pool)
                if quick:
                    budgets = grid.budgets if pilot else (*grid.budgets[1:6], grid.budgets[-1])
                    grid = replace(grid, schemes=("rpa", "full-subset"), methods=("an", "ignore"),
                                   budgets=budgets, draws=2)  # fmt: skip
                plan_worlds.compared(grid, world, images, pool, workers=workers)


def judged_world(world: World, folder: Path) -> Iterator[Prediction | Decision]:
    """Both tests in the pools that are there."""
    folders = {images: folder_of(folder, world.name, images) for images in world.pools}
    pools = {n: opened(pool) for n, pool in folders.items() if (pool / TABLE).is_file()}
    for images, evidence in pools.items():
        if not world.pools[images]:
            yield from same_pool(world.name, evidence)
            yield from same_pool_choices(world.name, evidence)
    for pilot, times in world.projects:
        if {pilot, pilot * times} <= pools.keys():
            yield from beyond(world.name, pools[pilot], pools[pilot * times])
            yield from beyond_choices(world.name, pools[pilot], pools[pilot * times])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, help="folder that keeps the runs")
    parser.add_argument("--worlds", nargs="+", choices=[*WORLDS], default=[*WORLDS])
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--no-compare", action="store_true", help="judge the runs that are there")
    parser.add_argument("--quick", action="store_true", help="few runs, in a folder of their own")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    wants = parser.parse_args()
    if wants.runs is None and not wants.quick:
        sys.exit("name a folder with --runs, or ask for --quick")
    warnings.simplefilter("ignore", UserWarning)  # they come again as notes of the comparison
    worlds = [QUICK] if wants.quick else [WORLDS[name] for name in wants.worlds]
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(spare) if wants.quick else wants.runs
        if wants.quick or not wants.no_compare:
            compared(worlds, folder, quick=wants.quick, workers=wants.workers)
        made = [one for world in worlds for one in judged_world(world, folder)]
    every = [one for one in made if isinstance(one, Prediction)]
    decisions = [one for one in made if isinstance(one, Decision)]
    sizes = {world.name: [sum(one.world == world.name for one in part) for part in (every, decisions)]
             for world in worlds}  # fmt: skip
    met = report(every, decisions)
    measuring.finish("plan_backtest", as_json=wants.json, equal=True, ratios={}, sizes=sizes,
                     met=met)  # fmt: skip


if __name__ == "__main__":
    main()
