"""Which classes look alike: distances between what stands for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.study.figures.previous import WIDTH, Figure, register

_SHADES = LinearSegmentedColormap.from_list(
    "near", ["#0B3C6F", "#0072B2", "#8FC1E0", "#DCECF7"]
).with_extremes(under="#041A33", bad="#B8B8B8")
_SPAN = 100  # nearer than this part of the largest distance is one shade


@register
@dataclass(frozen=True)
class LabelDistances(Figure):
    """Classes x classes, dark where two are near; in the order of the table, like beside like.

    Grey is the class itself.
    """

    name: ClassVar[str] = "label-distances"
    title: ClassVar[str] = "Distances between classes"
    made_by: ClassVar[str] = "simkit.study.analysis.embedding.label_distances"
    reads: ClassVar = {"class": str, "other": str, "distance": float}
    whole: ClassVar = (("class",), ("other",))

    def draw(self, table: pa.Table) -> Drawing:
        classes = list(dict.fromkeys(table["class"].to_pylist()))
        L = len(classes)
        if L < 2:
            raise BadInput("label-distances: the table holds one class; distances need two")
        values = table["distance"].to_numpy().reshape(L, L)
        away = np.where(np.eye(L, dtype=bool), np.nan, values)  # to itself: nothing to see
        drawing = Drawing(figsize=(WIDTH, 0.88 * WIDTH), layout="constrained")
        axes = drawing.add_subplot()
        low, high, below = _ends(away)
        norm = LogNorm(low, high)  # a few far classes leave shades for others
        drawn = np.maximum(away, low / 2)  # a logarithm of 0 would be no shade at all
        shown = axes.imshow(drawn, cmap=_SHADES, norm=norm, interpolation="nearest")
        size = float(np.clip(400 / L, 3, 9))
        axes.set_xticks(range(L), classes, rotation=90, fontsize=size)
        axes.set_yticks(range(L), classes, fontsize=size)
        axes.tick_params(length=0)
        axes.grid(False)
        axes.spines[:].set_visible(False)
        more = "min" if below else "neither"
        bar = drawing.colorbar(shown, ax=axes, shrink=0.6, pad=0.02, extend=more)
        bar.set_label("distance between classes (log; dark: near; grey: itself)")
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        bar.ax.yaxis.set_minor_locator(NullLocator())
        bar.outline.set_visible(False)  # type: ignore[operator]
        axes.set_title("Which classes look alike", loc="left", fontweight="bold", fontsize=13)
        return drawing


def _ends(away: NDArray[np.float64]) -> tuple[float, float, bool]:
    """Where the shades begin and end, and whether anything is nearer than where they begin."""
    high = float(np.nanmax(away)) or 1.0  # all at one place: everything is nearer
    least = float(np.nanmin(away))
    low = min(max(least, high / _SPAN), high / 2)  # where all are alike there is still a scale
    return low, high, least < low
