"""Heat maps of training pictures, epoch by epoch or model by model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.study.figures.explaining.activation import drawable
from simkit.study.figures.previous import (
    INK,
    WIDTH,
    Figure,
    caption,
    fold,
    heading,
    label,
    register,
)

_LEFT, _GAP, _MOST = 1.5, 0.07, 1.35  # inches: beside the maps, between them, a map's side at most
_TOP, _BOTTOM = 0.85, 0.5
Row = dict[str, Any]


@register
@dataclass(frozen=True, eq=False)
class HeatMaps(Figure):
    """A row for each picked picture and class: the picture, then its heat maps.

    Columns are the models and epochs of the table, in its order. Black is a probability of 0, white
    of 1, in all maps alike; frames are the class's objects. Below each name stands what was known.
    pictures: (H, W, 3) uint8, one for each (image, class) in the order of the table; without them
    maps stand alone.
    Raises BadInput for an empty table, for another number of pictures than rows, and as `drawable`.
    Source: "Spatial Consistency Loss" (WACV 2023), Figs 2, 3 and 4.
    """

    name: ClassVar[str] = "heat-maps"
    title: ClassVar[str] = "Heat maps of training pictures, and how they come about"
    made_by: ClassVar[str] = "simkit.study.analysis.locating.heat_maps"
    reads: ClassVar = {
        "model": str, "epoch": int, "image": int, "class": str, "kind": str,
        "map": list[list[float]], "boxes": list[list[float]],
    }  # fmt: skip
    whole: ClassVar = (("image", "class"), ("model", "epoch"))

    pictures: tuple[NDArray[np.uint8], ...] | None = None

    def draw(self, table: pa.Table) -> Drawing:
        rows = drawable(table, self.name)
        picks = list(dict.fromkeys((row["image"], row["class"]) for row in rows))
        if self.pictures is not None and len(self.pictures) != len(picks):
            raise BadInput(
                f"heat-maps: {len(self.pictures)} pictures came for {len(picks)} picked images and "
                "classes; give one for each, in the order of the table"
            )
        columns = list(dict.fromkeys((row["model"], row["epoch"]) for row in rows))
        of = {(row["image"], row["class"], row["model"], row["epoch"]): row for row in rows}
        first = 0 if self.pictures is None else 1
        across = len(columns) + first
        side = min(_MOST, (WIDTH - _LEFT - 0.05) / across - _GAP)
        height = _TOP + len(picks) * (side + _GAP) + _BOTTOM
        drawing = Drawing(figsize=(WIDTH, height))
        for r, pick in enumerate(picks):
            line = [of[(*pick, *column)] for column in columns]
            down = _TOP + r * (side + _GAP)
            places = [_axes(drawing, c, down, side) for c in range(across)]
            if self.pictures is not None:
                shown = self.pictures[r]
                places[0].imshow(shown, extent=(0, 1, 1, 0), interpolation="nearest")
                _frames(places[0], line[0])
            for axes, row in zip(places[first:], line, strict=True):
                _map(axes, row)
            _say(drawing, 0.1, down + side / 2 - 0.1, fold(pick[1], 17, 1), fontweight="bold")
            told = fold(line[0]["kind"], 17, 2)
            _say(drawing, 0.1, down + side / 2 + 0.04, told, va="top", fontsize=8.5)
        for c, told in enumerate(_named(columns, side)):
            x = _LEFT + (c + first) * (side + _GAP)
            _say(drawing, x, _TOP - 0.05, told, va="bottom", fontsize=8.5)
        heading(drawing, "What the method keeps of training pictures")
        caption(
            drawing,
            "Black: a probability of 0 at this place; white: 1. Frames: objects of the class.",
        )
        return drawing


def _named(columns: list[tuple[str, int]], side: float) -> list[str]:
    """What stands above each column: what differs between them."""
    models = {model for model, _ in columns}
    epochs = {epoch for _, epoch in columns}
    found = []
    for model, epoch in columns:
        parts = [fold(label(model), max(8, int(side * 12)), 2)] if len(models) > 1 else []
        if len(epochs) > 1:
            parts.append(f"epoch {epoch}" if epoch else "before")
        found.append("\n".join(parts))
    return found


def _axes(drawing: Drawing, column: int, down: float, side: float) -> Axes:
    width, height = drawing.get_size_inches()
    x = _LEFT + column * (side + _GAP)
    axes = drawing.add_axes((x / width, 1 - (down + side) / height, side / width, side / height))
    axes.set(xticks=[], yticks=[], xlim=(0, 1), ylim=(1, 0))
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _map(axes: Axes, row: Row) -> None:
    given: dict[str, Any] = {"cmap": "inferno", "vmin": 0, "vmax": 1, "interpolation": "nearest"}
    axes.imshow(np.array(row["map"]), extent=(0, 1, 1, 0), **given)
    axes.set_gid(f"{row['model']} {row['epoch']} {row['class']}")
    _frames(axes, row)


def _frames(axes: Axes, row: Row) -> None:
    for x0, y0, x1, y1 in row["boxes"]:
        for color, width in ((INK, 2.6), ("white", 1.2)):  # seen on light and on dark
            frame = Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False)
            frame.set(edgecolor=color, linewidth=width)
            axes.add_patch(frame)


def _say(drawing: Drawing, x: float, down: float, text: str, **style: Any) -> None:
    width, height = drawing.get_size_inches()
    given: dict[str, Any] = {"fontsize": 9.5, "va": "center", **style}
    drawing.text(x / width, 1 - down / height, text, **given)
