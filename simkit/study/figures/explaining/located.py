"""Heat maps inside and outside of objects, over the epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from simkit.study.figures.looks import look
from simkit.study.figures.previous import (
    WIDTH,
    Figure,
    caption,
    heading,
    label,
    legend_below,
    register,
)


@register
@dataclass(frozen=True)
class HeatLocated(Figure):
    """A panel for annotated positives, unannotated ones and negatives; over the epochs.

    Lines with markers are the mean probability inside of objects (of negatives: of the whole map),
    thin dotted ones without markers that of the places outside.
    """

    name: ClassVar[str] = "heat-located"
    title: ClassVar[str] = "How well heat maps tell objects from their surroundings"
    made_by: ClassVar[str] = "simkit.study.analysis.locating.located"
    reads: ClassVar = {
        "model": str, "epoch": int, "kind": str,
        "mean": float, "inside": float | None, "outside": float | None,
    }  # fmt: skip

    height: float = 3.9

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        models = list(dict.fromkeys(row["model"] for row in rows))
        kinds = list(dict.fromkeys(row["kind"] for row in rows))
        handles: dict[str, Any] = {}
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        panels = drawing.subplots(1, len(kinds), sharex=True, sharey=True, squeeze=False)[0]
        for axes, kind in zip(panels, kinds, strict=True):
            for model in models:
                some = [r for r in rows if (r["model"], r["kind"]) == (model, kind)]
                some.sort(key=lambda row: row["epoch"])
                x, style = [row["epoch"] for row in some], look(model, models)
                high = "mean" if kind == "negative" else "inside"
                y = [row[high] for row in some]
                (line,) = axes.plot(x, y, gid=f"{model} {kind} {high}", **style.line())
                handles[label(model)] = line
                if high == "inside":
                    around = [row["outside"] for row in some]
                    axes.plot(
                        x, around, ":", color=style.color, linewidth=1.1,
                        gid=f"{model} {kind} outside",
                    )  # fmt: skip
            title = f"{kind}s" if kind != "negative" else "negatives (whole map)"
            axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
            axes.set_xlabel("epoch")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        panels[0].set_ylabel("mean probability in heat maps")
        panels[0].set_ylim(bottom=0)
        heading(drawing, "Do heat maps tell objects from what is around them?")
        caption(drawing, "With markers: inside of objects; thin and dotted: outside of them.")
        legend_below(drawing, handles)
        return drawing
