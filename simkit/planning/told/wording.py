"""How numbers of a plan are written: mAP in points, chances, grades."""

from __future__ import annotations

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
