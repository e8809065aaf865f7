"""Scheme x method at equal cost: which method is best where, and how sure is that?"""

from __future__ import annotations

from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from simkit.annotate import schemes
from simkit.errors import BadInput
from simkit.learn import methods as methods_by_name
from simkit.study.best import SURE, too_few_text
from simkit.study.cells import Line, best_pairs, lines, over_shared, percent, references
from simkit.study.figures import marks
from simkit.study.figures.base import Panels, option, register
from simkit.study.figures.options import SCORED, AtBudget, Metric, paid
from simkit.study.figures.style import INK, WIDTH, fold, label
from simkit.study.limit import Limit, money

_MAP = "viridis"  # perceptually uniform, and readable without colour vision
_GAPS = "PuOr"  # of differences: purple is better, orange worse; white is no difference
_FULL = 10.0  # points of difference at which its colour is full
_NAMES = 2.3  # inches for the schemes, and as many for what stands on the right


@register
class HeatMap(AtBudget):
    """Mean mAP of every method under every scheme; the colour is the mAP.

    Behind each scheme stands its best method, and how sure it is that it is the best. With
    `against`, a second picture shows the differences to that method in points.
    """

    name: ClassVar[str] = "heat-map"
    title: ClassVar[str] = "mAP by scheme x method at equal cost, and the best of each row"
    reads: ClassVar = {**SCORED, "dollars": float, "images": int}

    against: str = option("", "also show differences to this method; nothing: none")
    metric: Metric = option("map", "what is averaged over draws")

    def draw(self, table: pd.DataFrame) -> Drawing:
        limit, runs = self.at_budget(table)
        rows = lines(runs, metric=self.metric)
        self.require(rows, f"no run has {self.metric}; compare again")
        methods = list(dict.fromkeys(cell.method for row in rows for cell in row.cells))
        shared = [[over_shared(cell, row.cells) for cell in row.cells] for row in rows]
        means = [{cell.method: 100 * cell.score.mean for cell in cells} for cells in shared]
        values = pd.DataFrame(means, columns=methods).to_numpy(float)
        titles = [""]
        if self.against:
            self.chosen("method", self.against, methods)
            titles.append(f"Difference to {label(self.against)}, points")
        width = max(WIDTH, 2 * _NAMES + 0.55 * len(methods))  # each number has its place
        room = (width - 2 * _NAMES) / len(methods)
        level = len(methods) <= 6
        head = 0.9 if level else 0.3 + 0.055 * max(len(label(method)) for method in methods)
        panels = Panels(titles, across=1, height=head + 0.6 * len(rows), sharex=False)
        panels.drawing.set_figwidth(width)
        axes, *second = panels.grid.flat
        _matrix(axes, values, Normalize(np.nanmin(values), np.nanmax(values)), _MAP, ".1f")
        _frame_best(axes, rows, methods)
        left, right = [_scheme(row.scheme) for row in rows], [_best(row) for row in rows]
        marks.row_names(axes, left, lines=3, room=_NAMES, right=right)
        for one in second:
            gaps = values - values[:, [methods.index(self.against)]]
            _matrix(one, gaps, Normalize(-_FULL, _FULL), _GAPS, "+.1f")
            marks.row_names(one, left, lines=3, room=_NAMES)
        for one in panels.grid.flat:
            names = [_method(method, room) if level else label(method) for method in methods]
            slant: Any = {"rotation": 35, "ha": "left", "rotation_mode": "anchor"}
            one.set_xticks(range(len(methods)), names, fontsize=9, **({} if level else slant))
            one.tick_params(labeltop=True, labelbottom=False)
        return panels.finish(
            _finding(limit, rows), *_caption(table, rows, self.metric, limit, paid(limit, runs))
        )


def _matrix(
    axes: Axes, values: NDArray[np.float64], norm: Normalize, colors: str, written: str
) -> None:
    """Numbers on coloured cells."""
    shades = mpl.colormaps[colors].with_extremes(bad="white")
    cells = shades(np.ma.masked_invalid(norm(values)))
    texts = [["no run" if np.isnan(v) else format(v, written) for v in row] for row in values]
    size = 13 if values.shape[1] <= 6 else 10
    marks.cells(axes, cells[..., :3], texts, size=size, weight="normal")
    axes.set_xlim(-0.52, values.shape[1] - 0.48)


def _frame_best(axes: Axes, rows: list[Line], methods: list[str]) -> None:
    """A frame around the highest mean of each row, solid where it is surely the best."""
    for r, row in enumerate(rows):
        style = "-" if row.best.sure else (0, (3, 2))
        for method in (row.best.first, *row.best.ties) if len(row.cells) > 1 else ():
            place = methods.index(method) - 0.475, r - 0.455
            axes.add_patch(Rectangle(place, 0.95, 0.91, fill=False, ec=INK, lw=2.4, ls=style))


def _scheme(spec: str) -> str:
    """A scheme with its gist in plain words below, where it has one."""
    try:
        return f"{spec}\n{getattr(schemes.make(spec), 'gist', '')}".rstrip()
    except BadInput:  # a table may come from elsewhere
        return spec


def _method(spec: str, room: float) -> str:
    """A method in lines of `room` inches, with its gist below where it wraps no other."""
    name = fold(label(spec).replace(" + ", "\n+ "), room, size=9, lines=3)
    try:
        gist = "" if "+" in spec else methods_by_name.get(spec.partition("(")[0]).gist
    except BadInput:
        gist = ""
    return f"{name}\n{fold(gist, room, size=9, lines=3)}" if gist else name


def _best(row: Line) -> str:
    """ "best: LL-R", or "LL-R? 62 % sure" and how many others are possible."""
    best = row.best
    name = fold(label(best.first), _NAMES - 0.4, size=9)
    if len(row.cells) == 1:
        return "one method"
    if len(best.ties) + 1 == len(row.cells):
        return "all equal"
    if best.sure:
        return f"best: {name}" + (f"\nand {len(best.ties)} equal" if best.ties else "")
    if not best.probability:
        return f"{name}?\n{fold(too_few_text(best), _NAMES, size=9)}"
    others = len(best.rivals)
    chance = f"{name}? {100 * best.probability[best.first]:.0f} % sure"
    return f"{chance};\n{others} other{'s' * (others > 1)} possible" if others else chance


def _finding(limit: Limit, rows: list[Line]) -> str:
    """In words: which schemes give the best models for the money."""
    if not limit:
        return "mAP of each training method by annotation scheme; amounts as written, costs differ"
    best, _ = best_pairs(rows)
    scheme, method = best.first.split("\n")
    reached = {row.scheme: 100 * row.highest.score.mean for row in rows}
    rivals = dict.fromkeys(name.split("\n")[0] for name in (*best.ties, *best.rivals))
    level = [scheme, *(name for name in rivals if name != scheme)]
    start = f"{limit} of labels"
    if len(rows) == 1:
        return f"{start} by {scheme}: {label(method)} is highest with {reached[scheme]:.0f} mAP"
    if not best.probability or len(level) > 1:
        many = " or ".join(level) if len(level) < 4 else f"{len(level)} of {len(rows)} schemes"
        return f"{start}: the best models come from {many}"
    if not best.settled(name for name in best.order if name.split("\n")[0] == scheme):
        highest = f"{scheme} with {label(method)} is highest with {reached[scheme]:.0f} mAP"
        return f"{start}: {highest}"
    last = min(reached, key=lambda name: reached[name])
    return (
        f"{start}: {scheme} is best (up to {reached[scheme]:.0f} mAP), {last} worst "
        f"(up to {reached[last]:.0f})"
    )


def _caption(
    table: pd.DataFrame, rows: list[Line], metric: str, limit: Limit, price: str
) -> list[str]:
    draws = sorted({row.best.draws for row in rows})
    over = " to ".join(str(n) for n in dict.fromkeys([draws[0], draws[-1]]))
    text = [
        f"Rows: how labels are bought, {price or 'amounts as written'}. Columns: how a model is "
        "trained on them. Numbers: mean average precision (mAP) on the test split in points, over "
        f"{over} draw{'s' * (draws[-1] > 1)}; brighter is better. Frame: highest mean of the row, "
        f"solid where it is the best with a probability of {SURE:.0%} or more.",
    ]
    if full := references(table, metric=metric):
        reached = ", ".join(f"{label(cell.method)} {percent(cell.score)}" for cell in full)
        hours = full[0].hours if limit.hours else None  # in the unit of the budget
        cost = money(full[0].dollars) if hours is None else f"{hours:,.3g} hours"
        text.append(f"All labels of all images, for {cost}: {reached}.")
    return text
