"""The classes that are most common in truth, and by an estimate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from simkit.errors import BadInput, unknown
from simkit.study.figures.previous import WIDTH, Figure, caption, cut, heading, register
from simkit.study.figures.priors.rank_agreement import estimate_label

_SHARED, _OTHER = "#0072B2", "white"


@register
@dataclass(frozen=True)
class CommonClasses(Figure):
    """The n classes with the largest share of images: left in truth, right by the estimate.

    Full bars are classes that stand on both sides, hollow ones those that the other side lacks.
    """

    name: ClassVar[str] = "common-classes"
    title: ClassVar[str] = "The most frequent classes, in truth and as estimated"
    made_by: ClassVar[str] = "simkit.study.analysis.priors.prior.priors"
    reads: ClassVar = {"estimate": str, "class": str, "true": float, "prior": float}

    estimate: str = field(default="", metadata={"help": "which estimate; nothing: the first"})
    top: int = field(default=10, metadata={"help": "classes on each side"})

    def draw(self, table: pa.Table) -> Drawing:
        known = list(dict.fromkeys(table["estimate"].to_pylist()))
        chosen = self.estimate or known[0]
        if chosen not in known:
            raise unknown("estimate of the table (common-classes)", chosen, known)
        if self.top < 1:
            raise BadInput(f"common-classes: top is {self.top}; a number from 1 on is expected")
        rows = table.filter(pc.equal(table["estimate"], chosen)).to_pylist()
        sides = {
            key: sorted(rows, key=lambda row: -row[key])[: self.top] for key in ("true", "prior")
        }
        names = {key: [row["class"] for row in side] for key, side in sides.items()}
        shared = set(names["true"]) & set(names["prior"])
        drawing = Drawing(figsize=(WIDTH, 1.6 + 0.24 * self.top), layout="constrained")
        left, right = drawing.subplots(1, 2, sharex=True)
        _bars(left, names["true"], [r["true"] for r in sides["true"]], shared, "in truth")
        shown = f"by {estimate_label(chosen)}"
        _bars(right, names["prior"], [r["prior"] for r in sides["prior"]], shared, shown)
        heading(drawing, f"The {len(names['true'])} most frequent classes")
        caption(drawing, f"Full bars: on both sides ({len(shared)}). Hollow: on one only.")
        return drawing


def _bars(axes: Axes, names: list[str], values: list[float], shared: set[str], title: str) -> None:
    places = range(len(names))
    fill = [_SHARED if name in shared else _OTHER for name in names]
    axes.barh(places, values, height=0.7, color=fill, edgecolor=_SHARED, linewidth=1.2)
    axes.set_yticks(places, [cut(name, 24) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.grid(False, axis="y")
    axes.set_axisbelow(True)
    axes.set_xlabel("share of images")
    axes.set_title(title, loc="left", fontweight="bold")
