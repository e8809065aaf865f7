"""What rare and frequent classes reach under each method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.study.analysis.classes import ByClass
from simkit.study.analysis.comparing.chosen import Methods, some_methods
from simkit.study.figures.direct import End, name_ends
from simkit.study.figures.looks import Look, look
from simkit.study.figures.options import OfScheme, at_cost, some
from simkit.study.figures.previous import (
    WIDTH,
    caption,
    count,
    heading,
    label,
    leaves_only,
    not_shown,
    register,
)
from simkit.study.statistics import Interval

_MOST = 10  # groups whose names have room


@register
@dataclass(frozen=True)
class ClassGroups(OfScheme):
    """mAP of groups of classes, from few to many present labels, with intervals over draws.

    Source: the groups G1 to G5 of Kim et al. CVPR 2022 (Large Loss), here by labels that say
    present, of which FPC gives every class equally many as far as there are any.
    """

    name: ClassVar[str] = "class-groups"
    title: ClassVar[str] = "mAP of rare to frequent classes under each method"

    methods: Methods = some("eight")
    groups: int = field(default=5, metadata={"help": "how many groups of classes"})

    def draw(self, table: pa.Table) -> Drawing:
        if not 1 <= self.groups <= _MOST:
            raise BadInput(f"class-groups: groups is {self.groups}; 1 to {_MOST} are expected")
        scheme, limit, runs = self.of_scheme(table)
        methods = some_methods(runs, wanted=self.methods, most=8, asker=self.name)
        found = self.by_class(runs, methods)
        groups = found.groups(self.groups)
        drawing = Drawing(figsize=(WIDTH, 4.6), layout="constrained")
        axes = drawing.add_subplot()
        ends: list[End] = []
        every = runs["method"].unique().to_pylist()
        for place, method in enumerate(found.ap):
            shift = 0.5 * ((place + 0.5) / len(found.ap) - 0.5)
            cells = found.group_intervals(method, groups)
            end = _points(axes, method, look(method, every), cells, shift)
            ends += [end] if end else []
        _frame(axes, found, groups)
        where = f"{scheme}{at_cost(limit, runs)}"
        heading(drawing, f"What rare and frequent classes reach with {where}")
        caption(drawing, *_notes(found, runs, self.groups))
        name_ends(drawing, [(axes, ends)])
        return drawing


def _points(
    axes: Axes, method: str, style: Look, cells: list[Interval | None], shift: float
) -> End | None:
    """Means with their intervals; where the line ends."""
    known = [(place + shift, cell) for place, cell in enumerate(cells) if cell]
    for x, cell in known:
        if cell.low is not None and cell.high is not None:
            ends = [100 * max(cell.low, 0), 100 * min(cell.high, 1)]
            axes.plot([x, x], ends, color=style.color, linewidth=1.3, alpha=0.8)
    # Groups are in an order, so a line between them has a meaning.
    places = [place for place, _ in known]
    axes.plot(places, [100 * cell.mean for _, cell in known], **{**style.line(), "linewidth": 1})
    return (label(method), places[-1], 100 * known[-1][1].mean, style.color) if known else None


def _frame(axes: Axes, found: ByClass, groups: NDArray[np.int64]) -> None:
    names = []
    for group in range(1, groups.max() + 1):
        counts = found.present[groups == group]
        low, high = count(counts.min()), count(counts.max())
        span = low if low == high else f"{low} to {high}"
        number = f"{len(counts):,} class{'es' if len(counts) > 1 else ''}"
        names.append(f"G{group}\n{span}\n{number}")
    axes.set_xticks(range(len(names)), names, fontsize=10 if len(names) < 7 else 7.5)
    axes.set_xlim(-0.45, len(names) - 0.45)
    axes.grid(False, axis="x")
    axes.set_xlabel("classes by the number of images that are labelled with them, mean over draws")
    axes.set_ylabel("mAP of the group on the test split, points")


def _notes(found: ByClass, runs: pa.Table, asked: int) -> list[str]:
    draws = max(len(by_draw) for by_draw in found.ap.values())
    notes = [f"Bars: 95 % over {draws} draws." if draws > 1 else "One draw: no intervals."]
    if asked > len(found.classes):
        notes.append(f"{asked} groups are asked for; {len(found.classes)} classes make no more.")
    first = next(iter(found.ap))
    places = range(len(found.classes))
    unseen = sum(found.interval(first, c) is None for c in places)
    if unseen:
        notes.append(f"Left out: {unseen:,} that no test image shows.")
    notes.append(leaves_only(found))
    notes.append(not_shown(len(runs["method"].unique()) - len(found.ap)))
    return [" ".join(filter(None, notes))]
