"""What each method makes of the labels of every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

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

_COLUMNS = 2
_COUNTS = ("images", "present", "absent", "ignored", "ignored_present", "assumed", "wrong")
# From below; what stays white above them is left out.
_PARTS: dict[str, dict[str, Any]] = {
    "known": {"color": "#0072B2"},
    "taken for absent, rightly": {"color": "#BFD9EA"},
    "taken for absent, wrongly": {"color": "#D55E00", "hatch": "////", "edgecolor": "white"},
    "left out, absent": {"color": "white"},
    "left out, present": {"color": "white", "hatch": "....", "edgecolor": INK},
}


@register
@dataclass(frozen=True)
class Readings(Figure):
    """A panel for each method: of all images the share of labels of each class, by how it is read.

    Classes by falling true frequency.
    Source: Ben-Baruch et al., CVPR 2022, figure 2.
    """

    name: ClassVar[str] = "readings"
    title: ClassVar[str] = "What each method takes the labels of every class for"
    made_by: ClassVar[str] = "simkit.study.analysis.priors.readings.readings"
    reads: ClassVar = {"method": str, "rank": int, **dict.fromkeys(_COUNTS, int)}

    height: float = 2.5

    def draw(self, table: pa.Table) -> Drawing:
        methods = list(dict.fromkeys(table["method"].to_pylist()))
        across = min(_COLUMNS, len(methods))
        down = -(-len(methods) // across)
        drawing = Drawing(figsize=(WIDTH, 1.6 + self.height * down), layout="constrained")
        grid = drawing.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for place, axes in enumerate(grid):
            axes.set_visible(place < len(methods))
        for axes, method in zip(grid, methods, strict=False):
            _stack(axes, table.filter(pc.equal(table["method"], method)).sort_by("rank"))
            axes.set_title(fold(label(method), 40), loc="left", fontweight="bold")
        for axes in grid[max(0, len(methods) - across) : len(methods)]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("class, most frequent first")
        drawing.supylabel("share of the images", fontsize=10)
        heading(drawing, "What is made of the labels of each class")
        caption(drawing, "Stacked from below. White, dotted or not: left out of the loss.")
        legend_below(drawing, {name: Patch(**_look(name)) for name in _PARTS})
        return drawing


def _stack(axes: Axes, rows: pa.Table) -> None:
    counts = {key: rows[key].to_numpy().astype(float) for key in _COUNTS}
    images = np.maximum(counts["images"], 1)
    parts = [
        counts["present"] + counts["absent"],
        counts["assumed"] - counts["wrong"],
        counts["wrong"],
        counts["ignored"] - counts["ignored_present"],
        counts["ignored_present"],
    ]
    places = rows["rank"].to_numpy() + 1
    base = np.zeros(len(places))
    for name, part in zip(_PARTS, parts, strict=True):
        share = part / images
        axes.bar(places, share, bottom=base, width=1.0, linewidth=0, **_PARTS[name], label=name)
        base = base + share
    axes.set_xlim(0.4, len(places) + 0.6)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(False)


def _look(name: str) -> dict[str, Any]:
    look = dict(_PARTS[name])
    edge = look.pop("edgecolor", INK)
    return {"facecolor": look.pop("color"), "edgecolor": edge, "linewidth": 0.8, **look}
