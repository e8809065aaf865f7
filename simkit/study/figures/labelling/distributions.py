"""The class distribution before annotation and after it, under each scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure as Drawing

from simkit.study.figures.previous import INK, WIDTH, Figure, plain_log, register


@register
@dataclass(frozen=True)
class Distributions(Figure):
    """One panel for each scheme: images per class in truth (line) and labelled present (bars).

    columns: panels in a row.
    """

    name: ClassVar[str] = "distributions"
    title: ClassVar[str] = "Class distribution before and after annotation"
    made_by: ClassVar[str] = "simkit.analysis.distributions"
    reads: ClassVar = {"scheme": str, "class": str, "true": int, "present": int}
    whole: ClassVar = (("scheme",), ("class",))

    columns: int = 3

    def draw(self, table: pa.Table) -> Drawing:
        schemes = list(dict.fromkeys(table["scheme"].to_pylist()))
        rows = -(-len(schemes) // self.columns)
        true = np.array(table["true"].to_pylist()).reshape(len(schemes), -1)
        present = np.array(table["present"].to_pylist()).reshape(len(schemes), -1)
        ranks = np.arange(true.shape[1]) + 1
        drawing, grid = plt.subplots(
            rows,
            self.columns,
            figsize=(WIDTH, 2.4 * rows),
            sharex=True,
            sharey=True,
            squeeze=False,
        )
        for axes in grid.flat[len(schemes) :]:
            axes.axis("off")
        for axes, scheme, before, after in zip(grid.flat, schemes, true, present, strict=False):
            axes.bar(
                ranks,
                np.maximum(after, 0.5),
                width=0.8,
                color="#0072B2",
                label="labelled present",
            )
            axes.step(ranks, np.maximum(before, 0.5), where="mid", color=INK, lw=1.2, label="truth")
            axes.set_yscale("log")
            plain_log(axes.yaxis)
            axes.set_ylim(0.8, before.max() * 1.6)
            share = after.sum() / max(1, before.sum())
            axes.set_title(f"{scheme}: {share:.0%} of positives", loc="left", fontsize=10)
        for axes in grid[:, 0]:
            axes.set_ylabel("pictures")
        for axes in grid.flat[max(0, len(schemes) - self.columns) : len(schemes)]:
            axes.set_xlabel("class, most frequent first")
            axes.tick_params(labelbottom=True)
        grid.flat[0].legend(fontsize=8, loc="upper right")
        drawing.tight_layout()
        plt.close(drawing)
        return drawing
