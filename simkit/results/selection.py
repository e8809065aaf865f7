"""What analyses are asked for: runs of one budget or scheme, methods, one score per draw."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from simkit.errors import BadInput, unknown
from simkit.labels.truth import Truth
from simkit.results.cells import COLUMNS, Budget, one_result, optional, scores_of, tuned_errors
from simkit.results.result_tables import frame, opened
from simkit.results.statistics import Scores

Table = Any  # a DataFrame, a pyarrow Table or the runs of a comparison
Methods = Sequence[str] | str  # spelled as in `simkit list methods`; or one text with commas

METRICS = {"map": "mAP", "map_all": "mAP of all classes", "map_o": "mAP(O)"}


def read_runs(runs: Any, columns: Iterable[str], *, metric: str = "") -> pd.DataFrame:
    """These columns of a table of runs, and a metric, NaN for runs without a finite score.

    Parameters
    ----------
    runs
        A table for `result_tables.frame`, with columns of `simkit.results.runs.COLUMNS`.
    columns
        Names of the columns.
    metric
        A column of scores in [0, 1], which may be another one. Its standard error by the choice of
        settings (without a metric, that of mAP) is the column `tuned_error`.

    Raises
    ------
    BadInput
        For other tables, a metric that is not a column of numbers, and runs that were scored on
        several test splits.
    """
    table = opened(runs)
    kinds = {name: COLUMNS[name] for name in columns} | optional(table, "test_id", "tuned_error")
    mend = "pass the runs of a comparison"
    if metric:
        kinds[metric] = float | None
        mend += ", and one of its columns as metric"
    selected = frame(table, kinds, asker="runs", mend=mend, empty=True)
    if metric:
        selected[metric] = selected[metric].where(np.isfinite(selected[metric]))
    selected["tuned_error"] = tuned_errors(selected, metric or "map")
    check_one_test(selected)
    return selected


def check_one_test(runs: pd.DataFrame) -> None:
    """Raise BadInput if runs were scored on more than one test split."""
    splits = runs["test_id"].nunique() if "test_id" in runs else 0
    if splits > 1:
        raise BadInput(f"the runs were scored on {splits} test splits; use one data set")


def check_one_budget(runs: pd.DataFrame) -> None:
    """Raise BadInput if runs, apart from references, have several budgets."""
    budgets = {*filter(None, budgets_of(runs[~runs["reference"]]))}
    if len(budgets) > 1:
        several = ", ".join(map(str, sorted(budgets)))
        raise BadInput(f"the table has the budgets {several}; choose one of them")


def without_references(runs: pd.DataFrame) -> pd.DataFrame:
    """The compared runs. Raises BadInput if there are none."""
    compared = runs[~runs["reference"]]
    if compared.empty:
        raise BadInput("the table has no runs; run a comparison first")
    return compared


def of_one_budget(runs: Any, columns: Iterable[str], metric: str) -> pd.DataFrame:
    """The compared runs of a table of one budget. Raises BadInput for several, and without any."""
    table = read_runs(runs, columns, metric=metric)
    check_one_budget(table)
    return without_references(table)


def within(runs: pd.DataFrame, limit: Budget) -> tuple[Budget, pd.DataFrame]:
    """The budget, or the middle one of the table if it is empty, and its runs without references.

    Raises BadInput if there are no runs at this budget.
    """
    compared = without_references(runs)
    of_runs = budgets_of(compared)
    budgets = sorted({*filter(None, of_runs)})
    if not limit and budgets:
        limit = budgets[len(budgets) // 2]
    selected = compared[[each == limit for each in of_runs]]
    if selected.empty:
        known = ", ".join(map(str, budgets)) or "none, as the schemes have fixed amounts"
        raise BadInput(f"no runs at the budget {limit}; budgets in the table are {known}")
    return limit, selected


def budgets_of(runs: pd.DataFrame) -> list[Budget]:
    """The budget of each run."""
    return [Budget.of(row) for row in runs[["budget", "budget_hours"]].to_dict("records")]


def under(runs: pd.DataFrame, *, scheme: str) -> tuple[str, pd.DataFrame]:
    """A scheme, by default the first, and its runs.

    A name without settings suffices if only one scheme has it. Raises BadInput with the nearest
    name for unknown schemes.
    """
    known = list(runs["scheme"].unique())
    chosen = scheme or known[0]
    if chosen not in known:
        similar = [name for name in known if name.partition("(")[0] == chosen]
        if len(similar) != 1:
            raise unknown("scheme of the table", chosen, known)
        chosen = similar[0]
    return chosen, runs[runs["scheme"] == chosen]


def some_methods(
    runs: pd.DataFrame, *, wanted: Methods, most: int, metric: str = "map"
) -> list[str]:
    """These methods, or by default the `most` with the highest mean score, in table order.

    Raises BadInput with the nearest name for a method that is not in the table.
    """
    known = list(runs["method"].unique())
    chosen = listed(wanted)
    check_known(chosen, known)
    if not chosen:
        finite = runs[np.isfinite(runs[metric])]
        means = finite.groupby("method")[metric].mean().reindex(known, fill_value=-1.0)
        chosen = list(means.sort_values(ascending=False, kind="stable").index[: max(most, 1)])
    return [name for name in known if name in chosen]


def check_known(methods: Iterable[str], known: Sequence[str]) -> None:
    """Raise BadInput with the nearest name for a method that is not in the table."""
    for name in methods:
        if name not in known:
            raise unknown("method of the table", name, known)


def scores_by_pair(runs: pd.DataFrame, metric: str) -> dict[tuple[str, str], Scores]:
    """The scores of each scheme and method that has any, in the order of the table.

    Raises BadInput if no run has a score, and as `one_result`.
    """
    scored = one_result(runs.dropna(subset=[metric]), metric)
    if scored.empty:
        raise BadInput(f"no run has {metric}; compare again")
    pairs = scored.groupby(["scheme", "method"], sort=False)
    return {pair: scores_of(of_pair, metric) for pair, of_pair in pairs}


def listed(methods: Methods) -> list[str]:
    """Methods without repetitions."""
    if isinstance(methods, str):
        parts = re.split(r",(?![^(]*\))", methods)  # not at commas inside parentheses
        methods = [part.strip() for part in parts if part.strip()]
    return list(dict.fromkeys(methods))


def some(methods: Methods) -> list[str]:
    """Methods as in `listed`. Raises BadInput if there are none."""
    specs = listed(methods)
    if not specs:
        raise BadInput("methods is empty; name one or more, such as an and ll-r")
    return specs


def same_images(inputs: Any, truth: Truth) -> None:
    """Raise BadInput unless the inputs have one row per image of the truth."""
    if len(inputs) != len(truth.images):
        raise BadInput(f"{len(inputs):,} inputs came for {len(truth.images):,} images")
