"""What of a comparison is looked at: the runs within one limit, under one scheme, some methods."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simkit.errors import BadInput, unknown
from simkit.study.columns import COLUMNS
from simkit.study.grids.limit import Limit
from simkit.study.summary import limits

Methods = tuple[str, ...] | str
_SCORES = ("map", "map_all", "map_o")


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
    """Raise BadInput for a table of another kind: one without a column of these."""
    for name in needs:
        if name not in runs.column_names:
            raise BadInput(
                f"{asker}: the table has no column {name!r}; give a table of runs, as a comparison "
                "leaves it"
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
        raise BadInput(f"{asker}: the table holds no runs; run a comparison first")
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
    name.
    """
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
    known: list[str] = runs["method"].unique().to_pylist()
    if asked := listed(wanted):
        for name in asked:
            if name not in known:
                raise unknown(f"method of the table ({asker})", name, known)
        return [name for name in known if name in asked]
    means = {name: _mean(runs, name, metric) for name in known}
    best = sorted(known, key=lambda name: -means[name])[: max(most, 1)]
    return [name for name in known if name in best]


def listed(methods: Methods) -> tuple[str, ...]:
    """Names from a sequence, or from a text with commas outside of parentheses."""
    if not isinstance(methods, str):
        return tuple(methods)
    parts = re.split(r",(?![^(]*\))", methods)
    return tuple(part.strip() for part in parts if part.strip())


def column(rows: Sequence[dict[str, object]], name: str, *, asker: str, mend: str) -> None:
    """Raise BadInput where no row has anything in this column; mend: what to do next."""
    if not any(row.get(name) for row in rows):
        raise BadInput(f"{asker}: the table says nothing in its column {name!r}; {mend}")


def _number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


def _mean(runs: pa.Table, method: str, metric: str) -> float:
    values = runs.filter(pc.equal(runs["method"], method))[metric].drop_null().to_pylist()
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else -1.0  # below any that has one
