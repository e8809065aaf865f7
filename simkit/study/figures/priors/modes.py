"""Ignore or negative: scores over the amount of labels, and the gap between two methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from simkit.errors import BadInput
from simkit.study.analysis.priors.modes import METRICS
from simkit.study.figures.looks import look
from simkit.study.figures.previous import (
    INK,
    WIDTH,
    Figure,
    band,
    caption,
    heading,
    label,
    legend_below,
    register,
)

_WIDE = 20  # the largest over the smallest amount from which on the axis is logarithmic
_SHARES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
_FAMILIES = [("#0072B2", "o", "-"), ("#D55E00", "s", "--"), ("#222222", "^", ":")]
Row = dict[str, Any]


@register
@dataclass(frozen=True)
class Modes(Figure):
    """A row of panels for each measure, a column for each kind of scheme, a line for each method.

    Bands are 95 % over draws. Schemes that stand in the table with one amount alone are left out.
    Source: Ben-Baruch et al., CVPR 2022, figures 6 and 10.
    """

    name: ClassVar[str] = "modes"
    title: ClassVar[str] = "Scores of methods over the amount of labels, by kind of scheme"
    made_by: ClassVar[str] = "simkit.study.analysis.priors.modes.modes"
    reads: ClassVar = {
        "family": str, "setting": str | None, "value": float | None, "measure": str, "method": str,
        "draws": int, "mean": float, "low": float | None, "high": float | None,
    }  # fmt: skip

    height: float = field(default=2.9, metadata={"help": "of a row of panels, in inches"})

    def draw(self, table: pa.Table) -> Drawing:
        rows = _several(table.to_pylist(), "modes")
        families = list(dict.fromkeys(row["family"] for row in rows))
        measures = list(dict.fromkeys(row["measure"] for row in rows))
        methods = list(dict.fromkeys(row["method"] for row in rows))
        size = (WIDTH, 1.5 + self.height * len(measures))
        drawing = Drawing(figsize=size, layout="constrained")
        given: dict[str, Any] = {"sharey": "row", "sharex": "col", "squeeze": False}
        grid = drawing.subplots(len(measures), len(families), **given)
        for down, measure in enumerate(measures):
            for across, family in enumerate(families):
                axes = grid[down][across]
                mine = [r for r in rows if (r["family"], r["measure"]) == (family, measure)]
                for method in methods:
                    style = look(method, methods).line()
                    _line(axes, [r for r in mine if r["method"] == method], "value", style)
                _axis(axes, mine)
                # An interval over few draws may end beyond what a score can be.
                axes.set_ylim(max(axes.get_ylim()[0], 0), min(axes.get_ylim()[1], 100.5))
                if not down:
                    axes.set_title(family, loc="left", fontweight="bold")
                if down == len(measures) - 1:
                    axes.set_xlabel(mine[0]["setting"])
            grid[down][0].set_ylabel(f"{_measure(measure)}, points")
        heading(drawing, "What unknown labels are taken for, over the amount of labels")
        caption(drawing, _bands(rows))
        lines = {label(m): Line2D([], [], **look(m, methods).line()) for m in methods}
        legend_below(drawing, lines)
        return drawing


@register
@dataclass(frozen=True)
class ModeGap(Figure):
    """What one method is ahead of another, over the share of labels that is known.

    A panel for each measure, a line for each kind of scheme; bands are 95 % over draws, paired.
    Source: Ben-Baruch et al., CVPR 2022, figure 6.
    """

    name: ClassVar[str] = "mode-gap"
    title: ClassVar[str] = "How far two methods are apart, over the share of known labels"
    made_by: ClassVar[str] = "simkit.study.analysis.priors.modes.mode_gaps"
    reads: ClassVar = {
        "family": str, "value": float | None, "known": float | None, "measure": str,
        "first": str, "second": str,
        "draws": int, "mean": float, "low": float | None, "high": float | None,
    }  # fmt: skip

    height: float = 3.6

    def draw(self, table: pa.Table) -> Drawing:
        rows = [row for row in table.to_pylist() if row["known"] is not None]
        rows = _several(rows, "mode-gap")
        families = list(dict.fromkeys(row["family"] for row in rows))
        measures = list(dict.fromkeys(row["measure"] for row in rows))
        first, second = rows[0]["first"], rows[0]["second"]
        styles = {family: _family(place) for place, family in enumerate(families)}
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        grid = drawing.subplots(1, len(measures), sharex=True, squeeze=False)[0]
        for axes, measure in zip(grid, measures, strict=True):
            for family, style in styles.items():
                mine = [r for r in rows if (r["family"], r["measure"]) == (family, measure)]
                _line(axes, mine, "known", style)
            axes.axhline(0, color=INK, linewidth=1)
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(FixedLocator(_SHARES))
            axes.xaxis.set_major_formatter(lambda at, _: f"{100 * at:g} %")
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xlabel("labels known, log axis")
            axes.set_title(_measure(measure), loc="left", fontweight="bold")
        grid[0].set_ylabel(f"{label(first)} minus {label(second)}, points")
        heading(drawing, f"{label(first)} against {label(second)}")
        caption(drawing, f"Above 0: {label(first)} is ahead. {_bands(rows)}")
        legend_below(drawing, {f: Line2D([], [], **style) for f, style in styles.items()})
        return drawing


def _several(rows: list[Row], asker: str) -> list[Row]:
    """Those of schemes with two amounts or more. Raises BadInput where there are none."""
    amounts: dict[str, set[float]] = {}
    for row in rows:
        if row["value"] is not None:
            amounts.setdefault(row["family"], set()).add(row["value"])
    kept = [row for row in rows if len(amounts.get(row["family"], ())) > 1]
    kept = [row for row in kept if row["value"] is not None]
    if not kept:
        raise BadInput(
            f"{asker}: no scheme stands in the table with two amounts; compare several, such as "
            "fpc(per_class=10) and fpc(per_class=100)"
        )
    return kept


def _line(axes: Axes, rows: list[Row], key: str, style: dict[str, Any]) -> None:
    rows = sorted(rows, key=lambda row: row[key])
    x = [row[key] for row in rows]
    axes.plot(x, [100 * row["mean"] for row in rows], **style)
    band(axes, x, rows, style["color"])


def _axis(axes: Axes, rows: list[Row]) -> None:
    values = sorted({row["value"] for row in rows})
    if values[-1] >= _WIDE * values[0] > 0:
        axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(values))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda at, _: f"{at:g}")


def _family(place: int) -> dict[str, Any]:
    color, marker, dashes = _FAMILIES[place % len(_FAMILIES)]
    return {"color": color, "marker": marker, "linestyle": dashes}


def _measure(name: str) -> str:
    return METRICS.get(name, f"AP of {name}")


def _bands(rows: list[Row]) -> str:
    most = max(row["draws"] for row in rows)
    return f"Bands: 95 % over {most} draws." if most > 1 else "One draw: no bands."
