"""The base of figures that are not made of `base` and `marks` yet; it goes with the last."""

from __future__ import annotations

import json
import math
import re
import textwrap
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pandas as pd
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Drawing
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import FuncFormatter, NullFormatter

from simkit.study.figures import base
from simkit.study.figures.style import INK as INK
from simkit.study.figures.style import PALE as PALE
from simkit.study.figures.style import WIDTH, house_style
from simkit.study.figures.style import label as label
from simkit.study.tables import Whole, checked

if TYPE_CHECKING:
    from simkit.study.analysis.classes import ByClass

Row = Mapping[str, Any]
Metric = Literal["map", "map_all", "map_o"]
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Figure(base.Figure):
    """A figure that reads an Arrow table."""

    whole: ClassVar[Whole] = ()

    def __call__(self, table: Any) -> Drawing:
        mend = f"give what {self.made_by} returns"
        table = arrow(getattr(table, "every", table))
        table = checked(table, self.reads, asker=self.name, mend=mend, whole=self.whole)
        with house_style():
            return self.draw(table)

    @abstractmethod
    def draw(self, table: Any) -> Drawing: ...


def arrow(table: Any) -> Any:
    """A DataFrame as an Arrow table, with what stands in its `attrs`."""
    if not isinstance(table, pd.DataFrame):
        return table
    about = {key: json.dumps(value) for key, value in table.attrs.items()}
    return pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(about)


figures, register = base.figures, base.register


def heading(drawing: Drawing, text: str) -> None:
    """What the figure is about, top left; in several lines where it is long."""
    drawn = TextPath((0, 0), text, size=13, prop=FontProperties(weight="bold"))
    if drawn.get_extents().width > 70 * drawing.get_figwidth():  # points; 72 are an inch
        text = "\n".join(_breakable(text, int(8.2 * drawing.get_figwidth())))
    drawing.suptitle(text, x=0.01, ha="left", fontsize=13, fontweight="bold")


def caption(drawing: Drawing, *parts: str, letters: float = 14) -> None:
    """How to read it, below; a line or more for each part that says something.

    letters: in an inch, of 9 points.
    """
    width = int(letters * drawing.get_figwidth())
    lines = [line for part in parts for line in textwrap.wrap(part, width)]
    drawing.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=9, color="#555555")


def not_shown(others: int) -> str:
    """What to say where methods are left out so that the rest can be read."""
    many = "other methods are" if others > 1 else "other method is"
    return f"{others} {many} not shown; the option methods chooses." if others else ""


def leaves_only(found: ByClass) -> str:
    """What to say where classes with children are not among those that are shown."""
    few, every = len(found.classes), len(found.classes) + found.left_out
    return f"Leaves only: {few:,} of {every:,} classes." if found.left_out else ""


def cut(name: str, letters: int = 28) -> str:
    """A name that keeps to its place."""
    return name if len(name) <= letters else name[: letters - 1] + "…"


def fold(name: str, letters: int, lines: int = 2) -> str:
    """A name in lines of so many letters; what does not fit ends in "…".

    Lines break at spaces, and behind the commas and parentheses of settings.
    """
    folded = _breakable(name, letters)
    if len(folded) > lines:
        folded[lines - 1 :] = [folded[lines - 1][: letters - 1] + "…"]
    return "\n".join(folded)


def _breakable(text: str, letters: int) -> list[str]:
    """Lines of at most so many letters. A word that is longer is broken, at a setting if it can."""
    parts = re.findall(r"\s+|(?:,\d|[^\s,(])+[,(]?|[,(]", text)
    found = [""]
    for part in parts:
        while len(found[-1] + part.rstrip()) > letters:
            if found[-1].strip():
                found.append("")
                part = part.lstrip()
            else:
                found[-1:] = [part[:letters], ""]
                part = part[letters:]
        found[-1] += part
    return [line.rstrip() for line in found if line.strip()] or [""]


def columns(names: Iterable[str], width: float = WIDTH, most: int = 4) -> int:
    """Of a legend with these names, below a figure of that width in inches."""
    longest = max(map(len, names), default=0)
    return max(1, min(most, int(width / (0.085 * longest + 0.75))))


def legend_below(drawing: Drawing, handles: Mapping[str, Any]) -> None:
    """A legend of names and what they stand for, above the caption; called after it."""
    across = columns(handles)
    given: dict[str, Any] = {"ncols": across, "handlelength": 3}
    told = drawing.get_supxlabel()
    if not told:
        drawing.legend(handles.values(), handles, loc="outside lower center", **given)
        return
    # The layout gives legend and caption the same place: empty lines keep one for the legend.
    line, row = 12.5, 17  # points
    empty = math.ceil((row * -(-len(handles) // across) + 10) / line)
    drawing.supxlabel("\n" * empty + told, x=0.01, ha="left", fontsize=9, color="#555555")
    above = (line * (told.count("\n") + 1) + 4) / 72 / drawing.get_figheight()
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, above)}
    drawing.legend(handles.values(), handles, **place, **given).set_in_layout(False)


def ends_of(row: Row, low: str = "low", high: str = "high") -> tuple[float, float] | None:
    """An interval of a row in points of 100; None where it has none, as over one draw."""
    if row[low] is None or row[high] is None:
        return None
    return 100 * row[low], 100 * row[high]


def band(
    axes: Axes, x: Sequence[float], rows: Sequence[Row], color: str, low: str = "low",
    high: str = "high",
) -> None:  # fmt: skip
    """Shade the intervals of these rows, which stand at x; those that have one."""
    known = [
        (at, *ends) for at, row in zip(x, rows, strict=True) if (ends := ends_of(row, low, high))
    ]
    if known:
        at, lows, highs = zip(*known, strict=True)
        axes.fill_between(at, lows, highs, color=color, alpha=0.13, linewidth=0)


def count(mean: float) -> str:
    """A mean of counts: 1,234, 52, 5.7, 0.33; it is 0 only where nothing was counted."""
    return f"{mean:,.0f}" if mean >= 10 or mean == round(mean) else f"{mean:.2g}"


def power(value: float) -> str:
    """A tick of a logarithmic axis: 0.01, 1, 1,000, and 10⁻⁵ or 10⁸ for what is longer."""
    if value == 0 or 1e-3 <= value < 1e5:
        return f"{value:,.0f}" if value == 0 or value >= 1 else f"{value:g}"
    return "10" + f"{math.log10(value):.0f}".translate(_RAISED)


def plain_log(axis: Axis) -> None:
    """Powers of ten as plain text: matplotlib's own ticks would be formulas."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
    axis.set_minor_formatter(NullFormatter())
