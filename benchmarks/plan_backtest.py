"""Do a plan's predictions hold, and is what it recommends a good buy?

    SIMKIT_DATA=... python benchmarks/plan_backtest.py --runs FOLDER    # hours; judging, 15 minutes
    python benchmarks/plan_backtest.py --runs FOLDER --worlds scenes --no-compare
    python benchmarks/plan_backtest.py --quick --json                   # a minute; does it work?

FOLDER holds the comparisons of plan_worlds.py, which says what its worlds are; missing ones are
made first. A pilot's complete labels are those of its own images: nothing larger is known to it.

(a) *Same pool, known end.* A pilot has complete labels of a pool and the first 3 to 7 sizes of
every label option and method. The sizes that cost 2, 5 and 10 times as much as its largest are
predicted. A prediction holds if the mean over draws lies in its 90 % band. An option "with an end"
is as good as complete labels at its largest amount: the pilot has measured where its curve ends.

(b) *Pilot and project.* Pilots of 150, 300 and 600 images predict every purchase of projects of 10
and 30 times as many whose shares of labels a plan would judge.

Regret: the plan chooses a purchase for a budget, by each of several price lists, and is compared
with the best that was measured within the budget on all images of the pool or project. mAP is
interpolated along the logarithm of dollars between measured sizes, and along that of images between
the pools of a world, as a smaller one is the first part of a larger one. Searches
are at random. PriceCurve that no run
measured are left out of the choice. The labels alone are judged by the best method on them, which
can still be chosen once they are bought. Two simple rules stand beside the plan: complete labels
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
from functools import cache
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import plan_worlds
from plan_worlds import WORLDS, World, folder_of

from simkit.annotate.prices import prices
from simkit.errors import BadInput
from simkit.planning.choose import UNSEEN, Request, candidates, choose
from simkit.planning.costs import PriceCurve, count
from simkit.planning.curves import Curves
from simkit.planning.evidence import COMPLETE, Evidence, LabelOption, Pair, Size
from simkit.results.runs import open_runs
from simkit.results.test_split import TestSplit

LISTS = ("hourly", "coco-tagging", "careful", "google", "aws", "openimages")
FACTORS = (2, 5, 10)  # of the dollars of a pilot's largest size
SHARES = (0.02, 0.05, 0.1, 0.25, 0.5)  # of the price of complete labels of a project
KNOWN = range(3, 8)  # sizes of a pilot in (a)
NEAR = 0.15  # of log dollars: a size counts as one 2, 5 or 10 times as large
CLOSE = 1.1  # times the largest or smallest measured dollars: counts as measured
HELD = 0.85  # share of means within their bands
LEVEL = 0.5  # mAP of a pilot's largest size from which on bands are to be narrow
WIDEST = {True: (6.5, 7.0, 8.0), False: (14.0, 17.0, 18.0)}  # points at FACTORS, by from LEVEL on
POINTS = {"a": 1.5, "b": 3.0}  # regret that is still good
GOOD = {"a": 0.9, "b": 0.85}  # share of choices with such a regret
GOOD_BY_LIST = 0.8
TABLE = "table.parquet"
QUICK = World("scenes", (120, 400), ((120, 10),))
Labelled = Callable[[Any], str]
Mean = Callable[[Any], float]


@dataclass(frozen=True)
class Prediction:
    """A measured purchase and its predicted 90 % band; mAP in points.

    `times` is the factor of dollars in (a), of images in (b); `end` the pilot's largest mAP with
    the same option and method; `kind` in (a) whether the option has an end.
    """

    test: str
    world: str
    pool: str
    times: int
    pair: Pair
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
    """A choice for a budget; how far it and simple rules stay behind the best, in points."""

    test: str
    world: str
    pool: str
    prices: str
    budget: str
    chosen: str
    best: str
    regret: float
    labels: float
    complete: float
    pilots_best: float


@dataclass(frozen=True, eq=False)
class Measured:
    """What each option and method gave in a pool for how many dollars by one price list.

    Attributes
    ----------
    points
        Dollars, ascending, and mAP from 0 to 1.
    smaller
        Pools that are first parts of this one, ascending.
    """

    images: int
    purchases: Mapping[LabelOption, PriceCurve]
    points: Mapping[Pair, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]
    smaller: Sequence[Measured] = ()

    @staticmethod
    def of(evidence: Evidence, name: str, scale: TestSplit | None = None) -> Measured:
        """By a price list; corrected for the test set of a pilot where `scale` is that."""
        bought, points = purchases(evidence, name), {}
        curves = alone(evidence, bought)
        for pair, sizes in evidence.cells.items():
            dollars = [dollars_of(size, bought[pair[0]], evidence.pool.images) for size in sizes]
            scores = [size.score for size in sizes]
            if pair[0].complete or reaches_complete(curves, pair):
                dollars.append(float(bought[pair[0]].dollars[-1]))
                scores.append(float(np.nanmean(evidence.complete_labels(*pair))))
            rises = np.append(np.diff(np.maximum.accumulate(dollars)) > 1e-9, True)
            points[pair] = (np.array(dollars)[rises], rescaled(scores, evidence, scale)[rises])
            if pair == (LabelOption(COMPLETE), "an"):  # the same where no label is unknown
                points[pair[0], "full"] = points[pair]
        return Measured(evidence.pool.images, bought, points)

    def score(self, pair: Pair, dollars: float, images: int | None = None) -> float:
        """mAP of a purchase on so many images; None: on as many as the option can ask about."""
        low, high, part = self._around(pair, images)
        if images and high is not low:
            pools = ((low, 1 - part), (high, part))
            return sum(w * pool.score(pair, dollars * pool.images / images) for pool, w in pools)
        spent, scores = self.points[pair]
        return float(np.interp(np.log(dollars), np.log(spent), scores))

    def covers(self, pair: Pair, dollars: float, images: int) -> bool:
        """Whether runs measured such a purchase, or two around it."""
        low, high, _ = self._around(pair, images)
        if high is not low:
            pools = (low, high)
            return all(p.covers(pair, dollars * p.images / images, p.images) for p in pools)
        spent, _ = self.points.get(pair, (np.array([np.inf]), None))
        return bool(spent[0] / CLOSE <= dollars <= spent[-1] * CLOSE)

    def _around(self, pair: Pair, images: int | None) -> tuple[Measured, Measured, float]:
        """The pools with fewer and with more images, and the part of the way between them."""
        if not images or pair[0].amount == "images" or images >= self.images or not self.smaller:
            return self, self, 1.0
        pools = [*self.smaller, self]
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


@cache
def purchases(evidence: Evidence, name: str) -> dict[LabelOption, PriceCurve]:
    options = dict.fromkeys(option for option, _ in evidence.cells)
    return {option: count(option, evidence.pool, prices(name)) for option in options}


def alone(evidence: Evidence, bought: dict[LabelOption, PriceCurve]) -> Curves:
    """The curves of purchases without the pilot's labels, as they were measured."""
    curves = Curves(evidence, bought)
    curves.with_pilot = False
    return curves


def dollars_of(size: Size, bought: PriceCurve, images: int) -> float:
    """The price of a measured size."""
    if bought.option.amount == "images":
        return float(bought.dollars[-1] * size.amount / images)
    return float(np.interp(size.amount, bought.amounts, bought.dollars))


def reaches_complete(curves: Curves, pair: Pair) -> bool:
    """Whether the largest purchase of the option is as good as complete labels."""
    whole, (present, absent) = curves.purchases[pair[0]], curves.purchases[pair[0]].complete
    if not (whole.present[-1] >= 0.999 * present).all():
        return False
    # For a method that takes unknown labels for absent ones, present labels suffice.
    positives_suffice = bool(curves.evidence.methods[pair[1]].unknown_as_absent)
    return positives_suffice or bool((whole.absent[-1] >= 0.99 * absent).all())


def rescaled(scores: Sequence[float], evidence: Evidence, scale: TestSplit | None) -> Any:
    """mAP as corrected for the test set of `scale`, not for that of the evidence."""
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
    bought, images = purchases(evidence, plan_worlds.PRICES), evidence.pool.images
    for known in shorter(evidence):
        curves = alone(known, bought)
        for pair, sizes in known.cells.items():
            longer = evidence.cells[pair]
            if known.methods[pair[1]].known_alone and not longer[-1].absent.any():
                continue
            dollars = [dollars_of(size, bought[pair[0]], images) for size in longer]
            for factor in FACTORS:
                away = np.abs(np.log(np.array(dollars) / (factor * dollars[len(sizes) - 1])))
                k = int(away.argmin())
                if away[k] < NEAR and k >= len(sizes):
                    kind = "with an end" if reaches_complete(curves, pair) else "without an end"
                    band = 100 * np.quantile(curves.at_size(pair, longer[k]), [0.05, 0.5, 0.95])
                    yield Prediction("a", world, f"{images:,}", factor, pair, kind, sizes[-1].score,
                                     100 * longer[k].score, *band.tolist())  # fmt: skip


def same_pool_choices(world: str, evidence: Evidence) -> Iterator[Decision]:
    images = evidence.pool.images
    for name in LISTS:
        measured = Measured.of(evidence, name)
        for known in shorter(evidence):
            ends = [
                dollars_of(sizes[-1], measured.purchases[pair[0]], images)
                for pair, sizes in known.cells.items()
            ]
            curves = alone(known, measured.purchases)
            for factor in FACTORS:
                where = ("a", world, f"{images:,}", name, f"{factor}x")
                yield from decided(where, curves, measured, factor * float(np.median(ends)))


# -------------------------------------------------------------------- (b) a pilot and a project


def beyond(world: str, pilot: Evidence, project: Evidence) -> Iterator[Prediction]:
    bought = purchases(pilot, plan_worlds.PRICES)
    measured = Measured.of(project, plan_worlds.PRICES, pilot.test)
    curves, times = alone(pilot, bought), project.pool.images / pilot.pool.images
    pools = f"{pilot.pool.images:,} to {project.pool.images:,}"
    for pair, (dollars, scores) in measured.points.items():
        if pair[1] == "full":
            continue
        for spent, score in zip(dollars.tolist(), scores.tolist(), strict=True):
            part, at = bought[pair[0]].at(np.array([spent / times])), np.array([times])
            kind = "more labels"
            if pair[0].amount == "images":
                kind = "complete labels" if pair[0].complete else "more images"
                at = at * spent / measured.purchases[pair[0]].dollars[-1]
            elif UNSEEN * curves.shares(pair, part.present, part.absent) < curves.cell(pair).u[0]:
                continue
            if pilot.methods[pair[1]].known_alone and not part.absent.any():
                continue
            values = curves.as_scored(pair, curves(pair, part.present, part.absent, at))[:, 0]
            band = (100 * np.quantile(values, [0.05, 0.5, 0.95])).tolist()
            end = pilot.cells[pair][-1].score
            yield Prediction("b", world, pools, round(times), pair, kind, end, 100 * score, *band)


def beyond_choices(
    world: str, pilot: Evidence, project: Evidence, smaller: Sequence[Evidence]
) -> Iterator[Decision]:
    pools = f"{pilot.pool.images:,} to {project.pool.images:,}"
    for name in LISTS:
        parts = [Measured.of(part, name, pilot.test) for part in smaller]
        measured = replace(Measured.of(project, name, pilot.test), smaller=parts)
        curves = alone(pilot, purchases(pilot, name))
        whole = float(measured.purchases[LabelOption(COMPLETE)].dollars[-1])
        for share in SHARES:
            where = ("b", world, pools, name, f"{100 * share:.0f} %")
            yield from decided(where, curves, measured, share * whole)


def decided(
    where: tuple[str, str, str, str, str], curves: Curves, measured: Measured, budget: float
) -> Iterator[Decision]:
    """What the plan chooses; nothing where it can judge no purchase that was measured."""
    pilot, project = curves.evidence, Request(dollars=budget, images=measured.images)
    try:
        every = candidates(curves, project)
    except BadInput:
        return
    every = [one for one in every if measured.covers(one.pair, one.dollars, one.images)]
    if not every:
        return
    one = choose(every, project).chosen
    highest, best = measured.best(budget)

    def regret(pair: Pair, dollars: float, images: int | None = None) -> float:
        return 100 * max(0.0, highest - measured.score(pair, dollars, images))

    methods = [method for option, method in measured.points if option == one.option]
    ends = {method: float(np.nanmean(end)) for (_, method), end in pilot.complete.items()}
    largest = max(pilot.cells, key=lambda pair: pilot.cells[pair][-1].score)
    yield Decision(
        *where,
        f"{named(one.pair)} on {one.images:,} images for {one.dollars / budget:.0%} of the budget",
        named(best),
        regret(one.pair, one.dollars, one.images),
        min(regret((one.option, method), one.dollars, one.images) for method in methods),
        regret((LabelOption(COMPLETE), max(ends, key=lambda method: ends[method])), budget),
        regret(largest, budget),
    )


def named(pair: Pair) -> str:
    return f"{pair[0]} with {pair[1]}"


# ------------------------------------------------------------------------------------- tables


def groups(every: Sequence[Any], *labels: Labelled | str) -> Iterator[tuple[str, list[Any]]]:
    """Items with equal attributes or values, in the order of their first."""
    made: dict[str, list[Any]] = {}
    for one in every:
        parts = [str(getattr(one, n)) if isinstance(n, str) else n(one) for n in labels]
        made.setdefault(", ".join(parts), []).append(one)
    yield from made.items()


def predicted(title: str, every: Sequence[Prediction], *labels: Labelled | str) -> None:
    heads = ("predictions", "held", "width, points", "median error", "predicted - measured")
    rows = []
    for name, part in groups(every, *labels):
        errors = np.array([one.median - one.measured for one in part])
        rows.append((name, f"{len(part):,}", f"{mean(part, 'held'):.0%}",
                     f"{mean(part, 'width'):.1f}", f"{np.median(abs(errors)):.2f}",
                     f"{errors.mean():+.1f}"))  # fmt: skip
    print()
    measuring.table((title, *heads), rows)


def regrets(title: str, every: Sequence[Decision], *labels: Labelled | str) -> None:
    """Shares of choices with little regret, and the 90 % quantile of regret, of each rule."""
    rules = {"the plan": "regret", "its labels alone": "labels", "complete labels": "complete",
             "the pilot's best": "pilots_best"}  # fmt: skip
    rows = []
    for name, part in [*groups(every, *labels), ("all", list(every))]:
        cells = []
        for rule in rules.values():
            values = [getattr(one, rule) for one in part]
            cells.append(f"{good(part, rule):.0%}, {np.quantile(values, 0.9):.1f}")
        rows.append((name, f"{len(part):,}", f"{np.median([one.regret for one in part]):.2f}",
                     f"{max(one.regret for one in part):.1f}", *cells))  # fmt: skip
    print()
    points = POINTS[every[0].test]
    heads = [f"{rule}: within {points:g}, 90 %" for rule in rules]
    measuring.table((title, "choices", "median", "worst", *heads), rows)


def worst(every: Sequence[Decision], most: int = 8) -> None:
    ranked = sorted(every, key=lambda one: one.regret)
    last = {(one.world, one.pool, one.chosen.split(" on ")[0]): one for one in ranked}
    print("\nThe largest regrets, one for each pool, option and method:\n")
    for one in sorted(last.values(), key=lambda one: -one.regret)[:most]:
        where = f"{one.world} {one.pool}, {one.prices}, {one.budget}"
        behind = f"{one.regret:.1f} points better, the labels alone {one.labels:.1f} behind"
        print(f"- {where}: {one.chosen}; {one.best} was {behind}")


def mean(part: Sequence[Any], name: str) -> float:
    return float(np.mean([getattr(one, name) for one in part]))


def good(part: Sequence[Decision], rule: str = "regret") -> float:
    """Share of choices with little regret."""
    return float(np.mean([getattr(one, rule) <= POINTS[one.test] for one in part]))


def judged(every: Sequence[Prediction], decisions: Sequence[Decision]) -> dict[str, bool]:
    """The criteria, each with what was measured, overall and by world, and whether it is met."""
    met: dict[str, bool] = {}

    def judge(what: str, part: Sequence[Any], value: Mean, bar: float, form: str) -> None:
        if part:
            worlds = ", ".join(f"{name} {value(own):{form}}" for name, own in groups(part, "world"))
            sign = -1 if form == ".1f" else 1  # widths are to be small
            met[f"{what}: {value(part):{form}} ({worlds})"] = sign * value(part) >= sign * bar

    for place, factor in enumerate(FACTORS):
        at = [p for p in every if p.kind == "with an end" and p.times == factor]
        judge(f"(a) {HELD:.0%} held at {factor}x", at, lambda x: mean(x, "held"), HELD, ".0%")
        for high, limits in WIDEST.items():
            part = [one for one in at if (one.end >= LEVEL) == high]
            what = f"(a) width at {factor}x, pilot {level(high)}, at most {limits[place]:g} points"
            judge(what, part, lambda x: mean(x, "width"), limits[place], ".1f")
    for times in sorted({one.times for one in every if one.test == "b"}):
        part = [one for one in every if one.test == "b" and one.times == times]
        judge(f"(b) {HELD:.0%} held at {times}x", part, lambda x: mean(x, "held"), HELD, ".0%")
    for test, points in POINTS.items():
        chosen = [one for one in decisions if one.test == test]
        what = f"({test}) regret within {points:g} points in"
        judge(f"{what} {GOOD[test]:.0%}", chosen, good, GOOD[test], ".0%")
        for name, part in groups(chosen, "prices") if test == "a" else ():
            judge(f"{what} {GOOD_BY_LIST:.0%} by {name}", part, good, GOOD_BY_LIST, ".0%")
    return met


def level(high: bool) -> str:
    return f"from {LEVEL:g} mAP on" if high else f"below {LEVEL:g} mAP"


def report(every: Sequence[Prediction], decisions: Sequence[Decision]) -> dict[str, bool]:
    """Print all tables; the criteria and whether they are met."""

    def times(one: Prediction) -> str:
        return f"{one.times}x"

    ranked = sorted(every, key=lambda p: (p.kind, p.times, p.end < LEVEL))
    for test, title in (("a", "Same pool, known end"), ("b", "Pilot and project")):
        print(f"\n## ({test}) {title}")
        part = [one for one in ranked if one.test == test]
        if test == "a":
            predicted("option, times the pilot's dollars", part, "kind", times,
                      lambda p: f"pilot {level(p.end >= LEVEL)}")  # fmt: skip
            predicted("world", part, "world", "kind", times)
        else:
            predicted("what, times the pilot's images", part, "kind", times)
            predicted("world, images", part, "world", "pool")
        predicted("option", part, lambda p: str(p.pair[0]))
        predicted("method", part, lambda p: p.pair[1])
        chosen = [one for one in decisions if one.test == test]
        if chosen:
            regrets("price list", chosen, "prices")
            budget = "times the pilot's dollars" if test == "a" else "part of complete labels"
            regrets(f"budget, {budget}", chosen, "budget")
            regrets("world", chosen, "world", *(["pool"] if test == "b" else []))
            worst(chosen)
    met = judged(every, decisions)
    print("\n## Requirements\n")
    for what, fine in met.items():
        print(f"- {'met' if fine else 'NOT met'}: {what}")
    return met


# ----------------------------------------------------------------------------------------- runs


def opened(folder: Path) -> Evidence:
    """The runs of a pool, searched at random; none on complete labels may be of other images."""
    evidence = Evidence.of(folder)
    whole = set(open_runs(folder).reference["images"])
    assert whole == {evidence.pool.images}, f"{folder}: a reference of {whole} images"
    # A search by the pilot's own model gives up where few images show a class. The runs did not.
    return replace(evidence, pool=replace(evidence.pool, machine=None))


def compared(worlds: Sequence[World], folder: Path, *, quick: bool, workers: int | None) -> None:
    """Run the comparisons that are missing; with `quick` few sizes, options and methods."""
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
    folders = {images: folder_of(folder, world.name, images) for images in sorted(world.pools)}
    pools = {n: opened(pool) for n, pool in folders.items() if (pool / TABLE).is_file()}
    for images, evidence in pools.items():
        if not world.pools[images]:
            yield from same_pool(world.name, evidence)
            yield from same_pool_choices(world.name, evidence)
    for pilot, times in world.projects:
        if {pilot, pilot * times} <= pools.keys():
            both = (pools[pilot], pools[pilot * times])
            yield from beyond(world.name, *both)
            smaller = [pool for images, pool in pools.items() if images < pilot * times]
            yield from beyond_choices(world.name, *both, smaller)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, help="folder that keeps the runs")
    parser.add_argument("--worlds", nargs="+", choices=[*WORLDS], default=[*WORLDS])
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--no-compare", action="store_true", help="judge the runs that are there")
    parser.add_argument("--quick", action="store_true", help="few runs, in a folder of their own")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    arguments = parser.parse_args()
    if arguments.runs is None and not arguments.quick:
        sys.exit("name a folder with --runs, or ask for --quick")
    warnings.simplefilter("ignore", UserWarning)  # they come again as notes of the comparison
    worlds = [QUICK] if arguments.quick else [WORLDS[name] for name in arguments.worlds]
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(spare) if arguments.quick else arguments.runs
        if arguments.quick or not arguments.no_compare:
            compared(worlds, folder, quick=arguments.quick, workers=arguments.workers)
        made = {world.name: list(judged_world(world, folder)) for world in worlds}
    every = [one for part in made.values() for one in part if isinstance(one, Prediction)]
    decisions = [one for part in made.values() for one in part if isinstance(one, Decision)]
    met = report(every, decisions)
    sizes = {name: len(part) for name, part in made.items()}
    measuring.finish("plan_backtest", as_json=arguments.json, equal=True, ratios={}, sizes=sizes,
                     met=met)  # fmt: skip


if __name__ == "__main__":
    main()
