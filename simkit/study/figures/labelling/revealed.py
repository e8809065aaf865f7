"""One picture, its truth, and what each scheme reveals of it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from simkit.study.figures.previous import INK, PALE, WIDTH, Figure, register

PRESENT, ABSENT, BLANK = "#0072B2", "#E69F00", "#efefef"


@register
@dataclass(frozen=True, eq=False)
class Revealed(Figure):
    """Cells of classes x schemes for one image: filled with + present, with − absent, pale unknown.

    picture: (H, W, 3) uint8, drawn on the left; without it the cells stand alone.
    absent: classes not in the image that are shown, beside all those that are in it; the scheme's
    knowledge of the others is counted in the last row.
    """

    name: ClassVar[str] = "revealed"
    title: ClassVar[str] = "What each scheme reveals of one picture"
    made_by: ClassVar[str] = "simkit.analysis.revealed"
    reads: ClassVar = {
        "scheme": str,
        "class": str,
        "present": bool,
        "state": int,
        "dollars": float,
    }
    whole: ClassVar = (("scheme",), ("class",))

    picture: NDArray[np.uint8] | None = None
    absent: int = 8

    def draw(self, table: pa.Table) -> Drawing:
        schemes = list(dict.fromkeys(table["scheme"].to_pylist()))
        states = np.array(table["state"].to_pylist()).reshape(len(schemes), -1)
        L = states.shape[1]
        classes = np.array(table["class"].to_pylist()[:L])
        present = np.array(table["present"].to_pylist()[:L])
        dollars = table["dollars"].to_pylist()[::L]
        # Absent classes that some scheme knows of come first: they are what there is to see.
        known = (states != 0).sum(0)
        rest = np.flatnonzero(~present)
        shown = np.concatenate(
            [np.flatnonzero(present), rest[np.argsort(-known[rest], kind="stable")][: self.absent]]
        )
        hidden = np.setdiff1d(rest, shown)
        height = 0.27 * (len(shown) + 5)
        drawing = plt.figure(figsize=(WIDTH, height))
        left, right = drawing.subplots(1, 2, width_ratios=[1, 2.3])
        self._picture(left, classes[present])
        heads = [f"{s}\n{100 * d:.1f} ¢" for s, d in zip(schemes, dollars, strict=True)]
        _cells(right, states[:, shown], classes[shown], present[shown], heads)
        _count(right, states[:, hidden], len(shown))
        drawing.tight_layout()
        plt.close(drawing)
        return drawing

    def _picture(self, axes: Axes, classes: NDArray[np.str_]) -> None:
        axes.axis("off")
        if self.picture is not None:
            axes.imshow(self.picture, interpolation="nearest")
            axes.set_anchor("N")
            axes.set_title("the picture", loc="left")
            below = "in it: " + ", ".join(classes)
            axes.text(0, -0.04, textwrap.fill(below, 32), va="top", transform=axes.transAxes)
            axes.text(
                0,
                -0.75,
                "+ known to be present\n− known to be absent\nblank: unknown\n"
                "¢: mean cost of an asked picture",
                va="top",
                color=PALE,
                transform=axes.transAxes,
            )


def _cells(
    axes: Axes,
    states: NDArray[np.int8],
    classes: NDArray[np.str_],
    present: NDArray[np.bool_],
    heads: list[str],
) -> None:
    heads = ["truth", *heads]
    columns = np.vstack([np.where(present, 1, -1), states])
    for x, column in enumerate(columns):
        for y, state in enumerate(column):
            color = {1: PRESENT, -1: ABSENT, 0: BLANK}[int(state)]
            axes.add_patch(plt.Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, color=color, lw=0))
            if state:
                sign = "+" if state > 0 else "−"
                ink = "white" if state > 0 else INK
                axes.text(x, y, sign, ha="center", va="center", color=ink, weight="bold")
        if not column.any():
            nothing = axes.text(x, (len(column) - 1) / 2, "nothing is known of this picture")
            nothing.set(rotation=90, ha="center", va="center", color=PALE)
    axes.axvline(0.5, color=INK, lw=1)
    axes.set_xlim(-0.5, len(heads) - 0.5)
    axes.set_ylim(len(classes) + 0.7, -0.5)
    axes.set_xticks(range(len(heads)), heads, fontsize=7.5)
    axes.set_yticks(range(len(classes)), classes)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _count(axes: Axes, states: NDArray[np.int8], row: int) -> None:
    """What is known of the classes that are not shown, in words under the cells."""
    n = states.shape[1]
    axes.text(-0.55, row + 0.2, f"{n} more absent", ha="right", va="center", color=PALE)
    for x, column in enumerate(states, start=1):
        known = int((column != 0).sum())
        axes.text(x, row + 0.2, f"{known} known", ha="center", va="center", color=PALE, fontsize=8)
