"""One picture, the pictures nearest to it, and what is known of each."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.study.figures.previous import INK, PALE, WIDTH, Figure, register

PRESENT, ABSENT = "#0072B2", "#B87300"
_COLUMNS = 5
_LEFT, _CELL, _GAP = 1.75, 1.3, 0.14  # inches: the query's side, the others', between them
_LINE, _SIZE = 0.15, 7.5  # inches from line to line, and points
_TOP = 0.75
_ID = 15  # letters of an image id that fit above the query
_NAMED = {"−": 3, "in truth": 6}  # how many names are written out


@register
@dataclass(frozen=True, eq=False)
class NeighboursFigure(Figure):
    """The query on the left and its neighbours, nearest first, each with its known labels.

    Names after + are known to be present, after − to be absent; a class the query is known to have
    too is bold. Classes that are in a picture without being known are named in grey.
    pictures: (H, W, 3) uint8, the query's first, in the order of the table; without them the
    labels stand alone. Of a long
    image id the end is shown. Raises BadInput for fewer pictures than images.
    """

    name: ClassVar[str] = "neighbours"
    title: ClassVar[str] = "A picture, its nearest pictures, and their labels"
    made_by: ClassVar[str] = "simkit.study.analysis.embedding.neighbours"
    reads: ClassVar = {
        "rank": int, "image": str, "distance": float, "unknown": int,
        "present": list[str], "absent": list[str], "hidden": list[str],
    }  # fmt: skip

    pictures: tuple[NDArray[np.uint8], ...] | None = None

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        if self.pictures is not None and len(self.pictures) != len(rows):
            raise BadInput(
                f"neighbours: {len(self.pictures)} pictures came for {len(rows)} images; give one "
                "for each row of the table"
            )
        shared = set(rows[0]["present"])
        texts = [_lines(row, shared if row["rank"] else set()) for row in rows]
        side = _CELL if self.pictures else 0.0
        groups = [range(at, min(at + _COLUMNS, len(rows))) for at in range(1, len(rows), _COLUMNS)]
        deep = [side + 0.25 + _LINE * max(len(texts[n]) for n in group) for group in groups]
        left = (_LEFT if self.pictures else 0.0) + 0.25 + _LINE * len(texts[0])
        height = _TOP + max(sum(deep) + 0.1, left)
        drawing = Drawing(figsize=(WIDTH, height))
        self._cell(drawing, rows, texts, 0, (_GAP, _TOP, _LEFT))
        down = _TOP
        for group, depth in zip(groups, deep, strict=True):
            for column, n in enumerate(group):
                across = _LEFT + 2.5 * _GAP + column * (_CELL + _GAP / 2)
                self._cell(drawing, rows, texts, n, (across, down, _CELL))
            down += depth
        _head(drawing, rows, height)
        return drawing

    def _cell(
        self,
        drawing: Drawing,
        rows: list[dict[str, Any]],
        texts: list[list[tuple[str, str, bool]]],
        n: int,
        place: tuple[float, float, float],
    ) -> None:
        """A picture with its heading and lines, `place` being x, y from the top and side."""
        width, height = drawing.get_size_inches()
        x, y, side = place
        tall = side if self.pictures else 0.01
        box = (x / width, 1 - (y + tall) / height, side / width, tall / height)
        axes = drawing.add_axes(box)
        axes.axis("off")
        if self.pictures:
            axes.imshow(_square(self.pictures[n]), interpolation="antialiased")
        row = rows[n]
        own = row["image"]
        own = own if len(own) <= _ID else "…" + own[1 - _ID :]
        head = f"image {own}" if n == 0 else f"{row['rank']}.  {row['distance']:.3f}"
        axes.set_title(
            head, loc="left", fontsize=9, fontweight="bold" if n == 0 else "normal", pad=3
        )
        _write(axes, texts[n])


def _write(axes: Axes, lines: list[tuple[str, str, bool]]) -> None:
    for n, (text, color, bold) in enumerate(lines):
        axes.annotate(
            text,
            (0, 0),
            xytext=(0, -3 - 72 * _LINE * n),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            color=color,
            fontsize=_SIZE,
            fontweight="bold" if bold else "normal",
            annotation_clip=False,
        )


def _lines(row: dict[str, Any], shared: set[str]) -> list[tuple[str, str, bool]]:
    """Text, colour and weight of the lines below a picture."""
    width = 34 if row["rank"] == 0 else 25
    lines = []
    for names, bold in (
        ([name for name in row["present"] if name in shared], True),
        ([name for name in row["present"] if name not in shared], False),
    ):
        if names:
            room = round(0.84 * width) if bold else width  # bold letters are wider
            lines += [(text, PRESENT, bold) for text in _wrapped("+", names, room)]
    if row["absent"] and row["unknown"]:  # where all is known, the rest is absent
        lines += [(text, ABSENT, False) for text in _wrapped("−", row["absent"], width)]
    if row["unknown"]:
        lines.append((f"? {row['unknown']:,} unknown", PALE, False))
    if row["hidden"]:
        lines += [(text, PALE, False) for text in _wrapped("in truth", row["hidden"], width)]
    return lines or [("no class is present", PALE, False)]


def _wrapped(sign: str, names: list[str], width: int) -> list[str]:
    most = _NAMED.get(sign, len(names))
    kept = [name if len(name) < width - 3 else name[: width - 4] + "…" for name in names[:most]]
    if len(names) > most:
        kept.append(f"{len(names) - most:,}\u00a0more")  # stays in one line
    return textwrap.wrap(f"{sign} {', '.join(kept)}", width, subsequent_indent="   ")


def _square(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The middle of a picture, and no more of its pixels than can be seen."""
    height, width = picture.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    step = max(1, side // 512)
    return picture[top : top + side : step, left : left + side : step]


def _head(drawing: Drawing, rows: list[dict[str, Any]], height: float) -> None:
    drawing.text(
        0.012, 1 - 0.12 / height, "What lies nearest", fontsize=13, fontweight="bold", va="top"
    )
    partly = any(row["unknown"] for row in rows)
    note = "Distance between features of unit length above each picture; bold: also of the query."
    if partly:
        note += "  + present   − absent   ? unknown   grey: truth"
    drawing.text(0.012, 1 - 0.36 / height, note, fontsize=8.5, color=INK, va="top")
