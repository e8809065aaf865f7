"""When each kind of label reaches its highest loss, and how losses go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from simkit.study.figures.looks import Look
from simkit.study.figures.previous import (
    WIDTH,
    Figure,
    caption,
    fold,
    heading,
    label,
    legend_below,
    plain_log,
    register,
)

Middle = Literal["mean", "median"]
_LOOKS = {
    "true positive": Look("#009E73", "^", (0, (5, 2))),
    "true negative": Look("#0072B2", "o"),
    "false negative": Look("#D55E00", "s", (0, (1, 1.5)), "none"),
}


@register
@dataclass(frozen=True)
class Memorisation(Figure):
    """Above, loss over the epochs for each kind of label; below, when the highest loss was.

    A column for each method. Above stand the mean, or the median with the band between quartiles.
    Below, the share of labels whose loss had been at its highest by then: a curve that starts high
    is of labels that were learned from the first epoch on.
    """

    name: ClassVar[str] = "memorisation"
    title: ClassVar[str] = "When the loss of each kind of label is highest"
    made_by: ClassVar[str] = "simkit.study.analysis.learning.memorisation"
    reads: ClassVar = {
        "method": str, "kind": str, "epoch": int,
        **dict.fromkeys(("share", "mean", "low", "median", "high"), float),
    }  # fmt: skip

    middle: Middle = field(default="mean", metadata={"help": "of the losses: mean or median"})
    log: bool = field(default=False, metadata={"help": "losses on a log axis"})

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        methods = list(dict.fromkeys(row["method"] for row in rows))
        handles: dict[str, Any] = {}
        drawing = Drawing(figsize=(WIDTH, 5.6), layout="constrained")
        grid = drawing.subplots(2, len(methods), sharex=True, sharey="row", squeeze=False)
        for (losses, highest), method in zip(grid.T, methods, strict=True):
            for kind, style in _LOOKS.items():
                mine = [r for r in rows if (r["method"], r["kind"]) == (method, kind)]
                if mine:
                    named = f"{kind}s"
                    handles[named] = self._loss(losses, mine, style)
                    _reached(highest, mine, style)
            title = fold(label(method), 70 // len(methods), 2)
            losses.set_title(title, loc="left", fontweight="bold")
            highest.set_xlabel("epoch")
            highest.xaxis.set_major_locator(MaxNLocator(integer=True))
        grid[0, 0].set_ylabel(f"{self.middle} loss as absent\n(true positives: as present)")
        grid[1, 0].set_ylabel("labels past their\nhighest loss, %")
        grid[1, 0].set_ylim(-3, 103)
        if self.log:
            grid[0, 0].set_yscale("log")
            plain_log(grid[0, 0].yaxis)
        else:
            grid[0, 0].set_ylim(bottom=0)
        heading(drawing, "When is the loss of each kind of label highest?")
        band = "Bands: half of the labels. " if self.middle == "median" else ""
        caption(drawing, f"{band}Below: highest in this epoch or before; all start from 0.")
        legend_below(drawing, handles)
        return drawing

    def _loss(self, axes: Axes, rows: list[dict[str, Any]], style: Look) -> Any:
        epochs = [row["epoch"] for row in rows]
        if self.middle == "median":
            low, high = ([row[end] for row in rows] for end in ("low", "high"))
            axes.fill_between(epochs, low, high, color=style.color, alpha=0.13, linewidth=0)
        every = max(1, len(rows) // 8)
        (line,) = axes.plot(
            epochs, [row[self.middle] for row in rows], **style.line(), markevery=every
        )
        line.set_gid(rows[0]["kind"])
        return line


def _reached(axes: Axes, rows: list[dict[str, Any]], style: Look) -> None:
    """The share whose highest loss is past, epoch by epoch."""
    shares = [row["share"] for row in rows]
    reached = [100 * sum(shares[: place + 1]) for place in range(len(shares))]
    line = {**style.line(), "markevery": max(1, len(rows) // 8), "gid": rows[0]["kind"]}
    axes.plot([row["epoch"] for row in rows], reached, **line)
