"""The figure of a plan: mAP over dollars of label options, and the chosen purchase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simkit import quantities
from simkit.results.report import LETTERS, clean, dollars, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 5  # lines in the figure
_ROW = 16  # height of a line of text, in pixels
# Colours of lines and of words, and dashes for prints in grey; the first is that of the choice.
_STYLES: tuple[tuple[str, str, Any], ...] = (
    ("#0072B2", "#0072B2", "-"),
    ("#E69F00", "#7d5600", (0, (6, 2))),
    ("#009E73", "#00664a", (0, (2, 2))),
    ("#CC79A7", "#8a3f68", (0, (6, 2, 1, 2))),
    ("#999999", "#5a5a5a", (0, (1, 1))),
)
_PAPER = {"facecolor": "white", "alpha": 0.8, "lw": 0, "pad": 1}


_LEFT, _TOP = 38, 44  # margins


def _frame(names: int, narrow: bool) -> tuple[int, int, int, int]:
    """Width and height of the figure, and its margins at the right and below, in pixels: lines are
    named at the right, on phones below."""
    below = 64 + 20 * names
    return (358, 270 + below, 12, below) if narrow else (600, 372, 202, 50)


Mark = tuple[float, float]  # a point of the figure: dollars, and mAP from 0 to 1


@dataclass(frozen=True)
class CurveSeries:
    """Expected mAP (0 to 1) over dollars, with its 90 % band."""

    label: str
    dollars: tuple[float, ...]
    median: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    chosen: bool = False


@dataclass(frozen=True)
class Chart:
    """The figure: lines, the chosen purchase, budget and target, alternative text and a note.

    today: mAP of the labels so far.
    """

    lines: tuple[CurveSeries, ...]
    chosen: Mark
    budget: float | None  # None: drawn by a slider
    alt: str
    target: float | None = None
    today: float | None = None
    note: str = ""
    instead: float | None = None  # mAP at hand, where nothing is bought

    def figure(self, *, narrow: bool = False) -> Figure:
        """mAP in points over dollars on a log axis, for at most five lines, the chosen ones first.

        Parameters
        ----------
        narrow : bool
            For phones: 358 instead of 600 pixels wide, with letters of the same size.

        Returns
        -------
        matplotlib.figure.Figure
            Artists carry labels: "band", "chosen", "budget", "target", "today" and "median: ...".
        """
        from matplotlib.figure import Figure

        lines = sorted(self.lines, key=lambda line: not line.chosen)[:_MOST]
        width, height, right, bottom = _frame(len(lines), narrow)
        with look():
            drawn = Figure(figsize=(width / 72, height / 72), dpi=72)
            axes = drawn.add_axes((
                _LEFT / width, bottom / height, 1 - (_LEFT + right) / width,
                1 - (_TOP + bottom) / height,
            ))  # fmt: skip
            styles = _STYLES if lines and lines[0].chosen else _STYLES[1:]
            for line, (colour, _, dashes) in zip(lines, styles, strict=False):
                thick, order = (3.2, 4) if line.chosen else (1.8, 3)
                low, median, high = (100 * np.array(y) for y in (line.low, line.median, line.high))
                if line.chosen and line.low:
                    axes.fill_between(line.dollars, low, high, color=colour, alpha=0.18, lw=0,
                                      label="band")  # fmt: skip
                axes.plot(line.dollars, median, color=colour, ls=dashes, lw=thick, zorder=order,
                          label=f"median: {line.label}")  # fmt: skip
            _rulers(axes, self)
            _name_lines(axes, [*zip(lines, styles, strict=False)], narrow)
        return drawn


def _rulers(axes: Axes, chart: Chart) -> None:
    """The chosen purchase, budget, target, mAP of today, and both axes."""
    from simkit.results.figures.marks import ticks_at
    from simkit.results.figures.style import INK

    spent, map = chart.chosen[0], 100 * chart.chosen[1]
    if chart.instead is None:
        axes.plot(spent, map, "D", ms=11, mfc="white", mec=_STYLES[0][0], mew=3, zorder=6,
                  label="chosen", clip_on=False)  # fmt: skip
    if chart.budget is not None:
        axes.axvline(chart.budget, color=INK, lw=1, zorder=2, label="budget")
    for name, value, dashes in (("target", chart.target, (4, 3)), ("today", chart.today, (1, 2))):
        if value is None:
            continue
        axes.axhline(100 * value, color=INK, lw=1, ls=(0, dashes), zorder=2, label=name)
        axes.annotate(f"{name} {100 * value:.3g}", (0, 100 * value), xytext=(3, -2), va="top",
                      xycoords=("axes fraction", "data"), textcoords="offset points",
                      bbox=_PAPER)  # fmt: skip
    axes.set_xscale("log")
    axes.margins(x=0.04, y=0.06)
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, 0.0), min(high, 100.0))
    ticks_at(axes, [step * 10.0**d for step in (1, 3, 2, 5) for d in range(-2, 9)],
             named=quantities.short_money)  # fmt: skip
    axes.locator_params(axis="y", nbins=6, integer=True)
    axes.set_xlabel("dollars (log scale)")
    axes.annotate("mAP on new images, points", (0, 1), xytext=(-30, 4 + _ROW), va="bottom",
                  xycoords="axes fraction", textcoords="offset points")  # fmt: skip
    # Positions are fractions of the width and height of the axes.
    (place, _), (x, y) = axes.transAxes.inverted().transform(
        axes.transData.transform([(chart.budget or spent, low), (spent, map)])
    )
    if chart.budget is not None:
        axes.annotate(f"budget {dollars(chart.budget)}", (place, 1), xytext=(0, 3),
                      xycoords="axes fraction", textcoords="offset points",
                      ha="right" if place > 0.5 else "left", va="bottom")  # fmt: skip
    left, above = x > 0.5, y < 0.8  # above its line where there is room
    label = axes.annotate(marked_as(chart.chosen, chart.instead), (spent, map),
                          xytext=(-10 if left else 10, 10 if above else -10), zorder=7,
                          textcoords="offset points", weight="bold", color=_STYLES[0][0],
                          bbox=_PAPER, ha="right" if left else "left",
                          va="bottom" if above else "top")  # fmt: skip
    room, box = axes.get_window_extent(), label.get_window_extent()
    if not room.x0 <= box.x0 < box.x1 <= room.x1:  # long amounts; a point is a pixel
        aside = max(room.x0 - box.x0, min(0, room.x1 - box.x1))
        label.xyann = (label.xyann[0] + aside, label.xyann[1])


def marked_as(mark: Mark, instead: float | None = None) -> str:
    """Price and mAP of a purchase in the figure; or the mAP at hand, where nothing is bought."""
    if instead is not None:
        return f"nothing: {100 * instead:.1f} mAP"
    return f"{dollars(mark[0])}: {100 * mark[1]:.1f} mAP"


def _name_lines(axes: Axes, lines: list[tuple[CurveSeries, Any]], narrow: bool) -> None:
    """Names in the order of the ends of their lines."""
    from simkit.results.figures.style import fold

    lines = sorted(lines, key=lambda line: -line[0].median[-1])
    by_label = {artist.get_label(): artist for artist in axes.lines}
    room, rows, size = (290, 1, LETTERS) if narrow else (156, 3, LETTERS - 1)
    legend = axes.legend(
        [by_label[f"median: {line.label}"] for line, _ in lines],
        [fold(clean(line.label), room / 72, size=size, lines=rows,
              weight="bold" if line.chosen else "normal") for line, _ in lines],
        loc="upper left" if narrow else "center left", borderaxespad=0, frameon=False,
        bbox_to_anchor=(-0.08, -0.25) if narrow else (1.03, 0.5), handlelength=1.6,
        handletextpad=0.4, labelspacing=0.3 if narrow else 0.7, fontsize=size,
    )  # fmt: skip
    for text, (line, (_, dark, _)) in zip(legend.get_texts(), lines, strict=True):
        text.set(color=dark, weight="bold" if line.chosen else "normal")
