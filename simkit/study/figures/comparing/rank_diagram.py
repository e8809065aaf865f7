"""Which methods are better over all schemes, and which cannot be told apart?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from simkit.study.analysis.comparisons import Ranks, Test, ranks
from simkit.study.figures.looks import look
from simkit.study.figures.options import SCORED, AtBudget, paid
from simkit.study.figures.previous import (
    INK,
    PALE,
    WIDTH,
    Metric,
    caption,
    cut,
    heading,
    label,
    register,
)
from simkit.study.limit import Limit
from simkit.study.statistics import BOOTSTRAP_FROM

_ROW = 0.27  # inches


@register
@dataclass(frozen=True)
class RankDiagram(AtBudget):
    """Methods by mean rank over schemes and draws; bars join those that cannot be told apart.

    Small ticks are the mean ranks under each scheme. Source: the critical-difference diagrams of
    Demsar, JMLR 7 (2006), turned by a quarter so that names have their rows.
    """

    name: ClassVar[str] = "rank-diagram"
    title: ClassVar[str] = "mean ranks of methods, those that are alike joined"
    reads: ClassVar = {name: kind for name, kind in SCORED.items() if name != "images"}

    test: Test = field(
        default="paired",
        metadata={"help": "what tells two apart: paired (by draw) or nemenyi (by mean rank)"},
    )
    metric: Metric = field(default="map", metadata={"help": "what is averaged over draws"})

    def draw(self, table: pa.Table) -> Drawing:
        limit, runs = self.at_budget(table)
        found = ranks(runs, test=self.test, metric=self.metric, asker=self.name)
        height = 1.9 + _ROW * len(found.methods) + (0.3 if found.distance else 0)
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
        joined = found.alike or ()
        ratios = [3.2, max(1.0, 0.075 * len(joined))]
        left, right = drawing.subplots(1, 2, sharey=True, width_ratios=ratios)
        _places(left, found)
        _bars(right, found, joined)
        heading(drawing, _title(limit, runs))
        caption(drawing, _note(found), _tested(found))
        return drawing


def _places(axes: Axes, found: Ranks) -> None:
    k = len(found.methods)
    for row, method in enumerate(found.methods):
        style = look(method, found.methods)
        for means in found.by_scheme.values():
            axes.plot([means[method]] * 2, [row - 0.22, row + 0.22], color=PALE, linewidth=1.1)
        marker = {**style.line(), "linestyle": "none", "markersize": 8.5}
        axes.plot([found.mean[method]], [row], zorder=3, **marker)
    axes.set_xlim(0.6, k + 0.4)
    axes.set_ylim(k - 0.4, -0.6 - (1.1 if found.distance else 0))
    axes.set_yticks(
        range(k),
        [f"{cut(label(name), 48)}   {found.mean[name]:.1f}" for name in found.methods],
        fontsize=10,
    )
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="x")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"mean rank, 1 is the best of {k}")
    if found.distance:
        ends = [1, 1 + min(found.distance, k - 1)]
        axes.plot(ends, [-0.95] * 2, color=INK, linewidth=1.2, marker="|", markersize=8)
        text = f"critical difference {found.distance:.2f}"
        axes.text(ends[1] + 0.02 * k, -0.95, text, va="center", fontsize=9)


def _bars(axes: Axes, found: Ranks, joined: tuple[tuple[str, ...], ...]) -> None:
    """A column for each group: a bar from its first to its last method, a dot at each member."""
    small = len(joined) > 12
    for column, group in enumerate(joined):
        rows = [found.methods.index(name) for name in group]
        axes.plot([column] * 2, [rows[0], rows[-1]], color=INK, linewidth=1.2 if small else 2.2)
        axes.plot([column] * len(rows), rows, "o", color=INK, markersize=3 if small else 5)
    axes.set_xlim(-0.8, max(len(joined), 4) - 0.2)
    axes.set_xticks([])
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.spines[:].set_visible(False)
    text = "cannot be\ntold apart" if joined else "all are\ntold apart"
    if found.alike is None:
        text = "one draw:\nno test"
    axes.set_xlabel(text, loc="left", color=INK if joined else PALE)


def _title(limit: Limit, runs: pa.Table) -> str:
    where = paid(limit, runs) if limit else "amounts as written, costs differ"
    return f"Which methods rank higher, over all schemes ({where})"


def _note(found: Ranks) -> str:
    schemes, draws = len(found.by_scheme), found.draws
    out = f"Marker: mean rank by mAP on the test split over {_number(found.blocks, 'block')}"
    out += f" ({_number(schemes, 'scheme')}, {_number(draws, 'draw')}"
    if found.copies:
        out += f"; {found.copies} more, with the same labels, do not count again"
    if found.left_out:
        out += f"; {found.left_out} left out, in which a method has no run"
    return out + "); grey ticks: under each scheme." if schemes > 1 else out + ")."


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"


def _tested(found: Ranks) -> str:
    if found.alike is None:
        return "One draw cannot tell which of them differ beyond noise."
    if found.distance:
        return (
            "Joined: mean ranks that differ by less than the critical difference (Nemenyi's test "
            f"at 5 % after Demsar 2006, {_number(found.blocks, 'block')} taken for independent; "
            "draws of several schemes share images, so it tells a little too much)."
        )
    kind = "paired t" if found.draws < BOOTSTRAP_FROM else "bootstrapped paired t"
    return (
        f"Joined: not told apart at 5 % by {kind} tests of mAP averaged over the schemes, draw by "
        "draw, with Holm's correction over all pairs."
    )
