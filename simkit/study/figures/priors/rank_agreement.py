"""How well estimated class priors rank the most frequent classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure as Drawing

from simkit.study.analysis.priors.prior import COUNTED
from simkit.study.figures.direct import name_ends
from simkit.study.figures.looks import look
from simkit.study.figures.previous import PALE, WIDTH, Figure, caption, heading, label, register


@register
@dataclass(frozen=True)
class RankAgreement(Figure):
    """Spearman correlation with the true frequencies over the n most frequent classes.

    A line for each estimate, in the look of the method it was made by; it has gaps where an
    estimate tells none of the classes apart.
    """

    name: ClassVar[str] = "rank-agreement"
    title: ClassVar[str] = "Estimated class priors against the truth, over the top classes"
    made_by: ClassVar[str] = "simkit.study.analysis.priors.prior.rank_agreement"
    reads: ClassVar = {"estimate": str, "top": int, "spearman": float | None}

    height: float = 3.8

    def draw(self, table: pa.Table) -> Drawing:
        names = list(dict.fromkeys(table["estimate"].to_pylist()))
        drawing = Drawing(figsize=(WIDTH, self.height), layout="constrained")
        axes = drawing.subplots()
        ends = []
        for name in names:
            rows = table.filter(pc.equal(table["estimate"], name)).sort_by("top")
            x = rows["top"].to_pylist()
            y = [float("nan") if v is None else v for v in rows["spearman"].to_pylist()]
            style = look(name, names)
            axes.plot(x, y, **style.line(), markevery=max(1, len(x) // 8), gid=name)
            if last := [(a, b) for a, b in zip(x, y, strict=True) if b == b]:
                ends.append((estimate_label(name), *last[-1], style.color))
        axes.axhline(0, color=PALE, linewidth=0.8, zorder=0)
        axes.set(xlabel="most frequent classes looked at", ylabel="Spearman correlation")
        axes.set_ylim(top=1.02)
        heading(drawing, "Does the estimate rank classes as the truth does?")
        silent = len(names) - len(ends)
        caption(
            drawing,
            "1: the same order, 0: none.",
            f"{silent} not shown: the same prior for every class." if silent else "",
        )
        name_ends(drawing, [(axes, ends)])
        return drawing


def estimate_label(name: str) -> str:
    """How an estimate is named: by the method, or as counted labels."""
    return "counted labels" if name == COUNTED else label(name)
