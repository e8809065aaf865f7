"""What of a comparison is looked at: the runs within one limit, under one scheme, some methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simkit.errors import BadInput, unknown
from simkit.study.analysis.checks import listed
from simkit.study.cells import limits
from simkit.study.limit import Limit
from simkit.study.runs import COLUMNS
from simkit.study.tables import checked, column_of

Methods = tuple[str, ...] | str
_SCORES = ("map", "map_all", "map_o")
# A row without one of these is no run.
_NAMED = {"scheme": str, "method": str, "reference": bool, "draw": int}
_RUNS = "give a table of runs, as a comparison leaves it"


def check_scores(runs: pa.Table, metric: str, needs: Sequence[str], *, asker: str) -> None:
    """Raise BadInput unless this is a table of runs and `metric` one of its columns of numbers.

    needs: other columns that are looked at; asker: who is named in errors.
    """
    check_runs(runs, needs, asker=asker)
    numbers = [each.name for each in runs.schema if _number(each.type)]
    if metric not in numbers:
        scores = [name for name in numbers if name in _SCORES or name not in COLUMNS]
        raise unknown(f"column of scores ({asker})", metric, scores)


def check_runs(runs: pa.Table, needs: Sequence[str], *, asker: str) -> None:
    """Raise BadInput for a table of another kind, and for runs of several data sets.

    needs: columns of `study.runs.COLUMNS`; scheme, method, reference and draw hold no nulls.
    """
    holds = {name: column_of(COLUMNS[name].type) for name in needs}
    holds |= {name: kind for name, kind in _NAMED.items() if name in holds}
    checked(runs, holds, asker=asker, mend=_RUNS, empty=True)
    one_test([runs], asker=asker)


def one_test(tables: Iterable[pa.Table], *, asker: str) -> None:
    """Raise BadInput where runs were scored on more than one test split."""
    tests: set[str] = set()
    for runs in tables:
        names = runs.schema.names
        if "test_id" in names and pa.types.is_string(runs.schema.field("test_id").type):
            tests |= set(runs["test_id"].unique().drop_null().to_pylist())
    if len(tests) > 1:
        raise BadInput(
            f"{asker}: the runs were scored on {len(tests)} test splits; give the runs of one data "
            "set"
        )


def one_budget(runs: pa.Table, *, asker: str, mend: str) -> None:
    """Raise BadInput where runs are of several budgets, references left aside; mend: what to do."""
    have = limits(runs.filter(pc.invert(runs["reference"])))
    if len(have) > 1:
        known = ", ".join(map(str, have))
        raise BadInput(f"{asker}: the table holds the budgets {known}; {mend}")


def enter(into: dict[int, Any], row: Mapping[str, Any], value: Any, *, asker: str) -> None:
    """Add what a run has under its draw.

    Raises BadInput where the draw is there with something else: then the table is about more than
    one budget, scheme, seed or data set.
    """
    if into.setdefault(row["draw"], value) != value:
        raise BadInput(
            f"{asker}: draw {row['draw']} of {row['method']!r} under {row['scheme']!r} is in the "
            "table twice, with different results; give the runs of one comparison"
        )


def within(
    runs: pa.Table, *, budget: float | None, hours: float | None, asker: str
) -> tuple[Limit, pa.Table]:
    """A budget and its runs without references; of several budgets the middle one unless asked.

    runs: a table with the columns of `study.runs.SCHEMA`; asker: who is named in errors. Raises
    BadInput where there are no runs, or none within this budget.
    """
    check_runs(runs, ("reference", "budget", "budget_hours"), asker=asker)
    bought = runs.filter(pc.invert(runs["reference"]))
    if not len(bought):
        raise no_runs(asker)
    have, chosen = limits(bought), Limit(budget, hours)
    if not chosen and have:
        chosen = have[len(have) // 2]
    rows = bought.select(["budget", "budget_hours"]).to_pylist()
    found = bought.filter(pa.array([Limit.of(row) == chosen for row in rows], pa.bool_()))
    if not len(found):
        known = ", ".join(map(str, have)) or "none: amounts are as written"
        raise BadInput(f"{asker}: no runs at the budget {chosen}; budgets in the table are {known}")
    return chosen, found


def under(runs: pa.Table, *, scheme: str, asker: str) -> tuple[str, pa.Table]:
    """A scheme and its runs; the first one unless asked.

    A name without its settings is enough where one scheme has it. Raises BadInput with the nearest
    name, and for a table without runs.
    """
    check_runs(runs, ("scheme",), asker=asker)
    if not len(runs):
        raise no_runs(asker)
    known = runs["scheme"].unique().to_pylist()
    chosen = scheme or known[0]
    named = [name for name in known if name.partition("(")[0] == chosen]
    if chosen not in known and len(named) == 1:
        chosen = named[0]
    if chosen not in known:
        raise unknown(f"scheme of the table ({asker})", chosen, known)
    return chosen, runs.filter(pc.equal(runs["scheme"], chosen))


def some_methods(
    runs: pa.Table, *, wanted: Methods, most: int, asker: str, metric: str = "map"
) -> list[str]:
    """The methods that are asked for, or as many as `most` with the highest mean of `metric`.

    wanted: names as the table has them, also as one text with commas; nothing: the highest. They
    come in the order of the table. Raises BadInput with the nearest name for one that is not there.
    """
    check_scores(runs, metric, ("method",), asker=asker)
    if not len(runs):
        raise no_runs(asker)
    known: list[str] = runs["method"].unique().to_pylist()
    if asked := listed(wanted, f"{asker}: methods"):
        for name in asked:
            if name not in known:
                raise unknown(f"method of the table ({asker})", name, known)
        return [name for name in known if name in asked]
    means = {name: _mean(runs, name, metric) for name in known}
    best = sorted(known, key=lambda name: -means[name])[: max(most, 1)]
    return [name for name in known if name in best]


def column(rows: Sequence[dict[str, object]], name: str, *, asker: str, mend: str) -> None:
    """Raise BadInput where no row has anything in this column; mend: what to do next."""
    if not any(row.get(name) for row in rows):
        raise BadInput(f"{asker}: the table says nothing in its column {name!r}; {mend}")


def filled(rows: Sequence[Mapping[str, Any]], names: Sequence[str], *, asker: str) -> None:
    """Raise BadInput where one of these rows of runs with a score has nothing in these columns."""
    for name in names:
        if any(row[name] is None for row in rows):
            raise BadInput(
                f"{asker}: a run with a score says nothing in its column {name!r}; give a table of "
                "runs whose labels were counted, as a comparison leaves it"
            )


def no_runs(asker: str) -> BadInput:
    """The error for a table in which nothing is compared."""
    return BadInput(f"{asker}: the table holds no runs; run a comparison first")


def _number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


def _mean(runs: pa.Table, method: str, metric: str) -> float:
    values = runs.filter(pc.equal(runs["method"], method))[metric].drop_null().to_pylist()
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else -1.0  # below any that has one
