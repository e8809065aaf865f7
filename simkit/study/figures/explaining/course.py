"""The extreme scores of class maps from epoch to epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import pyarrow as pa
from matplotlib.figure import Figure as Drawing

from simkit.study.figures.direct import End, name_ends
from simkit.study.figures.looks import look
from simkit.study.figures.previous import PALE, WIDTH, Figure, caption, heading, label, register

_WORDS = {"top": "highest 5 %", "bottom": "lowest 5 %", "logit": "mean"}


@register
@dataclass(frozen=True)
class MapCourse(Figure):
    """A panel for present and one for absent classes, a line for each model.

    Tables of several models stand one below the other.
    """

    name: ClassVar[str] = "map-course"
    title: ClassVar[str] = "Attribution scores of class maps over the epochs"
    made_by: ClassVar[str] = "simkit.study.analysis.explaining.MapCourse.table"
    reads: ClassVar = {
        "model": str,
        "labels": str,
        "epoch": int,
        "top": float,
        "bottom": float,
        "logit": float,
    }

    of: Literal["top", "bottom", "logit"] = field(
        default="top", metadata={"help": "of a map: its highest 5 %, its lowest, or its mean"}
    )
    height: float = 3.6

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        models = list(dict.fromkeys(row["model"] for row in rows))
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        panels = drawing.subplots(1, 2, sharex=True, sharey=True)
        named: list[tuple[object, list[End]]] = []
        for axes, labels in zip(panels, ("present", "absent"), strict=True):
            ends: list[End] = []
            for model in models:
                some = [r for r in rows if r["model"] == model and r["labels"] == labels]
                some.sort(key=lambda row: row["epoch"])
                if some:
                    x, y = ([row[key] for row in some] for key in ("epoch", self.of))
                    style = look(model, models)
                    axes.plot(x, y, gid=f"{model} {labels}", **style.line())
                    shown = "Full labels" if model == "full" else label(model)
                    ends.append((shown, x[-1], y[-1], style.color))
            axes.axhline(0, color=PALE, linewidth=0.8, zorder=0)
            axes.set_xlabel("epoch")
            axes.set_title(f"{labels} classes", loc="left", fontweight="bold")
            named.append((axes, ends))
        panels[0].set_ylabel(f"{_WORDS[self.of]} of a map's scores")
        heading(drawing, "Class maps over the epochs, on images not trained on")
        caption(drawing, "Means over all images and classes.")
        name_ends(drawing, named, letters=18)  # type: ignore[arg-type]
        return drawing
