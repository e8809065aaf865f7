"""A table of runs by scheme, method and budget: means, intervals, the best method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from simkit.study.best import Best, best_of
from simkit.study.frames import frame, opened
from simkit.study.limit import Limit
from simkit.study.statistics import Interval, interval

SMALLEST = 0.0005  # a gap of less than 0.05 points reads as 0.0: a tie however sure it is
_READS: dict[str, Any] = {
    "scheme": str, "method": str, "draw": int, "reference": bool,
    "budget": float | None, "budget_hours": float | None,
    "dollars": float | None, "seconds": float | None, "images": int | None,
}  # fmt: skip
_MEND = "give a comparison's runs, as simkit.open_runs returns them"


@dataclass(frozen=True)
class Cell:
    """One method under one scheme within one limit: means over draws. `score` is from 0 to 1."""

    scheme: str
    method: str
    limit: Limit
    score: Interval
    dollars: float
    hours: float | None
    images: float
    by_draw: Mapping[int, float]


@dataclass(frozen=True)
class Line:
    """All methods under one scheme within one limit, and which is best."""

    scheme: str
    limit: Limit
    cells: tuple[Cell, ...]

    def cell(self, method: str) -> Cell | None:
        """The cell of one method, or None where it has no finished run here."""
        return next((cell for cell in self.cells if cell.method == method), None)

    @cached_property
    def best(self) -> Best:
        """Of the methods, compared draw by draw."""
        return best_of({c.method: c.by_draw for c in self.cells}, smallest=SMALLEST)

    def difference(self, first: str, second: str) -> Interval:
        """Mean of `first` minus `second` over the draws that both have, with its interval."""
        scores = [{c.method: c.by_draw for c in self.cells}[name] for name in (first, second)]
        shared = [draw for draw in scores[0] if draw in scores[1]]
        return interval([scores[0][draw] - scores[1][draw] for draw in shared])

    @property
    def highest(self) -> Cell:
        """The cell of the best method, its score over the draws that all methods have."""
        return over_shared(next(c for c in self.cells if c.method == self.best.first), self.cells)


def lines(runs: Any, *, metric: str = "map") -> list[Line]:
    """One line for each scheme and limit, in the order of the table, references left out.

    runs: a comparison's runs or a table of them. Raises BadInput for other tables.
    """
    table = scored(runs, metric)
    table = table[~table["reference"]]
    keys = ["scheme", "budget", "budget_hours"]
    return [
        Line(rows["scheme"].iat[0], Limit.of(rows.iloc[0]), tuple(_cells(rows, metric)))
        for _, rows in table.groupby(keys, sort=False, dropna=False)
    ]


def best_pairs(same: Sequence[Line]) -> tuple[Best, dict[tuple[str, str], Cell]]:
    """Of all pairs of scheme and method at one budget, compared at once: which is best, with the
    cells by pair. A pair is called "scheme\\nmethod"."""
    pairs = {(cell.scheme, cell.method): cell for line in same for cell in line.cells}
    scores = {"\n".join(pair): cell.by_draw for pair, cell in pairs.items()}
    return best_of(scores, smallest=SMALLEST), pairs


def over_shared(cell: Cell, cells: Sequence[Cell]) -> Cell:
    """A cell with its score over the draws that all these cells have, if there are any."""
    shared = set.intersection(*(set(one.by_draw) for one in cells))
    scores = [score for draw, score in cell.by_draw.items() if draw in shared]
    return replace(cell, score=interval(scores)) if scores else cell


def references(runs: Any, *, metric: str = "map") -> list[Cell]:
    """Everything labelled completely: a cell for `full` and for each wrapper around it."""
    table = scored(runs, metric)
    return _cells(table[table["reference"] & table["method"].map(is_full)], metric)


def is_full(method: str) -> bool:
    """Whether a method is `full` or a wrapper around it: the oracle, where it has all labels."""
    return method.partition("+")[0] == "full"


def limits(runs: Any) -> list[Limit]:
    """Budgets, ascending, those in hours last; empty where the amounts were as written."""
    rows = opened(runs)[["budget", "budget_hours"]].drop_duplicates().to_dict("records")
    return sorted({one for one in map(Limit.of, rows) if one}, key=lambda one: one.order)


def scored(runs: Any, metric: str) -> pd.DataFrame:
    """The runs that have this metric, with the columns that a cell is made of."""
    table = frame(runs, _READS | {metric: float | None}, asker="runs", mend=_MEND, empty=True)
    return table[table[metric].notna()]


def _cells(rows: pd.DataFrame, metric: str) -> list[Cell]:
    return [
        Cell(
            some["scheme"].iat[0],
            str(method),
            Limit.of(some.iloc[0]),
            interval(some[metric].to_numpy()),
            float(some["dollars"].mean()),
            _hours(some["seconds"]),
            float(some["images"].mean()),
            dict(zip(some["draw"].tolist(), some[metric].tolist(), strict=True)),
        )
        for method, some in rows.groupby("method", sort=False)
    ]  # fmt: skip


def _hours(seconds: pd.Series[float]) -> float | None:
    return float(seconds.mean()) / 3600 if seconds.notna().all() else None


def percent(score: Interval) -> str:
    """ "52.3 ±1.2 mAP" in points, or without ± for one draw."""
    half = "" if score.half is None else f" ±{100 * score.half:.1f}"
    return f"{100 * score.mean:.1f}{half} mAP"


def listed(names: Sequence[str], most: int = 3) -> str:
    """ "an", "an and ll-r", "an, ll-r, em and 5 others"."""
    shown = list(names[: most if len(names) > most + 1 else len(names)])
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} others"
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last
