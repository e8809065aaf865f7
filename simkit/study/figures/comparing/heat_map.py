"""Scheme x method at equal cost: who wins where, and is it noise?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle

from simkit.errors import unknown
from simkit.study.figures.options import SCORED, AtBudget, paid, scored
from simkit.study.figures.previous import (
    INK,
    PALE,
    WIDTH,
    Metric,
    caption,
    fold,
    heading,
    label,
    register,
)
from simkit.study.summary import (
    Cell,
    Limit,
    Line,
    draws,
    money,
    percent,
    references,
)

# No red against green, and light enough at both ends for dark text.
_SHADES = LinearSegmentedColormap.from_list("gap", ["#F0A04B", "#FFFFFF", "#6FA8DC"])
_FULL = 10.0  # points at which the colour is full: the same in every figure, whatever lies beyond


@register
@dataclass(frozen=True)
class HeatMap(AtBudget):
    """Mean mAP with interval and number of draws in each cell; winners are framed.

    The colour is the difference to `against` (AN) in points: white is "no better than AN". Rows
    in which nothing can be told apart say so and have no frame.
    """

    name: ClassVar[str] = "heat-map"
    title: ClassVar[str] = "scheme x method at equal cost, winners framed"
    reads: ClassVar = {**SCORED, "dollars": float, "images": int}

    against: str = field(
        default="", metadata={"help": "what colours compare with; nothing: an, or the first"}
    )
    metric: Metric = field(default="map", metadata={"help": "what is averaged over draws"})

    def draw(self, table: pa.Table) -> Drawing:
        chosen, runs = self.at_budget(table)
        rows = scored(runs, self.metric, asker=self.name)
        methods = list(dict.fromkeys(cell.method for row in rows for cell in row.cells))
        if self.against and self.against not in methods:
            raise unknown("method of the table (heat-map)", self.against, methods)
        against = self.against or ("an" if "an" in methods else methods[0])
        width = max(WIDTH, 3.4 + 0.62 * len(methods))  # each number has its place
        drawing = Drawing(figsize=(width, _tall(methods, len(rows))), layout="constrained")
        axes = drawing.add_subplot()
        _cells(axes, rows, methods, against)
        _frame(axes, rows, methods)
        heading(drawing, _title(chosen, runs))
        caption(drawing, *_note(table, against, self.metric, chosen), letters=15.9)
        return drawing


def _cells(axes: Axes, rows: list[Line], methods: list[str], against: str) -> None:
    gaps = np.full((len(rows), len(methods)), np.nan)
    for r, row in enumerate(rows):
        for m, method in enumerate(methods):
            if row.cell(method) and row.cell(against):  # over shared draws, as winners are told
                same = method == against
                gap = 0.0 if same else row.ranking.difference(method, against).interval.mean
                gaps[r, m] = 100 * gap
    # A cell as good as the base is white; its border says that it is a cell all the same.
    cells = [Rectangle((m - 0.46, r - 0.46), 0.92, 0.92) for r, m in np.ndindex(gaps.shape)]
    drawn = PatchCollection(cells, cmap=_SHADES, edgecolor="#d8d8d8")
    drawn.set_array(gaps.ravel())
    drawn.set_clim(-_FULL, _FULL)
    axes.add_collection(drawn)
    axes.set_xlim(-0.5, len(methods) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # the first row on top
    for r, row in enumerate(rows):
        for m, method in enumerate(methods):
            cell = row.cell(method)
            if cell is None:
                axes.text(m, r, "no run", ha="center", va="center", fontsize=9, color=PALE)
                continue
            _write(axes, (m, r), cell, bold=method in row.ranking.winners, small=len(methods) > 6)


def _write(axes: Axes, place: tuple[int, int], cell: Cell, *, bold: bool, small: bool) -> None:
    x, y = place
    middle: dict[str, Any] = {"ha": "center", "va": "center"}
    mean, half = f"{100 * cell.score.mean:.1f}", cell.score.half
    weight = "bold" if bold else "normal"
    axes.text(x, y - 0.14, mean, fontsize=10.5 if small else 13, fontweight=weight, **middle)
    spread = "" if half is None else f"±{100 * half:.1f}"
    draws = f"n={cell.score.draws}"
    below = f"{spread}\n{draws}" if small else ", ".join(filter(None, (spread, draws)))
    axes.text(x, y + 0.25, below, fontsize=6.5 if small else 8.5, **middle)


def _frame(axes: Axes, rows: list[Line], methods: list[str]) -> None:
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    names, slanted = _headers(methods)
    turned: dict[str, Any] = (
        {"rotation": 35, "ha": "left", "rotation_mode": "anchor"} if slanted else {}
    )
    axes.set_xticks(range(len(methods)), names, fontsize=11, **turned)
    schemes = [fold(row.scheme, 24, 4) for row in rows]
    size = 11 if all(name.count("\n") < 3 for name in schemes) else 9
    axes.set_yticks(range(len(rows)), schemes, fontsize=size)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    told = ["\n".join(fold(part, 28) for part in _verdict(row).split("\n")) for row in rows]
    verdict = axes.secondary_yaxis("right")
    verdict.set_yticks(
        range(len(rows)), told, fontsize=9.5 if all(name.count("\n") < 4 for name in told) else 8
    )
    verdict.tick_params(length=0)
    verdict.spines["right"].set_visible(False)
    for r, row in enumerate(rows):
        for winner in row.ranking.winners:
            corner = (methods.index(winner) - 0.46, r - 0.46)
            axes.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, edgecolor=INK, linewidth=2.4))


def _headers(methods: list[str]) -> tuple[list[str], bool]:
    """What stands above the cells, and whether it has to be slanted to have room."""
    level = [label(method).replace(" + ", "\n+ ") for method in methods]
    room = 66 / len(methods)  # letters, where the figure is no wider than usual
    if len(methods) <= 6 and all(len(line) <= room for name in level for line in name.split("\n")):
        return level, False
    letters, deep = (24, 3) if len(methods) <= 6 else (30, 2)  # as many lines as cells are wide
    return [fold(label(method), letters, deep) for method in methods], True


def _tall(methods: list[str], rows: int) -> float:
    """Inches: slanted names take more the longer they are."""
    names, slanted = _headers(methods)
    longest = max(len(line) for name in names for line in name.split("\n"))
    deep = max(name.count("\n") for name in names)
    return 1.9 + 0.62 * rows + (0.052 * longest + 0.15 * deep - 0.2 if slanted else 0)


def _verdict(row: Line) -> str:
    lead = row.lead
    if len(row.cells) == 1:
        return "one method"
    if lead is None and row.shared[1] < 2:
        return "one draw:\ncannot tell"
    if lead is None:
        return f"not told apart\nwith {draws(row)}"
    gap = f"{100 * lead.interval.mean:+.1f} over {label(lead.second)}"
    others = len(row.cells) - 1 - len(row.ranking.beaten_by(lead.first))
    if others:  # they may be far below: a wide spread alone keeps them from being told apart
        return f"{label(lead.first)} leads:\n{gap};\n{others} not told from it"
    return f"{label(lead.first)} wins:\n{gap}"


def _title(limit: Limit, runs: pa.Table) -> str:
    if not limit:
        return "Which method wins under which scheme? Amounts as written, costs differ"
    return f"Which method wins under which scheme, {paid(limit, runs)}?"


def _note(table: pa.Table, against: str, metric: str, limit: Limit) -> list[str]:
    note = [
        "Each cell: mAP on the test split in points, ± its 95 % interval, n draws. Colour: better "
        f"(blue) or worse (orange) than {label(against)}, full at {_FULL:.0f} points.",
        "Frame: beats another method beyond noise (paired by draw, Holm's correction) and none "
        "beats it: the best, or not told apart from it.",
    ]
    full = references(table, metric=metric)
    if not full:
        return note
    reached = ", ".join(f"{label(cell.method)} {percent(cell.score)}" for cell in full)
    hours = full[0].hours if limit.hours else None  # in the unit of the budget
    price = money(full[0].dollars) if hours is None else f"{hours:,.3g} hours"
    return [*note, f"Everything labelled, for {price}: {reached}."]
