"""What a method rejects or corrects: how much of it rightly, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, MaxNLocator

from simkit.errors import BadInput
from simkit.study.figures.looks import look
from simkit.study.figures.previous import (
    PALE,
    WIDTH,
    Figure,
    caption,
    heading,
    label,
    legend_below,
    register,
)

Beside = Literal["right", "found", "modified"]
_BESIDE = {
    "right": "false negatives modified",
    "found": "share of all false negatives, %",
    "modified": "labels that are modified",
}


@register
@dataclass(frozen=True)
class Modification(Figure):
    """Left the precision of modification, right how many false negatives are modified.

    A line for each method; the dotted one is the precision of modifying at random. Methods that
    correct for good are counted over all epochs so far.
    """

    name: ClassVar[str] = "modification"
    title: ClassVar[str] = "How many of the rejected or corrected labels are false negatives"
    made_by: ClassVar[str] = "simkit.study.analysis.learning.modification"
    reads: ClassVar = {
        "method": str, "lasting": bool, "epoch": int, "modified": int, "right": int,
        **dict.fromkeys(("precision", "found", "chance"), float | None),
    }  # fmt: skip

    beside: Beside = field(
        default="right", metadata={"help": "on the right: right or modified labels, or found"}
    )

    def draw(self, table: pa.Table) -> Drawing:
        rows = [row for row in table.to_pylist() if row["modified"]]
        if not rows:
            raise BadInput(
                "modification: no label was modified; take a method that selects, such as ll-r, "
                "for two epochs or more"
            )
        methods = list(dict.fromkeys(row["method"] for row in rows))
        handles: dict[str, Any] = {}
        drawing = Drawing(figsize=(WIDTH, 4.2), layout="constrained")
        precision, beside = drawing.subplots(1, 2)
        for method in methods:
            mine = [row for row in rows if row["method"] == method]
            handles[label(method)] = _line(precision, mine, "precision", methods, 100)
            times = 100 if self.beside == "found" else 1
            _line(beside, mine, self.beside, methods, times)
        if (chance := rows[0]["chance"]) is not None:
            handles["at random"] = precision.axhline(100 * chance, color=PALE, linestyle=":")
        precision.set_title("Precision of modification", loc="left", fontweight="bold")
        precision.set(ylabel="false negatives, %", ylim=(0, 103))
        beside.set_title("What is found", loc="left", fontweight="bold")
        beside.set(ylabel=_BESIDE[self.beside])
        beside.set_ylim(bottom=0)
        beside.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        for axes in (precision, beside):
            axes.set_xlabel("epoch")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        heading(drawing, "How many of the modified labels are false negatives?")
        lasting = [label(m) for m in methods if any(_lasts(row, m) for row in rows)]
        told = "counts all that it has corrected so far." if len(lasting) == 1 else ""
        told = told or "count all that they have corrected so far."
        caption(drawing, f"{' and '.join(lasting)} {told}" if lasting else "")
        legend_below(drawing, handles)
        return drawing


def _line(
    axes: Axes, rows: list[dict[str, Any]], what: str, methods: list[str], times: float
) -> Any:
    style = look(rows[0]["method"], methods).line()
    every = max(1, len(rows) // 8)
    values = times * np.array([row[what] for row in rows], float)  # null: a gap
    (line,) = axes.plot([row["epoch"] for row in rows], values, **style, markevery=every)
    line.set_gid(rows[0]["method"])
    return line


def _lasts(row: dict[str, Any], method: str) -> bool:
    return bool(row["method"] == method and row["lasting"])
