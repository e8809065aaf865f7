"""Which labels are missing at each level of a hierarchy: stacked bars, a panel for each scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import PercentFormatter

from simkit.study.figures.previous import (
    INK,
    WIDTH,
    Figure,
    caption,
    fold,
    heading,
    legend_below,
    register,
)

_COLUMNS = 3
_LOOKS: dict[str, dict[str, Any]] = {  # in the order of stacking; hatched is what nobody knows
    "present": {"color": "#0072B2"},
    "missing present": {"facecolor": "#CFE3F2", "edgecolor": "#0072B2", "hatch": "////"},
    "missing absent": {"facecolor": "#F4F4F4", "edgecolor": "#b5b5b5", "hatch": "...."},
    "absent": {"color": "#b5b5b5"},
}
_WORDS = {
    "present": "known to be present",
    "missing present": "present, unknown",
    "missing absent": "absent, unknown",
    "absent": "known to be absent",
}


@register
@dataclass(frozen=True)
class LabelDepths(Figure):
    """Shares of the labels of each level that are known and missing; hatched: missing."""

    name: ClassVar[str] = "label-depths"
    title: ClassVar[str] = "Known and missing labels by depth in the hierarchy"
    made_by: ClassVar[str] = "simkit.analysis.depths"
    reads: ClassVar = {
        "scheme": str,
        "depth": int,
        "classes": int,
        "state": str,
        "share": float,
    }

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        schemes = list(dict.fromkeys(row["scheme"] for row in rows))
        across = min(_COLUMNS, len(schemes))
        down = -(-len(schemes) // across)
        levels = len({row["depth"] for row in rows})
        height = 1.8 + down * (0.7 + 0.36 * levels)
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
        grid = drawing.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for axes, scheme in zip(grid, schemes, strict=False):
            handles = _bars(axes, [row for row in rows if row["scheme"] == scheme])
            axes.set_title(fold(scheme, 84 // across), loc="left", fontweight="bold")
        for axes in grid[len(schemes) :]:
            axes.set_axis_off()
        for axes in grid[max(0, len(schemes) - across) : len(schemes)]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("of the labels of the level")
        heading(drawing, "Which labels are missing, from the top of the hierarchy down")
        caption(drawing, "Depth 0: classes without parents. Of the asked images.")
        legend_below(drawing, handles)
        return drawing


def _bars(axes: Axes, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The bars of a scheme; what they are called."""
    levels = sorted({row["depth"] for row in rows})
    share = {(row["depth"], row["state"]): row["share"] for row in rows}
    classes = {row["depth"]: row["classes"] for row in rows}
    left = dict.fromkeys(levels, 0.0)
    handles = {}
    for state, drawn in _LOOKS.items():
        widths = [share.get((level, state), 0.0) for level in levels]
        handles[_WORDS[state]] = axes.barh(
            levels, widths, left=[left[level] for level in levels], height=0.72, linewidth=0.4,
            **drawn,
        )  # fmt: skip
        left = {level: left[level] + wide for level, wide in zip(levels, widths, strict=True)}
    names = [f"depth {level}\n{classes[level]} classes" for level in levels]
    axes.set_yticks(levels, names, fontsize=8.5, color=INK)
    axes.set_ylim(max(levels) + 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    return handles
