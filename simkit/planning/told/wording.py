"""How numbers of a plan are written: mAP in points, chances, grades."""

from __future__ import annotations

import math
from collections.abc import Sequence

Span = tuple[float, float]

# The words of a grade; the colour never stands alone. Its limits are in reach.py.
GRADES = {
    "green": "green: at most 2 times beyond the pilot, where curves usually hold",
    "amber": "amber: 2 to 11 times beyond the pilot; buy in rounds and fit again after each",
    "red": "red: more than 11 times beyond the pilot; take it for a direction, not for a number",
}

RISKS = {
    "robust": "The choice is the one that reaches most with bad luck (the 20 % quantile of its "
    "samples), so that one with a higher median may stand here; a plan can go by the mean instead "
    "(the expected choice).",
    "expected": "The choice is the one whose mean is highest, less a penalty for missing the "
    "target where there is one; a plan can go by what is reached with bad luck instead (the robust "
    "choice).",
}


def several(count: int, one: str, more: str = "") -> str:
    """So many of something: "1 image", "2,000 images"."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def times(factor: float) -> str:
    """ "2.2 times"."""
    told = f"{factor:.0f}" if factor >= 10 else f"{factor:.2g}"
    return f"{told} {'time' if told == '1' else 'times'}"


def listed(names: Sequence[str]) -> str:
    """ "one", "one and another", "one, another and a third"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def in_cents(amounts: Sequence[float], most: float = math.inf) -> list[float]:
    """Amounts in whole cents that add up to their sum in cents, which is not above `most`.

    Each is rounded down, and the cents that are left go to the largest remainders.
    """
    exact = [100 * amount for amount in amounts]
    whole = [math.floor(one + 1e-6) for one in exact]
    total = min(round(math.fsum(exact)), max(sum(whole), math.floor(100 * most + 1e-6)))
    order = sorted(range(len(exact)), key=lambda place: whole[place] - exact[place])
    for place in order[: total - sum(whole)]:
        whole[place] += 1
    return [one / 100 for one in whole]


def exactly(dollars: float) -> str:
    """Dollars to the cent, which whole dollars do without: "$499.90", "$500"."""
    cents = round(100 * dollars)
    return f"${cents / 100:,.2f}" if cents % 100 else f"${cents // 100:,}"


def points(share: float) -> str:
    """mAP, or a difference of two, from 0 to 1 as points: 0.7134 is 71.3."""
    text = f"{100 * share:.1f}"
    return "0.0" if text == "-0.0" else text


def signed(share: float) -> str:
    """A difference of mAP in points with its sign: +1.2, -0.4, 0.0."""
    text = f"{100 * share:+.1f}"
    return "0.0" if text in ("-0.0", "+0.0") else text


def span(band: Span) -> str:
    """A band of mAP in points."""
    return f"{points(band[0])} to {points(band[1])}"


def percent(share: float) -> str:
    """A chance. What was sampled is never quite sure: 100 % and 0 % stay out of it."""
    return (
        "more than 99 %"
        if share > 0.99
        else "less than 1 %"
        if share < 0.01
        else f"{100 * share:.0f} %"
    )
