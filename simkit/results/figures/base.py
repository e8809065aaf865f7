"""The base class of figures, and their layout: panels with heading, legend and caption.

In `draw`, `Facets` or `Panels` provide axes, `marks` draw rows of the table on them, and `finish`
adds heading, legend and caption.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from simkit.errors import BadInput, located, unknown
from simkit.registry import Registry, setting, settle
from simkit.results import method_facts
from simkit.results.cells import COLUMNS, RUN, Budget, optional
from simkit.results.figures.style import WIDTH, fold, house_style, wrapped
from simkit.results.result_tables import Columns, Unique, frame, opened
from simkit.results.selection import check_one_test, within
from simkit.results.statistics import Interval

Pictures = tuple[NDArray[np.uint8], ...]  # each (H, W, 3)
_MARGIN, _GAP = 0.07, 0.12  # inches: to the edge of the page, between its parts


class Figure(ABC):
    """Base class of figures; `register` makes subclasses frozen dataclasses of options.

    name, title: name in the registry, and description. made_by: the function that returns the
    table, by default the analysis with the same name. mend: what to do about other tables, by
    default to use `made_by`. reads, unique: the columns passed to `draw`, and sets of columns with
    unique rows, as for `result_tables.frame`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    made_by: ClassVar[str]
    mend: ClassVar[str] = ""
    reads: ClassVar[Columns]
    unique: ClassVar[Unique] = ()

    def __post_init__(self) -> None:
        settle(self)

    def __call__(self, table: Any, heading: str = "") -> Drawing:
        """Draw a table.

        Parameters
        ----------
        table
            A DataFrame, a pyarrow Table or the runs of a comparison: the result of `made_by`.
        heading
            One line in place of the figure's own heading, such as the finding.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        BadInput
            For other tables, without rows or with missing values, and as `draw`.
        """
        mend, reads = self.mend or f"pass the result of {self.made_by}", dict(self.reads)
        if {*RUN} <= {*reads}:  # runs, whose intervals contain the error of the choice of settings
            reads |= optional(opened(table), "tuned_error")
        rows = frame(table, reads, asker=self.name, mend=mend, unique=self.unique)
        with house_style(), method_facts.reading(rows), located(self.name):
            drawing = self.draw(rows)
        if heading:
            (title,) = (one for one in drawing.texts if one.get_text() == drawing.get_suptitle())
            title.set_text(heading)
        return drawing

    @abstractmethod
    def draw(self, table: pd.DataFrame) -> Drawing:
        """Draw a table of one or more rows, with only the columns in `reads` and, for runs, the
        `tuned_error` of those that have one."""

    def chosen(self, kind: str, name: str, known: Iterable[str]) -> str:
        """`name`, or by default the first known one. Raises BadInput for unknown names."""
        known = list(dict.fromkeys(known))
        if name and name not in known:
            raise unknown(f"{kind} of the table", name, known)
        return name or known[0]

    def require(self, holds: object, mend: str) -> None:
        """Raise BadInput with `mend` unless a condition holds."""
        if not holds:
            raise BadInput(mend)

    def check_pictures(self, pictures: Sequence[Any] | None, count: int) -> None:
        """Raise BadInput unless pictures are empty or one for each of `count` images."""
        number = len(pictures or ())
        text = f"pictures has {number} items for {count} images; pass one for each, in table order"
        self.require(number in (0, count), text)


F = TypeVar("F", bound=Figure)
figures: Registry[Figure] = Registry("figure", "simkit.results.figures")


@dataclass_transform(frozen_default=True)
def register(figure: type[F]) -> type[F]:
    """Class decorator: register a figure under its `name`, as a frozen dataclass."""
    if not hasattr(figure, "made_by"):
        figure.made_by = "simkit.analysis." + figure.name.replace("-", "_")
    figures.register_frozen(figure)
    return figure


# Columns of tables whose rows are means over draws, with 95 % intervals.
MEANS: dict[str, Any] = {"draws": int, "mean": float, "low": float | None, "high": float | None}
Metric = Literal["map", "map_all", "map_o"]
RUNS = {name: COLUMNS[name] for name in (*RUN, "test_id")} | {"map": float | None}
SCORED: dict[str, Any] = RUNS | {"map_all": float | None, "map_o": float | None}
PRICED: dict[str, Any] = SCORED | {"dollars": float, "seconds": float | None, "images": int}


@dataclass(frozen=True)
class AtBudget(Figure):
    """A figure of the runs within one budget."""

    of_runs: ClassVar[bool] = True
    made_by = "simkit.open_runs"
    reads: ClassVar = RUNS

    budget: float | None = setting(None, "budget in dollars; by default the middle one")
    hours: float | None = setting(None, "or budget in hours")

    def at_budget(self, table: pd.DataFrame) -> tuple[Budget, pd.DataFrame]:
        """The budget and its runs. Raises BadInput without any, or for two test splits."""
        check_one_test(table)
        return within(table, Budget(self.budget, self.hours))


def methods_option(most: str) -> Any:
    """The option `methods`; most: the number shown by default, in words."""
    return setting("", f"methods, separated by commas; by default the best {most}")


def not_shown(others: int) -> str:
    """A sentence of the caption about omitted methods."""
    many = "other methods are" if others > 1 else "other method is"
    return f"{others} {many} not shown; use the option methods." if others else ""


def range_of(counts: Iterable[int]) -> str:
    """Smallest and largest count: "5 to 10", or "5" if they are equal."""
    ordered = sorted(counts)
    return " to ".join(dict.fromkeys(map(str, (ordered[0], ordered[-1]))))


def paid(limit: Budget) -> str:
    """The cost of the runs within this limit, in words; some of a scheme may cost less."""
    return f"for up to {limit} of annotation each" if limit else "amounts as written"


def in_points(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The table with its columns mean, low, high and `columns` in points of 100."""
    return table.assign(**100 * table[["mean", "low", "high", *columns]])


def intervals(
    cells: Iterable[Interval | None], of: Literal["scores", "gaps", "losses"] = "scores"
) -> pd.DataFrame:
    """A table of means over draws, of scores and their gaps in points; NaN in place of None."""
    drawn = (cell.bounded if cell and of == "scores" else cell for cell in cells)
    rows = [(c.draws, c.mean, c.low, c.high) if c else 4 * (None,) for c in drawn]
    table = pd.DataFrame(rows, columns=list(MEANS), dtype=float)
    return table.assign(**(1 if of == "losses" else 100) * table.drop(columns="draws"))


def split(table: pd.DataFrame, column: str) -> dict[Any, pd.DataFrame]:
    """The rows of each value of a column, in the order of the table."""
    return dict(iter(table.groupby(column, sort=False)))


class _Shown(Drawing):
    """A figure that Jupyter shows, with or without `%matplotlib inline`."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()


class Panels:
    """Axes in rows and columns below a heading, with legend and caption below them.

    Iteration yields the panels, or with `rows` the columns as arrays of panels.

    Parameters
    ----------
    titles
        Titles of the panels, in rows of at most `across`.
    rows
        Number of panels below each title, if there are several.
    height
        Height of each row of panels in inches, or one number for each row, without heading, legend
        and caption.
    widths
        Relative widths of the columns.
    sharex, sharey
        As for matplotlib's `subplots`.
    """

    def __init__(
        self, titles: Iterable[str] = ("",), *, rows: int = 0, across: int = 4,
        height: float | Sequence[float] = 3.0, widths: Sequence[float] | None = None,
        sharex: Any = True, sharey: Any = True,
    ) -> None:  # fmt: skip
        titles = list(titles)
        across = len(titles) if rows else min(across, len(titles))
        down = rows or -(-len(titles) // across)
        heights = [height] * down if isinstance(height, int | float) else list(height)
        self.drawing = _Shown(figsize=(WIDTH, sum(heights)), layout="constrained")
        self.grid: NDArray[Any] = self.drawing.subplots(
            down, across, sharex=sharex, sharey=sharey, squeeze=False,
            width_ratios=widths, height_ratios=heights,
        )  # fmt: skip
        self._rows = rows
        self._used: list[Axes] = list(self.grid.flat)[: None if rows else len(titles)]
        self._empty: list[Axes] = list(self.grid.flat)[len(self._used) :]
        for axes, title in zip(self.grid.flat, titles, strict=False):
            axes.set_title(title)
        for axes in self._empty:
            axes.set_axis_off()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.grid.T if self._rows else self._used)

    def labels(self, x: str | Sequence[str] = "", y: str | Sequence[str] = "") -> None:
        """Label the axes, once for all panels, or x for each column and y for each row."""
        rows, columns = self.grid.shape
        for place, text in enumerate([x] * columns if isinstance(x, str) else x):
            lowest = [axes for axes in self.grid[:, place] if axes not in self._empty][-1]
            lowest.set_xlabel(text or lowest.get_xlabel())
            lowest.tick_params(labelbottom=True)
        if isinstance(y, str) and rows > 1:
            self.drawing.supylabel(y, fontsize=10)
            return
        for axes, text in zip(self.grid[:, 0], [y] if isinstance(y, str) else y, strict=True):
            axes.set_ylabel(text or axes.get_ylabel())

    def finish(self, heading: str, *caption: str) -> Drawing:
        """The figure with its heading, the non-empty sentences of its caption, and a legend.

        The legend, below the panels, has every matplotlib label once.
        """
        width, panels = self.drawing.get_size_inches()
        room = width - 2 * _MARGIN
        left: Any = {"x": _MARGIN / width, "y": 0.5, "ha": "left"}
        title = "\n".join(wrapped(heading, room, 13, "bold", whole=True))
        head = self.drawing.suptitle(title, **left, va="top", size=13, weight="bold")
        lines = "\n".join(wrapped(" ".join(" ".join(caption).split()), room, 9, whole=True))
        foot = self.drawing.supxlabel(lines, **left, va="bottom", size=9, color="#555555")
        legends = self._legends()
        parts = [head, foot, *legends]
        for part in parts:  # not part of the layout of the panels
            part.set_in_layout(False)
        below = _MARGIN + _tall(foot)
        bottom = below + sum(map(_tall, legends))
        height = bottom + panels + _tall(head) + _MARGIN
        self.drawing.set_figheight(height)
        foot.set_y(_MARGIN / height)
        head.set_y(1 - _MARGIN / height)
        for legend in legends:
            legend.set_bbox_to_anchor((0, below / height))
        layout: Any = self.drawing.get_layout_engine()
        layout.set(rect=(0, bottom / height, 1, panels / height))
        if outer := self.drawing.get_supylabel():
            self.drawing.supylabel(outer, y=(bottom + panels / 2) / height, fontsize=10)
        titles = {axes: axes.get_title("left") for axes in self.grid.flat}
        for axes in titles:  # long ones would push the panels apart
            axes.set_title("")
        layout.execute(self.drawing)
        for axes, title in titles.items():
            wide, tall = axes.get_position().size * self.drawing.get_size_inches()
            axes.set_title(fold(title, wide, size=11, lines=3, weight="bold"))
            axes.set_xlabel(fold(axes.get_xlabel(), wide, lines=3))
            axes.set_ylabel(fold(axes.get_ylabel(), 1.1 * tall, lines=3))
        layout.execute(self.drawing)
        self.drawing.set_layout_engine("none")  # no change from here on
        for axes in self.drawing.axes:  # rounded: the solver's last digits differ from run to run
            axes.set_position(np.round(axes.get_position(original=True).bounds, 6).tolist())
        for part in parts:
            part.set_in_layout(True)  # Jupyter crops to the layout
        return self.drawing

    def _legends(self) -> list[Any]:
        """The legend, in columns of about equal length; none without labels."""
        handles: dict[str, Any] = {}
        for axes in self._used:
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(fold(name, WIDTH - 1), handle)
        for most in range(min(len(handles), 6), 0, -1):
            across = -(-len(handles) // -(-len(handles) // most))
            legend = self.drawing.legend(
                handles.values(), handles, loc="lower left", ncols=across, borderaxespad=0
            )
            if most == 1 or _inches(legend).width <= self.drawing.get_figwidth():
                return [legend]
            legend.remove()
        return []


def single(height: float) -> tuple[Panels, Axes]:
    """A figure of one panel of this height in inches, and the panel."""
    panels = Panels(height=height)
    return panels, panels.grid[0, 0]


class Facets(Panels):
    """A panel for each value of a column, or for each pair of values of two columns.

    Iteration yields each panel, or with `rows` each column of panels, with its rows of the table.

    Parameters
    ----------
    column, named
        The column with a panel for each value, in table order, and the titles of the values.
    down
        A second column: its values are the rows of the grid, those of `column` its columns.
    rows, across, height, sharex, sharey
        As for `Panels`; with `down`, the number of rows follows from the table.
    """

    def __init__(
        self, table: pd.DataFrame, column: str, *, named: Callable[[Any], str] = str,
        down: str = "", rows: int = 0, across: int = 4, height: float | Sequence[float] = 3.0,
        sharex: Any = True, sharey: Any = True,
    ) -> None:  # fmt: skip
        self._parts = list(split(table, column).values())
        values = table[down].unique() if down else ()
        if down:
            self._parts = [part[part[down] == v] for v in values for part in self._parts]
        super().__init__(
            map(named, table[column].unique()), rows=len(values) or rows, across=across,
            height=height, sharex=sharex, sharey=sharey,
        )  # fmt: skip
        self._panels = list(self.grid.flat) if down else list(super().__iter__())
        for axes, part in zip(self._panels, self._parts, strict=True):
            if part.empty:
                axes.set_axis_off()

    def __iter__(self) -> Iterator[Any]:
        both = zip(self._panels, self._parts, strict=True)
        return ((axes, rows) for axes, rows in both if len(rows))


def _inches(artist: Any) -> Any:
    return artist.get_window_extent().transformed(artist.get_figure().dpi_scale_trans.inverted())


def _tall(artist: Any) -> float:
    """Height of a part of the page in inches, with the gap to the next one; 0 without text."""
    height = float(_inches(artist).height)
    return height + _GAP if height else 0.0
