"""How the numbers of settings and budgets are written: short, and no two of them alike."""

from __future__ import annotations


def written(value: float, *, mark: str = "") -> str:
    """Six digits where they are enough to tell it, else all it takes; mark: between thousands."""
    short = f"{value:g}"
    return f"{value:{mark}g}" if float(short) == value else f"{value:{mark}}".removesuffix(".0")
