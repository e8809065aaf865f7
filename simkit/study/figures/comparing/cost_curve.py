"""Accuracy over money: a panel for each scheme (or method), a line for each method (or scheme)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from simkit.errors import BadInput
from simkit.study.analysis.comparing.chosen import Methods, some_methods
from simkit.study.cells import Cell, references
from simkit.study.figures.looks import Look, look
from simkit.study.figures.options import SCORED, scored, some
from simkit.study.figures.previous import (
    PALE,
    WIDTH,
    Figure,
    Metric,
    caption,
    columns,
    fold,
    heading,
    label,
    legend_below,
    not_shown,
    register,
)
from simkit.study.limit import money

Over = Literal["auto", "dollars", "hours"]
_UNITS = {"dollars": "dollars of annotation", "hours": "hours of annotation"}
_COLUMNS = 3
_BESIDE, _LETTERS = 10, 30  # names that an empty place has room for, and their length
_DASHES: tuple[Any, ...] = ((0, (1, 1.5)), (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (9, 3)))
_COLOURS = "#0072B2 #E69F00 #009E73 #CC79A7 #D55E00 #56B4E9 #7A5195 #4D4D4D"
_SCHEME_LOOKS = list(zip(_COLOURS.split(), "os^DvPXh", strict=True))  # with marks


@register
@dataclass(frozen=True)
class CostCurve(Figure):
    """mAP over dollars, or hours, on a log axis; bands are 95 % intervals over draws."""

    name: ClassVar[str] = "cost-curve"
    title: ClassVar[str] = "mAP over dollars, one panel per scheme or method"
    made_by: ClassVar[str] = "simkit.study.runs.table"
    reads: ClassVar = {**SCORED, "dollars": float, "images": int}
    of_runs: ClassVar[bool] = True

    panels: Literal["scheme", "method"] = field(
        default="scheme", metadata={"help": "what has a panel of its own: scheme or method"}
    )
    over: Over = field(
        default="auto",
        metadata={"help": "dollars, hours, or auto: hours where all budgets are in hours"},
    )
    metric: Metric = field(default="map", metadata={"help": "what is averaged over draws"})
    methods: Methods = some("eight")

    def draw(self, table: pa.Table) -> Drawing:
        runs = table.filter(pc.invert(table["reference"]))
        if not len(runs):
            raise BadInput("cost-curve: the table holds no runs; run a comparison first")
        every = runs["method"].unique().to_pylist()
        asked: dict[str, Any] = {"wanted": self.methods, "metric": self.metric}
        methods = some_methods(runs, most=8, asker=self.name, **asked)
        shown = runs.filter(pc.is_in(runs["method"], pa.array(methods, pa.string())))
        cells = [c for line in scored(shown, self.metric, asker=self.name) for c in line.cells]
        whole = references(table, metric=self.metric)
        over = self._over(cells)
        panels = list(dict.fromkeys(_group(cell, self.panels) for cell in cells))
        across = min(_COLUMNS, len(panels))
        rows = -(-len(panels) // across)
        styles = self._styles(cells, every)
        names = [_shown(name, self._other) for name in styles]
        names += [_full(cell, over) for cell in whole]
        beside = len(names) <= _BESIDE and max(map(len, names)) <= _LETTERS
        below = len(panels) == rows * across or not beside
        height = 1.3 + 2.5 * rows + (0.22 * -(-len(names) // columns(names)) if below else 0)
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
        grid = drawing.subplots(rows, across, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            mine = [c for c in cells if _group(c, self.panels) == panel]
            self._panel(axes, mine, styles, whole, over)
            _ticks(axes, cells, over, across)
            title = fold(_shown(panel, self.panels), 80 // across, 3)
            axes.set_title(title, loc="left", fontweight="bold")
        if left := not_shown(len(every) - len(methods)):
            caption(drawing, left)
        _outside(drawing, list(grid), len(panels), below)
        for axes in grid[max(len(panels) - across, 0) : len(panels)]:  # lowest of a column
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(f"{_UNITS[over]}, log axis")
        return drawing

    @property
    def _other(self) -> str:
        """What has a line of its own."""
        return "method" if self.panels == "scheme" else "scheme"

    def _over(self, cells: list[Cell]) -> Over:
        """What the axis is about. Raises BadInput for hours that are not known."""
        over = self.over
        if over == "auto":
            over = "hours" if all(cell.limit.hours for cell in cells) else "dollars"
        if over == "hours" and any(cell.hours is None for cell in cells):
            raise BadInput(
                "cost-curve: the price list does not know the time of some labels; draw over "
                "dollars"
            )
        return over

    def _styles(self, cells: list[Cell], every: list[str]) -> dict[str, Look]:
        names = list(dict.fromkeys(_group(cell, self._other) for cell in cells))
        if self._other == "method":
            return {name: look(name, every) for name in names}
        return {name: _scheme_look(place) for place, name in enumerate(names)}

    def _panel(
        self,
        axes: Axes,
        shown: list[Cell],
        styles: dict[str, Look],
        whole: list[Cell],
        over: Over,
    ) -> None:
        for name, style in styles.items():
            mine = [(_spent(c, over), c) for c in shown if _group(c, self._other) == name]
            _line(axes, sorted(mine, key=lambda pair: pair[0]), _shown(name, self._other), style)
        for place, cell in enumerate(whole):
            axes.axhline(
                100 * cell.score.mean,
                color=PALE,
                linewidth=1.2,
                linestyle=_DASHES[place % len(_DASHES)],
                zorder=1,
                label=_full(cell, over),
            )


def _group(cell: Cell, by: str) -> str:
    """What a line or panel is about; amounts as written make one curve of each scheme."""
    if by == "method":
        return cell.method
    return cell.scheme.partition("(")[0] if not cell.limit else cell.scheme


def _shown(name: str, kind: str) -> str:
    return label(name) if kind == "method" else name


def _full(cell: Cell, over: Over) -> str:
    return f"{label(cell.method)}, {_price(_spent(cell, over), over)}"


def _spent(cell: Cell, over: Over) -> float:
    return (cell.hours or 0.0) if over == "hours" else cell.dollars


def _price(value: float, over: Over) -> str:
    return f"{value:,.3g} h" if over == "hours" else money(value)


def _ticks(axes: Axes, cells: list[Cell], over: Over, across: int) -> None:
    """They stand at the budgets themselves where those are few: a reader knows these numbers."""
    axes.set_xscale("log")
    axes.margins(x=0.08)
    limit = (lambda c: c.limit.hours) if over == "hours" else (lambda c: c.limit.dollars)
    budgets = {limit(cell) for cell in cells if limit(cell)}
    others = {round(_spent(cell, over), 2) for cell in cells if not limit(cell)} - budgets
    wanted = [*sorted(budgets), *sorted(others)]
    spent = [v for v in (*(_spent(cell, over) for cell in cells), *wanted) if v > 0] or [1.0]
    if 0 < len(wanted) <= 6 and min(wanted) > 0:
        # Also where all of it is one budget, of which each scheme spends nearly all.
        axes.set_xlim(min(spent) / 1.12, max(spent) * 1.12)
    else:  # round numbers, powers of ten before others
        steps = (LogLocator(subs=(sub,)).tick_values(min(spent), max(spent)) for sub in (1, 5, 2))
        wanted = [value for values in steps for value in values]
    axes.xaxis.set_major_locator(FixedLocator(_apart(wanted, spent, over, across)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _price(x, over)))


def _apart(wanted: list[float], spent: list[float], over: Over, across: int) -> list[float]:
    """Those whose labels have room beside the ones before them."""
    letters = max(len(_price(value, over)) for value in wanted)
    panel = 72 * (WIDTH / across - 0.6)  # points, of which a letter takes up to 6.5
    room = (6.5 * letters + 6) / panel * math.log(1.3 * max(spent) / min(spent))
    found: list[float] = []
    for value in wanted:
        found += [value] if all(abs(math.log(value / v)) >= room for v in found) else []
    return sorted(found)


def _line(axes: Axes, mine: list[tuple[float, Cell]], name: str, style: Look) -> None:
    x = [spent for spent, _ in mine]
    axes.plot(x, [100 * cell.score.mean for _, cell in mine], label=name, **style.line())
    known = [
        (spent, 100 * cell.score.low, 100 * cell.score.high)
        for spent, cell in mine
        if cell.score.low is not None and cell.score.high is not None
    ]
    if len(known) == 1:  # a band about one point cannot be seen
        axes.plot([known[0][0]] * 2, known[0][1:], color=style.color, linewidth=1.2)
    elif known:
        axes.fill_between(
            [spent for spent, _, _ in known],
            [low for _, low, _ in known],
            [high for _, _, high in known],
            color=style.color,
            alpha=0.13,
            linewidth=0,
        )


def _outside(drawing: Drawing, grid: list[Axes], panels: int, below: bool) -> None:
    """The legend, in an empty place or below, and what is said once."""
    handles: dict[str, Any] = {}
    for axes in grid[:panels]:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    for axes in grid[panels:]:
        axes.set_axis_off()
    if below:
        legend_below(drawing, handles)
    else:  # an empty place is where a reader looks for the legend
        given = (list(handles.values()), list(handles))
        grid[panels].legend(*given, loc="center", fontsize=10.5, handlelength=3, labelspacing=0.9)
    drawing.supylabel("mAP on the test split, points", fontsize=10)
    heading(drawing, "What more annotation buys (bands: 95 % over draws)")


def _scheme_look(place: int) -> Look:
    again, place = divmod(place, len(_SCHEME_LOOKS))
    color, marker = _SCHEME_LOOKS[place]
    return Look(color, marker, ("-", "--", ":")[again % 3], ("full", "none", "left")[again % 3])
