"""The budget of a purchase."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from simkit.quantities import money


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
        """The budget as bills have it: in dollars or seconds."""
        if self.dollars is not None:
            return self.dollars, "dollars"
        return 3600 * (self.hours or 0.0), "seconds"

    def __bool__(self) -> bool:
        return self != Budget()

    def __str__(self) -> str:
        if self.dollars is not None:
            return money(self.dollars)
        return "" if self.hours is None else f"{self.hours:,g} hours"

    @property
    def order(self) -> tuple[float, float]:
        """Sort key: budgets in dollars first, then those in hours, ascending."""
        return self.hours or 0.0, self.dollars or 0.0

    @property
    def at(self) -> str:
        """ " at $100", " in 10 hours", or nothing if amounts are as written."""
        return f" {'at' if self.dollars is not None else 'in'} {self}" if self else ""
