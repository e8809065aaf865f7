"""Accuracy over money: a panel for each scheme (or method), a line for each method (or scheme)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from simkit.errors import BadInput
from simkit.study.figures.base import PALE, WIDTH, Look, house_style, label, look, register
from simkit.study.summary import Cell, lines, money, references

_COLUMNS = 3
_SCHEME_LOOKS = [
    ("#0072B2", "o"),
    ("#E69F00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#D55E00", "v"),
    ("#56B4E9", "P"),
    ("#7A5195", "X"),
    ("#4D4D4D", "h"),
]


@register
@dataclass(frozen=True)
class CostCurve:
    """mAP over dollars on a log axis; bands are 95 % intervals over draws."""

    name: ClassVar[str] = "cost-curve"
    title: ClassVar[str] = "mAP over dollars, one panel per scheme or method"

    panels: Literal["scheme", "method"] = field(
        default="scheme", metadata={"help": "what has a panel of its own: scheme or method"}
    )
    metric: str = field(default="map", metadata={"help": "map, map_all or map_o"})

    def __call__(self, table: pa.Table) -> Drawing:
        cells = [cell for line in lines(table, metric=self.metric) for cell in line.cells]
        if not cells:
            raise BadInput("cost-curve: the table holds no runs; run a comparison first")
        whole = references(table, metric=self.metric)
        panels = list(dict.fromkeys(_group(cell, self.panels) for cell in cells))
        columns = min(_COLUMNS, len(panels))
        rows = -(-len(panels) // columns)
        with house_style():
            drawing = Drawing(figsize=(WIDTH, 1.3 + 2.5 * rows), layout="constrained")
            grid = drawing.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
            for axes, panel in zip(grid, panels, strict=False):
                self._panel(
                    axes, [c for c in cells if _group(c, self.panels) == panel], cells, whole
                )
                axes.set_title(_shown(panel, self.panels), loc="left", fontweight="bold")
            _outside(drawing, list(grid), len(panels), columns)
        return drawing

    def _panel(self, axes: Axes, shown: list[Cell], cells: list[Cell], whole: list[Cell]) -> None:
        other = "method" if self.panels == "scheme" else "scheme"
        names = list(dict.fromkeys(_group(cell, other) for cell in cells))
        for name in names:
            mine = sorted((c for c in shown if _group(c, other) == name), key=lambda c: c.dollars)
            style = look(name) if other == "method" else _scheme_look(names, name)
            _line(axes, mine, _shown(name, other), style)
        for cell in whole:
            axes.axhline(
                100 * cell.score.mean,
                color=PALE,
                linewidth=1.2,
                linestyle=(0, (5, 2)) if "+" in cell.method else (0, (1, 1.5)),
                zorder=1,
                label=f"{label(cell.method)}, {money(cell.dollars)}",
            )
        axes.set_xscale("log")
        axes.margins(x=0.08)
        # Ticks stand at the budgets themselves: those are the numbers a reader knows.
        spent = sorted({round(c.limit.dollars or c.dollars, 2) for c in cells})
        if len(spent) <= 6:
            axes.xaxis.set_major_locator(FixedLocator(spent))
            axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: money(x)))


def _group(cell: Cell, by: str) -> str:
    """What a line or panel is about; amounts as written make one curve of each scheme."""
    if by == "method":
        return cell.method
    return cell.scheme.partition("(")[0] if not cell.limit else cell.scheme


def _shown(name: str, kind: str) -> str:
    return label(name) if kind == "method" else name


def _line(axes: Axes, cells: list[Cell], name: str, style: Look) -> None:
    x = [cell.dollars for cell in cells]
    axes.plot(x, [100 * cell.score.mean for cell in cells], label=name, **style.line())
    known = [c for c in cells if c.score.low is not None and c.score.high is not None]
    if known:
        axes.fill_between(
            [c.dollars for c in known],
            [100 * c.score.low for c in known],  # type: ignore[operator]
            [100 * c.score.high for c in known],  # type: ignore[operator]
            color=style.color,
            alpha=0.13,
            linewidth=0,
        )


def _outside(drawing: Drawing, grid: list[Axes], panels: int, columns: int) -> None:
    handles: dict[str, Any] = {}
    for place, axes in enumerate(grid[:panels]):
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
        if place + columns >= panels:  # the lowest of its column
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("dollars of annotation, log axis")
    for axes in grid[panels:]:
        axes.set_axis_off()
    given = (list(handles.values()), list(handles))
    if panels < len(grid):  # an empty place is where a reader looks for the legend
        grid[panels].legend(*given, loc="center", fontsize=10.5, handlelength=3, labelspacing=0.9)
    else:
        drawing.legend(
            *given, loc="outside lower center", ncols=min(4, len(handles)), handlelength=3
        )
    drawing.supylabel("mAP on the test split, points", fontsize=10)
    drawing.suptitle(
        "What more annotation buys (bands: 95 % over draws)",
        x=0.01,
        ha="left",
        fontsize=13,
        fontweight="bold",
    )


def _scheme_look(names: list[str], name: str) -> Look:
    color, marker = _SCHEME_LOOKS[names.index(name) % len(_SCHEME_LOOKS)]
    return Look(color, marker, "-", False)
