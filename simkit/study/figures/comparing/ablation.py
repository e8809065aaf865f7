"""What each variation is worth: dots with intervals, and the difference to the base beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from simkit.study.figures.comparing.sweep import left_out
from simkit.study.figures.looks import look
from simkit.study.figures.previous import (
    INK,
    PALE,
    WIDTH,
    Figure,
    caption,
    ends_of,
    fold,
    heading,
    label,
    register,
)

_ROW = 0.3  # inches
Row = dict[str, Any]


@register
@dataclass(frozen=True)
class Ablation(Figure):
    """Means with 95 % intervals, rows as in the table, and on the right the paired difference.

    Full dots differ from the base beyond noise, hollow ones do not; the base is a dashed line.
    """

    name: ClassVar[str] = "ablation"
    title: ClassVar[str] = "Variations of a method: scores, and differences to a base"
    made_by: ClassVar[str] = "simkit.analysis.ablation"
    reads: ClassVar = {
        "scheme": str, "method": str, "base": bool, "draws": int, "missing": int, "mean": float,
        "noise": bool | None,
        **dict.fromkeys(("low", "high", "gap", "gap_low", "gap_high"), float | None),
    }  # fmt: skip

    score: str = field(default="mAP", metadata={"help": "how the score is called"})

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        schemes = list(dict.fromkeys(row["scheme"] for row in rows))
        groups = [[row for row in rows if row["scheme"] == scheme] for scheme in schemes]
        names = list(dict.fromkeys(row["method"] for row in rows))
        base = next((row["method"] for row in rows if row["base"]), None)
        tall = [max(len(group), 2) for group in groups]
        height = 1.5 + sum(_ROW * rows_ + 0.45 for rows_ in tall)
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
        grid = drawing.subplots(
            len(schemes), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": tall}
        ).ravel()
        for axes, scheme, group in zip(grid, schemes, groups, strict=True):
            _dots(axes, group, names)
            _frame(axes, group)
            axes.set_title(fold(scheme, 60), loc="left", fontweight="bold")
        grid[0].set_title("difference", loc="right", color=PALE, fontsize=9)
        grid[-1].set_xlabel(f"{self.score} on the test split, points")
        told = f", against {label(base)}" if base else ""
        heading(drawing, f"What each variation is worth{told}")
        caption(drawing, *_note(rows), left_out(table))
        return drawing


def _dots(axes: Axes, rows: list[Row], names: list[str]) -> None:
    for place, row in enumerate(rows):
        style = look(row["method"], names)
        mean = 100 * row["mean"]
        if ends := ends_of(row):
            axes.plot(ends, [place, place], color=style.color, linewidth=1.8, zorder=2)
        if row["base"]:
            axes.axvline(mean, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        inside = style.color if row["base"] or row["noise"] is False else "white"
        axes.plot(
            [mean], [place], "o", color=style.color, markerfacecolor=inside, markersize=7,
            markeredgewidth=1.6, zorder=3,
        )  # fmt: skip


def _frame(axes: Axes, rows: list[Row]) -> None:
    axes.set_ylim(len(rows) - 0.4, -0.6)
    names = [fold(label(row["method"]), 46, 2) for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=9.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(range(len(rows)), [_told(row) for row in rows], fontsize=9.5)
    beside.tick_params(length=0)
    beside.spines["right"].set_visible(False)
    for text, row in zip(beside.get_yticklabels(), rows, strict=True):
        sure = row["noise"] is False
        text.set(color=INK if sure else PALE, fontweight="bold" if sure else "normal")


def _told(row: Row) -> str:
    """The difference in points, and its interval."""
    if row["base"]:
        return "base"
    if row["gap"] is None:
        return "no base here"
    told = f"{100 * row['gap']:+.1f}"
    ends = ends_of(row, "gap_low", "gap_high")
    return f"{told}  ({ends[0]:+.1f} to {ends[1]:+.1f})" if ends else told


def _note(rows: list[Row]) -> list[str]:
    most = max(row["draws"] for row in rows)
    if most < 2:
        return ["One draw: no intervals, so any of it may be noise."]
    return [
        f"Lines: 95 % over {most} draws, each method alone. Difference: paired by draw, with the "
        "interval at which Holm's correction tests it; bold, and a full dot: beyond noise."
    ]
