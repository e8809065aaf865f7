"""What each class reaches under each method, classes from frequent to rare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from simkit.errors import BadInput
from simkit.study.analysis.classes import ByClass
from simkit.study.analysis.comparing.chosen import Methods, some_methods
from simkit.study.figures.looks import Look, look
from simkit.study.figures.options import OfScheme, at_cost, some
from simkit.study.figures.previous import (
    PALE,
    WIDTH,
    caption,
    columns,
    count,
    cut,
    fold,
    heading,
    label,
    leaves_only,
    not_shown,
    register,
)

_ROW = 0.2  # inches


@register
@dataclass(frozen=True)
class PerClass(OfScheme):
    """AP of each class with its interval over draws; rows by falling number of present labels."""

    name: ClassVar[str] = "per-class"
    title: ClassVar[str] = "AP of each class under several methods, by frequency"

    methods: Methods = some("three")
    most: int = field(
        default=60, metadata={"help": "classes at most; of more, some of every frequency"}
    )

    def draw(self, table: pa.Table) -> Drawing:
        scheme, limit, runs = self.of_scheme(table)
        methods = some_methods(runs, wanted=self.methods, most=3, asker=self.name)
        found = self.by_class(runs, methods)
        rows, unseen = _rows(found, self.most)
        names = [fold(label(method), 90) for method in found.ap]
        across = columns(names, 0.8 * WIDTH)  # above the axes
        height = 1.55 + 0.2 * -(-len(names) // across) + _ROW * max(len(rows), 4)
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
        axes = drawing.add_subplot()
        for place, method in enumerate(found.ap):
            style = look(method, runs["method"].unique().to_pylist())
            _dots(axes, found, rows, method, style, (place + 0.5) / len(found.ap) - 0.5)
        _frame(axes, found, rows)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=across, borderpad=0.2)
        heading(drawing, f"What each class reaches with {scheme}{at_cost(limit, runs)}")
        caption(drawing, *_notes(found, len(rows), unseen, runs))
        return drawing


def _rows(found: ByClass, most: int) -> tuple[list[int], int]:
    """Places of the classes that are shown, from frequent to rare, and how many have no AP."""
    if most < 1:
        raise BadInput(f"per-class: most is {most}; at least one class is expected")
    order = np.argsort(-found.present, kind="stable")
    known = [int(c) for c in order if any(found.interval(m, c) for m in found.ap)]
    if not known:
        raise BadInput("per-class: no class has an AP; the test split shows none of them")
    if len(known) > most:
        chosen = np.unique(np.linspace(0, len(known) - 1, most).round().astype(int))
        return [known[place] for place in chosen], len(order) - len(known)
    return known, len(order) - len(known)


def _dots(
    axes: Axes, found: ByClass, rows: list[int], method: str, style: Look, shift: float
) -> None:
    y = np.arange(len(rows)) + 0.6 * shift
    cells = [found.interval(method, c) for c in rows]
    for place, cell in zip(y, cells, strict=True):
        if cell and cell.low is not None and cell.high is not None:
            ends = [100 * max(cell.low, 0), 100 * min(cell.high, 1)]
            axes.plot(ends, [place] * 2, color=style.color, linewidth=1, alpha=0.6, zorder=2)
    points = [np.nan if cell is None else 100 * cell.mean for cell in cells]
    marker: dict[str, Any] = {**style.line(), "linestyle": "none", "markersize": 5}
    axes.plot(points, y, label=fold(label(method), 90), zorder=3, **marker)


def _frame(axes: Axes, found: ByClass, rows: list[int]) -> None:
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [cut(found.classes[c]) for c in rows], fontsize=8.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(-1, 101)
    axes.set_xlabel("AP on the test split, points")
    counts = axes.secondary_yaxis("right")
    counts.set_yticks(
        range(len(rows)), [count(found.present[c]) for c in rows], fontsize=8.5, color=PALE
    )
    counts.tick_params(length=0)
    counts.spines["right"].set_visible(False)
    axes.text(1.01, 1, "labels", transform=axes.transAxes, va="bottom", color=PALE, fontsize=8.5)
    for y in range(0, len(rows), 2):  # stripes lead the eye from name to number
        axes.axhspan(y - 0.5, y + 0.5, color="#f6f6f6", linewidth=0, zorder=0)
    axes.grid(False, axis="y")


def _notes(found: ByClass, shown: int, unseen: int, runs: pa.Table) -> list[str]:
    draws = max(len(by_draw) for by_draw in found.ap.values())
    spread = f"lines: 95 % over {draws} draws, each class alone" if draws > 1 else "one draw"
    notes = [f"Labels: images labelled with the class, mean over draws; {spread}."]
    rest = len(found.classes) - unseen - shown
    if rest:
        notes.append(f"{shown} of {shown + rest:,} classes, evenly by frequency.")
    if unseen:
        notes.append(f"Not shown: {unseen:,} that no test image shows.")
    notes.append(leaves_only(found))
    notes.append(not_shown(len(runs["method"].unique()) - len(found.ap)))
    return [" ".join(filter(None, notes))]
