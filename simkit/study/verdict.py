"""What to buy: for each budget the scheme and method that reached most, and what came next."""

from __future__ import annotations

import pyarrow as pa

from simkit.study.statistics import rank
from simkit.study.summary import SMALLEST, Cell, budgets, lines, money, percent, scored, span


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
    pair = {_named(cell): _by_draw(runs, cell, metric) for cell in (first, others[0])}
    ranking = rank(pair, smallest=SMALLEST)
    gap = ranking.difference(*pair).interval
    if not gap.draws:
        return f"{told}."
    between = f"{100 * gap.mean:+.1f} points{span(gap)}"
    close = "" if ranking.winners == (_named(first),) else ", which cannot be told from it"
    return f"{told}, {between} over {_named(others[0])}{close}."


def _named(cell: Cell) -> str:
    return f"{cell.scheme} and train {cell.method}"


def _by_draw(runs: pa.Table, cell: Cell, metric: str) -> dict[int, float]:
    """The scores of a cell's runs."""
    own = (cell.scheme, cell.method, cell.budget, False)
    return {
        row["draw"]: row[metric]
        for row in scored(runs, metric)
        if (row["scheme"], row["method"], row["budget"], row["reference"]) == own
    }
