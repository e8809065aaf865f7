"""Options that figures of a comparison share: which budget, scheme, classes and methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow as pa

from simkit.study.analysis.by_class import ByClass, by_class
from simkit.study.analysis.chosen import under, within
from simkit.study.limit import Limit


def some(most: str) -> Any:
    """The option `methods`, of which `most` are shown unless asked."""
    told = f"which methods, with commas; nothing: the best {most}"
    return field(default="", metadata={"help": told})


@dataclass(frozen=True)
class AtBudget:
    """Of a figure about one budget."""

    name: ClassVar[str]
    of_runs: ClassVar[bool] = True

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
