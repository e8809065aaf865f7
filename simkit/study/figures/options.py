"""Options that figures of a comparison share: which budget, scheme, classes and methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow as pa

from simkit.errors import BadInput
from simkit.study.analysis.classes import ByClass, by_class
from simkit.study.analysis.comparing.chosen import under, within
from simkit.study.figures.previous import Figure
from simkit.study.grids.limit import Limit, at, money
from simkit.study.summary import Line, lines


def some(most: str) -> Any:
    """The option `methods`, of which `most` are shown unless asked."""
    told = f"which methods, with commas; nothing: the best {most}"
    return field(default="", metadata={"help": told})


def paid(limit: Limit, runs: pa.Table) -> str:
    """ "for $120 of annotation each", or "for up to $120 ... each, $60 to $119 spent".

    runs: within this limit; nothing where there is none. A scheme may get all labels for less.
    """
    if not limit:
        return ""
    verb, spent = "for" if limit.dollars is not None else "in", _spent(limit, runs)
    if not _unspent(limit, spent):
        return f"{verb} {limit} of annotation each"
    ends = list(dict.fromkeys([_written(limit, min(spent)), _written(limit, max(spent))]))
    told = " to ".join(ends) + (" hours" if limit.hours is not None else "")
    return f"{verb} up to {limit} of annotation each, {told} spent"


def at_cost(limit: Limit, runs: pa.Table) -> str:
    """ " at $120", or " at $108 of $120" where one scheme's runs cost less than they may."""
    spent = _spent(limit, runs)
    if not _unspent(limit, spent):
        return at(limit)
    mean = _written(limit, sum(spent) / len(spent))
    return f" {'at' if limit.hours is None else 'in'} {mean} of {limit}"


def _spent(limit: Limit, runs: pa.Table) -> list[float]:
    """What each run's labels cost, in the unit of the limit."""
    column = "dollars" if limit.hours is None else "seconds"
    return [v / (1 if limit.hours is None else 3600) for v in runs[column].drop_null().to_pylist()]


def _unspent(limit: Limit, spent: list[float]) -> bool:
    most = limit.dollars if limit.hours is None else limit.hours
    return most is not None and bool(spent) and min(spent) < 0.95 * most


def _written(limit: Limit, spent: float) -> str:
    return money(spent) if limit.hours is None else f"{spent:,.3g}"


RUNS: dict[str, Any] = {
    "scheme": str, "method": str, "draw": int, "reference": bool, "map": float | None,
    "budget": float | None, "budget_hours": float | None,
    "dollars": float | None, "seconds": float | None, "test_id": str | None,
}  # fmt: skip
SCORED: dict[str, Any] = RUNS | {  # what a cell of a summary is made of
    "images": int | None, "labels_id": str | None,
    "map_all": float | None, "map_o": float | None,
}  # fmt: skip


def scored(runs: pa.Table, metric: str, *, asker: str) -> list[Line]:
    """The lines of a summary. Raises BadInput where no run has the metric."""
    found = lines(runs, metric=metric)
    if not found:
        raise BadInput(f"{asker}: no run has {metric}; compare again")
    return found


@dataclass(frozen=True)
class AtBudget(Figure):
    """Of a figure about one budget."""

    of_runs: ClassVar[bool] = True
    made_by: ClassVar[str] = "simkit.study.runs.table"
    reads: ClassVar[dict[str, Any]] = RUNS

    budget: float | None = field(
        default=None, metadata={"help": "which budget in dollars; none: the middle one"}
    )
    hours: float | None = field(default=None, metadata={"help": "or which budget in hours"})

    def at_budget(self, table: pa.Table) -> tuple[Limit, pa.Table]:
        """The budget and its runs. Raises BadInput where there are none."""
        return within(table, budget=self.budget, hours=self.hours, asker=self.name)


@dataclass(frozen=True)
class OfScheme(AtBudget):
    """Of a figure about the classes under one scheme within one budget."""

    reads: ClassVar = RUNS | {
        "images": int, "ap": list[float | None] | None,
        "class_present": list[int] | None, "class_absent": list[int] | None,
    }  # fmt: skip

    scheme: str = field(default="", metadata={"help": "which scheme; nothing: the first"})
    classes: Literal["leaves", "all"] = field(
        default="leaves",
        metadata={"help": "leaves, over which mAP is the mean, or all: inner classes too"},
    )

    def of_scheme(self, table: pa.Table) -> tuple[str, Limit, pa.Table]:
        """Scheme, budget and their runs. Raises BadInput where there are none."""
        limit, runs = self.at_budget(table)
        scheme, runs = under(runs, scheme=self.scheme, asker=self.name)
        return scheme, limit, runs

    def by_class(self, runs: pa.Table, methods: list[str]) -> ByClass:
        """What the runs of these methods say of each class that is wanted. Raises BadInput."""
        inner = self.classes == "all"
        return by_class(runs, methods=methods, asker=self.name, inner=inner)
