"""A report as one page: the answers, tables, and folded details.

A `Page` holds finished sentences and numbers, and renders itself for terminals, browsers, Markdown
and notebooks; the same page always gives the same bytes.
"""

from __future__ import annotations

import json
import re
import textwrap
import warnings
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from simkit import quantities

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jinja2
    from matplotlib.figure import Figure

WIDEST = 100  # columns of running text in a wide terminal
PIPE = 1000  # columns from which on no line is wrapped
LETTERS = 14  # size of letters in figures, in pixels
_FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
dollars, points = quantities.exact_money, quantities.points


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


class Drawing(Protocol):
    """A figure for screens and phones, with alternative text and a note below it."""

    @property
    def alt(self) -> str: ...
    @property
    def note(self) -> str: ...
    def figure(self, *, narrow: bool) -> Figure:
        """With a single pair of axes: dollars on a log axis, and mAP in points."""


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
    """A whole report; answers are pairs such as ("Spend", "$928 on complete labels").

    The answer about trust begins with the grade `trust`. `about`: the day, and what is planned.
    `program`: the command whose option --details prints the details.
    """

    title: str
    answers: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    details: tuple[Section, ...]
    chart: Drawing | None = None
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


_CODE = r"(?<!`)(`+)(?!`)(%s+?)(?<!`)\1(?!`)"  # backticks, text, and as many backticks


@cache
def _environment() -> jinja2.Environment:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined)
    environment.filters |= {
        "number": "{:,}".format, "point": "{:.1f}".format, "json": json.dumps,
        "percent": quantities.percent,
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


def render(text: str, values: Mapping[str, Any]) -> str:
    """A Jinja template of plain text with these values; an unknown name in it is an error."""
    return _compiled(text).render(values)


@cache
def _compiled(text: str) -> jinja2.Template:
    return _environment().from_string(text)


# ---------------------------------------------------------------------------------- in a terminal


def _in_terminal(section: Section, width: int, wide: int) -> str:
    parts, table = [_printed(text, wide) for text in section.text], section.table
    if section.items:
        parts.append(_columns([("-", item) for item in section.items], wide, gap=1))
    if table is not None and table.rows:
        columns = zip(*table.rows, strict=True)
        rule = tuple(
            "-" * max(cell_len(clean(cell)) for cell in column)
            if place in table.numbers and column[-1]
            else ""
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
    cells = [[clean(cell) for cell in row] for row in rows]
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
    console.print(Text(clean(drawn)) if isinstance(drawn, str) else drawn)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def clean(text: str) -> str:
    """The text without unprintable characters, such as escape codes in a class name."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _sound(text: str) -> str:
    """The same for code, with its lines and spaces."""
    return "\n".join("".join(filter(str.isprintable, line)) for line in text.splitlines())


# ----------------------------------------------------------------------------------- in a browser


@dataclass(frozen=True)
class WhatIf:
    """The pages of a plan for other budgets, and plain values for the script that shows them.

    The values are `steps`, for each page its budget, mark in the figure and label, and `own`, the
    place of the plan's own budget.
    """

    pages: tuple[Page, ...]
    values: Mapping[str, Any]


def in_browser(
    page: Page, *, whole: bool = True, what_if: WhatIf | None = None, date: str = ""
) -> str:
    """The page as HTML: a file, or a fragment of one with a single figure."""
    kinds = ("wide", "narrow") if whole else ("",)
    script = (files(__package__) / "report.js").read_text("utf-8")
    return _template().render(
        page=page, whole=whole, date=date or page.about, what_if=what_if,
        figures=[_image(page.chart, kind) for kind in kinds if page.chart],
        values=json.dumps(what_if and what_if.values).replace("<", "\\u003c"),  # no text ends it
        script=script, script_id=b64encode(sha256(script.encode()).digest()).decode(),
    )  # fmt: skip


def _split(answers: Iterable[tuple[str, str]], trust: str) -> Iterator[tuple[str, str, str, str]]:
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
        escaped = str(escape(clean(text)))
        return Markup(re.sub(_CODE % ".", r"<code>\2</code>", escaped))

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=StrictUndefined, finalize=finalize,
    )  # fmt: skip
    environment.filters["code"] = code
    environment.globals["split"] = _split
    source = (files(__package__) / "report.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)


def _image(chart: Drawing, kind: str = "") -> Any:
    """The figure as an image, as Jupyter removes SVG elements from untrusted notebooks."""
    from markupsafe import Markup, escape

    drawn = chart.figure(narrow=kind == "narrow")
    width, height = (round(72 * inches) for inches in drawn.get_size_inches())
    # Where a script finds dollars and mAP: the axes as parts of the image, and their limits.
    (axes,) = drawn.axes
    scale = (*axes.get_position().extents, *np.log10(axes.get_xlim()), *axes.get_ylim())
    return Markup(
        f'<img class="{kind}" width="{width}" height="{height}" '
        f'data-scale="{" ".join(f"{part:.5f}" for part in scale)}" '
        f'alt="{escape(clean(chart.alt))}" src="{svg_source(drawn)}">'
    )


@contextmanager
def look() -> Iterator[None]:
    """The style of figures, independent of settings in a notebook."""
    import matplotlib as mpl

    from simkit.results.figures.style import STYLE

    style = STYLE | {
        "font.size": LETTERS, "axes.labelsize": LETTERS, "xtick.labelsize": 11,
        "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
        "axes.spines.left": False, "axes.grid.axis": "y", "ytick.major.size": 0,
    }  # fmt: skip
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the browser has them
        mpl.rcdefaults()
        mpl.rcParams.update(style)
        yield


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
    parts = re.split(_CODE % "[^|]", clean(text))
    parts[::3] = [re.sub(r"([\\`*_\[\]<>&|#~$])", r"\\\1", part) for part in parts[::3]]
    parts[2::3] = map(code, parts[2::3])
    del parts[1::3]
    return "".join(parts)
