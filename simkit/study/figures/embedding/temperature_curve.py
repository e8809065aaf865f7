"""How soft a label becomes with distance: temperature, and what is left of the gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from simkit.study.figures.previous import (
    INK,
    PALE,
    WIDTH,
    Figure,
    label,
    plain_log,
    power,
    register,
)
from simkit.study.tables import Endless

_COLORS = ("#CC79A7", "#0072B2", "#E69F00", "#009E73", "#222222", "#56B4E9", "#D55E00")
_SIDES = {"present": "-", "absent": (0, (4, 2))}


@register
@dataclass(frozen=True)
class TemperatureCurve(Figure):
    """Signed temperature over distance on the left, the gradient at a logit of 0 on the right.

    Solid lines are soft positives, dashed ones soft negatives; a colour for each setting. A line
    ends where a temperature is beyond the largest number.
    """

    name: ClassVar[str] = "temperature-curve"
    title: ClassVar[str] = "Temperature of soft labels over distance"
    made_by: ClassVar[str] = "simkit.study.analysis.embedding.curves"
    reads: ClassVar = {
        "method": str,
        "side": str,
        "distance": float,
        "temperature": Endless,
        "slope": float,
    }

    height: float = 3.9

    def draw(self, table: pa.Table) -> Drawing:
        methods = list(dict.fromkeys(table["method"].to_pylist()))
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        left, right = drawing.subplots(1, 2)
        for method, color in zip(methods, _cycle(len(methods)), strict=True):
            for side, dashes in _SIDES.items():
                _draw(left, table, method, side, "temperature", color, dashes)
                _draw(right, table, method, side, "slope", color, dashes)
        size = np.abs(table["temperature"].to_numpy())
        signed(left, "y", float(size[np.isfinite(size)].max(initial=1.0)))
        left.axhline(0, color=PALE, linewidth=0.8, zorder=0)
        left.set(ylabel="temperature T", title="How soft a label is")
        right.set(ylabel="gradient at a logit of 0", title="What training feels")
        right.set_yscale("log")
        plain_log(right.yaxis)
        for axes in (left, right):
            axes.set_xlabel("distance to what is known, over the image's largest")
            axes.title.set(x=0, ha="left", fontweight="bold")
        drawing.legend(handles=_legend(methods), loc="outside lower center", ncols=4)
        return drawing


def signed(axes: Axes, which: str, largest: float, *, most: int = 4) -> None:
    """Temperatures along x or y: logarithmic on both sides of -1 to 1.

    At most `most` ticks on each side of 0, up to the power of ten below `largest`.
    """
    highest = max(2, math.floor(math.log10(largest)))
    step = -(-(highest + 1) // most)
    above = [10.0**exponent for exponent in range(highest % step, highest + 1, step)]
    ticks = [-size for size in reversed(above)] + [0.0, *above]
    named = [power(tick) if tick >= 0 else "−" + power(-tick) for tick in ticks]
    axis = axes.yaxis if which == "y" else axes.xaxis
    (axes.set_yscale if which == "y" else axes.set_xscale)("symlog", linthresh=1, linscale=0.6)
    axis.set_ticks(ticks, labels=named)
    axis.set_ticks([], minor=True)


def _cycle(count: int) -> list[str]:
    return [_COLORS[n % len(_COLORS)] for n in range(count)]


def _draw(
    axes: Axes, table: pa.Table, method: str, side: str, what: str, color: str, dashes: object
) -> None:
    for key, value in (("method", method), ("side", side)):
        table = table.filter(pc.equal(table[key], value))
    x, y = (table[key].to_numpy() for key in ("distance", what))
    order = np.argsort(x, kind="stable")
    gid = f"{method} {side}"
    axes.plot(x[order], y[order], color=color, linestyle=dashes, gid=gid)  # type: ignore[arg-type]


def _legend(methods: list[str]) -> list[Line2D]:
    shown = [
        Line2D([], [], color=color, label=label(method))
        for method, color in zip(methods, _cycle(len(methods)), strict=True)
    ]
    words = {"present": "nearest is present", "absent": "nearest is absent"}
    return shown + [
        Line2D([], [], color=INK, linestyle=dashes, label=words[side])  # type: ignore[arg-type]
        for side, dashes in _SIDES.items()
    ]
