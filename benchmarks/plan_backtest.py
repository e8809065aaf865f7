"""Do the curves of a plan hold beyond their pilot, and is what it recommends a good buy?

    python benchmarks/plan_backtest.py --runs FOLDER             # about 20 minutes on two cores
    SIMKIT_DATA=... python benchmarks/plan_backtest.py --runs FOLDER --photographs
    python benchmarks/plan_backtest.py --quick --json            # a minute; a check that it works

FOLDER keeps the runs: the same command goes on where it was stopped, and `simkit plan` reads it.
First `compare` buys labels on `scenes` in five ways, at budgets that double and go on to ten times
the largest pilot, and trains six methods on each, in five draws. Then, as a user would:

1. Curves are fitted to all sizes up to a pilot's largest one, and asked about the sizes that lie
   2, 5 and 10 times beyond it. A band holds if the mean over draws lies within it; how many single
   draws do stands beside it, as bands are about the single purchase that a plan recommends.
2. The plan is asked what to buy when it knows the sizes of a pilot, at budgets of 2, 5 and 10 times
   what the median way's pilot cost, for several price lists by which the same questions are priced
   again. Its choice is compared with the best of all ways and methods that were measured at that
   budget. Between two sizes mAP is taken along the logarithm of dollars.

Photographs are the VOC 2012 animals of SIMKIT_DATA with the features that come with them: reported,
not judged, as some classes have few positives. The command fails where a run failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring
import numpy as np
from findings import photographs
from plan_regret import PAIRS, Choice, choices, regret, up_to

from simkit.annotate.prices import prices
from simkit.learn.steps.optim import Settings
from simkit.planning.choosing.followed import followed
from simkit.planning.curves.points import Points
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.project import Project
from simkit.planning.plan import fitted
from simkit.study.compare import compare
from simkit.study.grids.grid import Grid, demo

SCHEMES = ("single-positive", "rpa", "fpc", "fraction-of-positives", "full-subset")
METHODS = ("an", "ignore", "wan", "ll-r", "csl", "em")
FACTORS = (2, 5, 10)
WIDEST = {2: 6.0, 10: 8.0}  # points, mean width of 90 % bands
COVERED, ERROR = 0.85, 1.5  # share of held-out means; points, median at twice the reach
NEAR = 0.15  # of log dollars: a size counts as one 2, 5 or 10 times beyond
LEAST = 4  # sizes of a pilot


@dataclass(frozen=True)
class Case:
    """A grid, and the budgets that end its pilots."""

    name: str
    grid: Grid
    pilots: tuple[float, ...]


@dataclass(frozen=True)
class Held:
    """One held-out size of one curve; mAP in points."""

    factor: int
    pilot: float
    end: float  # what the pilot's largest size had reached
    covered: bool
    singles: float
    width: float
    error: float  # predicted less measured


def scenes(quick: bool) -> Case:
    common: dict[str, Any] = {"prices": "coco-tagging", "reference": False, "train": demo().train}
    if quick:
        grid = Grid(
            ("rpa", "full-subset"), ("an", "ignore"), data="scenes:images=900,test=500",
            budgets=(10, 20, 40, 80, 160, 400), draws=2, **common,
        )  # fmt: skip
        return Case("scenes", grid, (80,))
    budgets = (10, 20, 40, 80, 160, 320, 640, 800, 1600, 3200)
    grid = Grid(SCHEMES, METHODS, data="scenes:images=9000", budgets=budgets, draws=5, **common)
    return Case("scenes", grid, (80, 160, 320))


def real(folder: Path) -> Case:
    folder.mkdir(parents=True, exist_ok=True)
    grid = Grid(
        ("single-positive", "rpa", "fpc", "full-subset"), METHODS, prices="coco-tagging",
        budgets=(2.5, 5, 10, 20, 40, 80, 100, 160, 200, 400), draws=5, reference=False,
        train=Settings(epochs=25, lr=1e-3), **photographs(folder),
    )  # fmt: skip
    return Case("photographs", grid, (20, 40))


def held_out(case: Case, evidence: Evidence) -> Iterator[Held]:
    """Every curve, fitted up to each pilot as a plan does, at the sizes that lie beyond."""
    listed = prices(case.grid.prices)
    for pilot in case.pilots:
        known = up_to(evidence, listed, pilot)
        project = Project(budget=1.0, prices=listed)
        for pair, curve in followed(fitted(known, project)[0], known, project).items():
            points, reach = evidence.points(*pair, listed), curve.reach
            if points is None or len(curve.points.sizes) < LEAST or reach < 0.9 * pilot:
                continue
            for factor in FACTORS:
                away = abs(np.log(points.costs / (factor * reach)))
                k = int(away.argmin())
                if away[k] < NEAR:
                    yield _held(factor, pilot, points, k, curve)


def _held(factor: int, pilot: float, points: Points, k: int, curve: Any) -> Held:
    scores = points.score[points.size == points.sizes[k]]
    (low,), (high,) = curve.band(points.costs[k])
    return Held(
        factor=factor,
        pilot=pilot,
        end=float(np.nanmean(curve.points.table[:, -1])),
        covered=bool(low <= scores.mean() <= high),
        singles=float(((low <= scores) & (scores <= high)).mean()),
        width=100 * float(high - low),
        error=100 * float(curve.median(points.costs[k])[0] - scores.mean()),
    )


def table(found: Sequence[Held]) -> list[str]:
    """How well bands held, in markdown; by reach, and by how far the pilot had got."""
    lines = [
        "| sizes beyond the pilot | curves x pilots | means held | single draws held | width, "
        "points | median error | mean of predicted - measured |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    parts = (("", 0.0, 1.01), (", pilot below 0.5 mAP", 0.0, 0.5), (", from 0.5 on", 0.5, 1.01))
    for factor in FACTORS:
        for told, low, high in parts:
            own = [h for h in found if h.factor == factor and low <= h.end < high]
            if own:
                cells = (
                    f"{100 * np.mean([h.covered for h in own]):.0f} %",
                    f"{100 * np.mean([h.singles for h in own]):.0f} %",
                    f"{np.mean([h.width for h in own]):.1f}",
                    f"{np.median([abs(h.error) for h in own]):.2f}",
                    f"{np.mean([h.error for h in own]):+.1f}",
                )
                lines.append(f"| {factor}x{told} | {len(own)} | " + " | ".join(cells) + " |")
    return lines


def judged(found: Sequence[Held], chosen: Sequence[Choice]) -> dict[str, bool]:
    """What is expected, and whether it is so."""
    by = {f: [h for h in found if h.factor == f] for f in FACTORS}
    told = {
        f"{100 * COVERED:.0f} % of means held at {f}x": bool(
            own and np.mean([h.covered for h in own]) >= COVERED
        )
        for f, own in by.items()
    }
    for f, most in WIDEST.items():
        narrow = bool(by[f] and np.mean([h.width for h in by[f]]) <= most)
        told[f"bands at {f}x at most {most:g} points wide"] = narrow
    error = float(np.median([abs(h.error) for h in by[2]])) if by[2] else np.inf
    told[f"median error at 2x at most {ERROR} points"] = error <= ERROR
    enough = len({(c.prices, c.budget) for c in chosen}) >= PAIRS
    told[f"{PAIRS} or more pairs of price list and budget"] = enough
    told["within 1.5 points of the best in 80 % of choices"] = bool(
        chosen and np.mean([c.regret <= 1.5 for c in chosen]) >= 0.8
    )
    return told


def report(
    case: Case, folder: Path, *, workers: int | None, again: bool, judge: bool
) -> tuple[str, dict[str, bool], bool]:
    """The chapter of one data set, what was expected, and whether every run ended."""
    failures: tuple[str, ...] = ()
    if again:
        done = compare(case.grid, out=folder, workers=workers)
        failures = done.failures
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    evidence = Evidence.of(folder)
    found = list(held_out(case, evidence))
    chosen = list(choices(evidence, case.grid.prices, case.pilots))
    wanted = judged(found, chosen) if judge else {}
    told = [f"- {'met' if fine else 'NOT met'}: {what}" for what, fine in wanted.items()]
    runs = f"{len(evidence.runs):,} runs, {evidence.draws} draws"
    return "\n".join([
        f"## {case.name} ({runs}; {case.grid.data.partition(':')[0]}, bought at "
        f"{case.grid.prices} prices)", "",
        f"Pilots end at {', '.join(f'${pilot:g}' for pilot in case.pilots)} and have {LEAST} or "
        "more sizes.", "",
        *table(found), "",
        *regret(chosen), "",
        *told, "",
    ]), wanted, not failures  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, help="folder that keeps the runs")
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--photographs", action="store_true", help="those of SIMKIT_DATA as well")
    parser.add_argument("--no-compare", action="store_true", help="judge the runs that are there")
    parser.add_argument("--quick", action="store_true", help="few runs, in a folder of their own")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    wants = parser.parse_args()
    if wants.runs is None and not wants.quick:
        sys.exit("name a folder with --runs, or ask for --quick")
    warnings.simplefilter("ignore", UserWarning)  # they come again as notes of the comparison
    with tempfile.TemporaryDirectory() as spare:
        folder = wants.runs or Path(spare)
        cases = [scenes(wants.quick)]
        if wants.photographs:
            cases.append(real(folder / "photographs-features"))
        found = [
            report(
                case,
                folder / case.name,
                workers=wants.workers,
                again=not wants.no_compare,
                judge=case.name == "scenes" and not wants.quick,
            )
            for case in cases
        ]
    print("\n".join(text for text, _, _ in found))
    expected = {case.name: told for case, (_, told, _) in zip(cases, found, strict=True)}
    measuring.finish(
        "plan_backtest", as_json=wants.json, equal=all(fine for *_, fine in found), ratios={},
        sizes={c.name: [len(c.grid.schemes), len(c.grid.methods), c.grid.draws] for c in cases},
        met=expected,
    )  # fmt: skip


if __name__ == "__main__":
    main()
