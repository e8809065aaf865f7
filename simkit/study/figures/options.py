"""Common parts of figures of runs and of means over draws: columns, options, captions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pandas as pd

from simkit.study.analysis.selection import check_one_test, within
from simkit.study.cells import COLUMNS, RUN
from simkit.study.figures.base import Figure, option
from simkit.study.limit import Limit
from simkit.study.statistics import Interval

# Columns of tables whose rows are means over draws, with 95 % intervals.
MEANS: dict[str, Any] = {"draws": int, "mean": float, "low": float | None, "high": float | None}
Metric = Literal["map", "map_all", "map_o"]
RUNS = {name: COLUMNS[name] for name in (*RUN, "test_id")} | {"map": float | None}
SCORED: dict[str, Any] = RUNS | {"map_all": float | None, "map_o": float | None}
PRICED: dict[str, Any] = SCORED | {"dollars": float, "seconds": float | None, "images": int}


@dataclass(frozen=True)
class AtBudget(Figure):
    """A figure of the runs within one budget."""

    of_runs: ClassVar[bool] = True
    made_by = "simkit.open_runs"
    reads: ClassVar = RUNS

    budget: float | None = option(None, "budget in dollars; by default the middle one")
    hours: float | None = option(None, "or budget in hours")

    def at_budget(self, table: pd.DataFrame) -> tuple[Limit, pd.DataFrame]:
        """The budget and its runs. Raises BadInput without any, or for two test splits."""
        check_one_test(table, asker=self.name)
        return within(table, budget=self.budget, hours=self.hours, asker=self.name)


def some(most: str) -> Any:
    """The option `methods`; most: the number shown by default, in words."""
    return option("", f"methods, separated by commas; by default the best {most}")


def not_shown(others: int) -> str:
    """A sentence of the caption about omitted methods."""
    many = "other methods are" if others > 1 else "other method is"
    return f"{others} {many} not shown; use the option methods." if others else ""


def range_of(counts: Iterable[int]) -> str:
    """Smallest and largest count: "5 to 10", or "5" if they are equal."""
    ordered = sorted(counts)
    return " to ".join(dict.fromkeys(map(str, (ordered[0], ordered[-1]))))


def paid(limit: Limit) -> str:
    """The cost of the runs within this limit, in words; some of a scheme may cost less."""
    return f"for up to {limit} of annotation each" if limit else "amounts as written"


def in_points(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The table with its columns mean, low, high and `columns` in points of 100."""
    return table.assign(**100 * table[["mean", "low", "high", *columns]])


def intervals(cells: Iterable[Interval | None], scale: float = 100) -> pd.DataFrame:
    """A table of means over draws, by default of shares in points of 100; NaN in place of None."""
    rows = [(c.draws, c.mean, c.low, c.high) if c else 4 * (None,) for c in cells]
    table = pd.DataFrame(rows, columns=list(MEANS), dtype=float)
    return table.assign(**scale * table.drop(columns="draws"))
