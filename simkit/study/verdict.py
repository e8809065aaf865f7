"""What to buy: for each budget the scheme and method that reached most, and what came next."""

from __future__ import annotations

import pyarrow as pa

from simkit.study.statistics import interval
from simkit.study.summary import Cell, budgets, lines, money, percent, span


def verdicts(runs: pa.Table, *, metric: str = "map") -> list[str]:
    """One sentence for each budget, cheapest first; none where amounts were not bought for one.

    Compared is the best method of each scheme, paired by draw. The interval is that of the pair: it
    does not correct for having picked the best of several.
    """
    return [told for budget in budgets(runs) if (told := _verdict(runs, budget, metric))]


def _verdict(runs: pa.Table, budget: float, metric: str) -> str:
    found = [line for line in lines(runs, metric=metric) if line.budget == budget]
    best = [max(line.cells, key=lambda cell: cell.score.mean) for line in found]
    best.sort(key=lambda cell: -cell.score.mean)
    first, *others = best
    told = f"For {money(budget)} buy {_named(first)}: {percent(first.score)}"
    if not others:
        return f"{told}."
    gap = interval(_paired(runs, first, others[0], metric))
    sure = gap.low is not None and gap.low > 0
    between = f"{100 * gap.mean:+.1f} points{span(gap)}"
    close = "" if sure else ", which cannot be told from it"
    return f"{told}, {between} over {_named(others[0])}{close}."


def _named(cell: Cell) -> str:
    return f"{cell.scheme} and train {cell.method}"


def _paired(runs: pa.Table, first: Cell, second: Cell, metric: str) -> list[float]:
    """first minus second, for the draws that both have."""
    scores: list[dict[int, float]] = [{}, {}]
    for row in runs.to_pylist():
        for cell, found in zip((first, second), scores, strict=True):
            key = (row["scheme"], row["method"], row["budget"], row["reference"])
            if key == (cell.scheme, cell.method, cell.budget, False):
                found[row["draw"]] = row[metric]
    one, other = scores
    return [one[draw] - other[draw] for draw in sorted(one.keys() & other.keys())]
