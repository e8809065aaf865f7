"""Scheme x method at equal cost: which method is best where, and how sure is that?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from simkit.annotate import schemes
from simkit.errors import BadInput, unknown
from simkit.learn import methods as methods_by_name
from simkit.study.best import SURE
from simkit.study.cells import Line, best_pairs, percent, references
from simkit.study.figures.base import (
    INK,
    PALE,
    WIDTH,
    Metric,
    caption,
    fold,
    heading,
    label,
    register,
)
from simkit.study.figures.options import SCORED, AtBudget, paid, scored
from simkit.study.limit import Limit, money

_MAP = "viridis"  # perceptually uniform, and readable without colour vision
_GAPS = "PuOr"  # of differences: purple is better, orange worse; white is no difference
_FULL = 10.0  # points of difference at which its colour is full


@register
@dataclass(frozen=True)
class HeatMap(AtBudget):
    """Mean mAP of every method under every scheme; the colour is the mAP.

    Behind each scheme stands its best method and the probability that it is the best. With
    `against`, a second picture shows the differences to that method in points.
    """

    name: ClassVar[str] = "heat-map"
    title: ClassVar[str] = "mAP by scheme x method at equal cost, and the probability of the best"
    reads: ClassVar = {**SCORED, "dollars": float, "images": int}

    against: str = field(
        default="", metadata={"help": "also show differences to this method; nothing: none"}
    )
    metric: Metric = field(default="map", metadata={"help": "what is averaged over draws"})

    def draw(self, table: Any) -> Drawing:
        limit, runs = self.at_budget(table)
        rows = scored(runs, self.metric, asker=self.name)
        methods = list(dict.fromkeys(cell.method for row in rows for cell in row.cells))
        if self.against and self.against not in methods:
            raise unknown("method of the table (heat-map)", self.against, methods)
        values = _values(rows, methods)
        pictures = 2 if self.against else 1
        width = max(WIDTH, 4.2 + 0.62 * len(methods))  # each number has its place
        height = (1.2 + 0.6 * len(rows) + _header_height(methods)) * pictures + 0.7
        drawing = Drawing(figsize=(width, height), layout="constrained")
        grid = drawing.subplots(pictures, 1, squeeze=False).ravel()
        _matrix(grid[0], values, Normalize(np.nanmin(values), np.nanmax(values)), _MAP)
        _name(grid[0], rows, methods)
        for r, row in enumerate(rows):
            style = "-" if row.best.sure else (0, (3, 2))
            for method in (row.best.first, *row.best.ties) if len(row.cells) > 1 else ():
                place = (methods.index(method) - 0.485, r - 0.475)
                box = Rectangle(place, 0.97, 0.95, fill=False, ec=INK, lw=2.4, ls=style)
                grid[0].add_patch(box)
        if self.against:
            gaps = values - values[:, [methods.index(self.against)]]
            _matrix(grid[1], gaps, Normalize(-_FULL, _FULL), _GAPS, signed=True)
            _name(grid[1], rows, methods, best=False)
            title = f"Difference to {label(self.against)}, points"
            grid[1].set_title(title, loc="left", fontweight="bold")
        heading(drawing, _title(limit, rows, runs))
        caption(drawing, *_note(table, rows, self.metric, limit, runs))
        return drawing


def _values(rows: list[Line], methods: list[str]) -> NDArray[np.float64]:
    values = np.full((len(rows), len(methods)), np.nan)
    for r, row in enumerate(rows):
        for cell in row.cells:
            values[r, methods.index(cell.method)] = 100 * cell.score.mean
    return values


def _matrix(
    axes: Axes, values: NDArray[np.float64], norm: Normalize, colors: str, *, signed: bool = False
) -> None:
    """Numbers on coloured cells, in the ink that can be read on the colour."""
    colormap = mpl.colormaps[colors]
    for (r, m), value in np.ndenumerate(values):
        if np.isnan(value):
            axes.text(m, r, "no run", ha="center", va="center", fontsize=9, color=PALE)
            continue
        color = colormap(norm(value))
        light = np.dot(color[:3], (0.299, 0.587, 0.114)) > 0.55
        axes.add_patch(Rectangle((m - 0.47, r - 0.45), 0.94, 0.9, color=color, lw=0))
        text = f"{value:+.1f}" if signed else f"{value:.1f}"
        ink = INK if light else "white"
        size = 13 if values.shape[1] <= 6 else 10.5
        axes.text(m, r, text, ha="center", va="center", fontsize=size, color=ink)
    axes.set_xlim(-0.52, values.shape[1] - 0.48)
    axes.set_ylim(len(values) - 0.48, -0.52)  # the first row on top
    axes.grid(False)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _name(axes: Axes, rows: list[Line], methods: list[str], *, best: bool = True) -> None:
    """Methods above, schemes on the left, and on the right the best method of each row."""
    names, slanted = _headers(methods)
    turned: dict[str, Any] = {"rotation": 35, "ha": "left", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(methods)), names, fontsize=9.5, **(turned if slanted else {}))
    axes.set_yticks(range(len(rows)), [_scheme(row.scheme) for row in rows], fontsize=10)
    if best:
        side = axes.secondary_yaxis("right")
        side.set_yticks(range(len(rows)), [_best(row) for row in rows], fontsize=9.5)
        side.tick_params(length=0)
        side.spines["right"].set_visible(False)


def _scheme(spec: str) -> str:
    """A scheme with its gist in plain words below, where it has one."""
    try:
        gist = getattr(schemes.make(spec), "gist", "")
    except BadInput:  # a table may come from elsewhere
        gist = ""
    return "\n".join(filter(None, (fold(spec, 30, 2), fold(gist, 30, 2))))


def _best(row: Line) -> str:
    """ "LL-R is best" or "LL-R? (62 %)"."""
    name = fold(label(row.best.first), 26, 2)
    if len(row.cells) == 1:
        return "one method"
    if not row.best.probability:
        return f"{name}?\none draw cannot tell"
    if len(row.best.ties) + 1 == len(row.cells):
        return "all equal"
    if row.best.sure:
        ties = len(row.best.ties)
        return f"best: {name}" + (f"\nand {ties} equal" if ties else "")
    chance = row.best.probability[row.best.first]
    others = len(row.best.rivals)
    return f"{name}? {100 * chance:.0f} % sure;\n{others} other{'s' * (others > 1)} possible"


def _headers(methods: list[str]) -> tuple[list[str], bool]:
    """What stands above the cells, and whether it has to be slanted to have room."""
    room = int(64 / len(methods))  # letters, where the figure is no wider than usual
    names = [label(method).replace(" + ", "\n+ ") for method in methods]
    if len(methods) <= 6 and all(len(line) <= room for name in names for line in name.split("\n")):
        gists = [fold(_gist(method), room, 3) for method in methods]
        deep = max(text.count("\n") for text in (*names, *gists))
        both = zip(names, gists, strict=True)
        return [f"{name}\n{gist}" if gist and deep < 3 else name for name, gist in both], False
    letters, deep = (24, 3) if len(methods) <= 6 else (30, 2)  # as many lines as cells are wide
    return [fold(label(method), letters, deep) for method in methods], True


def _gist(method: str) -> str:
    """Of a single method; what wraps another one is named by both."""
    try:
        return "" if "+" in method else methods_by_name.get(method.partition("(")[0]).gist
    except BadInput:
        return ""


def _header_height(methods: list[str]) -> float:
    """Inches: slanted names take more the longer they are."""
    names, slanted = _headers(methods)
    longest = max(len(line) for name in names for line in name.split("\n"))
    deep = max(name.count("\n") for name in names)
    return 0.052 * longest + 0.15 * deep - 0.1 if slanted else 0.17 * deep


def _title(limit: Limit, rows: list[Line], runs: Any) -> str:
    """The finding, in words."""
    if not limit:
        return "mAP of each training method by annotation scheme; amounts as written, costs differ"
    best, _ = best_pairs(rows)
    scheme, method = best.first.split("\n")
    reached = {row.scheme: 100 * row.highest.score.mean for row in rows}
    rivals = dict.fromkeys(name.split("\n")[0] for name in (*best.ties, *best.rivals))
    level = [scheme, *(name for name in rivals if name != scheme)]
    start = f"{str(limit)[0].upper()}{str(limit)[1:]} of labels"
    if len(rows) == 1:
        return f"{start} by {scheme}: {label(method)} is highest with {reached[scheme]:.0f} mAP"
    if not best.probability or len(level) > 1:
        many = " or ".join(level) if len(level) < 4 else f"{len(level)} of {len(rows)} schemes"
        return f"{start}: the best models come from {many}"
    last = min(reached, key=lambda name: reached[name])
    return (
        f"{start}: the best models come from {scheme} ({reached[scheme]:.0f} mAP), the worst from "
        f"{last} ({reached[last]:.0f})"
    )


def _note(
    table: Any, rows: list[Line], metric: str, limit: Limit, runs: Any
) -> list[str]:
    draws = sorted({row.best.draws for row in rows})
    over = " to ".join(str(n) for n in dict.fromkeys([draws[0], draws[-1]]))
    note = [
        f"Rows: how labels are bought, {paid(limit, runs) or 'amounts as written'}. Columns: how a "
        "model is trained on them. Numbers: mean average precision (mAP) on the test split in "
        f"points, over {over} draw{'s' * (draws[-1] > 1)}; brighter is better. Frame: highest mean "
        f"of the row, solid where it is the best with a probability of {SURE:.0%} or more.",
    ]
    full = references(table, metric=metric)
    if not full:
        return note
    reached = ", ".join(f"{label(cell.method)} {percent(cell.score)}" for cell in full)
    hours = full[0].hours if limit.hours else None  # in the unit of the budget
    price = money(full[0].dollars) if hours is None else f"{hours:,.3g} hours"
    return [*note, f"All labels of all images, for {price}: {reached}."]
