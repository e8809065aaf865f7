"""Scores on parts of the test split: by the size of objects, by the number of present labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from simkit.errors import unknown
from simkit.study.figures.looks import look
from simkit.study.figures.previous import (
    INK,
    WIDTH,
    Figure,
    caption,
    fold,
    heading,
    label,
    legend_below,
    register,
)
from simkit.study.statistics import interval

Scores = dict[str, dict[str, dict[int, float]]]  # by method, part and draw


@register
@dataclass(frozen=True)
class ByPart(Figure):
    """A line for each method over the parts, and, with a base, its differences to it beside them.

    Bars are 95 % over draws, each method alone; differences are paired by draw. The table is
    by the size of objects, or by present labels (`object_size.positives`).
    Source: "Spatial Consistency Loss" (WACV 2023), Fig. 5d, Table 3 and appendix D.
    """

    name: ClassVar[str] = "by-part"
    title: ClassVar[str] = "mAP by the size of objects, or by the number of present labels"
    made_by: ClassVar[str] = "simkit.study.analysis.locating.object_size"
    reads: ClassVar = {
        "method": str,
        "by": str,
        "part": str,
        "draw": int,
        "map": float | None,
    }

    base: str = field(default="", metadata={"help": "a method; others' differences to it"})
    height: float = 4.2

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        parts = list(dict.fromkeys(row["part"] for row in rows))
        scores: Scores = {}
        for row in rows:
            by_part = scores.setdefault(row["method"], {})
            of_draws = by_part.setdefault(row["part"], {})
            if row["map"] is not None:
                of_draws[row["draw"]] = row["map"]
        if self.base and self.base not in scores:
            raise unknown("method of the table (by-part)", self.base, list(scores))
        handles: dict[str, Any] = {}
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        panels = drawing.subplots(1, 2 if self.base else 1, squeeze=False)[0]
        for place, method in enumerate(scores):
            away = 0.3 * ((place + 0.5) / len(scores) - 0.5)
            style = look(method, list(scores))
            own = scores[method]
            line = _line(panels[0], own, parts, style, away)
            line.set_gid(method)
            handles["Full labels" if method == "full" else label(method)] = line
            if self.base and method != self.base:
                gaps = _gaps(own, scores[self.base])
                _line(panels[1], gaps, parts, style, away).set_gid(f"{method} - {self.base}")
        for axes in panels:
            axes.set_xticks(range(len(parts)), [fold(part, 14, 3) for part in parts])
            axes.set_xlabel(rows[0]["by"])
        panels[0].set_ylabel("mAP, points")
        if self.base:
            panels[1].axhline(0, color=INK, linewidth=0.9)
            panels[1].set_ylabel("difference, points")
            panels[1].set_title(fold(f"minus {label(self.base)}", 44), loc="left", fontsize=10)
        heading(drawing, f"mAP by {rows[0]['by']}")
        caption(drawing, _note(scores))
        legend_below(drawing, handles)
        return drawing


def _gaps(own: Any, base: Any) -> dict[str, dict[int, float]]:
    return {
        part: {draw: value - base[part][draw] for draw, value in some.items() if draw in base[part]}
        for part, some in own.items()
        if part in base
    }


def _line(axes: Axes, own: Any, parts: list[str], style: Any, away: float) -> Any:
    """Means over draws with intervals; draws without a score are left out."""
    x, y = [], []
    for place, part in enumerate(parts):
        values = list(own.get(part, {}).values())
        if not values:
            continue
        found = interval(values)
        x.append(place + away)
        y.append(100 * found.mean)
        if found.low is not None and found.high is not None:
            ends = [100 * found.low, 100 * found.high]
            axes.plot([x[-1]] * 2, ends, color=style.color, linewidth=1.2, zorder=1)
    (line,) = axes.plot(x, y, **style.line())
    return line


def _note(scores: Scores) -> str:
    draws = max(len(some) for own in scores.values() for some in own.values())
    return f"Bars: 95 % over {draws} draws." if draws > 1 else "One draw: any of it may be noise."
