"""One picture, what is known of it, and how soft each unknown label is."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.study.figures.embedding.temperature_curve import signed
from simkit.study.figures.previous import INK, PALE, WIDTH, Figure, label, register
from simkit.study.tables import Endless

PRESENT, ABSENT = "#0072B2", "#E69F00"
_LINE = 0.145  # inches from class to class
_LEFT = 1.15  # width of the picture, that of a panel being 1
_MOST = 5  # panels that leave room for their numbers
_NAME = 26  # letters of a class name
_NAMED = 16  # names of known classes that are written out
_STEP = 12  # points from line to line below the picture


@register
@dataclass(frozen=True, eq=False)
class Temperatures(Figure):
    """Unknown labels sorted by temperature: soft positives above, soft negatives below.

    A panel for each method, in the order of the first; a cross where a method ignores the label.
    Classes that are in the picture in truth are bold. picture: (H, W, 3) uint8, drawn on the left;
    most: classes shown; of more, those in the middle are left out. Up to five methods
    have room. Names are cut to 26 letters.
    """

    name: ClassVar[str] = "temperatures"
    title: ClassVar[str] = "Temperatures of one picture's unknown labels"
    made_by: ClassVar[str] = "simkit.study.analysis.embedding.temperatures"
    reads: ClassVar = {
        "method": str,
        "class": str,
        "state": int,
        "temperature": Endless,
        "present": bool | None,
    }
    whole: ClassVar = (("method",), ("class",))

    picture: NDArray[np.uint8] | None = None
    most: int = 60

    def draw(self, table: pa.Table) -> Drawing:
        found: dict[str, list[dict[str, Any]]] = {}
        for row in table.to_pylist():
            found.setdefault(row["method"], []).append(row)
        if len(found) > _MOST:
            raise BadInput(
                f"temperatures: {len(found)} methods came, and {_MOST} fit side by side; draw "
                "fewer at a time"
            )
        first = next(iter(found.values()))
        shown, hidden = self._order(first)
        room = _room([first[c] for c in shown], len(found))
        lines = _lines(first, int(_LEFT * room / 0.076))
        side = 0.0 if self.picture is None else _tall(self.picture, _LEFT * room)
        height = max(3.4, 1.6 + _LINE * len(shown), 1.2 + side + _STEP / 72 * len(lines))
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
        widths = [_LEFT, *[1.0] * len(found)]
        left, *panels = drawing.subplots(1, 1 + len(found), width_ratios=widths)
        self._about(left, lines)
        for axes, rows in zip(panels, found.values(), strict=True):
            _panel(axes, [rows[c] for c in shown], ticks={1: 4, 2: 4, 3: 2}.get(len(found), 1))
        _titles(panels, [label(method) for method in found], room)
        _names(panels, [first[c] for c in shown])
        note = "T (log): far from 0 the loss is flat; ±1 is a hard label"
        drawing.supxlabel(
            note + (f"; {hidden:,} labels in the middle are not shown" if hidden else ""),
            x=0.99,
            ha="right",
            fontsize=9,
            color="#555555",
        )
        return drawing

    def _order(self, rows: list[dict[str, Any]]) -> tuple[list[int], int]:
        """Places of unknown classes by falling temperature, and how many are left out."""
        unknown = [c for c, row in enumerate(rows) if row["state"] == 0]
        order = sorted(unknown, key=lambda c: -rows[c]["temperature"])
        if len(order) <= self.most:
            return order, 0
        half = self.most // 2
        return order[: self.most - half] + order[len(order) - half :], len(order) - self.most

    def _about(self, axes: Axes, lines: list[tuple[str, str]]) -> None:
        axes.axis("off")
        if self.picture is not None:
            axes.imshow(self.picture, interpolation="nearest")
            axes.set_anchor("N")
        for n, (text, color) in enumerate(lines):
            axes.annotate(
                text,
                (0, 0 if self.picture is not None else 1),
                xytext=(0, -6 - _STEP * n),
                xycoords="axes fraction",
                textcoords="offset points",
                va="top",
                color=color,
                fontsize=8.5,
                annotation_clip=False,
            ).set_in_layout(False)  # the figure is tall enough; panels shall not shrink for it


def _lines(rows: list[dict[str, Any]], width: int) -> list[tuple[str, str]]:
    """What is known, as lines of so many letters with their colours."""
    known = {code: [row["class"] for row in rows if row["state"] == code] for code in (1, -1)}
    lines = [(text, PRESENT) for text in _wrapped("+ ", known[1], width)]
    lines += [(text, "#B87300") for text in _wrapped("− ", known[-1], width)]
    lines.append((f"? {sum(row['state'] == 0 for row in rows)} unknown", PALE))
    if any(row["present"] for row in rows):
        lines.append(("bold: there in truth", PALE))
    return lines


def _tall(picture: NDArray[np.uint8], width: float) -> float:
    return width * picture.shape[0] / picture.shape[1]


def _wrapped(sign: str, names: list[str], width: int) -> list[str]:
    named = [_short(name) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        named.append(f"{len(names) - _NAMED:,} more")
    text = sign + (", ".join(named) or "nothing is known to be so")
    return textwrap.wrap(text, width, subsequent_indent="   ")


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def _room(rows: list[dict[str, Any]], panels: int) -> float:
    """Inches that a panel has beside the class names, roughly."""
    names = 0.062 * max((len(_short(row["class"])) for row in rows), default=0)
    return (WIDTH - 0.4 - names) / (_LEFT + panels)


def _panel(axes: Axes, rows: list[dict[str, Any]], *, ticks: int) -> None:
    sizes = [abs(row["temperature"]) for row in rows]
    top = max([size for size in sizes if math.isfinite(size)] + [100.0])
    edge = min(1.6 * top, 1e307)  # what is beyond the largest number stands there
    for y, row in enumerate(rows):
        T = min(max(row["temperature"], -edge), edge)
        if T == 0:
            axes.plot(0, y, marker="x", color=PALE, markersize=4, linestyle="")
            continue
        color = PRESENT if T > 0 else ABSENT
        axes.plot([0, T], [y, y], color=color, linewidth=1.4)
        axes.plot(T, y, marker="o", color=color, markersize=3.6, linestyle="", gid=row["class"])
    signed(axes, "x", min(top, edge), most=min(ticks, 2) if top > 1e5 else ticks)
    axes.set_xlim(-edge, edge)
    axes.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.grid(False, axis="y")
    axes.tick_params(axis="x", labelsize=7.5)


def _titles(panels: list[Axes], titles: list[str], room: float) -> None:
    """Settings below the names, all as large as the longest allows."""
    titles = [title.replace("(", "\n(").replace(", ", ",\n") for title in titles]
    longest = max(len(line) for title in titles for line in title.split("\n"))
    size = min(11.0, 72 * room / (0.72 * longest))
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, loc="left", fontweight="bold", fontsize=size)


def _names(panels: list[Axes], rows: list[dict[str, Any]]) -> None:
    """Class names beside the first panel alone."""
    for axes in panels[1:]:
        axes.set_yticks([])
    if not panels:
        return
    panels[0].set_yticks(range(len(rows)), [_short(row["class"]) for row in rows], fontsize=7.5)
    panels[0].tick_params(axis="y", length=0)
    for text, row in zip(panels[0].get_yticklabels(), rows, strict=True):
        text.set(fontweight="bold" if row["present"] else "normal")
        text.set_color(INK if row["present"] else "#666666")
