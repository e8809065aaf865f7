"""Who scores well, and who also looks at the right place?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

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
from simkit.study.statistics import interval


@register
@dataclass(frozen=True)
class Pointing(Figure):
    """The pointing game over mAP, a marker for each method with its intervals over draws.
    Source: Large Loss (Kim et al., CVPR 2022), Table 4.
    """

    name: ClassVar[str] = "pointing"
    title: ClassVar[str] = "The pointing game over mAP, method by method"
    made_by: ClassVar[str] = "simkit.study.analysis.locating.pointing"
    reads: ClassVar = {"method": str, "draw": int, "map": float, "pointing": float}

    centre: float | None = field(
        default=None, metadata={"help": "what pointing at the middle gives, 0 to 1; none: no line"}
    )
    height: float = 5.0

    def draw(self, table: pa.Table) -> Drawing:
        methods = list(dict.fromkeys(table["method"].to_pylist()))
        draws = len(set(table["draw"].to_pylist()))
        shown: dict[str, Any] = {}
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        axes = drawing.add_subplot()
        for method in methods:
            own = table.filter(pc.equal(table["method"], method))
            x, y = (interval(100 * own[key].to_numpy()) for key in ("map", "pointing"))
            style = look(method, methods).line() | {"linestyle": "none", "markersize": 9}
            reach = {"xerr": x.half, "yerr": y.half, "ecolor": style["color"]}
            axes.errorbar([x.mean], [y.mean], fmt="none", elinewidth=1, **reach)
            axes.plot([x.mean], [y.mean], gid=method, zorder=3, **style)
            shown["Full labels" if method == "full" else label(method)] = Line2D([], [], **style)
        if self.centre is not None:
            axes.axhline(100 * self.centre, color=INK, linewidth=1, linestyle=(0, (4, 3)))
            shown["pointing at the middle"] = Line2D([], [], color=INK, linestyle=(0, (4, 3)))
        axes.set_xlabel("mAP on the test split, points")
        axes.set_ylabel("pointing game, points")
        heading(drawing, "Who scores well, and who looks at the right place?")
        over = f"Lines: 95 % over {draws} draws." if draws > 1 else "One draw: no intervals."
        caption(drawing, f"Share of maps whose highest place lies on an object. {over}")
        legend_below(drawing, shown)
        return drawing
