"""The matrix of a large comparison: many methods by scheme, and how probably each is the best."""

from __future__ import annotations

from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure as Drawing

from simkit.study.best import SURE
from simkit.study.cells import Line, lines, references
from simkit.study.figures import marks
from simkit.study.figures.base import Panels, option, register
from simkit.study.figures.options import PRICED, AtBudget, Metric, paid, range_of
from simkit.study.figures.style import FAMILIES, family, fold, label, looks

_ROW, _HEAD = 0.185, 1.2  # inches of a row, and of the upright names of the schemes
_SIZE = 7.5  # points: 20 numbers share the width


@register
class Matrix(AtBudget):
    """Mean mAP of many methods under every scheme, and the probability that each is the best.

    Methods are ordered by family, and by their mean over schemes within a family.
    """

    name = "matrix"
    title = "mAP of many methods by scheme, and how probably each is the best"
    reads: ClassVar = PRICED

    metric: Metric = option("map", "the score to average over draws")

    def draw(self, table: pd.DataFrame) -> Drawing:
        limit, runs = self.at_budget(table)
        columns = lines(runs, metric=self.metric)
        self.require(columns, f"no run has {self.metric}; compare again")
        means = pd.DataFrame(
            {line.scheme: {c.method: 100 * c.score.mean for c in line.cells} for line in columns}
        )
        means["mean"] = means.mean(axis=1)
        means = means.loc[_ordered(means["mean"])]
        chances = pd.DataFrame(
            {
                line.scheme: {m: 100 * p for m, p in line.best.probability.items()}
                for line in columns
            }
        ).reindex(means.index)
        panels = Panels(
            ["mAP", "probability of being the best, %"],
            height=_HEAD + _ROW * len(means), widths=[len(columns) + 1, len(columns)], sharex=False,
        )  # fmt: skip
        left, right = panels
        values = means.to_numpy()
        shade = Normalize(np.nanpercentile(values, 2), np.nanmax(values))
        _cells(left, means, mpl.colormaps["viridis"], shade, ".1f")
        _cells(right, chances, mpl.colormaps["Greys"], Normalize(0, 150), ".0f")
        names = marks.row_names(left, list(map(label, means.index)), size=_SIZE + 0.5, room=1.7)
        for name, look in zip(names, looks(means.index).values(), strict=True):
            name.set_color([0.7 * part for part in to_rgb(look.color)])  # legible on white
        over = range_of(len(cell.by_draw) for line in columns for cell in line.cells)
        full = references(table, metric=self.metric)
        ceiling = [f"{label(c.method)} {100 * c.score.mean:.1f}" for c in full]
        shared = range_of(line.best.draws for line in columns)
        sure = sum(line.best.sure for line in columns)
        tied = any(line.best.ties for line in columns)
        ties = " Methods with equal scores share a probability." if tied else ""
        absent = sorted({*runs["scheme"]} - {line.scheme for line in columns})
        return panels.finish(
            _heading(columns),
            f"Columns: how labels are bought, {paid(limit)}, and the mean. Rows: how a model is "
            f"trained on them, by family (colour). Means over {over} draws, probabilities over "
            + ("the same" if shared == over else f"the {shared} that all methods have")
            + f"; below 0.5 % they are left out, and under {sure or 'none'} of {len(columns)} "
            f"schemes one method has {SURE:.0%} or more.{ties}",
            f"Without {self.metric}: {', '.join(absent)}." if absent else "",
            f"All labels of all images: {', '.join(ceiling)}." if ceiling else "",
        )


def _ordered(mean: pd.Series[float]) -> list[str]:
    """The methods by family, the best within a family first."""
    families = [*FAMILIES, *dict.fromkeys(map(family, mean.index))]
    ranked = mean.sort_values(ascending=False, kind="stable").index
    return sorted(ranked, key=lambda method: families.index(family(method)))


def _cells(axes: Axes, values: pd.DataFrame, shades: Any, norm: Normalize, form: str) -> None:
    """A panel of coloured numbers; blank where a number is missing or prints as 0."""
    numbers = values.to_numpy(float)
    texts = [
        ["" if np.isnan(v) or not float(format(v, form)) else format(v, form) for v in row]
        for row in numbers
    ]
    colors = shades.with_extremes(bad="white")(np.ma.masked_invalid(norm(numbers)))[..., :3]
    marks.cells(axes, colors.tolist(), texts, size=_SIZE, weight="normal")
    families = list(map(family, values.index))
    for place in np.flatnonzero(np.array(families[1:]) != np.array(families[:-1])):
        axes.axhline(place + 0.5, color="white", linewidth=3)
    axes.set_xlim(-0.5, values.shape[1] - 0.5)
    names = [fold(name, _HEAD, size=_SIZE + 0.5, lines=2) for name in values.columns]
    axes.set_xticks(range(len(names)), names, fontsize=_SIZE + 0.5, rotation=90)
    axes.tick_params(labeltop=True, labelbottom=False)


def _heading(columns: list[Line]) -> str:
    """How many methods may be the best."""
    first = {name for line in columns for name in (line.best.first, *line.best.ties)}
    if len(first) == 1:
        return f"{label(first.pop())} has the highest mean under every scheme"
    return f"{len(first)} of {len(columns[0].cells)} methods lead under one scheme or another"
