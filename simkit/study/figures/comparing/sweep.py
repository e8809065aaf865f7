"""A setting at several values: a panel for each scheme (or method), lines for the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from simkit.study.figures.looks import Look, look
from simkit.study.figures.previous import (
    INK,
    WIDTH,
    Figure,
    band,
    caption,
    columns,
    ends_of,
    fold,
    heading,
    label,
    legend_below,
    register,
)
from simkit.study.runs import failures

_COLUMNS = 2
_WIDE = 20  # the largest over the smallest number from which on the axis is logarithmic
_RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 13,
    "markerfacecolor": "none",
    "markeredgecolor": INK,
}
Row = dict[str, Any]


@register
@dataclass(frozen=True)
class Sweep(Figure):
    """Scores over the values of a setting; bands are 95 % over draws, rings stand at defaults.

    The axis is logarithmic where the largest number is more than 20 times the smallest; values that
    are no numbers, and numbers of which one is 0 where it would be, stand side by side.
    Source: the sweeps of Large Loss Matters (Fig. 5), BoostLU, Class-aware Selective Loss and Soft
    Exposure (rebuttal).
    """

    name: ClassVar[str] = "sweep"
    title: ClassVar[str] = "mAP over the values of one setting, the default marked"
    made_by: ClassVar[str] = "simkit.analysis.sweep"
    reads: ClassVar = {
        "scheme": str, "method": str, "setting": str, "value": str, "number": float | None,
        "default": bool, "draws": int, "missing": int,
        "mean": float, "low": float | None, "high": float | None,
    }  # fmt: skip

    panels: Literal["scheme", "method"] = field(
        default="scheme", metadata={"help": "what has a panel of its own: scheme or method"}
    )
    score: str = field(default="mAP", metadata={"help": "how the score is called"})

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        values = _values(rows)
        panels = list(dict.fromkeys(row[self.panels] for row in rows))
        names = list(dict.fromkeys(row[self._other] for row in rows))
        styles = {name: look(name, names) for name in names}
        across = min(_COLUMNS, len(panels))
        down = -(-len(panels) // across)
        legend = len(names) > 1 or len(panels) == 1
        height = 1.6 + (3.1 if down == 1 else 2.5 * down)
        height += 0.22 * -(-len(names) // columns(names)) if legend else 0
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
        grid = drawing.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            mine = [row for row in rows if row[self.panels] == panel]
            for name, style in styles.items():
                _line(axes, [row for row in mine if row[self._other] == name], values, style)
            title = fold(self._named(panel, self.panels), 80 // across)
            axes.set_title(title, loc="left", fontweight="bold")
            _axis(axes, values)
        for place, axes in enumerate(grid):
            axes.set_visible(place < len(panels))
            if place + across >= len(panels):
                axes.tick_params(labelbottom=True)
                axes.set_xlabel(rows[0]["setting"] + (", log axis" if values.log else ""))
        drawing.supylabel(f"{self.score} on the test split, points", fontsize=10)
        heading(drawing, f"{self.score} over {rows[0]['setting']}")
        caption(drawing, *_note(table, rows))
        if legend:
            lines = {
                fold(self._named(n, self._other), 60): Line2D([], [], **style.line())
                for n, style in styles.items()
            }
            legend_below(drawing, lines)
        return drawing

    @property
    def _other(self) -> str:
        """What has a line of its own."""
        return "method" if self.panels == "scheme" else "scheme"

    @staticmethod
    def _named(name: str, kind: str) -> str:
        return label(name) if kind == "method" else name


@dataclass(frozen=True)
class _Values:
    """Where the values stand: at their numbers, on a log axis or not, or side by side."""

    places: dict[str, float]
    log: bool
    beside: bool


def _values(rows: list[Row]) -> _Values:
    numbers = {row["value"]: row["number"] for row in rows}
    known = [number for number in numbers.values() if number is not None]
    order = list(numbers)
    if len(known) == len(numbers):
        order.sort(key=lambda value: numbers[value])
        sizes = [abs(number) for number in known if number]
        wide = bool(sizes) and max(sizes) > _WIDE * min(sizes)
        if not wide or min(known) > 0:
            return _Values({value: numbers[value] for value in order}, wide, False)
    return _Values({value: float(place) for place, value in enumerate(order)}, False, True)


def _line(axes: Axes, rows: list[Row], values: _Values, style: Look) -> None:
    """The means with their band, a ring at the default."""
    rows = sorted(rows, key=lambda row: values.places[row["value"]])
    x = [values.places[row["value"]] for row in rows]
    drawn = style.line() | ({"linestyle": "none"} if _no_order(rows) else {})
    axes.plot(x, [100 * row["mean"] for row in rows], **drawn)
    known = [(at, *ends) for at, row in zip(x, rows, strict=True) if (ends := ends_of(row))]
    if known and (_no_order(rows) or len(known) == 1):
        at_all, low, high = zip(*known, strict=True)
        axes.vlines(at_all, low, high, color=style.color, linewidth=1.4)
    else:
        band(axes, x, rows, style.color)
    for at, row in zip(x, rows, strict=True):
        if row["default"]:
            axes.plot([at], [100 * row["mean"]], **_RING)


def _no_order(rows: list[Row]) -> bool:
    return any(row["number"] is None for row in rows)


def _axis(axes: Axes, values: _Values) -> None:
    places = values.places
    if values.beside:
        axes.set_xticks(list(places.values()), [fold(name, 14, 3) for name in places])
        axes.set_xlim(-0.5, len(places) - 0.5)
        return
    if values.log:
        axes.set_xscale("log")
    axes.margins(x=0.06)
    if len(places) <= 8:  # a reader looks for the values themselves
        axes.xaxis.set_major_locator(FixedLocator(list(places.values())))
        axes.xaxis.set_minor_locator(NullLocator())
        named = {number: text for text, number in places.items()}
        axes.xaxis.set_major_formatter(lambda at, _: named.get(at, ""))


def _note(table: pa.Table, rows: list[Row]) -> list[str]:
    most = max(row["draws"] for row in rows)
    note = "One draw: no bands." if most < 2 else f"Bands: 95 % over {most} draws."
    if most > 1 and _no_order(rows):
        note = f"Bars: 95 % over {most} draws."
    if any(row["default"] for row in rows):
        note += " Ring: the default."
    return [" ".join(filter(None, (note, left_out(table))))]


def left_out(table: pa.Table) -> str:
    """What an analysis of runs has to say of those that failed; nothing where none did."""
    missing, told = sum(table["missing"].to_pylist()), len(failures(table))
    if not missing and not told:
        return ""
    some = f"{missing} run{'s' if missing > 1 else ''} without a score left out" if missing else ""
    again = f"{told} failure{'s' if told > 1 else ''} of the comparison" if told else ""
    return f"Failed: {'; '.join(filter(None, (some, again)))}."
