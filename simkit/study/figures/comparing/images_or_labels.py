"""Fewer images, completely labelled, or many images with few labels each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, NullLocator

from simkit.study.figures.looks import Look, look
from simkit.study.figures.previous import (
    WIDTH,
    Figure,
    band,
    caption,
    heading,
    label,
    legend_below,
    register,
)


@register
@dataclass(frozen=True)
class ImagesOrLabels(Figure):
    """Left, mAP over the share of images; right, the same over the labels that are known.

    On the left all lines of a place have the same images and complete labels have many times the
    labels; on the right those above each other have the same number of labels.
    """

    name: ClassVar[str] = "images-or-labels"
    title: ClassVar[str] = "Few images completely labelled, or many weakly: over images and labels"
    made_by: ClassVar[str] = "simkit.analysis.images_or_labels"
    reads: ClassVar = {
        "scheme": str, "method": str, "complete": bool, "share": float, "labels": float,
        "draws": int, "mean": float, "low": float | None, "high": float | None,
    }  # fmt: skip

    height: float = 4.4

    def draw(self, table: pa.Table) -> Drawing:
        lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in table.to_pylist():
            lines.setdefault((row["scheme"], row["method"]), []).append(row)
        several = (
            len({scheme for (scheme, _), rows in lines.items() if not rows[0]["complete"]}) > 1
        )
        methods = [method for _, method in lines]
        handles: dict[str, Any] = {}
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        images, labels = drawing.subplots(1, 2, sharey=True)
        for (scheme, method), rows in lines.items():
            whole = rows[0]["complete"]
            alone = method == "full" if whole else not several
            name = label(method) if alone else f"{label(method)}, {scheme}"
            style = look(method, methods)
            handles[name] = _line(images, rows, "share", 100, style)
            _line(labels, rows, "labels", 1, style)
        images.set(xlabel="share of the images, %", ylabel="mAP on the test split, points")
        images.set_xlim(0, 103)
        images.set_title("At equal images", loc="left", fontweight="bold")
        labels.set_xscale("log")
        labels.set_xlabel("labels known, log axis")
        labels.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        labels.xaxis.set_minor_locator(NullLocator())
        labels.set_title("At equal labels", loc="left", fontweight="bold")
        heading(drawing, "Many images weakly labelled, or few completely?")
        draws = max(row["draws"] for row in table.to_pylist())
        bands = f"Bands: 95 % over {draws} draws." if draws > 1 else "One draw: no bands."
        caption(drawing, bands)
        legend_below(drawing, handles)
        return drawing


def _line(axes: Axes, rows: list[dict[str, Any]], over: str, times: float, style: Look) -> Any:
    rows = sorted(rows, key=lambda row: row[over])
    x = [times * row[over] for row in rows]
    (line,) = axes.plot(x, [100 * row["mean"] for row in rows], **style.line())
    line.set_gid(rows[0]["method"])
    band(axes, x, rows, style.color)
    return line
