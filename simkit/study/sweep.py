"""The sweep of a comparison: which settings of every method to try, and which to choose."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from simkit.results.cells import Budget
from simkit.results.job_store import Result
from simkit.results.runs import SWEEP
from simkit.results.statistics import error_of_choice
from simkit.study.grid import Grid
from simkit.study.jobs import (
    Choices,
    Job,
    LabelBatch,
    choice_of,
    jobs_of,
    label_batches,
    usual_rate,
)
from simkit.study.sources import StudyData
from simkit.study.tuning import Setting, at_edge, best_of

_Pair = tuple[LabelBatch, str]  # labels, and a method trained on them


def sweep(grid: Grid, data: StudyData) -> list[Job]:
    """The first jobs of the sweep, in draws of its own: every scheme at the middle budget with
    each setting to try. Empty without tuning."""
    if grid.tuning is None:
        return []
    seed, tuning = grid.seed, grid.tuning
    return _jobs(grid, data, {
        (batch, spec): tuning.settings(spec, lr=usual_rate(grid, spec), seed=seed)
        for batch in _swept_batches(grid) for spec in batch.methods
    })  # fmt: skip


def further(
    grid: Grid, data: StudyData, tried: Sequence[Job], done: Mapping[str, Result]
) -> list[Job]:
    """The jobs of the sweep that follow from the results of those before, by key; empty at its end.

    A best learning rate at the edge needs a further one, and one inside the alternative settings.
    """
    if grid.tuning is None:
        return []
    of_pairs, following = _tried(tried, done), dict[_Pair, list[Setting]]()
    for batch in _swept_batches(grid):
        for spec in batch.methods:
            settings = of_pairs.get((batch.labels, spec), [])
            one = grid.tuning.further(spec, settings, lr=usual_rate(grid, spec))
            if one is not None and one.values not in {other.values for other in settings}:
                following[batch, spec] = [one]
    return _jobs(grid, data, following) if following else []


def _swept_batches(grid: Grid) -> list[LabelBatch]:
    middle = tried_at(grid)
    return [
        batch for batch in label_batches(grid)
        if (batch.reference and not batch.errors) or batch.limit == middle
    ]  # fmt: skip


def _jobs(grid: Grid, data: StudyData, trials: Mapping[_Pair, Sequence[Setting]]) -> list[Job]:
    """The jobs that train each batch and method with these settings, in all draws of the sweep."""
    assert grid.tuning is not None
    ordered = list[LabelBatch]()
    for batch in dict.fromkeys(batch for batch, _ in trials):
        of_batch = {spec: settings for (b, spec), settings in trials.items() if b == batch}
        for index in range(max(map(len, of_batch.values()))):
            several = {m: each[index] for m, each in of_batch.items() if index < len(each)}
            ordered.append(batch.with_settings(several))
    draws = tuple(SWEEP - number for number in range(grid.tuning.draws))
    return jobs_of(grid, data, ordered, draws)


def tried_at(grid: Grid) -> Budget:
    """The budget at which settings are tried: the middle one."""
    return grid.limits[len(grid.limits) // 2]


def choose(
    tried: Sequence[Job], done: Mapping[str, Result]
) -> tuple[Choices, list[tuple[LabelBatch, str]]]:
    """The result of a sweep, from the finished jobs by key.

    For each method and scheme the setting with the highest mean mAP on the validation labels (of
    equal ones the first that is not at the edge), and the batches and methods of the sweep without
    any.
    """
    by_draw = _scores(tried, done)
    chosen: dict[tuple[str, str], Setting] = {}
    unscored = []
    for (labels, spec), several in _tried(tried, done).items():
        if not (successful := [one for one in several if one.score is not None]):
            unscored.append((labels, spec))
            continue
        best = best_of(successful, several)
        of_pair = by_draw[labels, spec]
        scores = [list(of_pair[one.values].values()) for one in successful]
        error = error_of_choice(np.array(scores))
        chosen[choice_of(labels), spec] = dataclasses.replace(
            best, error=error, runs=len(several), edge=at_edge(best, several)
        )
    return chosen, unscored


def _tried(tried: Iterable[Job], done: Mapping[str, Result]) -> dict[_Pair, list[Setting]]:
    """The settings tried for each pair, with their mean score; None if a draw has no score."""
    return {
        pair: [
            Setting(values, None if None in scores.values() else float(np.mean([*scores.values()])))
            for values, scores in of_pair.items()
        ]
        for pair, of_pair in _scores(tried, done).items()
    }  # fmt: skip


def _scores(
    tried: Iterable[Job], done: Mapping[str, Result]
) -> dict[_Pair, dict[tuple[tuple[str, Any], ...], dict[int, float | None]]]:
    """mAP on the validation labels by pair, setting and draw; None: not finished, or failed."""
    columns = ["scheme", "reference", "method", "tuned", "draw", "tuned_map"]
    rows = [
        tuple(row.values())
        for job in tried if job.key in done
        for row in done[job.key].table.select(columns).to_pylist()
    ]  # fmt: skip
    scores = {row[:-1]: row[-1] for row in rows}
    found: dict[_Pair, dict[tuple[tuple[str, Any], ...], dict[int, float | None]]] = {}
    for job, batch in ((one, batch) for one in tried for batch in one.batches):
        for spec, setting in zip(batch.methods, batch.settings, strict=True):
            start = batch.scheme, batch.reference, spec, setting.text
            of_setting = found.setdefault((batch.labels, spec), {}).setdefault(setting.values, {})
            of_setting |= {draw: scores.get((*start, draw)) for draw in job.draws}
    return found


def tried_values(tried: Iterable[Job]) -> dict[str, dict[str, dict[str, list[Any]]]]:
    """The values that a sweep tries, by scheme (or "reference"), method and setting; numbers in
    ascending order."""
    values: dict[str, dict[str, dict[str, dict[Any, None]]]] = {}
    for batch in (batch for job in tried for batch in job.batches):
        for spec, setting in zip(batch.methods, batch.settings, strict=True):
            of_method = values.setdefault(choice_of(batch), {}).setdefault(spec, {})
            for name, value in setting.values:
                of_method.setdefault(name, {})[value] = None
    return {
        scheme: {
            spec: {name: _ascending([*each]) for name, each in of_method.items()}
            for spec, of_method in of_scheme.items()
        }
        for scheme, of_scheme in values.items()
    }


def _ascending(values: list[Any]) -> list[Any]:
    return sorted(values) if all(type(one) in (int, float) for one in values) else values


def untried_values(grid: Grid, tried: Iterable[Job]) -> dict[str, dict[str, list[Any]]]:
    """The values of the spaces that a sweep does not try, by method and setting."""
    assert grid.tuning is not None
    left: dict[str, dict[str, list[Any]]] = {}
    # The same points of a space are tried under every scheme.
    pairs = (pair for of_scheme in tried_values(tried).values() for pair in of_scheme.items())
    for spec, values in pairs:
        for name, each in grid.tuning.values(spec).items():
            if others := [value for value in each if value not in values[name]]:
                left.setdefault(spec, {})[name] = others
    return left
