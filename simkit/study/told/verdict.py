"""What to buy: for each budget the scheme and method that reached most, and what came next."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from simkit.study.grids.limit import Limit, money
from simkit.study.statistics import Ranking, rank
from simkit.study.summary import SMALLEST, Line, limits, lines, percent, scored, span
from simkit.study.told import tuned


def verdicts(runs: pa.Table, *, metric: str = "map") -> list[str]:
    """One sentence for each budget, cheapest first; none where amounts were not bought for one.

    Each scheme stands with its best method. They are compared draw by draw, with Holm's correction
    over all pairs of schemes; that a method was picked within its scheme is not corrected for: it
    was in all of them. What nothing beats beyond noise is named together: schemes, or methods under
    the scheme that is best alone. The interval is that of the pair it stands beside. Labels of a
    sweep's own draw are beside the budget, and named with it.
    """
    found = lines(runs, metric=metric)
    return [
        _verdict(runs, [line for line in found if line.limit == limit], metric)
        for limit in limits(runs)
    ]


def _verdict(runs: pa.Table, found: list[Line], metric: str) -> str:
    ranking = _ranking(runs, found, metric)
    line = next(one for one in found if one.scheme == ranking.best)
    method = line.ranking.best
    names = {one.scheme: f"{one.scheme} with {one.ranking.best}" for one in found}
    score = next(cell.score for cell in line.cells if cell.method == method)
    first, reached = names[line.scheme], percent(score)
    swept = tuned.price(runs, line.scheme, line.limit)
    beside = "" if swept is None else f", and {money(swept)} of labels that chose settings,"
    start = f"For {line.limit}{beside}"
    if score.draws < 2 and (len(found) > 1 or len(line.cells) > 1):
        return f"{start} {first} is highest with {reached}, but one draw cannot tell."
    level, alike = ranking.unbeaten, line.ranking.unbeaten
    if len(level) > 1:
        worse = [name for name in ranking.order if name not in level]
        rest = f"; worse beyond noise: {', '.join(worse)}" if worse else ""
        told = f"{first} has {reached}{_over(ranking, names, level[1])}{rest}"
        return f"{start} buy any of {', '.join(level)}, which cannot be told apart: {told}."
    told = f"{reached}{_over(ranking, names, *ranking.beaten_by(line.scheme)[:1])}"
    if len(alike) > 1:
        buy = f"{start} buy {line.scheme} and train any of {', '.join(alike)}"
        return f"{buy}, which cannot be told apart: {method} has {told}."
    return f"{start} buy {line.scheme} and train {method}: {told}."


def _ranking(runs: pa.Table, found: list[Line], metric: str) -> Ranking:
    """The schemes, each with its best method, over the draws that two of them share."""
    best = {(line.scheme, line.limit, line.ranking.best) for line in found}
    scores: dict[str, dict[int, float]] = {}
    for row in scored(runs, metric):
        if (row["scheme"], Limit.of(row), row["method"]) in best and not row["reference"]:
            scores.setdefault(row["scheme"], {})[row["draw"]] = row[metric]
    return rank(scores, smallest=SMALLEST)


def _over(ranking: Ranking, names: Mapping[str, str], other: str | None = None) -> str:
    """ ", +5.0 points (2.5 to 7.5) over fpc with an", or nothing where no draw is shared."""
    gap = ranking.difference(ranking.best, other).interval if other else None
    if other is None or gap is None or not gap.draws:
        return ""
    return f", {100 * gap.mean:+.1f} points{span(gap)} over {names[other]}"
