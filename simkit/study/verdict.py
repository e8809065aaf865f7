"""What to buy: for each budget the scheme and method that reached most, and what came next."""

from __future__ import annotations

import pyarrow as pa

from simkit.study.limit import Limit
from simkit.study.statistics import Ranking, rank
from simkit.study.summary import (
    SMALLEST,
    Cell,
    Line,
    limits,
    lines,
    percent,
    scored,
    span,
)


def verdicts(runs: pa.Table, *, metric: str = "map") -> list[str]:
    """One sentence for each budget, cheapest first; none where amounts were not bought for one.

    Compared is the best method of each scheme, paired by draw. The interval is that of the pair: it
    does not correct for having picked the best of several. What cannot be told from the best is
    named beside it: schemes, or methods under the scheme that is best alone.
    """
    return [_verdict(runs, limit, metric) for limit in limits(runs)]


def _verdict(runs: pa.Table, limit: Limit, metric: str) -> str:
    found = [line for line in lines(runs, metric=metric) if line.limit == limit]
    best = [(max(line.cells, key=lambda cell: cell.score.mean), line) for line in found]
    best.sort(key=lambda pair: -pair[0].score.mean)
    first, line = best[0]
    others = [cell for cell, _ in best[1:]]
    start, reached = f"For {limit}", percent(first.score)
    if first.score.draws < 2 and (others or len(line.cells) > 1):
        return f"{start} {_named(first)} is highest with {reached}, but one draw cannot tell."
    pairs = [_pair(runs, first, cell, metric) for cell in others]
    over = _over(pairs[0], first, others[0]) if others else ""
    level = [cell.scheme for cell, pair in zip(others, pairs, strict=True) if not pair.wins]
    if level:
        buy = f"{start} buy any of {', '.join([first.scheme, *level])}"
        return f"{buy}, which cannot be told apart: {_named(first)} has {reached}{over}."
    buy = f"{start} buy {first.scheme} and train"
    alike = _alike(line, first)
    if alike:
        buy = f"{buy} any of {', '.join([first.method, *alike])}"
        return f"{buy}, which cannot be told apart: {first.method} has {reached}{over}."
    return f"{buy} {first.method}: {reached}{over}."


def _named(cell: Cell) -> str:
    return f"{cell.scheme} with {cell.method}"


def _pair(runs: pa.Table, first: Cell, second: Cell, metric: str) -> Ranking:
    both = {_named(cell): _by_draw(runs, cell, metric) for cell in (first, second)}
    return rank(both, smallest=SMALLEST)


def _over(pair: Ranking, first: Cell, second: Cell) -> str:
    """ ", +5.0 points (2.5 to 7.5) over fpc with an", or nothing where no draw is shared."""
    gap = pair.difference(_named(first), _named(second)).interval
    if not gap.draws:
        return ""
    return f", {100 * gap.mean:+.1f} points{span(gap)} over {_named(second)}"


def _alike(line: Line, best: Cell) -> list[str]:
    """Methods that the best one of its scheme cannot be told from, the highest first."""
    beaten = {best.method, *line.ranking.beaten_by(best.method)}
    ordered = sorted(line.cells, key=lambda cell: -cell.score.mean)
    return [cell.method for cell in ordered if cell.method not in beaten]


def _by_draw(runs: pa.Table, cell: Cell, metric: str) -> dict[int, float]:
    """The scores of a cell's runs."""
    own = (cell.scheme, cell.method, cell.limit, False)
    return {
        row["draw"]: row[metric]
        for row in scored(runs, metric)
        if (row["scheme"], row["method"], Limit.of(row), row["reference"]) == own
    }
