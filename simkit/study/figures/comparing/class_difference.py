"""Which classes does a method help: those whose labels are missing?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure as Drawing
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter
from scipy.stats import spearmanr

from simkit.errors import BadInput
from simkit.study.analysis.classes import ByClass, Values
from simkit.study.analysis.comparing.chosen import some_methods
from simkit.study.figures.options import OfScheme, at_cost
from simkit.study.figures.previous import (
    INK,
    WIDTH,
    caption,
    cut,
    fold,
    heading,
    label,
    leaves_only,
    register,
)
from simkit.study.statistics import Interval

# One hue whose lightness falls all the way: a grey print keeps the order.
_SHADES = LinearSegmentedColormap.from_list("missing", ["#F7E08B", "#6BA8A0", "#1D3B6F", "#0A1530"])
_NAMED = 70  # classes whose names have room under their bars
_STRIP = 0.035  # of the height of the axes
_ON_ANY = [withStroke(linewidth=2.6, foreground="white")]  # lines are seen on dark bars too
_LEAST = 0.02  # share: shades span at least this, so that alike looks alike


@register
@dataclass(frozen=True)
class ClassDifference(OfScheme):
    """AP of `first` minus AP of `second` for each class, sorted; dark where labels are missing.

    Source: "Soft Exposure", Fig. 5, whose caption and text disagree on which end is bright; here
    dark means missing. Missing is the share of asked images that say nothing about the class.
    """

    name: ClassVar[str] = "class-difference"
    title: ClassVar[str] = "AP difference of two methods for each class, by missing labels"

    first: str = field(default="", metadata={"help": "a method; nothing: the highest"})
    second: str = field(
        default="", metadata={"help": "what it is compared with; nothing: an, or the next highest"}
    )

    def draw(self, table: pa.Table) -> Drawing:
        scheme, limit, runs = self.of_scheme(table)
        first, second = self._pair(runs)
        found = self.by_class(runs, [first, second])
        gaps = {c: gap for c, gap in enumerate(found.differences(first, second)) if gap}
        if not gaps:
            raise BadInput(f"{self.name}: no class has an AP; the test split shows none of them")
        order = sorted(gaps, key=lambda c: gaps[c].mean)
        longest = max(len(cut(found.classes[c])) for c in order) if len(order) <= _NAMED else 0
        height = 4.8 + 0.08 * max(longest - 10, 0)  # names stand below the bars
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
        axes = drawing.add_subplot()
        _bars(drawing, axes, found, {c: gaps[c] for c in order})
        axes.set_ylabel(fold(f"AP of {label(first)} − {label(second)}, points", 36, 3))
        pair = f"{label(first)} instead of {label(second)}"
        heading(drawing, f"Which classes gain by {pair}: {scheme}{at_cost(limit, runs)}")
        related = _related(found, gaps)
        caption(drawing, _note(found, gaps), leaves_only(found), *related)
        return drawing

    def _pair(self, runs: pa.Table) -> tuple[str, str]:
        asked = [name for name in (self.first, self.second) if name]
        some_methods(runs, wanted=tuple(asked), most=1, asker=self.name)  # they are there
        known = runs["method"].unique().to_pylist()
        if len(known) < 2:
            raise BadInput(f"{self.name}: the table holds one method, {known[0]!r}; two are needed")
        second = self.second or ("an" if "an" in known and self.first != "an" else "")
        first = self.first or _highest(runs, second)
        second = second or _highest(runs, first)
        if first == second:
            raise BadInput(f"{self.name}: first and second are both {first!r}; name two methods")
        return first, second


def _highest(runs: pa.Table, other: str) -> str:
    """The highest of all but `other`."""
    ranked = some_methods(runs, wanted="", most=1, asker="")
    if ranked[0] != other:
        return ranked[0]
    return next(m for m in some_methods(runs, wanted="", most=2, asker="") if m != other)


def _bars(drawing: Drawing, axes: Axes, found: ByClass, gaps: dict[int, Interval]) -> None:
    missing = found.missing[list(gaps)]
    low, high = float(missing.min()), float(missing.max())
    if high - low < _LEAST:
        low, high = max(high - _LEAST, 0.0), max(high, _LEAST)
    norm = Normalize(low, high)
    means = [100 * gap.mean for gap in gaps.values()]
    n, named = len(gaps), len(gaps) <= _NAMED
    reached = [0.0, *means]
    width = 0.82 if named else 1.0
    axes.bar(range(n), means, width=width, color=_SHADES(norm(missing)), linewidth=0)
    if named:
        for x, gap in enumerate(gaps.values()):
            if gap.low is not None and gap.high is not None:
                ends = [100 * gap.low, 100 * gap.high]
                axes.plot([x, x], ends, color=INK, linewidth=0.9, path_effects=_ON_ANY)
                reached += ends
        size = float(np.clip(480 / n, 5.5, 9))
        axes.set_xticks(range(n), [cut(found.classes[c]) for c in gaps], rotation=90, fontsize=size)
    else:
        axes.set_xticks([])
        axes.set_xlabel(f"{n:,} classes, by their difference")
    axes.tick_params(axis="x", length=0)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.spines["bottom"].set_visible(False)
    axes.set_xlim(-0.7, n - 0.3)
    axes.grid(False, axis="x")
    axes.set_axisbelow(True)
    low, high = min(reached), max(reached)
    tall = (high - low) or 1.0
    axes.set_ylim(low - (2 * _STRIP if missing.any() else 0.05) * tall, high + 0.05 * tall)
    if missing.any():
        _shades(drawing, axes, missing, norm, width)


def _shades(drawing: Drawing, axes: Axes, missing: Values, norm: Normalize, width: float) -> None:
    """A strip below, for bars that are too low to show their shade, and what shades say."""
    below: dict[str, Any] = {"height": _STRIP, "transform": axes.get_xaxis_transform()}
    shades = _SHADES(norm(missing))
    axes.bar(range(len(missing)), width=width, color=shades, linewidth=0, **below)
    bar = drawing.colorbar(ScalarMappable(norm, _SHADES), ax=axes, pad=0.01, aspect=28)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}%"))
    bar.set_label("labels missing, of asked images")
    bar.outline.set_visible(False)  # type: ignore[operator]


def _note(found: ByClass, gaps: dict[int, Interval]) -> str:
    draws = max(gap.draws for gap in gaps.values())
    better = sum(gap.mean > 0 for gap in gaps.values())
    note = f"Better in {better:,} of {len(gaps):,} classes"
    if draws < 2:
        note += "; one draw, so any of it may be noise."
    elif len(gaps) <= _NAMED:
        note += f"; lines: 95 % over {draws} draws, each class alone, not corrected for many."
    else:
        note += f", means over {draws} draws."
    if not found.missing[list(gaps)].any():
        note += " No labels are missing."
    unseen = len(found.classes) - len(gaps)
    return note + (f" Not shown: {unseen:,} that no test image shows." if unseen else "")


def _related(found: ByClass, gaps: dict[int, Interval]) -> list[str]:
    """Do classes gain more the more of their labels are missing? In one number."""
    missing = found.missing[list(gaps)]
    means = [gap.mean for gap in gaps.values()]
    if len(gaps) < 3 or not np.ptp(missing) or not np.ptp(means):
        return []
    rho = float(spearmanr(missing, means).statistic)
    return [f"Rank correlation of the difference with the share that is missing: {rho:+.2f}."]
