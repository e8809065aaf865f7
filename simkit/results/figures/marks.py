"""Marks on axes: lines, points, bars, cells and images; and the formats of axes.

A mark draws rows of a table; `look.name` is its name in the legend, and `style` holds properties of
matplotlib that differ from the look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from simkit.results.figures.base import split
from simkit.results.figures.style import INK, PALE, Look, fold, looks, power, text_width

Style = Mapping[str, Any]
PLAIN: Style = MappingProxyType({})
Band = tuple[str, str]  # columns with the ends of an interval
BAND: Band = ("low", "high")  # of tables of means over draws
_ACROSS: tuple[Any, ...] = ((0, (1, 1.5)), (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (9, 3)))
_WIDE = 20  # ratio of the largest to the smallest number from which on an axis is logarithmic


def line(
    axes: Axes, rows: pd.DataFrame, x: str, y: str, look: Look, *, band: Band | None = None,
    style: Style = PLAIN,
) -> None:  # fmt: skip
    """Column y over column x with up to 8 markers, and the intervals of `band` shaded.

    Missing numbers are gaps. The interval of a single point is a bar. Counts, such as epochs and
    ranks, have integer ticks.
    """
    rows = rows.sort_values(x)
    if rows[x].dtype.kind == "i":
        whole_numbers(axes.xaxis)
    every = max(1, len(rows) // 8)
    axes.plot(rows[x], rows[y], **{**look.line(), "markevery": every, **style})
    if band is None:
        return
    bounded = rows.dropna(subset=list(band))
    if len(bounded) == 1:
        axes.vlines(bounded[x], bounded[band[0]], bounded[band[1]], color=look.color, linewidth=1.4)
    elif len(bounded):
        low, high = rows[band[0]].astype(float), rows[band[1]].astype(float)
        axes.fill_between(rows[x], low, high, color=look.color, alpha=0.13, linewidth=0)


def lines(
    axes: Axes, table: pd.DataFrame, x: str, y: str, looks: Mapping[Any, Look], *,
    by: str = "method", band: Band | None = None, style: Style = PLAIN,
) -> None:  # fmt: skip
    """A line for each value of the column `by` that has a look, in the order of the looks."""
    groups = split(table, by)
    for value, look in looks.items():
        if value in groups:
            line(axes, groups[value], x, y, look, band=band, style=style)


def points(
    axes: Axes, rows: pd.DataFrame, x: str, y: str, look: Look, *, xband: Band | None = None,
    yband: Band | None = None, style: Style = PLAIN,
) -> None:  # fmt: skip
    """A marker for each row, with its intervals along x and y, if it has any."""
    bar: dict[str, Any] = {"color": look.color, "linewidth": 1.2, "zorder": 2}
    if xband:
        axes.hlines(rows[y], rows[xband[0]], rows[xband[1]], **bar)
    if yband:
        axes.vlines(rows[x], rows[yband[0]], rows[yband[1]], **bar)
    axes.plot(rows[x], rows[y], **{**look.line(), "linestyle": "none", "zorder": 3, **style})


def pairs(axes: Axes, rows: pd.DataFrame) -> None:
    """A marker for each method at its columns mean and mean_y, with both intervals."""
    ends = {"xband": BAND, "yband": ("low_y", "high_y")}
    large = {"markersize": 9}
    for method, look in looks(rows["method"]).items():
        points(axes, rows[rows["method"] == method], "mean", "mean_y", look, **ends, style=large)


def across(axes: Axes, names: Iterable[str], heights: Iterable[float]) -> None:
    """A horizontal line through the panel for each name, such as the scores of complete labels."""
    for place, (name, height) in enumerate(zip(names, heights, strict=True)):
        dashes = _ACROSS[place % len(_ACROSS)]
        axes.axhline(height, color=PALE, linewidth=1.2, linestyle=dashes, zorder=1, label=name)


def dodge(place: int, count: int, room: float = 0.5) -> float:
    """Offset of one of `count` marks at the same position of an axis."""
    return room * ((place + 0.5) / count - 0.5)


def stacked(
    axes: Axes, places: Any, parts: Mapping[str, tuple[ArrayLike, dict[str, Any]]], *,
    across: bool = False, style: Style = PLAIN,
) -> None:  # fmt: skip
    """Stacked bars: for each name of `parts` the sizes at all positions, and their style.

    across: horizontal bars.
    """
    base = np.zeros(len(places))
    draw, start = (axes.barh, "left") if across else (axes.bar, "bottom")
    for name, (sizes, own_style) in parts.items():
        size = np.asarray(sizes, float)
        draw(places, size, label=name, **{start: base, **style, **own_style})
        base = base + size


def cells(
    axes: Axes, colors: Sequence[Sequence[Any]], texts: Sequence[Sequence[str]] = (), *,
    size: float = 9, weight: str = "bold",
) -> None:  # fmt: skip
    """A coloured rectangle for each cell, in rows from the top, with readable text."""
    for y, row in enumerate(colors):
        for x, color in enumerate(row):
            axes.add_patch(Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, color=color, linewidth=0))
    for y, row in enumerate(texts):
        for x, text in enumerate(row):
            light = np.dot(to_rgb(colors[y][x]), (0.299, 0.587, 0.114)) > 0.55
            place: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontweight": weight}
            axes.text(x, y, text, color=INK if light else "white", fontsize=size, **place)
    bare(axes)
    axes.set_xlim(-0.5, max(map(len, colors)) - 0.5)
    axes.set_ylim(len(colors) - 0.5, -0.5)


def picture(axes: Axes, image: ArrayLike | None = None, style: Style = PLAIN) -> None:
    """An image or a map without axes, at the top of its panel; None: an empty panel."""
    bare(axes)
    axes.set(xticks=[], yticks=[])
    axes.set_anchor("N")
    if image is not None:
        axes.imshow(np.asarray(image), **style)


def boxes(axes: Axes, corners: Iterable[Sequence[float]]) -> None:
    """Frames around objects at x0, y0, x1, y1, visible on light and on dark."""
    for x0, y0, x1, y1 in corners:
        for color, width in ((INK, 2.6), ("white", 1.2)):
            axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, ec=color, lw=width))


def scale(drawing: Drawing, axes: Axes, shades: Any, text: str, named: Callable[..., str]) -> None:
    """A colour bar beside the axes. shades: a ScalarMappable; named: labels of its ticks."""
    bar = drawing.colorbar(shades, ax=axes, pad=0.01, aspect=28)
    _ticks(bar.ax.yaxis, _LogTicks() if isinstance(shades.norm, LogNorm) else None, named)
    bar.set_label(text)
    bar.outline.set_visible(False)


# --- axes -----------------------------------------------------------------------------------------


def bare(axes: Axes) -> None:
    """Remove grid, frame and tick marks."""
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def row_names(
    axes: Axes, names: Sequence[str], *, right: Sequence[str] = (), lines: int = 1,
    size: float = 9, room: float = 2.4,
) -> list[Any]:  # fmt: skip
    """Rows from the top: a name for each in lines of `room` inches, and a text on the right.

    Returns the artists of the names, or those of the texts on the right if there are any.
    """
    axes.set_ylim(len(names) - 0.4, -0.6)
    shown = [fold(name, room, size=size, lines=lines) for name in names]
    axes.set_yticks(range(len(names)), shown, fontsize=size)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    if not right:
        return list(axes.get_yticklabels())
    side = axes.secondary_yaxis("right")
    side.set_yticks(range(len(right)), list(right), fontsize=size)
    side.tick_params(length=0)
    side.spines["right"].set_visible(False)
    return list(side.get_yticklabels())


def column_names(axes: Axes, names: Sequence[str]) -> None:
    """Names below columns at 0, 1, 2 ..., wrapped to fit."""
    drawing: Any = axes.get_figure(root=True)
    room = axes.get_position().width * drawing.get_figwidth() / len(names) - 0.1
    axes.set_xticks(range(len(names)), [fold(name, room, lines=3) for name in names])
    axes.set_xlim(-0.5, len(names) - 0.5)


def whole_numbers(axis: Axis) -> None:
    """Integer ticks, for counts such as epochs and ranks."""
    axis.set_major_locator(MaxNLocator(integer=True))


def score_limits(axes: Axes) -> None:
    """Limits of y for the scores only: intervals over few draws may be very wide."""
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, 0), min(high, 100.5))


def percent(axis: Axis) -> None:
    """Shares from 0 to 1 in percent."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))


def _ticks(axis: Axis, locator: Locator | None, named: Callable[[float], str]) -> None:
    """Major ticks alone, at the places of the locator, and their labels."""
    if locator is not None:
        axis.set_major_locator(locator)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: named(value)))


def log_axis(axes: Axes, which: Literal["x", "y"], named: Callable[[float], str] = power) -> None:
    """Make x or y logarithmic, with up to 7 ticks in plain numbers."""
    axes.set(**{f"{which}scale": "log"})
    _ticks(axes.xaxis if which == "x" else axes.yaxis, _LogTicks(), named)


def ticks_at(
    axes: Axes, values: Iterable[float], named: Callable[[float], str] = "{:g}".format
) -> None:
    """Ticks along x at these values, as far as they fit, with priority for the first.

    The axis is logarithmic if the largest value is at least 20 times the smallest.
    """
    values = list(dict.fromkeys(values))
    if max(values) >= _WIDE * min(values) > 0:
        axes.set_xscale("log")
    _ticks(axes.xaxis, _TicksAt(values, named), named)


def log_percent(axes: Axes) -> None:
    """Make x logarithmic, with shares from 0.01 % to 100 % as ticks, as far as they fit."""
    axes.set_xscale("log")
    shares = [step * 10.0**power for step in (1, 2, 5) for power in (-4, -3, -2, -1, 0)]
    ticks_at(axes, shares, named=lambda share: f"{100 * share:g}%")


class _LogTicks(Locator):
    """Round numbers: 1, 2, 5 of every power of ten, more of them on a short axis."""

    axis: Any

    def __call__(self) -> Any:
        low, high = sorted(max(end, 1e-300) for end in self.axis.get_view_interval())
        powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        short = ((tuple(range(1, 10)), 1), ((1, 2, 5), 1), ((1, 3), 1))
        for steps, every in (*short, *(((1,), n) for n in range(1, 99))):
            ticks = np.ravel(np.outer(10.0 ** powers[powers % every == 0], steps))
            ticks = ticks[(low <= ticks * (1 + 1e-9)) & (ticks <= high * (1 + 1e-9))]
            if len(ticks) <= 7:
                break
        return ticks


@dataclass
class _TicksAt(Locator):
    """Ticks at these values as far as they fit, with priority for the first."""

    values: Sequence[float]
    named: Callable[[float], str]
    axis: Any = None

    def __call__(self) -> list[float]:
        axes = self.axis.axes
        dpi = axes.get_figure(root=True).dpi
        places = axes.get_xaxis_transform().transform([(value, 0) for value in self.values])[:, 0]
        kept: dict[float, tuple[float, float]] = {}  # centre and half the width of each text
        for value, place in zip(self.values, places / dpi, strict=True):
            half = text_width(self.named(value)) / 2 + 0.04
            if all(abs(place - other) >= half + wide for other, wide in kept.values()):
                kept[value] = place, half
        return list(kept)
