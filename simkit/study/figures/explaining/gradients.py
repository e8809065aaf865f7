"""How hard training pushes at the cells of class maps, with a boost and without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Patch

from simkit.study.figures.looks import look
from simkit.study.figures.previous import (
    INK,
    WIDTH,
    Figure,
    caption,
    heading,
    label,
    legend_below,
    register,
)

_RIGHT = {"named present": "up", "false negative": "up", "true negative": "down"}
_SIDES = {"above": "in cells above the threshold", "below": "in cells below it"}


@register
@dataclass(frozen=True)
class CellGradients(Figure):
    """A panel for cells above the boost's threshold and one for those below, a bar for each method.

    Right of zero a cell is pushed down, left of it up; 1 is the full push of cross-entropy without
    a boost.
    Source: BoostLU (Kim et al., CVPR 2023), Eqs 9 and 10.
    """

    name: ClassVar[str] = "cell-gradients"
    title: ClassVar[str] = "What training pushes at cells of class maps, with and without a boost"
    made_by: ClassVar[str] = "simkit.study.analysis.gradients.cell_gradients"
    reads: ClassVar = {"method": str, "labels": str, "cells": str, "push": float}

    height: float = 3.6

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        methods = list(dict.fromkeys(row["method"] for row in rows))
        kinds = list(dict.fromkeys(row["labels"] for row in rows))
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        panels = drawing.subplots(1, 2, sharex=True, sharey=True)
        for axes, (side, title) in zip(panels, _SIDES.items(), strict=True):
            _bars(axes, [row for row in rows if row["cells"] == side], methods, kinds)
            axes.set_title(title, loc="left", fontweight="bold")
            axes.set_xlabel("mean gradient: pushed up  ←   0   →  pushed down")
        panels[0].set_yticks(range(len(kinds)), [_named(kind) for kind in kinds])
        panels[0].set_ylim(len(kinds) - 0.5, -0.5)
        heading(drawing, "How hard AN pushes at the cells of a class map")
        caption(drawing, "1 is the full push of cross-entropy at a cell without a boost.")
        shown: dict[str, Any] = {label(m): Patch(**_style(m, methods)) for m in methods}
        legend_below(drawing, shown)
        return drawing


def _bars(axes: Axes, rows: list[dict[str, Any]], methods: list[str], kinds: list[str]) -> None:
    tall = 0.72 / len(methods)
    for row in rows:
        place = methods.index(row["method"])
        at = kinds.index(row["labels"]) + tall * (place - (len(methods) - 1) / 2)
        (bar,) = axes.barh([at], [row["push"]], height=0.9 * tall, **_style(row["method"], methods))
        axes.bar_label(axes.containers[-1], fmt="%.2f", padding=3, fontsize=8.5)  # type: ignore[arg-type]
        bar.set_gid(f"{row['method']} {row['labels']} {row['cells']}")
    axes.axvline(0, color=INK, linewidth=1)
    axes.margins(x=0.18)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)


def _style(method: str, methods: list[str]) -> dict[str, Any]:
    color = look(method, methods).color
    hatch = "" if methods.index(method) == 0 else "///"
    return {"facecolor": color if not hatch else "white", "edgecolor": color, "hatch": hatch}


def _named(kind: str) -> str:
    return f"{kind}\n(belongs {_RIGHT[kind]})" if kind in _RIGHT else kind
