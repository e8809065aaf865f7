"""A class hierarchy as an indented tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import matplotlib.pyplot as plt
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as Drawing
from matplotlib.textpath import TextPath

from simkit.labels.hierarchy import Hierarchy
from simkit.labels.outline import Line, outline
from simkit.study.figures.previous import INK, PALE, WIDTH, Figure, register

STEP, INDENT, SIZE = 0.168, 0.13, 7.5  # inches from line to line and level to level; points
BRANCH, INNER = "#c4c4c4", "#0072B2"


@register
@dataclass(frozen=True)
class HierarchyTree(Figure):
    """Every class below its parent; in blue those with children, beside them their other parents.

    most: lines at most; a larger hierarchy shows its upper levels, and how many are below.
    columns: 0 chooses by the number of lines.  heading: above it, before the number of classes.
    """

    name: ClassVar[str] = "hierarchy"
    title: ClassVar[str] = "Class hierarchy"
    made_by: ClassVar[str] = "simkit.labels.hierarchy.Hierarchy.table"
    reads: ClassVar = {"class": str, "parents": list[str]}

    most: int = 200
    columns: int = 0
    heading: str = ""

    def draw(self, table: pa.Table) -> Drawing:
        names, parents = table["class"].to_pylist(), table["parents"].to_pylist()
        edges = [(c, p) for c, above in zip(names, parents, strict=True) for p in above]
        tree = Hierarchy.of(names, edges)
        lines = outline(tree, self.most)
        count = self.columns or (1 if len(lines) < 25 else 2 if len(lines) < 60 else 3)
        parts = _split(lines, count)
        rows = max(map(len, parts))
        drawing = plt.figure(figsize=(WIDTH, STEP * (rows + 3)))
        for i, part in enumerate(parts):
            width = WIDTH / count
            axes = drawing.add_axes(
                ((i * width + 0.12) / WIDTH, 0.0, (width - 0.2) / WIDTH, rows / (rows + 3))
            )
            axes.axis("off")
            axes.set_xlim(0, width - 0.2)
            axes.set_ylim(rows - 0.5, -0.5)
            _branches(axes, part)
            for y, line in enumerate(part):
                _write(axes, line, y, width - 0.2)
        joined = sum(len(line.names) for line in lines)
        told = f"{len(names)} classes, {len(tree.leaves)} of them without children"
        told += "" if joined == len(names) else "; upper levels"
        above = 1 - 1.5 / (rows + 3)
        drawing.text(0.12 / WIDTH, above, self.heading or self.title, va="center", size=11)
        drawing.text(1 - 0.12 / WIDTH, above, told, va="center", ha="right", color=PALE)
        plt.close(drawing)
        return drawing


def _split(lines: list[Line], count: int) -> list[list[Line]]:
    """Columns of about equal length; each begins with the ancestors of its first line."""
    rows = -(-len(lines) // count)
    parts: list[list[Line]] = []
    start = 0
    while start < len(lines):
        last = len(parts) + 1 == count
        end = len(lines) if last else min(start + rows, len(lines))
        while end < len(lines) and lines[end - 1].depth < lines[end].depth:
            end -= 1  # no class stands apart from its first child
        path: list[Line] = []
        for line in reversed(lines[:start]):
            if line.depth < (path[0] if path else lines[start]).depth:
                path.insert(0, Line(line.depth, line.names, hidden=-1))
        parts.append(path + lines[start:end])
        start = end
    return parts


def _branches(axes: Axes, lines: list[Line]) -> None:
    """From each line a way up to its parent: the last line before it that is indented less."""
    ways = []
    for y, line in enumerate(lines):
        if line.depth:
            above = next(v for v in reversed(range(y)) if lines[v].depth < line.depth)
            x = (line.depth - 1) * INDENT + 0.04
            ways.append([(x, above + 0.45), (x, y), (x + 0.07, y)])
    axes.add_collection(LineCollection(ways, colors=BRANCH, linewidths=0.7))


def _write(axes: Axes, line: Line, y: int, width: float) -> None:
    x = line.depth * INDENT
    if len(line.names) > 1:
        axes.text(x, y, _joined(line.names, width - x), size=SIZE, va="center_baseline")
        return
    again = line.hidden < 0  # said before, at the end of the last column
    color = PALE if again else INNER if line.inner else INK
    name = _cut(line.names[0], width - x)
    axes.text(x, y, name, size=SIZE, va="center_baseline", color=color)
    room = width - x - _inches(name) - 0.1
    if line.note and not again and room > 0.4:
        note = _cut(line.note, room)
        axes.text(width - room, y, note, size=SIZE - 1, va="center_baseline", color=PALE)


def _joined(names: tuple[str, ...], width: float) -> str:
    """As many names as there is room for, and how many more there are."""
    for shown in range(len(names), 0, -1):
        left = len(names) - shown
        text = ", ".join(names[:shown]) + (f" + {left}" if left else "")
        if len(text) < 120 and _inches(text) <= width:
            return text
    return f"{len(names)} classes"


def _cut(text: str, width: float) -> str:
    if _inches(text) <= width:
        return text
    while text and _inches(text + "…") > width:
        text = text[:-1]
    return text + "…"


def _inches(text: str) -> float:
    return sum(map(_advance, text)) / 72


@cache
def _advance(letter: str) -> float:
    """Points that a letter takes in a line of text: by how much it moves two others apart."""
    apart, together = (TextPath((0, 0), text, size=SIZE) for text in (f"n{letter}n", "nn"))
    return float(apart.get_extents().width - together.get_extents().width)
