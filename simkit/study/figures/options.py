"""What figures of runs and of means over draws share: columns, which runs they show, captions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pandas as pd

from simkit.study.analysis.selection import check_one_test, within
from simkit.study.figures.base import Figure, option
from simkit.study.limit import Limit, money
from simkit.study.statistics import Interval

# Columns of tables whose rows are means over draws, with 95 % intervals.
MEANS: dict[str, Any] = {"draws": int, "mean": float, "low": float | None, "high": float | None}
Metric = Literal["map", "map_all", "map_o"]
RUNS: dict[str, Any] = {
    "scheme": str, "method": str, "draw": int, "reference": bool, "map": float | None,
    "budget": float | None, "budget_hours": float | None,
    "dollars": float | None, "seconds": float | None, "test_id": str | None,
}  # fmt: skip
SCORED: dict[str, Any] = RUNS | {"map_all": float | None, "map_o": float | None}


@dataclass(frozen=True)
class AtBudget(Figure):
    """A figure of the runs within one budget."""

    of_runs: ClassVar[bool] = True
    made_by = "simkit.open_runs"
    reads: ClassVar = RUNS

    budget: float | None = option(None, "which budget in dollars; none: the middle one")
    hours: float | None = option(None, "or which budget in hours")

    def at_budget(self, table: pd.DataFrame) -> tuple[Limit, pd.DataFrame]:
        """The budget and its runs. Raises BadInput where there are none, or of two test splits."""
        check_one_test(table, asker=self.name)
        return within(table, budget=self.budget, hours=self.hours, asker=self.name)


def some(most: str) -> Any:
    """The option `methods`; most: how many are shown by default, in words."""
    return option("", f"which methods, with commas; nothing: the best {most}")


def not_shown(others: int) -> str:
    """What the caption says of methods that are left out."""
    many = "other methods are" if others > 1 else "other method is"
    return f"{others} {many} not shown; the option methods chooses." if others else ""


def paid(limit: Limit, runs: pd.DataFrame) -> str:
    """ "for $120 of annotation each", or "for up to $120 ... each, $60 to $119 spent".

    runs: within this limit; nothing where there is none. All labels may cost less than the limit.
    """
    verb, spent = "in" if limit.dollars is None else "for", _unspent(limit, runs)
    if not limit or spent.empty:
        return f"{verb} {limit} of annotation each" if limit else ""
    ends = " to ".join(dict.fromkeys(_amount(limit, end) for end in (spent.min(), spent.max())))
    unit = " hours" if limit.dollars is None else ""
    return f"{verb} up to {limit} of annotation each, {ends}{unit} spent"


def at_cost(limit: Limit, runs: pd.DataFrame) -> str:
    """ " at $120", or " at $108 of $120" where the runs of a scheme cost less than they may."""
    spent = _unspent(limit, runs)
    mean = "" if spent.empty else f"{_amount(limit, spent.mean())} of "
    return f" {'in' if limit.dollars is None else 'at'} {mean}{limit}" if limit else ""


def _unspent(limit: Limit, runs: pd.DataFrame) -> pd.Series[float]:
    """The cost of each run in the unit of the limit; empty where all of them nearly reach it."""
    spent = runs["dollars"] if limit.hours is None else runs["seconds"] / 3600
    nearly = 0.95 * (limit.dollars or limit.hours or 0)
    return spent.dropna() if spent.min() < nearly else spent[:0]


def _amount(limit: Limit, spent: float) -> str:
    return f"{spent:,.3g}" if limit.dollars is None else money(spent)


def in_points(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The table with its columns mean, low, high and `columns` in points of 100."""
    return table.assign(**100 * table[["mean", "low", "high", *columns]])


def intervals(cells: Iterable[Interval | None], scale: float = 100) -> pd.DataFrame:
    """A table of means over draws, by default of shares in points of 100; NaN in place of None."""
    rows = [(c.draws, c.mean, c.low, c.high) if c else 4 * (None,) for c in cells]
    table = pd.DataFrame(rows, columns=list(MEANS), dtype=float)
    return table.assign(**scale * table.drop(columns="draws"))
