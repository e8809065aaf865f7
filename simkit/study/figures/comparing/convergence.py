"""How fast methods learn: mAP (or loss) after every epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from simkit.study.analysis.comparing.chosen import Methods, some_methods, under
from simkit.study.analysis.comparisons import Course, What, courses
from simkit.study.figures.direct import End, name_ends
from simkit.study.figures.looks import Look, look
from simkit.study.figures.options import RUNS, AtBudget, paid, some
from simkit.study.figures.previous import (
    WIDTH,
    caption,
    columns,
    fold,
    heading,
    label,
    legend_below,
    not_shown,
    register,
)
from simkit.study.limit import Limit

_COLUMNS = 2
_LETTERS = 26  # of a name beside its curve
_SPLITS = {"val": "validation split", "test": "test split", "train": "training"}


@register
@dataclass(frozen=True)
class Convergence(AtBudget):
    """mAP after every epoch, a panel for each scheme; bands are 95 % intervals over draws.

    Large markers stand at the epochs whose weights are scored, larger where more draws chose them;
    small ones tell lines apart without colour.
    """

    name: ClassVar[str] = "convergence"
    title: ClassVar[str] = "mAP or loss after every epoch, with bands over draws"
    reads: ClassVar = {
        **RUNS, "epochs": int | None, "curve_of": str | None,
        "curve": list[float | None] | None, "losses": list[float | None] | None,
    }  # fmt: skip

    of: What = field(default="curve", metadata={"help": "curve (mAP) or losses"})
    scheme: str = field(default="", metadata={"help": "one scheme; nothing: all of them"})
    methods: Methods = some("eight")

    def draw(self, table: pa.Table) -> Drawing:
        limit, runs = self.at_budget(table)
        if self.scheme:
            _, runs = under(runs, scheme=self.scheme, asker=self.name)
        methods = some_methods(runs, wanted=self.methods, most=8, asker=self.name)
        every = runs["method"].unique().to_pylist()
        others = len(every) - len(methods)
        runs = runs.filter(pc.is_in(runs["method"], pa.array(methods, pa.string())))
        found = courses(runs, self.of, asker=self.name)
        panels = list(dict.fromkeys(course.scheme for course in found))
        across = min(_COLUMNS, len(panels))
        rows = -(-len(panels) // across)
        names = {label(course.method): look(course.method, every) for course in found}
        below = max(map(len, names)) > _LETTERS
        height = 1.5 + (3.4 if rows == 1 else 2.6 * rows)
        height += 0.22 * -(-len(names) // columns(names)) if below else 0
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
        shared: dict[str, Any] = {
            "sharex": True,
            "sharey": self.of == "curve",
            "squeeze": False,
        }
        grid = list(drawing.subplots(rows, across, **shared).ravel())
        drawn = []
        for axes, scheme in zip(grid, panels, strict=False):
            mine = [c for c in found if c.scheme == scheme and any(c.points)]
            drawn.append((axes, _lines(axes, mine, every)))
            axes.set_title(fold(scheme, 80 // across), loc="left", fontweight="bold")
        _frame(drawing, grid, len(panels), across, found)
        heading(drawing, _title(self.of, limit, runs))
        caption(drawing, _note(found, others, self.of))
        if below:
            handles = {name: Line2D([], [], **style.line()) for name, style in names.items()}
            legend_below(drawing, handles)
        else:
            name_ends(drawing, drawn, size=8.5 if len(methods) < 7 else 7.5)
        return drawing


def _lines(axes: Axes, shown: list[Course], every: list[str]) -> list[End]:
    """Each with markers at other epochs than its neighbours, which it may lie upon."""
    longest = max((len(course.points) for course in shown), default=1)
    step = max(-(-longest // 3), min(-(-longest // 2), len(shown)))
    return [
        _line(axes, course, look(course.method, every), (place * step // len(shown), step))
        for place, course in enumerate(shown)
    ]


def _line(axes: Axes, course: Course, style: Look, marked: tuple[int, int]) -> End:
    """The mean with its band and markers; where it ends. marked: the first epoch, and how often."""
    scale = 1 if course.of == "train" else 100
    known = [(epoch, point) for epoch, point in enumerate(course.points, 1) if point]
    epochs = [epoch for epoch, _ in known]
    means = [scale * point.mean for _, point in known]
    drawn: dict[str, Any] = {"color": style.color, "linestyle": style.dashes}
    # Where only some draws went on, a band would be about other draws than the one before it.
    whole = [(e, p) for e, p in known if p.draws == course.draws]
    axes.plot(epochs[: len(whole)], means[: len(whole)], linewidth=1.5, **drawn)
    axes.plot(epochs[len(whole) - 1 :], means[len(whole) - 1 :], linewidth=0.7, **drawn)
    bands = [(e, p.low, p.high) for e, p in whole if p.low is not None and p.high is not None]
    if bands:
        x, low, high = (np.array(column, float) for column in zip(*bands, strict=True))
        axes.fill_between(x, scale * low, scale * high, color=style.color, alpha=0.13, linewidth=0)
    most = sum(course.chosen.values())
    marker: dict[str, Any] = {**style.line(), "linestyle": "none", "zorder": 3}
    few = slice(marked[0], len(whole), marked[1])
    axes.plot(epochs[few], means[few], **{**marker, "markersize": 3.4, "markeredgewidth": 1})
    for epoch, draws in course.chosen.items():
        if epoch in epochs:
            size = 4 + 4.5 * (draws / most) ** 0.5
            axes.plot([epoch], [means[epochs.index(epoch)]], **{**marker, "markersize": size})
    return label(course.method), epochs[-1], means[-1], style.color


def _frame(
    drawing: Drawing, grid: list[Axes], panels: int, across: int, found: list[Course]
) -> None:
    longest = max(len(course.points) for course in found)
    for place, axes in enumerate(grid[:panels]):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlim(1 - 0.02 * longest, longest + 0.09 * longest)
        if place + across >= panels:  # the lowest of its column
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("epochs")
    for axes in grid[panels:]:
        axes.set_axis_off()
    split = " and ".join(dict.fromkeys(_SPLITS.get(c.of, c.of) for c in found))
    text = "mean training loss" if split == "training" else f"mAP on the {split}, points"
    drawing.supylabel(text, fontsize=10)


def _title(of: What, limit: Limit, runs: pa.Table) -> str:
    what = "How fast methods learn" if of == "curve" else "How losses fall"
    return f"{what}, {paid(limit, runs)}" if limit else f"{what}, amounts as written"


def _note(found: list[Course], others: int, of: What) -> str:
    draws = max(course.draws for course in found)
    note = f"Bands: 95 % over {draws} draws. " if draws > 1 else "One draw: no bands. "
    several = any(len(course.chosen) > 1 for course in found)
    size = ", larger where more draws chose it" if several else ""
    note += f"Large marker: the epoch whose weights are scored{size}."
    if any(point and point.draws < course.draws for course in found for point in course.points):
        note += " Thin lines: only those draws that were trained for so long."
    if any(course.of == "test" for course in found):
        note += " Nothing is chosen by the test split."
    if of == "losses":
        note += " Losses of different methods have different scales."
    return " ".join(filter(None, (note, not_shown(others))))
