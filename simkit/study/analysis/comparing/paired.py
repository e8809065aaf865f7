"""Scores of methods that met the same draws, within one limit, and how far two are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simkit.errors import BadInput
from simkit.study.analysis.comparing.chosen import check_scores, enter, within
from simkit.study.limit import Limit
from simkit.study.statistics import Difference, Interval, rank

Scores = Mapping[int, float]  # by draw, from 0 to 1
_NEEDS = ("scheme", "method", "reference", "budget", "budget_hours", "draw")


@dataclass(frozen=True)
class Paired:
    """Scores of one limit: of each scheme its methods, in the order of the table, by draw.

    draws: those that any method has under the scheme; a run of another method that is missing
    among them failed, or has no score.
    """

    limit: Limit
    scores: Mapping[str, Mapping[str, Scores]]
    draws: Mapping[str, frozenset[int]]


def paired(
    runs: pa.Table, *, metric: str, budget: float | None, hours: float | None, asker: str
) -> Paired:
    """From a table of runs; of several budgets the middle one unless asked, without references.

    asker: who is named in errors. Raises BadInput where there are no runs within the budget, where
    none of them has a score or one has two, and for a metric that is no column of numbers.
    """
    check_scores(runs, metric, _NEEDS, asker=asker)
    limit, bought = within(runs, budget=budget, hours=hours, asker=asker)
    draws: dict[str, set[int]] = {}
    found: dict[str, dict[str, dict[int, float]]] = {}
    for row in bought.select(list(dict.fromkeys(["scheme", "method", "draw", metric]))).to_pylist():
        draws.setdefault(row["scheme"], set()).add(row["draw"])
        if row[metric] is not None and np.isfinite(row[metric]):
            by_method = found.setdefault(row["scheme"], {})
            enter(by_method.setdefault(row["method"], {}), row, row[metric], asker=asker)
    if not found:
        raise BadInput(f"{asker}: no run has {metric}; compare again")
    return Paired(limit, found, {scheme: frozenset(some) for scheme, some in draws.items()})


def difference(first: Scores, second: Scores, *, level: float = 0.95) -> Difference | None:
    """The mean of `first` minus `second` over the draws both have; None where they share none.

    As in `study.statistics.rank`: Student's t, bootstrapped from 20 draws on; one draw has neither
    interval nor p.
    """
    if not first.keys() & second.keys():
        return None
    return rank({"first": first, "second": second}, level=level).difference("first", "second")


def ends(name: str, found: Interval | None) -> dict[str, float | None]:
    """An interval as three columns of a table: `name`, `name`_low and `name`_high."""
    if found is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: found.mean, f"{name}_low": found.low, f"{name}_high": found.high}
