"""Matrices of a comparison: scheme x method at equal cost, and the best methods of each scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle

from simkit.annotate import schemes
from simkit.errors import BadInput
from simkit.quantities import money
from simkit.registry import setting
from simkit.results import selection
from simkit.results.cells import (
    Budget,
    Row,
    best_pairs,
    open_schemes,
    over_shared,
    references,
    summary_rows,
    zero_shot,
)
from simkit.results.figures import base, marks
from simkit.results.figures.base import register, single
from simkit.results.figures.style import INK, WIDTH, fold, label, looks
from simkit.results.method_facts import ORDER, family, of
from simkit.results.statistics import SURE
from simkit.results.summary import (
    assumptions,
    random_order,
    reached,
    too_few_text,
    without_result,
)

_NAMES = 2.3  # inches for the schemes of a heat map, and as many for the text on the right
_LEVEL = 6  # up to this many methods have horizontal names; more have slanted ones
_ROW, _HEAD = 0.22, 1.0  # inches of a row of a matrix, and of the upright names of the methods
_SIZE, _COLUMNS = 7.5, 20  # points, and the methods of a matrix, whose numbers share the width


@register
class HeatMap(base.AtBudget):
    """Mean mAP of every method under every scheme; the colour is the mAP.

    On the right of each scheme is its best method, with the probability that it is the best.
    """

    name = "heat-map"
    title = "mAP by scheme x method at equal cost, and the best of each row"
    reads: ClassVar = base.PRICED

    against: str = setting("", "show differences to this method, in points, instead of mAP")
    metric: base.Metric = setting("map", "the score to average over draws")
    so_far: str = setting("", "the finished part of a comparison under way, for the heading")

    def draw(self, table: pd.DataFrame) -> Drawing:
        limit, runs = self.at_budget(table)
        rows = summary_rows(runs, metric=self.metric)
        self.require(rows, f"no run has {self.metric}; compare again")
        shared = [[over_shared(cell, row.cells) for cell in row.cells] for row in rows]
        means = [{cell.method: 100 * cell.score.mean for cell in cells} for cells in shared]
        values = pd.DataFrame(means)  # in the order of the table
        methods = list(values)
        level = len(methods) <= _LEVEL
        head = 0.9 if level else 0.3 + 0.055 * max(len(label(method)) for method in methods)
        panels, axes = single(head + 0.6 * len(rows))
        width = max(WIDTH, 2 * _NAMES + 0.55 * len(methods))  # room for each number
        panels.drawing.set_figwidth(width)
        form, colors = "{:.1f}", ("viridis", Normalize(np.nanmin(values), np.nanmax(values)))
        if self.against:
            self.chosen("method", self.against, values)
            values = values.sub(values[self.against], axis=0)
            form, colors = "{:+.1f}", ("PuOr", Normalize(-10, 10))
        texts = values.map(form.format).where(values.notna(), "no run")
        _numbers(axes, values, texts, colors, size=13 if level else 10)
        axes.set_xlim(-0.52, len(methods) - 0.48)
        for place, row in enumerate(rows):  # frame the highest means: solid if sure
            style = "-" if row.best.sure else (0, (3, 2))
            for method in (row.best.first, *row.best.ties) if len(row.cells) > 1 else ():
                corner = methods.index(method) - 0.475, place - 0.455
                axes.add_patch(Rectangle(corner, 0.95, 0.91, fill=False, ec=INK, lw=2.4, ls=style))
        left, right = [_scheme(row) for row in rows], [_best(row) for row in rows]
        marks.row_names(axes, left, lines=3, room=_NAMES, right=right)
        _head(axes, methods, (width - 2 * _NAMES) / len(methods))
        over = base.range_of(row.best.draws for row in rows)
        difference = f", less that of {label(self.against)}" if self.against else ""
        return panels.finish(
            _best_schemes(limit, rows, so_far=self.so_far),
            f"Rows: annotation schemes, {base.paid(limit)}. Columns: training methods. "
            f"Numbers: mean average precision (mAP) on the test split in points{difference}; "
            f"draws: {over}.",
            *_assumptions(table, runs, left),
            f"{text[0].upper()}{text[1:]}." if (text := without_result(table, rows)) else "",
            "Frame: highest mean of the row; dashed if its probability of being the best (on the "
            f"right) is below {SURE:.1%}.",
            *_ends(table, self.metric, limit),
        )


def _numbers(
    axes: Axes, values: pd.DataFrame, texts: pd.DataFrame, colors: tuple[str, Normalize], *,
    size: float,
) -> None:  # fmt: skip
    """Cells with text, coloured by value; `colors` is a colour map and its norm."""
    shades = mpl.colormaps[colors[0]].with_extremes(bad="white")
    shown = shades(np.ma.masked_invalid(colors[1](values.to_numpy(float))))[..., :3]
    marks.cells(axes, shown.tolist(), texts.to_numpy().tolist(), size=size, weight="normal")


def _assumptions(table: pd.DataFrame, runs: pd.DataFrame, left: list[str]) -> list[str]:
    """Sentences on the models that schemes assume, for the caption.

    runs: those shown. Prices without the models are known for the largest purchases alone.
    """
    if said := assumptions(table):
        bought = table["dollars"][~table["reference"].astype(bool)]
        largest = not runs["dollars"].max() < bought.max()
        return [f"{text if largest else text.partition(': its labels cost')[0]}." for text in said]
    return ["Candidates: of a free model, which is assumed."] if "candidates" in str(left) else []


def _ends(table: pd.DataFrame, metric: str, limit: Budget) -> Iterator[str]:
    """Sentences about no labels and about all labels, for the caption."""
    if free := zero_shot(table, metric=metric):
        yield f"Without labels: {label(free.method)} {free.score.percent}."
    if full := references(table, metric=metric):
        hours = full[0].hours if limit.hours else None
        cost = money(full[0].dollars) if hours is None else f"{hours:,.3g} hours"
        yield f"All labels of all images, {cost}: {reached(full, label)}.".replace(
            "(-", "(\N{MINUS SIGN}"
        )


def _scheme(row: Row) -> str:
    """A scheme, its mean cost unless there is a budget, and its gist and assumption below."""
    cost = "" if row.limit else ", " + money(np.mean([cell.dollars for cell in row.cells]).item())
    try:
        gist = getattr(schemes.make(row.scheme), "gist", "")
    except BadInput:  # not a registered scheme, in a table of other origin
        return row.scheme + cost
    right = _assumed(row.scheme)
    assumption = "" if right is None else f", candidates {right:.0%} right"
    return f"{row.scheme}{cost}\n{gist}{assumption}".rstrip()


def _assumed(spec: str) -> float | None:
    """The share of right candidates of the model that a scheme assumes; None if it needs none."""
    try:
        scheme = schemes.make(spec)
    except BadInput:
        return None
    right: float | None = getattr(scheme, "precision", None)
    return None if right is None or scheme.unassuming(scores=True) == scheme else right


def _head(axes: Axes, methods: list[str], room: float) -> None:
    """Method names above columns of `room` inches: few with their gist, many slanted."""
    slant: dict[str, Any] = {}
    if len(methods) <= _LEVEL:
        names = []
        for facts in map(of, methods):
            name = fold(facts.title.replace(" + ", "\n+ "), room, size=9, lines=3)
            gist = fold(facts.gist, room, size=9, lines=3) if facts.gist else ""
            names.append(f"{name}\n{gist}".rstrip())
    else:
        names = [label(method) for method in methods]
        slant = {"rotation": 35, "ha": "left", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(methods)), names, fontsize=9, **slant)
    axes.tick_params(labeltop=True, labelbottom=False)


def _best(row: Row) -> str:
    """ "best: LL-R", or "LL-R: 62 %" and the number of possible others."""
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
    chance = f"{name}: {100 * best.probability[best.first]:.0f} %"
    return f"{chance},\nor {others} other{'s' * (others > 1)}" if others else chance


def _best_schemes(limit: Budget, rows: list[Row], *, so_far: str) -> str:
    """The schemes whose models may be the best for the money, or the highest one so far."""
    if not limit:
        text = "mAP of each training method by annotation scheme; amounts as written, costs differ"
        return text + (f" ({so_far})" if so_far else "")
    best, _ = best_pairs(rows)
    level = open_schemes(best)
    of_first = [pair for pair in best.order if pair[0] == level[0]]
    reached = 100 * next(row.highest.score.mean for row in rows if row.scheme == level[0])
    if so_far:
        return f"{limit} of labels: {level[0]} is highest so far, {reached:.0f} mAP ({so_far})"
    if best.settled(of_first):
        model = "" if _assumed(level[0]) is None else ", with an assumed model"
        return f"{limit} of labels: {level[0]} is best (up to {reached:.0f} mAP){model}"
    many = " or ".join(level) if len(level) < 4 else f"{len(level)} of {len(rows)} schemes"
    return f"{limit} of labels: the best models may come from {many}"


@register
class Matrix(base.AtBudget):
    """Mean mAP of many methods under every scheme; bold: methods that may be the best.

    Rows are schemes, as in a heat map, their mean, and the same methods on all labels. Columns are
    methods by family, and by their mean over schemes within a family.
    """

    name = "matrix"
    title = "mAP of many methods by scheme, and which may be the best"
    reads: ClassVar = base.PRICED

    metric: base.Metric = setting("map", "the score to average over draws")
    methods: selection.Methods = base.methods_option("twenty in the mean over schemes")

    def draw(self, table: pd.DataFrame) -> Drawing:
        limit, runs = self.at_budget(table)
        rows = summary_rows(runs, metric=self.metric)
        self.require(rows, f"no run has {self.metric}; compare again")
        means = pd.DataFrame(
            {row.scheme: {c.method: 100 * c.score.mean for c in row.cells} for row in rows}
        )
        ranked = means.mean(axis=1).sort_values(ascending=False, kind="stable").index
        shown = selection.listed(self.methods) or ranked[:_COLUMNS].tolist()
        selection.check_known(shown, means.index.tolist())
        families = [*ORDER, *dict.fromkeys(map(family, means.index))]
        order = [name for name in ranked if name in shown]
        means = means.loc[sorted(order, key=lambda method: families.index(family(method)))].T
        bests = {row.scheme: row.best for row in rows}
        means.loc["mean"] = means.mean()
        if full := references(table, metric=self.metric, full=False):
            means.loc["all labels"] = pd.Series({c.method: 100 * c.score.mean for c in full})
        panels, axes = single(_HEAD + _ROW * len(means))
        shade = Normalize(np.nanpercentile(means, 2), np.nanmax(means))
        texts = means.map("{:.1f}".format).replace("nan", "")
        _numbers(axes, means, texts, ("viridis", shade), size=_SIZE)
        for number in axes.texts:
            column, row = (round(place) for place in number.get_position())
            best = bests.get(means.index[row])
            if best and means.columns[column] in (best.first, *best.ties, *best.rivals):
                number.set_fontweight("bold")
        axes.axhline(len(rows) - 0.5, color="white", linewidth=3)
        marks.row_names(axes, list(means.index), size=_SIZE + 0.5, room=1.7)
        _upright(axes, list(means.columns))
        return panels.finish(
            _leaders(rows),
            f"Rows: annotation schemes, {base.paid(limit)}, their mean"
            f"{', and all labels of all images' * bool(full)}. "
            "Columns: how a model is trained on them, by family (colour). Means over "
            f"{base.range_of(len(cell.by_draw) for row in rows for cell in row.cells)} draws. "
            "Bold: the methods of a row of which one is the best with a probability of at least "
            f"{SURE:.1%}" + (", among all methods." if len(ranked) > len(shown) else "."),
            f"A random order of the test images has {100 * level:.1f} mAP."
            if (level := random_order(table)) and self.metric == "map" else "",
            base.not_shown(len(ranked) - len(shown)),
            f"{text[0].upper()}{text[1:]}." if (text := without_result(table, rows)) else "",
            *_ends(table, self.metric, limit),
        )  # fmt: skip


def _upright(axes: Axes, methods: list[str]) -> None:
    """Upright names of methods above columns, in their colours, with gaps between families."""
    for place, (left, right) in enumerate(pairwise(map(family, methods))):
        if left != right:
            axes.axvline(place + 0.5, color="white", linewidth=3)
    axes.set_xlim(-0.5, len(methods) - 0.5)
    names = [fold(label(name), _HEAD, size=_SIZE + 1, lines=2) for name in methods]
    axes.set_xticks(range(len(names)), names, fontsize=_SIZE + 1, rotation=90)
    axes.tick_params(labeltop=True, labelbottom=False)
    for name, look in zip(axes.get_xticklabels(), looks(methods).values(), strict=True):
        name.set_color([0.7 * part for part in to_rgb(look.color)])  # legible on white


def _leaders(rows: Sequence[Row]) -> str:
    """How many methods have the highest mean of a scheme."""
    first = {name for row in rows for name in (row.best.first, *row.best.ties)}
    if len(first) == 1:
        return f"{label(first.pop())} has the highest mean under every scheme"
    many = len({cell.method for row in rows for cell in row.cells})
    return f"{len(first)} of {many} methods lead under one scheme or another"
