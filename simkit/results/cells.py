"""Mean scores by scheme, method and budget, their intervals, and the best method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from simkit.errors import BadInput
from simkit.quantities import money
from simkit.results.result_tables import frame, opened
from simkit.results.statistics import SURE, Best, Interval, Scores, best_of

FULL = "full"  # the method of references, trained on complete labels
REFERENCE = "reference"  # stands for a scheme in the settings of references
# The network of a project that names no other, by field of project.toml and of its grids.
NETWORK = {"backbone": "mobilenet_v2", "weights": "imagenet"}
SMALLEST = 0.0005  # a difference below 0.05 points prints as 0.0, and so counts as a tie
COLUMNS: dict[str, Any] = {  # of runs, as `frame` checks them
    "scheme": str, "method": str, "reference": bool, "draw": int,
    "budget": float | None, "budget_hours": float | None,
    "dollars": float | None, "seconds": float | None,
    "images": int | None, "present": int | None, "absent": int | None, "unknown": int | None,
    "epochs": int | None, "curve_of": str | None,
    "scheme_spec": str | None, "labels_id": str | None, "test_id": str | None,
    "tuned_error": float | None,
    "class_present": list[int | None] | None, "class_absent": list[int | None] | None,
    "ap": list[float | None] | None, "curve": list[float | None] | None,
    "losses": list[float | None] | None,
}  # fmt: skip
RUN = ("scheme", "method", "reference", "budget", "budget_hours", "draw")
_MEND = "pass the runs of a comparison, as simkit.open_runs returns them"


@dataclass(frozen=True)
class Budget:
    """A budget in dollars or in hours of annotation; without either, schemes keep their amounts."""

    dollars: float | None = None
    hours: float | None = None

    @staticmethod
    def of(row: Mapping[str, Any]) -> Budget:
        """The budget of a row of the table of runs."""
        values = (row["budget"], row["budget_hours"])
        return Budget(*(None if v is None or math.isnan(v) else float(v) for v in values))

    @property
    def amount(self) -> tuple[float, Literal["dollars", "seconds"]]:
        """The budget in the units of bills: dollars or seconds."""
        if self.dollars is not None:
            return self.dollars, "dollars"
        return 3600 * (self.hours or 0.0), "seconds"

    def __bool__(self) -> bool:
        return self != Budget()

    def __lt__(self, other: Budget) -> bool:
        """Budgets in dollars come first, then those in hours, ascending."""
        return (self.hours or 0, self.dollars or 0) < (other.hours or 0, other.dollars or 0)

    def __str__(self) -> str:
        if self.dollars is not None:
            return money(self.dollars)
        if self.hours is None:
            return ""
        return "1 hour" if self.hours == 1 else f"{self.hours:,g} hours"

    @property
    def at(self) -> str:
        """ " at $100" or " in 10 hours"; empty without a budget."""
        return f" {'at' if self.dollars is not None else 'in'} {self}" if self else ""


@dataclass(frozen=True)
class Cell:
    """One method under one scheme at one budget: means over draws.

    Attributes
    ----------
    scores
        Scores in [0, 1].
    dollars, hours, images
        Mean cost of the labels, and number of images asked about; hours is None if unknown.
    """

    scheme: str
    method: str
    limit: Budget
    scores: Scores
    dollars: float
    hours: float | None
    images: float

    @cached_property
    def score(self) -> Interval:
        """The mean score, with its interval."""
        return self.scores.mean

    @property
    def by_draw(self) -> Mapping[int, float]:
        """Score of each draw."""
        return self.scores.by_draw

    def minus(self, other: Cell) -> Interval:
        """The mean difference to another cell over the draws that both have, with its interval."""
        return (self.scores - other.scores).gap()


@dataclass(frozen=True)
class Row:
    """All methods under one scheme at one budget, and the best of them."""

    scheme: str
    limit: Budget
    cells: tuple[Cell, ...]

    def cell(self, method: str) -> Cell | None:
        """The cell of one method, or None if it has no finished run."""
        return next((cell for cell in self.cells if cell.method == method), None)

    @cached_property
    def best(self) -> Best:
        """The comparison of the methods, draw by draw."""
        return _best({cell.method: cell for cell in self.cells})

    def difference(self, first: str, second: str) -> Interval:
        """Mean of `first` minus `second` over the draws that both have, with its interval."""
        by_method = {cell.method: cell for cell in self.cells}
        return by_method[first].minus(by_method[second])

    def behind(self, method: str) -> Interval | None:
        """By how much a method is behind the highest within draws; None for the highest, and if no
        draw has both."""
        first, cell = self.cell(self.best.first), self.cell(method)
        if method == self.best.first or not (first and cell and {*first.by_draw} & {*cell.by_draw}):
            return None
        return self.difference(self.best.first, method)

    @property
    def highest(self) -> Cell:
        """The cell of the method with the highest mean, over the draws that all methods have."""
        return over_shared(next(c for c in self.cells if c.method == self.best.first), self.cells)


def summary_rows(runs: Any, *, metric: str = "map") -> list[Row]:
    """One row for each scheme, in the order of the table, and budget, ascending; no references.

    Parameters
    ----------
    runs
        The runs of a comparison, or a table of them.
    metric
        The column of scores in [0, 1].

    Raises
    ------
    BadInput
        For other tables, and if a draw has several results.
    """
    table = _scored(runs, metric)
    keys = ["scheme", "budget", "budget_hours"]
    rows = [
        Row(rows["scheme"].iat[0], Budget.of(rows.iloc[0]), tuple(_cells(rows, metric)))
        for _, rows in table[~table["reference"]].groupby(keys, sort=False, dropna=False)
    ]
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    return sorted(rows, key=lambda row: (schemes.index(row.scheme), row.limit))


def best_pairs(schemes: Sequence[Row]) -> tuple[Best, dict[tuple[str, str], Cell]]:
    """The comparison of all pairs (scheme, method) at one budget, and the cell of each pair."""
    pairs = {(cell.scheme, cell.method): cell for row in schemes for cell in row.cells}
    return _best(pairs), pairs


def _best(cells: Mapping[Any, Cell]) -> Best:
    return best_of({name: cell.scores for name, cell in cells.items()}, smallest=SMALLEST)


def open_schemes(best: Best) -> list[str]:
    """The schemes that may be the best, that of the highest pair first."""
    scheme = best.first[0]
    names = [name for name, _ in (*best.ties, *best.rivals) if name != scheme]
    # Rivals of the first pair may all be of its scheme, while its interval leaves others open.
    names = names or [name for (name, _), p in best.above.items() if name != scheme and p < SURE]
    return list(dict.fromkeys([scheme, *names]))


def over_shared(cell: Cell, cells: Sequence[Cell]) -> Cell:
    """The cell with its score over the draws that all these cells have, if there are any."""
    shared = set.intersection(*(set(other.by_draw) for other in cells))
    return replace(cell, scores=cell.scores.over(shared)) if shared else cell


def references(runs: Any, *, metric: str = "map", full: bool = True) -> list[Cell]:
    """The runs on complete labels, a cell for each method: of `full` and of wrappers around it, or
    of all methods."""
    table = _scored(runs, metric)
    shown = table["method"].map(is_full).astype(bool) | (not full)
    return _cells(table[table["reference"] & shown], metric)


def zero_shot(runs: Any, *, metric: str = "map") -> Cell | None:
    """The image-text model's scores themselves, without labels.

    None in comparisons without scores, and where the scores lack classes, as all other cells are
    means over all classes.
    """
    attrs = opened(runs).attrs
    score = None if attrs.get("zero_shot_over") else attrs.get("zero_shot")
    if score is None or metric != "map":
        return None
    name = f"zero-shot, {attrs.get('scored_by')}"
    return Cell("no labels", name, Budget(0.0), Scores({0: score}), 0.0, 0.0, 0.0)


def is_full(method: str) -> bool:
    """Whether a method is `full` or a wrapper around it: the upper bound on complete labels."""
    return method.partition("+")[0] == FULL


def _scored(runs: Any, metric: str) -> pd.DataFrame:
    """The runs that have this metric, with the columns that cells need."""
    columns = {name: COLUMNS[name] for name in (*RUN, "dollars", "seconds", "images")}
    columns |= {metric: float | None, **optional(opened(runs), "tuned_error")}
    table = frame(runs, columns, asker="runs", mend=_MEND, empty=True)
    table.attrs = {}  # pandas would copy them for every row
    table["tuned_error"] = tuned_errors(table, metric)
    return one_result(table[table[metric].notna()], metric, by=RUN[:-1])


def optional(table: Any, *names: str) -> dict[str, Any]:
    """The columns of these names that a table has, with their types."""
    return {name: COLUMNS[name] for name in names if name in getattr(table, "columns", ())}


def scores_of(runs: pd.DataFrame, metric: str) -> Scores:
    """The scores of the runs of one method, one for each draw, with their `tuned_errors`."""
    by_draw = sorted(zip(runs["draw"].tolist(), runs[metric].tolist(), strict=True))
    return Scores(dict(by_draw), float(runs["tuned_error"].max()))


def tuned_errors(table: pd.DataFrame, metric: str) -> pd.Series:
    """Standard error of each run's score by the choice of its settings, which all draws share.

    It is measured in mAP, and counts as 0 for other metrics and in tables without it.
    """
    if metric != "map" or "tuned_error" not in table:
        return pd.Series(0.0, table.index)
    return table["tuned_error"].fillna(0.0)


def one_result(
    runs: pd.DataFrame, value: str, *, by: Sequence[str] = ("scheme", "method")
) -> pd.DataFrame:
    """The runs with one row for each draw of the groups `by`, repeated ones left out.

    Raises BadInput where a draw has several values: then the table is about more than one
    comparison.
    """
    keys = [*by, "draw"]
    content = runs[value].map(lambda one: np.asarray(one, float).tobytes())
    once = runs[~runs[keys].assign(content=content).duplicated()]
    for row in once[once.duplicated(keys)].itertuples():
        where = f"draw {row.draw} of {row.method!r} under {row.scheme!r}"
        raise BadInput(f"two results of {where}; pass the runs of one comparison")
    return once


def _cells(rows: pd.DataFrame, metric: str) -> list[Cell]:
    return [
        Cell(
            runs["scheme"].iat[0],
            str(method),
            Budget.of(runs.iloc[0]),
            scores_of(runs, metric),
            float(runs["dollars"].mean()),
            float(runs["seconds"].mean()) / 3600 if runs["seconds"].notna().all() else None,
            float(runs["images"].mean()),
        )
        for method, runs in rows.groupby("method", sort=False)
    ]  # fmt: skip


def listed(names: Sequence[str], most: int = 3, *, last: str = "and") -> str:
    """ "an", "an and ll-r", "an, ll-r, em and 5 others"; `last`: the word before the last one."""
    shown = list(names[: most if len(names) > most + 1 else len(names)])
    others = len(names) - len(shown)
    if others:
        return f"{', '.join(shown)} {last} {others} others"
    *first, end = shown
    return f"{', '.join(first)} {last} {end}" if first else end
