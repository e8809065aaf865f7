"""A plan, or an evaluation, as one page: the answers, tables, and folded details.

A `Page` holds finished sentences and numbers, and renders itself for terminals, browsers, Markdown
and notebooks; the same page always gives the same bytes.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
import warnings
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from simkit import quantities

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jinja2
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDEST = 100  # columns of running text in a wide terminal
dollars = partial(quantities.money, cents_below=100)
PIPE = 1000  # columns from which on no line is wrapped


@dataclass(frozen=True)
class Table:
    """Rows of cells; a last row whose first cell is "total" is separated.

    numbers: indices of the right-aligned columns.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()

    @property
    def total(self) -> bool:
        """Whether the last row is the sum of the others."""
        return bool(self.rows) and self.rows[-1][0].lower() == "total"


@dataclass(frozen=True)
class Image:
    """A picture (a data URI) with its caption."""

    source: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A section of the details: paragraphs, a list, a table, commands.

    Sections with images, which may be made on use, are shown in browsers alone.
    """

    title: str
    text: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    table: Table | None = None
    code: str = ""
    images: Iterable[Image] = ()
    unfolded: bool = False


Mark = tuple[float, float]  # a point of the figure: dollars, and mAP from 0 to 1


@dataclass(frozen=True)
class CurveSeries:
    """Expected mAP (0 to 1) over dollars, with its 90 % band and the measured runs."""

    label: str
    dollars: tuple[float, ...]
    median: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    measured: tuple[Mark, ...] = ()
    chosen: bool = False


@dataclass(frozen=True)
class Chart:
    """The figure: lines, the chosen purchase, budget and target, alternative text and a note."""

    lines: tuple[CurveSeries, ...]
    chosen: Mark
    budget: float
    alt: str
    target: float | None = None
    note: str = ""


class Frame(NamedTuple):
    """A whole page within a notebook."""

    html: str

    def _repr_html_(self) -> str:
        from markupsafe import escape

        page = escape(self.html)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 720px; border: 0"></iframe>'


class Readable(ABC):
    """A value with a page for terminals, browsers, Markdown and notebooks."""

    @property
    @abstractmethod
    def page(self) -> Page:
        """The content of the page."""

    def text(self, *, width: int = 100, details: bool = False) -> str:
        """Plain text for a terminal, without a final line break.

        Parameters
        ----------
        width : int
            Columns of the terminal. Text is at most 100 columns wide; from 1,000 columns on (a
            pipe) lines are not wrapped.
        details : bool
            Whether to append the details.

        Returns
        -------
        str
            One screen, at most 40 lines for a usual page without its details.
        """
        page, width = self.page, max(width, 20)
        wide = width if width >= PIPE else min(width, WIDEST)
        sections = page.sections
        folded = [*page.written, *([Section("Command", code=page.command)] if page.command else [])]
        parts = [_printed(page.title, wide), _columns(page.answers, wide)]
        parts += [_in_terminal(one, width, wide) for one in sections + folded * details]
        if folded and not details:
            parts.append(f"(more: {page.program} ... --details)")
        return "\n\n".join(parts).rstrip()

    def html(self, *, date: str = "") -> str:
        """One file of HTML that needs neither network nor script.

        date: the line below the title. Default: the day, and the data or project.
        """
        return in_browser(self.page, date=date)

    def _repr_html_(self) -> str:
        """An HTML fragment for notebooks, including untrusted ones.

        Jupyter renders text between two dollar signs as a formula, so each sign is an element.
        """
        text = in_browser(self.page, whole=False)
        return re.sub(r"\$(?=[^<>]*<)", "<span>$</span>", text)

    def markdown(self) -> str:
        """A Markdown document, with tables in the pipe form."""
        page = self.page
        answers = (f"- **{_marked(name)}:** {_marked(text)}" for name, text in page.answers)
        parts = [f"# {_marked(page.title)}", "\n".join(answers)]
        for section in (*page.sections, *page.written):
            parts += [f"## {_marked(section.title)}", *(_marked(text) for text in section.text)]
            parts += ["\n".join(f"- {_marked(item)}" for item in section.items)]
            parts += [_piped(section.table)] if section.table and section.table.rows else []
            parts += [_fenced(section.code)]
        return "\n\n".join(filter(None, [*parts, _fenced(page.command)])) + "\n"

    def __repr__(self) -> str:
        return self.text()


@dataclass(frozen=True, repr=False)
class Page(Readable):
    """A whole plan; answers are pairs such as ("Spend", "$928 on complete labels").

    The answer about trust begins with the grade `trust`. `about`: the day, and what is planned.
    `program`: the command whose option --details prints the details.
    """

    title: str
    answers: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    details: tuple[Section, ...]
    chart: Chart | None = None
    command: str = ""
    trust: Literal["high", "medium", "low", ""] = ""
    bill: Table | None = None
    about: str = ""
    program: str = "simkit plan"

    @property
    def page(self) -> Page:
        """The page itself."""
        return self

    @property
    def sections(self) -> list[Section]:
        """The tables and the bill, as far as they have rows."""
        tables = (*self.tables, *([self.bill] if self.bill else []))
        return [Section(table.title, table=table) for table in tables if table.rows]

    @property
    def written(self) -> list[Section]:
        """The details without pictures."""
        return [section for section in self.details if not section.images]


def command(*words: str, **options: Any) -> str:
    """`simkit plan` with these words, and the options that are not None."""
    parts = ["simkit", "plan", *words]
    for name, value in options.items():
        if value is not None:
            text = f"{value:.15g}" if isinstance(value, float) else str(value)
            parts += [f"--{name.replace('_', '-')}", text]
    return shlex.join(parts)


_CODE = r"(?<!`)(`+)(?!`)(%s+?)(?<!`)\1(?!`)"  # backticks, text, and as many backticks


@cache
def _environment() -> jinja2.Environment:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined)
    environment.filters |= {
        "number": "{:,}".format, "point": "{:.1f}".format, "json": json.dumps,
        "money": quantities.exact_money, "percent": quantities.percent,
        "digits": quantities.two_digits, "dollars": dollars, "numbered": quantities.numbered,
        "duration": lambda hours: quantities.duration(3600 * hours), "code": code,
    }  # fmt: skip
    return environment


def code(text: str) -> str:
    """The text between more backticks than it has in a row, as pages know code in sentences."""
    fence = _fence(text, 1)
    return f"{fence}{text}{fence}"


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def said(text: str, values: Mapping[str, Any]) -> str:
    """A Jinja template of plain text with these values; an unknown name in it is an error."""
    return _environment().from_string(text).render(values)


# ---------------------------------------------------------------------------------- in a terminal


def _in_terminal(section: Section, width: int, wide: int) -> str:
    parts, table = [_printed(text, wide) for text in section.text], section.table
    if section.items:
        parts.append(_columns([("-", item) for item in section.items], wide, gap=1))
    if table is not None and table.rows:
        columns = zip(*table.rows, strict=True)
        rule = tuple(
            "-" * max(cell_len(_clean(cell)) for cell in column) if place in table.numbers else ""
            for place, column in enumerate(columns)
        )
        rows = [*table.rows[:-1], rule, table.rows[-1]] if table.total else table.rows
        parts.append(_columns([table.columns, *rows], width, numbers=table.numbers))
    if section.code:
        parts.append(textwrap.indent(_sound(section.code), "    "))
    return f"{_printed(section.title, wide)}\n" + "\n\n".join(parts)


def _columns(
    rows: Iterable[tuple[str, ...]], width: int, *, numbers: tuple[int, ...] = (), gap: int = 2
) -> str:
    """Cells in columns, wrapped if they do not fit; the columns `numbers` wrap last."""
    cells = [[_clean(cell) for cell in row] for row in rows]
    grid = Grid.grid(padding=(0, gap, 0, 0))
    for place, column in enumerate(zip(*cells, strict=True)):
        right = place in numbers
        least = max(cell_len(cell) for cell in column[1:] or column) if right else None
        grid.add_column(justify="right" if right else "left", min_width=least, overflow="fold")
    for row in cells:
        grid.add_row(*(Text(cell) for cell in row))
    return _printed(grid, width)


def _printed(drawn: str | Grid, width: int) -> str:
    out = StringIO()
    console = Console(file=out, width=max(width, 4), color_system=None, force_jupyter=False)
    console.print(Text(_clean(drawn)) if isinstance(drawn, str) else drawn)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _clean(text: str) -> str:
    """The text without unprintable characters, such as escape codes in a class name."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _sound(text: str) -> str:
    """The same for code, with its lines and spaces."""
    return "\n".join("".join(filter(str.isprintable, line)) for line in text.splitlines())


# ----------------------------------------------------------------------------------- in a browser


def in_browser(
    page: Page, *, whole: bool = True, what_if: Mapping[str, Any] | None = None, date: str = ""
) -> str:
    """The page as HTML: a file, or a fragment of one with a single figure.

    what_if: plain values for the script that moves the budget, see `plan_page.what_if`.
    """
    kinds = ("wide", "narrow") if whole else ("",)
    script = (files(__package__) / "page.js").read_text("utf-8")
    return _template().render(
        page=page, answers=split(page.answers, page.trust), whole=whole, date=date or page.about,
        figures=[_image(page.chart, kind) for kind in kinds if page.chart], what_if=what_if,
        values=json.dumps(what_if).replace("<", "\\u003c"),  # no text can end its element
        script=script, script_id=b64encode(sha256(script.encode()).digest()).decode(),
    )  # fmt: skip


def split(
    answers: Iterable[tuple[str, str]], trust: str = ""
) -> Iterator[tuple[str, str, str, str]]:
    """Name, class, head and rest of each answer: the head is the grade of trust, or the text of the
    first two answers up to the first full stop."""
    for place, (name, text) in enumerate(answers):
        kind, split = "", None
        if name.lower() == "trust" and trust:
            kind = f"trust {trust}"
            split = re.match(rf"({trust})\b[\s.,:;-]*(.*)", text, re.IGNORECASE | re.DOTALL)
        elif place < 2:
            kind, split = "head", re.match(r"(.{4,}?[.:;])\s+(.*)", text, re.DOTALL)
        head, rest = split.groups() if split else (text, "") if kind else ("", text)
        yield name, kind, head.rstrip(":;") if place < 2 else head, rest


@cache
def _template() -> jinja2.Template:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup, escape

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else _sound(str(value))

    def code(text: str) -> Markup:
        escaped = str(escape(_clean(text)))
        return Markup(re.sub(_CODE % ".", r"<code>\2</code>", escaped))

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=StrictUndefined, finalize=finalize,
    )  # fmt: skip
    environment.filters["code"] = code
    source = (files(__package__) / "page.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)


def _image(chart: Chart, kind: str = "") -> Any:
    """The figure as an image, as Jupyter removes SVG elements from untrusted notebooks."""
    from markupsafe import Markup, escape

    drawn = figure(chart, narrow=kind == "narrow")
    width, height = (round(72 * inches) for inches in drawn.get_size_inches())
    # Where a script finds dollars and mAP: the axes as parts of the image, and their limits.
    (axes,) = drawn.axes
    scale = (*axes.get_position().extents, *np.log10(axes.get_xlim()), *axes.get_ylim())
    return Markup(
        f'<img class="{kind}" width="{width}" height="{height}" '
        f'data-scale="{" ".join(f"{part:.5f}" for part in scale)}" '
        f'alt="{escape(_clean(chart.alt))}" src="{svg_source(drawn)}">'
    )


def svg_source(drawn: Figure) -> str:
    """A figure as the source of an image; the same figure gives the same text."""
    out = StringIO()
    with look():
        none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        drawn.savefig(out, format="svg", metadata=none)
    drawing = out.getvalue().replace("'DejaVu Sans', sans-serif", _FONTS)
    return f"data:image/svg+xml;base64,{b64encode(drawing.encode()).decode()}"


# ------------------------------------------------------------------------------------ in Markdown


def _fenced(code: str) -> str:
    """A fenced block of code; empty without code."""
    if not code:
        return ""
    fence = _fence(code, 3)
    return f"{fence}\n{_sound(code)}\n{fence}"


def _piped(table: Table) -> str:
    rules = ("---:" if place in table.numbers else "---" for place in range(len(table.columns)))
    body = [tuple(_marked(cell) or " " for cell in row) for row in table.rows]
    if table.total:
        body[-1] = tuple(f"**{cell}**" if cell.strip() else cell for cell in body[-1])
    head = tuple(_marked(name) or " " for name in table.columns)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, tuple(rules), *body))


def _marked(text: str) -> str:
    """`text` on one line, escaped except for code between backticks."""
    parts = re.split(_CODE % "[^|]", _clean(text))
    parts[::3] = [re.sub(r"([\\`*_\[\]<>&|#~$])", r"\\\1", part) for part in parts[::3]]
    parts[2::3] = map(code, parts[2::3])
    del parts[1::3]
    return "".join(parts)


# ------------------------------------------------------------------------------------- the figure

_MOST = 5  # lines in the figure
_LETTERS, _ROW = 14, 16  # size of letters and height of a line of text, in pixels
# Colours of lines and of words, and dashes for prints in grey; the first is that of the choice.
_STYLES: tuple[tuple[str, str, Any], ...] = (
    ("#0072B2", "#0072B2", "-"),
    ("#E69F00", "#7d5600", (0, (6, 2))),
    ("#009E73", "#00664a", (0, (2, 2))),
    ("#CC79A7", "#8a3f68", (0, (6, 2, 1, 2))),
    ("#999999", "#5a5a5a", (0, (1, 1))),
)
_FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
_PAPER = {"facecolor": "white", "alpha": 0.8, "lw": 0, "pad": 1}


_LEFT, _TOP = 38, 44  # margins


def _frame(names: int, narrow: bool) -> tuple[int, int, int, int]:
    """Width and height of the figure, and its margins at the right and below, in pixels: lines are
    named at the right, on phones below."""
    below = 64 + 20 * names
    return (358, 270 + below, 12, below) if narrow else (600, 372, 202, 50)


@contextmanager
def look() -> Iterator[None]:
    """The style of figures, independent of settings in a notebook."""
    import matplotlib as mpl

    from simkit.results.figures.style import STYLE

    style = STYLE | {
        "font.size": _LETTERS, "axes.labelsize": _LETTERS, "xtick.labelsize": 11,
        "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
        "axes.spines.left": False, "axes.grid.axis": "y", "ytick.major.size": 0,
    }  # fmt: skip
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the browser has them
        mpl.rcdefaults()
        mpl.rcParams.update(style)
        yield


def figure(chart: Chart, *, narrow: bool = False) -> Figure:
    """The figure of a plan: mAP in points over dollars on a log axis.

    Parameters
    ----------
    chart : Chart
        The figure shows at most five of its lines, the chosen ones first.
    narrow : bool
        For phones: 358 instead of 600 pixels wide, with letters of the same size.

    Returns
    -------
    matplotlib.figure.Figure
        Artists carry labels: "band", "chosen", "budget", "target", "median: ...", "measured: ...".
    """
    from matplotlib.figure import Figure

    lines = sorted(chart.lines, key=lambda line: not line.chosen)[:_MOST]
    width, height, right, bottom = _frame(len(lines), narrow)
    with look():
        drawn = Figure(figsize=(width / 72, height / 72), dpi=72)
        axes = drawn.add_axes((
            _LEFT / width, bottom / height, 1 - (_LEFT + right) / width,
            1 - (_TOP + bottom) / height,
        ))  # fmt: skip
        styles = _STYLES if lines and lines[0].chosen else _STYLES[1:]
        for line, (colour, dark, dashes) in zip(lines, styles, strict=False):
            thick, mark, order = (3.2, 6.5, 4) if line.chosen else (1.8, 5.0, 3)
            low, median, high = (100 * np.array(y) for y in (line.low, line.median, line.high))
            if line.chosen and line.low:
                axes.fill_between(line.dollars, low, high, color=colour, alpha=0.18, lw=0,
                                  label="band")  # fmt: skip
            axes.plot(line.dollars, median, color=colour, ls=dashes, lw=thick, zorder=order,
                      label=f"median: {line.label}")  # fmt: skip
            if line.measured:
                x, y = np.transpose(line.measured)
                axes.plot(x, 100 * y, "o", ms=mark, mfc="white", mec=dark, mew=1.3, zorder=order,
                          label=f"measured: {line.label}")  # fmt: skip
        _rulers(axes, chart)
        _name_lines(axes, [*zip(lines, styles, strict=False)], narrow)
    return drawn


def _rulers(axes: Axes, chart: Chart) -> None:
    """The chosen purchase, budget, target, and both axes."""
    from simkit.results.figures.marks import ticks_at
    from simkit.results.figures.style import INK

    spent, map = chart.chosen[0], 100 * chart.chosen[1]
    axes.plot(spent, map, "D", ms=11, mfc="white", mec=_STYLES[0][0], mew=3, zorder=6,
              label="chosen", clip_on=False)  # fmt: skip
    axes.axvline(chart.budget, color=INK, lw=1, zorder=2, label="budget")
    if chart.target is not None:
        target = 100 * chart.target
        axes.axhline(target, color=INK, lw=1, ls=(0, (4, 3)), zorder=2, label="target")
        axes.annotate(f"target {target:.3g}", (0, target), xytext=(3, -2), va="top",
                      xycoords=("axes fraction", "data"), textcoords="offset points",
                      bbox=_PAPER)  # fmt: skip
    axes.set_xscale("log")
    axes.margins(x=0.04, y=0.06)
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, 0.0), min(high, 100.0))
    ticks_at(axes, [step * 10.0**d for step in (1, 3, 2, 5) for d in range(-2, 9)],
             named=quantities.short_money)  # fmt: skip
    axes.locator_params(axis="y", nbins=6, integer=True)
    axes.set_xlabel("dollars (log scale)")
    axes.annotate("mAP on new images, points", (0, 1), xytext=(-30, 4 + _ROW), va="bottom",
                  xycoords="axes fraction", textcoords="offset points")  # fmt: skip
    # Positions are fractions of the width and height of the axes.
    (place, _), (x, y) = axes.transAxes.inverted().transform(
        axes.transData.transform([(chart.budget, low), (spent, map)])
    )
    axes.annotate(f"budget {dollars(chart.budget)}", (place, 1), xytext=(0, 3),
                  xycoords="axes fraction", textcoords="offset points",
                  ha="right" if place > 0.5 else "left", va="bottom")  # fmt: skip
    left, above = x > 0.5, y < 0.8  # above its line where there is room
    axes.annotate(marked_as(chart.chosen), (spent, map),
                  xytext=(-10 if left else 10, 10 if above else -10), zorder=7,
                  textcoords="offset points", weight="bold", color=_STYLES[0][0], bbox=_PAPER,
                  ha="right" if left else "left", va="bottom" if above else "top")  # fmt: skip


def marked_as(mark: Mark) -> str:
    """Price and mAP of a purchase in the figure."""
    return f"{dollars(mark[0])}: {100 * mark[1]:.1f} mAP"


def _name_lines(axes: Axes, lines: list[tuple[CurveSeries, Any]], narrow: bool) -> None:
    """Names in the order of the ends of their lines."""
    from simkit.results.figures.style import fold

    lines = sorted(lines, key=lambda line: -line[0].median[-1])
    by_label = {artist.get_label(): artist for artist in axes.lines}
    room, rows, size = (290, 1, _LETTERS) if narrow else (156, 3, _LETTERS - 1)
    legend = axes.legend(
        [by_label[f"median: {line.label}"] for line, _ in lines],
        [fold(_clean(line.label), room / 72, size=size, lines=rows,
              weight="bold" if line.chosen else "normal") for line, _ in lines],
        loc="upper left" if narrow else "center left", borderaxespad=0, frameon=False,
        bbox_to_anchor=(-0.08, -0.25) if narrow else (1.03, 0.5), handlelength=1.6,
        handletextpad=0.4, labelspacing=0.3 if narrow else 0.7, fontsize=size,
    )  # fmt: skip
    for text, (line, (_, dark, _)) in zip(legend.get_texts(), lines, strict=True):
        text.set(color=dark, weight="bold" if line.chosen else "normal")
