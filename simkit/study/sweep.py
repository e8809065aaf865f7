"""The sweep: every method's settings tried in a draw of their own, and the best of each chosen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from simkit.study import kept
from simkit.study.bundles.agenda import Choices, purchases
from simkit.study.bundles.bundle import Bundle, Purchase
from simkit.study.grids.grid import Grid
from simkit.study.grids.tuning import Setting
from simkit.study.working.finish import Finished, Progress, finish, stored
from simkit.study.working.parts import Part
from simkit.study.working.processes import usable_cores

_COLUMNS = [  # what tells of a run whose it is, and how well it did
    "scheme",
    "budget",
    "budget_hours",
    "reference",
    "method",
    "tuned",
    "curve",
    "epochs",
    "dollars",
]


@dataclass(frozen=True, eq=False)
class Swept:
    """What a sweep chose, and a sentence for each of its runs that failed or told nothing."""

    chosen: Choices
    failures: tuple[str, ...] = ()


def swept(
    grid: Grid,
    bundles: Sequence[Bundle],
    folder: Path,
    *,
    part: Part | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = lambda done, of: None,
) -> Swept:
    """Work through the sweep's bundles, keeping them in `folder`, and choose.

    part: works on its share first and then on what others have not finished yet, since nobody can
    go on without all of it. progress gets (runs done, runs).
    """

    def work(some: Sequence[Bundle], told: Progress) -> Finished:
        return finish(some, folder, executor=executor, workers=workers, progress=told)

    mine = list(bundles) if part is None else part.share(bundles, lambda one: one.runs)
    found = work(mine, progress)
    if part is not None:
        found = _helped(bundles, mine, found, work, folder, workers or usable_cores())
    return choose(grid, bundles, found)


def _helped(
    bundles: Sequence[Bundle],
    mine: Sequence[Bundle],
    found: Finished,
    work: Callable[[Sequence[Bundle], Progress], Finished],
    folder: Path,
    count: int,
) -> Finished:
    """What others left, so many at a time, beginning behind one's own: so that few do the same."""
    done, failures = dict(found.done), dict(found.failures)
    start = bundles.index(mine[-1]) if mine else 0
    tried = {one.key for one in mine}
    others = [one for one in [*bundles[start:], *bundles[:start]] if one.key not in tried]
    while others:
        there = [one for one in others if kept.is_there(folder, one.key)]
        done |= stored(there, folder).done
        left = [one for one in others if one.key not in done]
        more = work(left[:count], lambda done, of: None)
        done |= more.done
        failures |= more.failures
        others = left[count:]
    return Finished(done, failures)


def choose(grid: Grid, bundles: Sequence[Bundle], found: Finished) -> Swept:
    """The setting of each method under each scheme and limit that reached the highest mAP on the
    validation labels, at the epoch it would be scored at; the first of those that tie."""
    reached: dict[tuple[Purchase, str], list[Setting]] = {}
    for one in _tried(grid, bundles, found):
        reached.setdefault((one.purchase, one.method), []).append(one.setting)
    chosen, silent = {}, []
    for (purchase, method), settings in reached.items():
        scored = [one for one in settings if one.score is not None]
        if scored:
            best = max(scored, key=lambda one: one.score or 0.0)
            chosen[purchase, method] = dataclasses.replace(best, runs=len(settings))
        else:
            silent.append(
                f"{purchase}, tuning, {method}: its validation labels know no present class, so "
                "nothing can be chosen by them; raise the budget or set validation to complete"
            )
    return Swept(chosen, (*found.sentences(bundles), *silent))


@dataclass(frozen=True)
class _Trial:
    purchase: Purchase
    method: str
    setting: Setting


def _tried(grid: Grid, bundles: Sequence[Bundle], found: Finished) -> Iterator[_Trial]:
    """The runs that finished, with the scores that they were trained to."""
    assert grid.tuning is not None
    settings = {
        (spec, one.text): one
        for spec in grid.trained
        for one in grid.tuning.settings(spec, seed=grid.seed)
    }
    bought = {
        (one.scheme, one.budget, one.hours, one.reference): one.labels for one in purchases(grid)
    }
    for bundle in bundles:
        kept = found.done.get(bundle.key)
        for row in kept.table.select(_COLUMNS).to_pylist() if kept else []:
            place = row["scheme"], row["budget"], row["budget_hours"], row["reference"]
            score = row["curve"][row["epochs"] - 1]
            setting = settings[row["method"], row["tuned"]]
            setting = dataclasses.replace(setting, score=score, dollars=row["dollars"])
            yield _Trial(bought[place], row["method"], setting)
