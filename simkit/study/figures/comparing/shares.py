"""mAP by the share of labels that are known: a line for each method, dashes at the oracle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter

from simkit.errors import BadInput
from simkit.study.cells import is_full
from simkit.study.figures.direct import End, name_ends
from simkit.study.figures.looks import Look, look
from simkit.study.figures.previous import (
    INK,
    PALE,
    WIDTH,
    Figure,
    band,
    caption,
    fold,
    heading,
    label,
    register,
)

_WORDS = {"positives": "share of all present labels that is known", "labels": "share of all labels"}
Row = dict[str, Any]


@register
@dataclass(frozen=True)
class LabelShares(Figure):
    """Scores over the share that is known, a panel for each scheme; bands are 95 % over draws.

    Where the table has differences to a base, they stand beside the scores.
    Source: "Soft Exposure", Fig. 3.
    """

    name: ClassVar[str] = "label-shares"
    title: ClassVar[str] = "mAP by the share of labels that are known, beside the oracle"
    made_by: ClassVar[str] = "simkit.analysis.shares"
    reads: ClassVar = {
        "scheme": str, "method": str, "base": str | None, "reference": bool, "draws": int,
        **dict.fromkeys(("positives", "labels", "mean"), float),
        **dict.fromkeys(("low", "high", "gap", "gap_low", "gap_high"), float | None),
    }  # fmt: skip

    share: Literal["positives", "labels"] = field(
        default="positives", metadata={"help": "of present labels, or of all"}
    )
    score: str = field(default="mAP", metadata={"help": "how the score is called"})

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        oracles = [row for row in rows if row["reference"] and is_full(row["method"])]
        bought = [row for row in rows if not row["reference"]]
        if not bought:
            raise BadInput("label-shares: the table holds references alone; compare schemes too")
        schemes = list(dict.fromkeys(row["scheme"] for row in bought))
        every = list(dict.fromkeys(row["method"] for row in rows))
        base = next((row["base"] for row in bought if row["base"]), None)
        across = 2 if base or len(schemes) > 1 else 1
        panels = [(s, kind) for s in schemes for kind in (("mean", "gap") if base else ("mean",))]
        down = -(-len(panels) // across)
        drawing = Drawing(figsize=(WIDTH, 1.3 + 3.6 * down), layout="constrained")
        grid = drawing.subplots(down, across, sharey=not base, squeeze=False).ravel()
        drawn = []
        for axes, (scheme, kind) in zip(grid, panels, strict=False):
            mine = [row for row in bought if row["scheme"] == scheme and row[kind] is not None]
            ends = []
            for method in dict.fromkeys(row["method"] for row in mine):
                line = [row for row in mine if row["method"] == method]
                ends.append(_line(axes, line, self.share, kind, look(method, every)))
            if kind == "mean":
                _oracles(axes, oracles)
                axes.set_ylabel(f"{self.score} on the test split, points")
                axes.set_title(fold(scheme, 80 // across), loc="left", fontweight="bold")
            else:
                axes.axhline(0, color=INK, linewidth=0.9)
                axes.set_title(f"difference to {label(base or '')}", loc="left")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.3g}%"))
            axes.set_xlabel(_WORDS[self.share])
            if kind == "gap" or not base:
                drawn.append((axes, ends))
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        heading(drawing, f"What more labels buy: {self.score} by the share that is known")
        caption(drawing, _note(bought, oracles, base))
        name_ends(drawing, drawn, size=8.5, letters=18 if across > 1 else 36)
        return drawing


def _line(axes: Axes, rows: list[Row], share: str, kind: str, style: Look) -> End:
    """kind: "mean" or "gap".  Returns where it ends."""
    rows = sorted(rows, key=lambda row: float(row[share]))
    x, means = [row[share] for row in rows], [100 * row[kind] for row in rows]
    axes.plot(x, means, **{**style.line(), "markersize": 5, "linewidth": 1.5})
    low, high = ("low", "high") if kind == "mean" else ("gap_low", "gap_high")
    band(axes, x, rows, style.color, low, high)
    return label(rows[0]["method"]), x[-1], means[-1], style.color


def _oracles(axes: Axes, oracles: list[Row]) -> None:
    for row in oracles:
        axes.axhline(100 * row["mean"], color=PALE, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"{label(row['method'])}: {100 * row['mean']:.1f}",
            (0, 100 * row["mean"]), xycoords=("axes fraction", "data"),
            xytext=(4, 3), textcoords="offset points", color="#555555", fontsize=8.5,
        )  # fmt: skip


def _note(bought: list[Row], oracles: list[Row], base: str | None) -> str:
    most = max(row["draws"] for row in bought)
    note = "One draw: no bands." if most < 2 else f"Bands: 95 % over {most} draws."
    note += " Dashed: everything labelled." if oracles else ""
    paired = f" Right: {label(base)} is 0, paired by draw." if base else ""
    return note + paired
