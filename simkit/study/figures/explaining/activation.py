"""Pictures and what models go by when they name a class in them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from simkit.errors import BadInput
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

_TOP, _NAME, _BOTTOM = 0.38, 0.45, 0.5  # inches: of the heading, of models' names, of the caption
_GAP = 0.08
_MOST = 1.5  # inches a picture's side may take
Row = dict[str, Any]


@register
@dataclass(frozen=True, eq=False)
class ActivationMaps(Figure):
    """A row for each picked picture and class: the picture, then each model's map of the class.

    Dark is 0 and less, bright the highest score of the row, or of each map where scale is own.
    Frames are the class's boxes, a cross the highest place. Above each map: the probability that
    the model gives the class.
    pictures: (H, W, 3) uint8, one for each (image, class) in the order of the table; without them
    maps stand alone.
    Raises BadInput for an empty table, for another number of pictures than rows, and as `drawable`.
    Source: BoostLU (Kim et al., CVPR 2023), Figs 1 and 4; Large Loss (Kim et al., CVPR 2022),
    suppl. Fig. 1.
    """

    name: ClassVar[str] = "activation-maps"
    title: ClassVar[str] = "Pictures, and where models see a class in them"
    made_by: ClassVar[str] = "simkit.study.analysis.locating.activation"
    reads: ClassVar = {
        "model": str, "image": int, "class": str, "probability": float,
        "map": list[list[float]], "boxes": list[list[float]],
    }  # fmt: skip
    whole: ClassVar = (("image", "class"), ("model",))

    pictures: tuple[NDArray[np.uint8], ...] | None = None
    scale: Literal["row", "own"] = field(
        default="row", metadata={"help": "what is brightest: the highest of the row, or of a map"}
    )

    def draw(self, table: pa.Table) -> Drawing:
        rows = drawable(table, self.name)
        models = list(dict.fromkeys(row["model"] for row in rows))
        picks = list(dict.fromkeys((row["image"], row["class"]) for row in rows))
        if self.pictures is not None and len(self.pictures) != len(picks):
            raise BadInput(
                f"activation-maps: {len(self.pictures)} pictures came for {len(picks)} picked "
                "images and classes; give one for each, in the order of the table"
            )
        of = {(row["image"], row["class"], row["model"]): row for row in rows}
        first = 1 if self.pictures is not None else 0
        across = len(models) + first
        side = min(_MOST, (WIDTH - 1.2 - across * _GAP) / across)
        height = _TOP + _NAME + len(picks) * (side + 0.28) + _BOTTOM
        drawing = Drawing(figsize=(WIDTH, height))
        for r, pick in enumerate(picks):
            line = [of[(*pick, model)] for model in models]
            down = _TOP + _NAME + r * (side + 0.28)
            places = [_axes(drawing, c, down, side) for c in range(across)]
            if self.pictures is not None:
                _picture(places[0], self.pictures[r], line[0])
            highest = max(max(map(max, row["map"])) for row in line)
            for axes, row in zip(places[first:], line, strict=True):
                own = max(map(max, row["map"]))
                _map(axes, row, highest if self.scale == "row" else own)
            _say(drawing, 0.1, down + side / 2, fold(pick[1], 13, 2), fontweight="bold")
        for c, model in enumerate(models):
            x = 1.15 + (c + first) * (side + _GAP)
            letters = max(8, int(side * 11))
            _say(drawing, x, _TOP + _NAME - 0.27, fold(_named(model), letters, 2), va="bottom")
        heading(drawing, "Where models see a class")
        caption(drawing, *self._note(line))
        return drawing

    def _note(self, line: list[Row]) -> list[str]:
        scale = "of the row" if self.scale == "row" else "of each map"
        frames = " Frames: its objects." if any(row["boxes"] for row in line) else ""
        return [
            f"Dark: a score of 0 and less; bright: the highest {scale}.{frames} Cross: the highest "
            "place. Above each map: how probable the class is to the model."
        ]


def drawable(table: pa.Table, asker: str) -> list[Row]:
    """The rows of a table of maps. Raises BadInput where a map is empty, has lines of several
    lengths or numbers that are infinite, and where a box has other than four numbers."""
    rows: list[Row] = table.to_pylist()
    for row in rows:
        lengths = {len(line) for line in row["map"]}
        finite = all(map(math.isfinite, itertools.chain.from_iterable(row["map"])))
        if len(lengths) != 1 or lengths == {0} or not finite:
            raise BadInput(
                f"{asker}: the map of {row['class']!r} in image {row['image']} cannot be drawn; "
                "give lines of as many numbers each, none of them infinite"
            )
        if any(len(box) != 4 for box in row["boxes"]):
            raise BadInput(
                f"{asker}: a box of {row['class']!r} in image {row['image']} has not four numbers; "
                "give x0, y0, x1 and y1"
            )
    return rows


def _named(model: str) -> str:
    return "Full labels" if model == "full" else label(model)


def _axes(drawing: Drawing, column: int, down: float, side: float) -> Axes:
    width, height = drawing.get_size_inches()
    x = 1.15 + column * (side + _GAP)
    box = (x / width, 1 - (down + side) / height, side / width, side / height)
    axes = drawing.add_axes(box)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _picture(axes: Axes, picture: NDArray[np.uint8], row: Row) -> None:
    axes.imshow(picture, extent=(0, 1, 1, 0), interpolation="nearest", aspect="auto")
    _frames(axes, row)


def _map(axes: Axes, row: Row, highest: float) -> None:
    values = np.array(row["map"])
    axes.imshow(
        values,
        extent=(0, 1, 1, 0),
        cmap="magma",
        vmin=0,
        vmax=max(highest, 1e-9),
        interpolation="nearest",
        aspect="auto",
    )
    _frames(axes, row)
    y, x = np.unravel_index(int(values.argmax()), values.shape)
    down, right = values.shape
    axes.plot((x + 0.5) / right, (y + 0.5) / down, "x", color="white", markersize=6, zorder=3)
    axes.set(xlim=(0, 1), ylim=(1, 0))
    axes.set_title(f"{row['probability']:.2f}", loc="left", fontsize=9, pad=2)


def _frames(axes: Axes, row: Row) -> None:
    for x0, y0, x1, y1 in row["boxes"]:
        for color, width in ((INK, 2.6), ("white", 1.2)):  # seen on light and on dark
            axes.add_patch(
                Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor=color, linewidth=width)
            )


def _say(drawing: Drawing, x: float, down: float, text: str, **style: Any) -> None:
    width, height = drawing.get_size_inches()
    given: dict[str, Any] = {"fontsize": 9, "va": "center", **style}
    drawing.text(x / width, 1 - down / height, text, **given)
