"""Two scores of every method at once: who is good at both?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from simkit.errors import BadInput, unknown
from simkit.study.analysis.priors.modes import METRICS
from simkit.study.figures.looks import look
from simkit.study.figures.previous import (
    WIDTH,
    Figure,
    caption,
    ends_of,
    heading,
    label,
    register,
)

Row = dict[str, Any]


@register
@dataclass(frozen=True)
class ScorePair(Figure):
    """One measure over another, a marker with 95 % intervals for each method; best is top right.
    Source: Ben-Baruch et al., CVPR 2022, table 4 and figure 10, where these are mAP and person.
    """

    name: ClassVar[str] = "score-pair"
    title: ClassVar[str] = "Two scores of each method at once, such as mAP and the AP of one class"
    made_by: ClassVar[str] = "simkit.study.analysis.priors.modes.modes"
    reads: ClassVar = {
        "scheme": str, "measure": str, "method": str,
        "draws": int, "mean": float, "low": float | None, "high": float | None,
    }  # fmt: skip

    scheme: str = field(default="", metadata={"help": "which scheme; nothing: the first"})
    x: str = field(default="", metadata={"help": "which measure; nothing: the first"})
    y: str = field(default="", metadata={"help": "which measure; nothing: the second"})

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        schemes, measures = (list(dict.fromkeys(r[k] for r in rows)) for k in ("scheme", "measure"))
        if len(measures) < 2:
            raise BadInput(
                "score-pair: two measures are needed; give modes() two, such as map and a class"
            )
        scheme = _one(self.scheme or schemes[0], schemes, "scheme")
        x = _one(self.x or measures[0], measures, "measure")
        y = _one(self.y or measures[1], measures, "measure")
        both: dict[str, dict[str, Row]] = {}
        for row in rows:
            if row["scheme"] == scheme and row["measure"] in (x, y):
                both.setdefault(row["method"], {})[row["measure"]] = row
        both = {method: found for method, found in both.items() if len(found) == 2}
        if not both:
            raise BadInput(f"score-pair: no method has {x} and {y} under {scheme}; name others")
        drawing = Drawing(figsize=(WIDTH, 4.6), layout="constrained")
        axes = drawing.subplots()
        handles = {}
        for method, found in both.items():
            style = look(method, both).line() | {"linestyle": "none", "markersize": 9}
            axes.plot([100 * found[x]["mean"]], [100 * found[y]["mean"]], **style, gid=method)
            _cross(axes, found[x], found[y], style["color"])
            handles[label(method)] = Line2D([], [], **style)
        axes.set(xlabel=f"{_measure(x)}, points", ylabel=f"{_measure(y)}, points")
        drawing.legend(handles.values(), handles, loc="outside right upper")
        heading(drawing, f"Good at both? {scheme}")
        most = max(row["draws"] for found in both.values() for row in found.values())
        caption(drawing, f"Bars: 95 % over {most} draws." if most > 1 else "One draw.")
        return drawing


def _cross(axes: Axes, x: Row, y: Row, color: str) -> None:
    """The intervals of both measures, where there are such."""
    if ends := ends_of(x):
        axes.hlines(100 * y["mean"], *ends, color=color, linewidth=1)
    if ends := ends_of(y):
        axes.vlines(100 * x["mean"], *ends, color=color, linewidth=1)


def _one(name: str, known: list[str], kind: str) -> str:
    if name not in known:
        raise unknown(f"{kind} of the table (score-pair)", name, known)
    return name


def _measure(name: str) -> str:
    return METRICS.get(name, f"AP of {name}")
