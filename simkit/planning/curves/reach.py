"""How far beyond a pilot, and how far below it, a curve may be believed."""

from __future__ import annotations

import math
from typing import Literal

from simkit.errors import BadInput

Grade = Literal["green", "amber", "red"]

GREEN, AMBER, MOST = 2.0, 11.0, 50.0  # times the largest pilot size, in dollars
LEAST = 0.1  # of the smallest pilot size
MEANING = {
    "green": "up to 2x the largest pilot size",
    "amber": "up to 11x the largest pilot size, or down to a tenth of the smallest",
    "red": "beyond 11x the largest pilot size",
}
_ROUNDING = 1e-9  # a budget of exactly twice the reach is not beyond it for a bit of noise


def grade(dollars: float, reach: float, least: float = 0.0) -> Grade:
    """How far `dollars` lie beyond `reach`, the mean dollars of the largest pilot size.

    green: at most twice as far; amber: at most 11 times, or less than `least`, the mean dollars of
    the smallest size; red: further. Raises BadInput beyond 50 times and below a tenth of the
    smallest size, where no curve is to be believed, and for what is no number of dollars.
    """
    if not (math.isfinite(dollars) and dollars >= 0):
        raise BadInput(f"dollars is {dollars!r}; a number of dollars from 0 on is expected")
    if not (math.isfinite(reach) and reach > 0):
        raise BadInput(f"reach is {reach!r}; a number of dollars above 0 is expected")
    times = dollars / reach * (1 - _ROUNDING)
    if times > MOST:
        raise BadInput(
            f"{dollars:,.0f} dollars of training labels are {times:,.0f} times the largest pilot "
            f"size of {reach:,.2f} dollars, and no curve holds beyond {MOST:.0f} times; label a "
            f"pilot for at least {dollars / MOST:,.2f} dollars first, or lower the budget"
        )
    if dollars < least * LEAST * (1 - _ROUNDING):
        raise BadInput(
            f"{dollars:,.2f} dollars of training labels are less than a tenth of the smallest "
            f"pilot size of {least:,.2f} dollars, and no curve holds so far below its pilot; raise "
            "the budget or the images, or compare at smaller budgets too"
        )
    if dollars < least * (1 - _ROUNDING):
        return "amber"
    return "green" if times <= GREEN else "amber" if times <= AMBER else "red"
