"""How often the likeliest unknown labels are present, and which they are in a few pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.study.figures.previous import (
    INK,
    PALE,
    WIDTH,
    Figure,
    caption,
    cut,
    fold,
    heading,
    label,
    legend_below,
    register,
)

_SHADES = [("#56B4E9", "o", ":"), ("#0072B2", "s", "--"), ("#222222", "^", "-")]
_PRESENT, _ABSENT = "#0072B2", "white"


@register
@dataclass(frozen=True)
class Likelihood(Figure):
    """The share of images in which the k-th likeliest unknown label is present, over k.

    A panel for each method; lines are the first, the middle and the last epoch, the pale line is
    an unknown label drawn by lot.
    Source: Ben-Baruch et al., CVPR 2022, eq. 5.
    """

    name: ClassVar[str] = "likelihood"
    title: ClassVar[str] = "How often the likeliest unknown labels of an image are present"
    made_by: ClassVar[str] = "simkit.study.analysis.priors.likelihood.likelihood"
    reads: ClassVar = {
        "method": str,
        "epoch": int,
        "rank": int,
        "present": float,
        "chance": float,
    }

    height: float = 3.7

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        methods = list(dict.fromkeys(row["method"] for row in rows))
        epochs = sorted({row["epoch"] for row in rows})
        shown = sorted({epochs[0], epochs[(len(epochs) - 1) // 2], epochs[-1]})
        looks = dict(zip(reversed(shown), reversed(_SHADES), strict=False))
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        grid = drawing.subplots(1, len(methods), sharey=True, squeeze=False)[0]
        for axes, method in zip(grid, methods, strict=True):
            mine = [row for row in rows if row["method"] == method]
            axes.axhline(mine[0]["chance"], color=PALE, linewidth=2.5, zorder=0)
            for epoch in shown:
                one = [row for row in mine if row["epoch"] == epoch]
                ranks, found = ([row[key] for row in one] for key in ("rank", "present"))
                axes.plot(ranks, found, **_line(looks[epoch]), gid=f"epoch {epoch}")
            axes.set_title(fold(label(method), 80 // len(methods)), loc="left", weight="bold")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlabel("rank among the unknown labels of an image")
            axes.set_ylim(0, 1)
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        grid[0].set_ylabel("present in truth")
        heading(drawing, "Are the likeliest unknown labels present?")
        caption(drawing, "Rank 1: the highest score. Pale: an unknown label drawn by lot.")
        legend_below(drawing, {f"epoch {e}": Line2D([], [], **_line(looks[e])) for e in shown})
        return drawing


@register
@dataclass(frozen=True, eq=False)
class LikelyLabels(Figure):
    """Pictures, and below each the likeliest of its unknown labels with their probabilities.

    Full bars are present in truth. pictures: (H, W, 3) uint8, one for each image of the table.
    Source: Ben-Baruch et al., CVPR 2022, figure 4.
    """

    name: ClassVar[str] = "likely-labels"
    title: ClassVar[str] = "The likeliest unknown labels of a few pictures"
    made_by: ClassVar[str] = "simkit.study.analysis.priors.likelihood.likely_labels"
    reads: ClassVar = {
        "row": int,
        "class": str,
        "rank": int,
        "probability": float,
        "present": bool,
    }

    pictures: tuple[NDArray[np.uint8], ...] = ()
    ignored: int = field(default=5, metadata={"help": "how many the method leaves out: a line"})

    def draw(self, table: pa.Table) -> Drawing:
        rows = table.to_pylist()
        images = list(dict.fromkeys(row["row"] for row in rows))
        if self.pictures and len(self.pictures) != len(images):
            raise BadInput(
                f"likely-labels: {len(self.pictures)} pictures came for {len(images)} images of "
                "the table; give one for each"
            )
        most = max(row["rank"] for row in rows)
        size = (WIDTH, 1.5 + 0.22 * most + (1.3 if self.pictures else 0))
        drawing = Drawing(figsize=size, layout="constrained")
        above = [1.3, 0.22 * most] if self.pictures else [1]
        grid = drawing.subplots(
            len(above), len(images), squeeze=False, gridspec_kw={"height_ratios": above}
        )
        for place, image in enumerate(images):
            if self.pictures:
                grid[0][place].imshow(self.pictures[place], interpolation="nearest")
                grid[0][place].axis("off")
            self._bars(grid[-1][place], [row for row in rows if row["row"] == image], most)
        heading(drawing, "The likeliest unknown labels")
        line = f" Above the line: the {self.ignored} left out." if self.ignored < most else ""
        caption(drawing, "Probability by the model." + line)
        look: dict[str, Any] = {"edgecolor": _PRESENT, "linewidth": 1.2}
        handles = {
            "present in truth": Patch(facecolor=_PRESENT, **look),
            "absent in truth": Patch(facecolor=_ABSENT, **look),
        }
        legend_below(drawing, handles)
        return drawing

    def _bars(self, axes: Axes, rows: list[dict[str, Any]], most: int) -> None:
        places = [row["rank"] for row in rows]
        fill = [_PRESENT if row["present"] else _ABSENT for row in rows]
        values = [row["probability"] for row in rows]
        axes.barh(places, values, height=0.7, color=fill, edgecolor=_PRESENT, linewidth=1.2)
        axes.set_yticks(places, [cut(row["class"], 16) for row in rows], fontsize=8.5)
        axes.set_ylim(most + 0.6, 0.4)
        axes.set_xlim(0, 1)
        axes.grid(False, axis="y")
        axes.set_axisbelow(True)
        if self.ignored < most:
            axes.axhline(self.ignored + 0.5, color=INK, linewidth=1)


def _line(look: tuple[str, str, str]) -> dict[str, Any]:
    color, marker, dashes = look
    return {"color": color, "marker": marker, "linestyle": dashes, "markersize": 5}
