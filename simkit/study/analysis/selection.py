"""Selects runs of a comparison: one budget, one scheme, some methods, one score per draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from simkit.errors import BadInput, unknown
from simkit.study.analysis.checks import listed
from simkit.study.frames import Endless, frame, opened
from simkit.study.limit import Limit
from simkit.study.runs import COLUMNS

Table = Any  # a DataFrame, a pyarrow Table or a comparison's runs: what `frame` reads
Methods = Sequence[str] | str
RUN = ("scheme", "method", "reference", "budget", "budget_hours", "draw")
_SCORES = ("map", "map_all", "map_o")
_REQUIRED = {"scheme": str, "method": str, "reference": bool, "draw": int}  # every run has them
_TYPES = {pa.string(): str, pa.int64(): int, pa.float64(): float, pa.bool_(): bool}


def read_runs(runs: Any, columns: Iterable[str], *, asker: str, metric: str = "") -> pd.DataFrame:
    """These columns of a table of runs, and its metric, NaN where a run has no finite score.

    Parameters
    ----------
    runs
        What `simkit.study.frames.frame` takes, with columns of `simkit.study.runs.COLUMNS`.
    metric
        A column of scores from 0 to 1, which need not be one of those.

    Raises
    ------
    BadInput
        For a table of another kind, a metric that is no column of numbers, and runs that were
        scored on several test splits.
    """
    table = opened(runs)
    have = list(getattr(table, "columns", ()))
    names = dict.fromkeys([*columns, *(["test_id"] if "test_id" in have else [])])
    kinds = {name: _REQUIRED.get(name) or _kind(COLUMNS[name].type) for name in names}
    mend = "give a table of runs, as a comparison leaves it"
    selected = frame(table, kinds, asker=asker, mend=mend, empty=True)
    if metric:
        if metric not in have:
            scores = [name for name in have if name in _SCORES or name not in COLUMNS]
            raise unknown(f"column of scores ({asker})", metric, scores)
        number = {metric: Endless | None}
        values = frame(table, number, asker=asker, mend=mend, empty=True)[metric]
        selected[metric] = values.where(np.isfinite(values))
    check_one_test(selected, asker=asker)
    return selected


def check_one_test(runs: pd.DataFrame, *, asker: str) -> None:
    """Raise BadInput where runs were scored on more than one test split."""
    splits = runs["test_id"].nunique() if "test_id" in runs else 0
    if splits > 1:
        raise BadInput(
            f"{asker}: the runs were scored on {splits} test splits; give the runs of one data set"
        )


def without_references(runs: pd.DataFrame, *, asker: str) -> pd.DataFrame:
    """The runs that are compared. Raises BadInput where there are none."""
    compared = runs[~runs["reference"]]
    if compared.empty:
        raise BadInput(f"{asker}: the table holds no runs; run a comparison first")
    return compared


def limits_of(runs: pd.DataFrame) -> list[Limit]:
    """The limit of each run."""
    amounts = runs[["budget", "budget_hours"]].astype(object)
    return [Limit(*pair) for pair in amounts.where(amounts.notna(), None).to_numpy()]


def check_one_budget(runs: pd.DataFrame, *, asker: str, mend: str) -> None:
    """Raise BadInput where runs are of several budgets, references left aside."""
    budgets = _budgets(runs[~runs["reference"]])
    if len(budgets) > 1:
        raise BadInput(
            f"{asker}: the table holds the budgets {', '.join(map(str, budgets))}; {mend}"
        )


def within(
    runs: pd.DataFrame, *, budget: float | None, hours: float | None, asker: str
) -> tuple[Limit, pd.DataFrame]:
    """A budget and its runs without references; of several budgets the middle one by default.

    Raises BadInput where there are no runs, or none within this budget.
    """
    compared = without_references(runs, asker=asker)
    budgets, limit = _budgets(compared), Limit(budget, hours)
    if not limit and budgets:
        limit = budgets[len(budgets) // 2]
    selected = compared[[each == limit for each in limits_of(compared)]]
    if selected.empty:
        known = ", ".join(map(str, budgets)) or "none: amounts are as written"
        raise BadInput(f"{asker}: no runs at the budget {limit}; budgets in the table are {known}")
    return limit, selected


def under(runs: pd.DataFrame, *, scheme: str, asker: str) -> tuple[str, pd.DataFrame]:
    """A scheme and its runs; the first one by default.

    A name without settings is enough where one scheme alone has it. Raises BadInput with the
    nearest name for another one.
    """
    known = list(runs["scheme"].unique())
    chosen = scheme or known[0]
    similar = [name for name in known if name.partition("(")[0] == chosen]
    if chosen not in known and len(similar) == 1:
        chosen = similar[0]
    if chosen not in known:
        raise unknown(f"scheme of the table ({asker})", chosen, known)
    return chosen, runs[runs["scheme"] == chosen]


def some_methods(
    runs: pd.DataFrame, *, wanted: Methods, most: int, asker: str, metric: str = "map"
) -> list[str]:
    """These methods, or by default the `most` with the highest mean score, in the table's order.

    Raises BadInput with the nearest name for a method that is not in the table.
    """
    known = list(runs["method"].unique())
    chosen: Sequence[str] = listed(wanted, f"{asker}: methods")
    check_known(chosen, known, asker=asker)
    if not chosen:
        finite = runs[np.isfinite(runs[metric])]
        means = finite.groupby("method")[metric].mean().reindex(known, fill_value=-1.0)
        chosen = means.sort_values(ascending=False, kind="stable").index[: max(most, 1)]
    return [name for name in known if name in chosen]


def check_known(methods: Iterable[str], known: Sequence[str], *, asker: str) -> None:
    """Raise BadInput with the nearest name for a method that is not in the table."""
    for name in methods:
        if name not in known:
            raise unknown(f"method of the table ({asker})", name, known)


def check_counted(runs: pd.DataFrame, columns: Sequence[str], *, asker: str) -> None:
    """Raise BadInput where a run with a score lacks one of these counts."""
    for name in columns:
        if runs[name].isna().any():
            raise BadInput(
                f"{asker}: a run with a score says nothing in its column {name!r}; give a table of "
                "runs whose labels were counted, as a comparison leaves it"
            )


def one_result(
    runs: pd.DataFrame, value: str, *, asker: str, by: Sequence[str] = ("scheme", "method")
) -> pd.DataFrame:
    """The runs with one row for each draw of the groups `by`, repeated ones left out.

    Raises BadInput where a draw has several values: then the table is about more than one
    comparison.
    """
    keys = [*by, "draw"]
    content = runs[value].map(lambda one: np.asarray(one, float).tobytes())
    once = runs[~runs[keys].assign(content=content).duplicated()]
    for row in once[once.duplicated(keys)].itertuples():
        raise BadInput(
            f"{asker}: draw {row.draw} of {row.method!r} under {row.scheme!r} is in the table "
            "twice, with different results; give the runs of one comparison"
        )
    return once


def scores_by_draw(runs: pd.DataFrame, metric: str, *, asker: str) -> pd.DataFrame:
    """Scores with a row for each draw and a column for each scheme and method; NaN: no score.

    Raises BadInput where no run has a score, and as `one_result`.
    """
    scored = one_result(runs.dropna(subset=[metric]), metric, asker=asker)
    if scored.empty:
        raise BadInput(f"{asker}: no run has {metric}; compare again")
    table = scored.pivot(index="draw", columns=["scheme", "method"], values=metric)
    order = scored[["scheme", "method"]].drop_duplicates().itertuples(index=False, name=None)
    return table[list(order)]


def _budgets(runs: pd.DataFrame) -> list[Limit]:
    """Ascending, those in hours last."""
    return sorted({limit for limit in limits_of(runs) if limit}, key=lambda limit: limit.order)


def _kind(of: pa.DataType) -> Any:
    """What a column of this Arrow type holds, as `frame` takes it; lists may hold infinities."""
    if not pa.types.is_list(of):
        return _TYPES[of] | None  # type: ignore[operator]
    inside = _TYPES[of.value_type]
    return list[(Endless if inside is float else inside) | None] | None  # type: ignore
