"""How often each class is labelled over how often it is there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from simkit.study.figures.direct import spread
from simkit.study.figures.previous import (
    INK,
    PALE,
    WIDTH,
    Figure,
    caption,
    cut,
    fold,
    heading,
    plain_log,
    register,
)

_COLUMNS = 2
_FEW = 0.5  # images at which a class that is never labelled is drawn


@register
@dataclass(frozen=True)
class NamedShare(Figure):
    """A panel for each scheme, a dot for each class: images labelled present over those in truth.

    On the line every present label is known. The classes that lack most labels are named.
    Source: Ben-Baruch et al., CVPR 2022, figure 1 (2) and section 3.3.1.
    """

    name: ClassVar[str] = "named-share"
    title: ClassVar[str] = "How often each class is labelled over how often it is there"
    made_by: ClassVar[str] = "simkit.study.analysis.labelling.distributions.distributions"
    reads: ClassVar = {"scheme": str, "class": str, "true": int, "present": int}

    named: int = field(default=5, metadata={"help": "classes that are named in a panel"})

    def draw(self, table: pa.Table) -> Drawing:
        schemes = list(dict.fromkeys(table["scheme"].to_pylist()))
        across = min(_COLUMNS, len(schemes))
        down = -(-len(schemes) // across)
        drawing = Drawing(figsize=(WIDTH, 1.2 + 3.1 * down), layout="constrained")
        grid = drawing.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for place, axes in enumerate(grid):
            axes.set_visible(place < len(schemes))
        for axes, scheme in zip(grid, schemes, strict=False):
            self._dots(axes, table.filter(pc.equal(table["scheme"], scheme)))
            axes.set_title(fold(scheme, 80 // across), loc="left", fontweight="bold")
        for axes in grid[max(0, len(schemes) - across) : len(schemes)]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("images that show the class, log axis")
        drawing.supylabel("images labelled with it, log axis", fontsize=10)
        heading(drawing, "Which classes lack labels?")
        none = bool((table["present"].to_numpy() == 0).any())
        caption(
            drawing,
            "Line: every present label is known.",
            f"At {_FEW:g}: classes without a label." if none else "",
        )
        return drawing

    def _dots(self, axes: Axes, rows: pa.Table) -> None:
        true, present = (rows[key].to_numpy().astype(float) for key in ("true", "present"))
        kept = true > 0
        true, present = true[kept], np.maximum(present[kept], _FEW)
        names = np.array(rows["class"].to_pylist(), object)[kept]
        axes.plot([1, true.max()], [1, true.max()], color=PALE, linewidth=1, zorder=0)
        dots: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 5, "alpha": 0.75}
        axes.plot(true, present, color="#0072B2", markeredgewidth=0, **dots, gid="classes")
        axes.set(xscale="log", yscale="log")
        for axis in (axes.xaxis, axes.yaxis):
            plain_log(axis)
        axes.set_xlim(max(true.min() / 1.5, 0.8), true.max() * 9)  # names stand right of the dots
        missing = np.argsort(-(true - present), kind="stable")[: self.named]
        missing = missing[np.argsort(present[missing], kind="stable")]
        # Steps of the axis, so that names do not lie upon each other.
        height = np.log10(max(true.max(), 10)) - np.log10(_FEW)
        places = spread(np.log10(present[missing]).tolist(), 0.085 * height)
        for place, c in zip(places, missing, strict=True):
            at = (true.max() * 1.5, 10**place)
            dotted: dict[str, Any] = {
                "arrowstyle": "-",
                "linestyle": ":",
                "color": PALE,
                "linewidth": 0.8,
            }
            axes.annotate(
                cut(names[c], 18),
                (true[c], present[c]),
                xytext=at,
                fontsize=8.5,
                va="center",
                color=INK,
                arrowprops=dotted,
            )
