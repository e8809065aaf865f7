"""What a table of runs says: cells with intervals, winners, and the sentences a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from simkit.study.grids.limit import Limit, at, money
from simkit.study.statistics import Difference, Interval, Ranking, interval, rank

SMALLEST = 0.0005  # a gap of less than 0.05 points reads as 0.0: a tie however sure it is


@dataclass(frozen=True)
class Cell:
    """One method under one scheme within one limit: means over draws. `score` is from 0 to 1."""

    scheme: str
    method: str
    limit: Limit
    score: Interval
    dollars: float
    hours: float | None
    images: float


@dataclass(frozen=True)
class Line:
    """All methods under one scheme within one limit, and how they rank."""

    scheme: str
    limit: Limit
    cells: tuple[Cell, ...]
    ranking: Ranking

    def cell(self, method: str) -> Cell | None:
        """The cell of one method, or None where it has no finished run here."""
        return next((cell for cell in self.cells if cell.method == method), None)

    @property
    def lead(self) -> Difference | None:
        """What may be said of the best: of the winners the highest, over the highest it beats."""
        means = {cell.method: cell.score.mean for cell in self.cells}
        if not self.ranking.winners:
            return None
        best = max(self.ranking.winners, key=lambda method: means[method])
        second = max(self.ranking.beaten_by(best), key=lambda method: means[method])
        return self.ranking.difference(best, second)

    @property
    def shared(self) -> tuple[int, int]:
        """The fewest and the most draws over which two methods were compared."""
        draws = [d.interval.draws for d in self.ranking.differences]
        return min(draws, default=0), max(draws, default=0)


def lines(runs: pa.Table, *, metric: str = "map") -> list[Line]:
    """One line for each scheme and limit, in the order of the table, references left out."""
    groups: dict[tuple[str, Limit], dict[str, list[dict[str, Any]]]] = {}
    for row in scored(runs, metric):
        if not row["reference"]:
            group = groups.setdefault((row["scheme"], Limit.of(row)), {})
            group.setdefault(row["method"], []).append(row)
    return [_line(scheme, limit, group, metric) for (scheme, limit), group in groups.items()]


def references(runs: pa.Table, *, metric: str = "map") -> list[Cell]:
    """Everything labelled completely: a cell for `full` and for each wrapper around it."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in scored(runs, metric):
        if row["reference"] and is_full(row["method"]):
            groups.setdefault(row["method"], []).append(row)
    return [_cell(rows[0]["scheme"], m, Limit(), rows, metric) for m, rows in groups.items()]


def is_full(method: str) -> bool:
    """Whether a method is `full` or a wrapper around it: the oracle, where it has all labels."""
    return method.partition("+")[0] == "full"


def limits(runs: pa.Table) -> list[Limit]:
    """Budgets, ascending, those in hours last; empty where the amounts were as written."""
    rows = runs.select(["budget", "budget_hours"]).to_pylist()
    return sorted({one for one in map(Limit.of, rows) if one}, key=lambda one: one.order)


def scored(runs: pa.Table, metric: str) -> list[dict[str, Any]]:
    """The runs that have this metric, as rows of what a summary needs."""
    wanted = [
        "scheme",
        "method",
        "budget",
        "budget_hours",
        "draw",
        "reference",
        "dollars",
        "seconds",
        "images",
        metric,
    ]
    if isinstance(runs, pd.DataFrame):
        runs = pa.Table.from_pandas(runs, preserve_index=False)
    rows = runs.select(list(dict.fromkeys(wanted))).to_pylist()
    return [row for row in rows if row[metric] is not None]


def _line(scheme: str, limit: Limit, group: dict[str, list[Any]], metric: str) -> Line:
    cells = tuple(_cell(scheme, method, limit, rows, metric) for method, rows in group.items())
    scores = {m: {row["draw"]: row[metric] for row in rows} for m, rows in group.items()}
    return Line(scheme, limit, cells, rank(scores, smallest=SMALLEST))


def _cell(scheme: str, method: str, limit: Limit, rows: list[Any], metric: str) -> Cell:
    times = [row["seconds"] for row in rows]
    known = [t for t in times if t is not None]
    return Cell(
        scheme,
        method,
        limit,
        interval([row[metric] for row in rows]),
        _mean([row["dollars"] for row in rows]),
        _mean(known) / 3600 if len(known) == len(times) else None,
        _mean([row["images"] for row in rows]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def sentence(line: Line) -> str:
    """Which method wins under this scheme, and is it noise?"""
    scores = {cell.method: cell.score for cell in line.cells}
    where = f"{line.scheme}{at(line.limit)}"
    best, lead = line.ranking.best, line.lead
    if len(scores) == 1:
        return f"{where}: {best} reaches {percent(scores[best])}."
    if lead is None and line.shared[1] < 2:
        return f"{where}: {best} is highest with {percent(scores[best])}, but one draw cannot tell."
    if lead is None:
        low, high = (of(scores.values(), key=lambda score: score.mean) for of in (min, max))
        spread = f"means of {100 * low.mean:.1f} to {100 * high.mean:.1f} mAP"
        return f"{where}: the methods cannot be told apart with {draws(line)} ({spread})."
    best, gap = lead.first, lead.interval
    beaten = line.ranking.beaten_by(best)
    others = [method for method in scores if method not in {best, *beaten}]
    others.sort(key=lambda method: -scores[method].mean)  # ties stay in the table's order
    verb = "leads" if others else "wins"
    told = (
        f"{where}: {best} {verb} with {percent(scores[best])}, "
        f"{100 * gap.mean:+.1f} points{span(gap)} over {lead.second}"
    )
    return f"{told}; {', '.join(others)} cannot be told from it." if others else f"{told}."


def draws(line: Line) -> str:
    """ "5 draws", or "4 to 5 draws" where some pairs of methods share fewer."""
    few, many = line.shared
    return f"{many} draws" if few == many else f"{few} to {many} draws"


def sentences(runs: pa.Table, *, metric: str = "map") -> list[str]:
    """One sentence for each scheme and budget, then what labelling everything gives."""
    told = [sentence(line) for line in lines(runs, metric=metric)]
    full = references(runs, metric=metric)
    if full:
        reached = ", ".join(f"{percent(cell.score)} with {cell.method}" for cell in full)
        told.append(f"Labelling everything costs {money(full[0].dollars)} and gives {reached}.")
    return told


def percent(score: Interval) -> str:
    """ "52.3 ±1.2 mAP" in points, or without ± for one draw."""
    half = "" if score.half is None else f" ±{100 * score.half:.1f}"
    return f"{100 * score.mean:.1f}{half} mAP"


def span(gap: Interval) -> str:
    """ " (1.1 to 2.3)" in points, or nothing for one draw."""
    if gap.low is None or gap.high is None:
        return ""
    return f" ({100 * gap.low:.1f} to {100 * gap.high:.1f})"


def markdown(runs: pa.Table, *, metric: str = "map") -> str:
    """The whole summary as Markdown: sentences first, then the table of cells."""
    told = [f"- {text}" for text in sentences(runs, metric=metric)]
    columns = "scheme budget method mAP interval rank draws dollars hours images".split()
    head = "| " + " | ".join(columns) + " |"
    rule = "|---|--:|---|--:|---|--:|--:|--:|--:|--:|"
    rows = [_row(cell, line) for line in lines(runs, metric=metric) for cell in line.cells]
    rows += [_row(cell, None) for cell in references(runs, metric=metric)]
    return "\n".join(
        [
            "# Which method wins under which scheme, and is it noise?",
            "",
            *told,
            "",
            _NOTE,
            "",
            head,
            rule,
            *rows,
            "",
        ]
    )


_NOTE = (
    "mAP is the mean over leaf classes on the test split, in points. Intervals are at 95 % over "
    "draws; methods are compared draw by draw, all pairs of a line together with Holm's "
    "correction. A rank is one more than the number of methods that are better beyond noise."
)


def _row(cell: Cell, line: Line | None) -> str:
    score = cell.score
    between = (
        ""
        if score.low is None or score.high is None
        else f"{100 * score.low:.1f} to {100 * score.high:.1f}"
    )
    columns = [
        cell.scheme,
        str(cell.limit),
        cell.method,
        f"{100 * score.mean:.1f}",
        between,
        "" if line is None else str(line.ranking.ranks[cell.method]),
        str(score.draws),
        f"{cell.dollars:,.2f}",
        "unknown" if cell.hours is None else f"{cell.hours:,.2f}",
        f"{cell.images:,.0f}",
    ]
    return "| " + " | ".join(columns) + " |"
