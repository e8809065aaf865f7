"""How methods differ: loss and gradient over the logit, for each kind of label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from simkit.study.figures.looks import look
from simkit.study.figures.previous import INK, PALE, WIDTH, Figure, label, register

_LINES = ("-", (0, (4, 2)), (0, (1, 1.5)))  # early, late; a third epoch
_ROWS = {"loss": "loss above\nits smallest", "gradient": "gradient\nover the logit"}


@register
@dataclass(frozen=True)
class LossShapes(Figure):
    """Losses above, their gradients below, a column for each kind of label; late epochs dashed.

    A dashed line stands only where the later epoch differs from the first. The first method's lines
    are the widest, so that they show under others that run along them.
    """

    name: ClassVar[str] = "loss-shapes"
    title: ClassVar[str] = "Loss and gradient over the logit, early and late"
    made_by: ClassVar[str] = "simkit.study.analysis.loss_shapes.loss_shapes"
    reads: ClassVar = {
        "method": str,
        "entry": str,
        "epoch": int,
        "logit": float,
        "loss": float,
        "gradient": float,
    }
    whole: ClassVar = (("method",), ("entry",), ("epoch",), ("logit",))

    shared: bool = field(default=True, metadata={"help": "one scale for all kinds of label"})
    height: float = field(default=4.4, metadata={"help": "in inches"})

    def draw(self, table: pa.Table) -> Drawing:
        methods, entries = (
            list(dict.fromkeys(table[key].to_pylist())) for key in ("method", "entry")
        )
        epochs = sorted(set(table["epoch"].to_pylist()))
        dashed: set[int] = set()
        drawing = plt.figure(figsize=(WIDTH, self.height), layout="constrained")
        scale = "row" if self.shared else "none"
        grid = drawing.subplots(2, len(entries), sharex=True, sharey=scale, squeeze=False)
        for column, entry in enumerate(entries):
            for place, method in enumerate(methods):
                curves = [_curve(table, method, entry, epoch) for epoch in epochs]
                dashed |= {k for k in range(1, len(epochs)) if _differ(curves[0], curves[k])}
                for row, what in enumerate(_ROWS):
                    _draw(grid[row, column], curves, what, method, place)
            grid[0, column].set_title(entry, loc="left", fontweight="bold")
            grid[1, column].set_xlabel("logit")
        for row, text in enumerate(_ROWS.values()):
            grid[row, 0].set_ylabel(text)
        _legend(drawing, methods, epochs, dashed)
        plt.close(drawing)
        return drawing


def _curve(table: pa.Table, method: str, entry: str, epoch: int) -> dict[str, Any]:
    for key, value in (("method", method), ("entry", entry), ("epoch", epoch)):
        table = table.filter(pc.equal(table[key], value))
    order = table["logit"].to_numpy().argsort()
    return {key: table[key].to_numpy()[order] for key in ("logit", *_ROWS)}


def _draw(axes: Axes, curves: list[dict[str, Any]], what: str, method: str, place: int) -> None:
    """One line for the first epoch and one for each that differs from it."""
    axes.axhline(0, color=PALE, linewidth=0.8, zorder=0)
    style = look(method).line() | {"markersize": 5, "linewidth": max(1.4, 3.8 - 0.9 * place)}
    size = len(curves[0]["logit"])
    for epoch, curve in enumerate(curves):
        if epoch and not _differ(curves[0], curve):
            continue
        every = max(1, size // 7)
        marks = (int((place * 0.37 + epoch * 0.5) * every) % every, every)  # apart from each other
        line = {**style, "linestyle": _LINES[min(epoch, 2)], "markevery": marks}
        axes.plot(curve["logit"], curve[what], **line, gid=f"{method} {epoch}")


def _differ(first: dict[str, Any], later: dict[str, Any]) -> bool:
    return not all(np.allclose(later[key], first[key], atol=1e-3) for key in _ROWS)


def _legend(drawing: Drawing, methods: list[str], epochs: list[int], dashed: set[int]) -> None:
    """Methods, and epochs: those of the places `dashed` are drawn."""
    shown = []
    for method in methods:
        style = look(method).line() | {"linestyle": "-"}
        shown.append(Line2D([], [], **style, label=label(method)))
    for place, (epoch, line) in enumerate(zip(epochs, _LINES, strict=False)):
        if place and place not in dashed:
            continue
        words = f"epoch {epoch}, where it differs" if place else f"epoch {epoch}"
        shown.append(Line2D([], [], color=INK, linestyle=line, label=words))
    drawing.legend(
        handles=shown,
        loc="outside lower center",
        ncols=len(shown) if len(shown) <= 5 else -(-len(shown) // 2),
    )
