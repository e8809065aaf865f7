"""A plan as one page: the order, the expected mAP, and the grade of trust.

A `Page` holds finished sentences and numbers. `terminal`, `html`, `fragment` and `markdown`
render it; the same page always gives the same bytes.
"""

from __future__ import annotations

import math
import re
import shlex
import textwrap
import warnings
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jinja2
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDEST = 100  # columns of running text in a wide terminal
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
class Section:
    """A section of the details: paragraphs, a list, a table, commands."""

    title: str
    text: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    table: Table | None = None
    code: str = ""


@dataclass(frozen=True)
class Mark:
    """A point of the figure; `map` is from 0 to 1."""

    dollars: float
    map: float
    label: str = ""


@dataclass(frozen=True)
class Line:
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

    lines: tuple[Line, ...]
    chosen: Mark
    budget: float
    target: float | None = None
    alt: str = ""
    note: str = ""


@dataclass(frozen=True)
class Page:
    """A whole plan; answers are pairs such as ("Spend", "$928 on complete labels")."""

    title: str
    answers: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    details: tuple[Section, ...]
    chart: Chart | None = None
    command: str = ""
    trust: Literal["high", "medium", "low", ""] = ""


class Readable(ABC):
    """A value with a page for terminals, browsers, Markdown and notebooks."""

    @property
    @abstractmethod
    def page(self) -> Page:
        """The content of the page."""

    def text(self, *, width: int = 100, details: bool = False) -> str:
        """Plain text for a terminal of `width` columns."""
        return terminal(self.page, width=width, details=details)

    def html(self) -> str:
        """One self-contained page."""
        return html(self.page)

    def markdown(self) -> str:
        """A Markdown document."""
        return markdown(self.page)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return fragment(self.page)


def command(*words: str, **options: Any) -> str:
    """`simkit plan` with these words, and the options that are not None."""
    parts = ["simkit", "plan", *words]
    for name, value in options.items():
        if value is not None:
            text = f"{value:.15g}" if isinstance(value, float) else str(value)
            parts += [f"--{name.replace('_', '-')}", text]
    return shlex.join(parts)


# ---------------------------------------------------------------------------------- in a terminal


def terminal(page: Page, *, width: int = 100, details: bool = False) -> str:
    """The page as plain text, without a final line break.

    Parameters
    ----------
    page : Page
    width : int
        Columns of the terminal. Text is at most 100 columns wide; from 1,000 columns on (a pipe)
        lines are not wrapped.
    details : bool
        Whether to append the details.

    Returns
    -------
    str
        One screen, at most 40 lines for a usual page without its details.
    """
    width = max(width, 20)
    wide = width if width >= PIPE else min(width, WIDEST)
    parts = [_folded(page.title, wide), _columns(_answers(page), wide)]
    tables = (table for table in page.tables if table.rows)
    parts += [_titled(table.title, _drawn(table, width), wide) for table in tables]
    if not details:
        hint = " (more: simkit plan ... --details)" if page.details or page.command else ""
        return "\n\n".join([*parts, hint.strip()]).rstrip()
    for section in page.details:
        parts.append(_titled(section.title, "\n\n".join(_section(section, width, wide)), wide))
    parts += [_titled("Command", _indented(page.command), wide)] if page.command else []
    return "\n\n".join(parts)


def _section(section: Section, width: int, wide: int) -> Iterator[str]:
    yield from (_folded(text, wide) for text in section.text)
    if section.items:
        yield _columns([("-", item) for item in section.items], wide, gap=1)
    if section.table is not None and section.table.rows:
        yield _drawn(section.table, width)
    if section.code:
        yield _indented(section.code)


def _titled(title: str, text: str, wide: int) -> str:
    return f"{_folded(title, wide)}\n{text}" if title else text


def _indented(code: str) -> str:
    return textwrap.indent(_sound(code), "    ")


def _drawn(table: Table, width: int) -> str:
    rules = tuple(
        "-" * max(_cells(row[place]) for row in table.rows) if place in table.numbers else ""
        for place in range(len(table.columns))
    )
    rows = [*table.rows[:-1], rules, table.rows[-1]] if table.total else table.rows
    return _columns([table.columns, *rows], width, numbers=table.numbers)


def _columns(
    rows: Iterable[tuple[str, ...]], width: int, *, numbers: tuple[int, ...] = (), gap: int = 2
) -> str:
    """Cells in columns, wrapped if they do not fit; the columns `numbers` wrap last."""
    from rich.table import Table as Grid
    from rich.text import Text

    cells = [[_clean(cell) for cell in row] for row in rows]
    grid = Grid.grid(padding=(0, gap, 0, 0))
    for place, column in enumerate(zip(*cells, strict=True)):
        least = max(_cells(cell) for cell in column[1:] or column) if place in numbers else None
        right = place in numbers
        grid.add_column(justify="right" if right else "left", min_width=least, overflow="fold")
    for row in cells:
        grid.add_row(*(Text(cell) for cell in row))
    return _printed(grid, width)


def _folded(text: str, width: int) -> str:
    from rich.text import Text

    return _printed(Text(_clean(text)), width)


def _printed(drawn: Any, width: int) -> str:
    from rich.console import Console

    out = StringIO()
    Console(file=out, width=max(width, 4), color_system=None, force_jupyter=False).print(drawn)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(_clean(text))


def _clean(text: str) -> str:
    """The text without unprintable characters, such as escape codes in a class name."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _sound(text: str) -> str:
    """The same for code, with its lines and spaces."""
    return "\n".join("".join(filter(str.isprintable, line)) for line in text.splitlines())


def _answers(page: Page) -> list[tuple[str, str]]:
    """The answers; that about trust begins with the grade."""
    return [
        (name, f"{page.trust}: {text}")
        if name.lower() == "trust" and not text.lower().startswith(page.trust)
        else (name, text)
        for name, text in page.answers
    ]


# ----------------------------------------------------------------------------------- in a browser


def html(page: Page) -> str:
    """The page as one file of HTML that needs neither network nor script."""
    figures = [] if page.chart is None else [_inline(page.chart), _inline(page.chart, narrow=True)]
    return _template().render(page=page, answers=_headed(page), figures=figures, whole=True)


def fragment(page: Page) -> str:
    """The page as an HTML fragment for notebooks, including untrusted ones.

    Jupyter removes SVG and styles from untrusted notebooks, and renders text between two dollar
    signs as a formula: so the figure is an image, and each dollar sign an element.
    """
    figures = [] if page.chart is None else [_picture(page.chart)]
    text = _template().render(page=page, answers=_headed(page), figures=figures, whole=False)
    return re.sub(r"\$(?=[^<>]*<)", "<span>$</span>", text)


def _headed(page: Page) -> list[tuple[str, str, str, str]]:
    """Name, class, head and rest of each answer: the head is the grade of trust, or the text of the
    first two answers up to the first full stop."""
    headed = []
    for place, (name, text) in enumerate(_answers(page)):
        kind, split = "", None
        if name.lower() == "trust" and page.trust:
            kind = f"trust {page.trust}"
            split = re.match(rf"({page.trust})\b[\s.,:;-]*(.*)", text, re.IGNORECASE | re.DOTALL)
        elif place < 2:
            kind, split = "head", re.match(r"(.{4,}?[.:;])\s+(.*)", text, re.DOTALL)
        head, rest = split.groups() if split else (text, "") if kind else ("", text)
        headed.append((name, kind, head.rstrip(":;") if place < 2 else head, rest))
    return headed


@cache
def _template() -> jinja2.Template:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup, escape

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else _sound(str(value))

    def code(text: str) -> Markup:
        escaped = str(escape(_clean(text)))
        return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=StrictUndefined, finalize=finalize,
    )  # fmt: skip
    environment.filters["code"] = code
    source = (files(__package__) / "page.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)


def _inline(chart: Chart, *, narrow: bool = False) -> Any:
    from markupsafe import Markup, escape

    body, box = _svg(chart, narrow=narrow)
    kind = "narrow" if narrow else "wide"
    return Markup(
        f'<svg class="{kind}" viewBox="{box}" role="img" aria-label="{escape(_alt(chart))}">{body}'
    )


def _picture(chart: Chart) -> Any:
    from markupsafe import Markup, escape

    body, box = _svg(chart, narrow=False)
    _, _, width, height = box.split()
    size = f'width="{width}" height="{height}"'
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="{box}">{body}'
    data = b64encode(drawing.encode()).decode()
    source = f"data:image/svg+xml;base64,{data}"
    return Markup(f'<img {size} alt="{escape(_alt(chart))}" src="{source}">')


def _alt(chart: Chart) -> str:
    return _clean(chart.alt) or f"Expected mAP over dollars; chosen: {_choice(chart)}"


# -------------------------------------------------------------------------------------- in Markdown


def markdown(page: Page) -> str:
    """The page as Markdown, with tables in the pipe form."""
    parts = [f"# {_marked(page.title)}"]
    parts.append("\n".join(f"- **{_marked(n)}:** {_marked(text)}" for n, text in _answers(page)))
    for table in page.tables:
        parts += [f"**{_marked(table.title)}**", _piped(table)] if table.rows else []
    for section in page.details:
        parts += [f"## {_marked(section.title)}", *(_marked(text) for text in section.text)]
        parts += ["\n".join(f"- {_marked(item)}" for item in section.items)]
        parts += [_piped(section.table)] if section.table and section.table.rows else []
        parts += [_fenced(section.code)] if section.code else []
    parts += [_fenced(page.command)] if page.command else []
    return "\n\n".join(filter(None, parts)) + "\n"


def _fenced(code: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
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
    parts = re.split(r"`([^`|]+)`", _clean(text))
    parts[::2] = [re.sub(r"([\\`*_\[\]<>&|#~$])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"`{part}`" for part in parts[1::2]]
    return "".join(parts)


# ------------------------------------------------------------------------------------- the figure

_MOST = 5  # lines in the figure
_BLUE, _INK, _GREY = "#0072B2", "#1a1a1a", "#6b6b6b"
_PALE = (  # colours of Okabe and Ito for the lines, darker for words; dashes for prints in grey
    ("#E69F00", "#7d5600", (0, (6, 2))),
    ("#009E73", "#00664a", (0, (2, 2))),
    ("#CC79A7", "#8a3f68", (0, (6, 2, 1, 2))),
    ("#999999", "#5a5a5a", (0, (1, 1))),
)
_FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
_LETTER, _ROW = 8.4, 16  # of 14-pixel text: a letter's width, a line's height


@dataclass(frozen=True)
class _Frame:
    """The layout of the figure in pixels; phones get a narrower one."""

    width: int
    height: int
    letters: int  # in a line of a label at the right
    left: int = 38
    top: int = 44
    bottom: int = 50

    @property
    def right(self) -> float:
        return self.letters * _LETTER + 22


_WIDE, _NARROW = _Frame(600, 372, letters=18), _Frame(358, 330, letters=11)


@contextmanager
def _look() -> Iterator[None]:
    """The style of figures, independent of settings in a notebook; dollar signs are plain text."""
    import matplotlib as mpl

    style = {
        "font.size": 14, "text.parse_math": False, "svg.fonttype": "none",
        "svg.hashsalt": "simkit", "text.color": _INK, "axes.labelcolor": _INK,
        "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
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

    frame = _NARROW if narrow else _WIDE
    with _look():
        drawn = Figure(figsize=(frame.width / 72, frame.height / 72), dpi=72)
        bottom, left = frame.bottom / frame.height, frame.left / frame.width
        high = (frame.height - frame.top - frame.bottom) / frame.height
        axes = drawn.add_axes((left, bottom, 1 - left - frame.right / frame.width, high))
        lines = sorted(chart.lines, key=lambda line: not line.chosen)[:_MOST]
        _limits(axes, chart, lines, most=4 if narrow else 6)
        for place, line in reversed(list(enumerate(lines))):
            _curve(axes, line, _colours(lines, place))
        _rulers(axes, chart)
        mark = chart.chosen
        axes.plot(mark.dollars, 100 * mark.map, "D", ms=11, mfc="white", mec=_BLUE, mew=3,
                  zorder=6, label="chosen", clip_on=False)  # fmt: skip
        _name_choice(axes, chart, lines)
        _name_lines(axes, lines, frame)
    return drawn


def _colours(lines: list[Line], place: int) -> tuple[str, str, Any]:
    others = [place for place, line in enumerate(lines) if not line.chosen]
    return _PALE[others.index(place) % len(_PALE)] if place in others else (_BLUE, _BLUE, "-")


def _limits(axes: Axes, chart: Chart, lines: list[Line], *, most: int) -> None:
    marks = [chart.chosen, *(mark for line in lines for mark in line.measured)]
    bands = [v for line in lines if line.chosen for v in (*line.low, *line.high)]
    targets = [] if chart.target is None else [chart.target]
    medians = [v for line in lines for v in line.median]
    score = [100 * v for v in (*bands, *medians, *targets, *(mark.map for mark in marks))]
    dollars = [d for line in lines for d in line.dollars] + [mark.dollars for mark in marks]
    positive = [d for d in (*dollars, chart.budget) if d > 0] or [1.0]
    low, high = min(positive), max(positive)
    room = max((high / low) ** 0.04, 1.05)
    axes.set_xscale("log")
    axes.set_xlim(low / room, high * room)
    ticks = _ticks(low / room, high * room, most)
    axes.set_xticks(ticks, [_short(d) for d in ticks])
    axes.set_xticks([], minor=True)
    room = max(0.06 * (max(score) - min(score)), 1.0)
    axes.set_ylim(max(0.0, min(score) - room), min(100.0, max(score) + room))
    axes.locator_params(axis="y", nbins=6, integer=True)
    axes.grid(axis="y", color="#e4e4e4", lw=1)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("dollars (log scale)")


def _ticks(low: float, high: float, most: int) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high]
        if len(ticks) <= most:
            break
    return ticks[:: max(1, -(-len(ticks) // most))] or [low * (high / low) ** 0.5]


def _short(dollars: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if dollars >= size:
            return f"${dollars / size:.3g}{letter}"
    return f"${dollars:.3g}"


def _curve(axes: Axes, line: Line, colours: tuple[str, str, Any]) -> None:
    colour, dark, dashes = colours
    if line.chosen and line.low:
        low, high = ([100 * v for v in side] for side in (line.low, line.high))
        axes.fill_between(line.dollars, low, high, color=colour, alpha=0.18, lw=0, label="band")
    axes.plot(line.dollars, [100 * v for v in line.median], color=colour, ls=dashes,
              lw=3.2 if line.chosen else 1.8, zorder=4 if line.chosen else 3,
              label=f"median: {line.label}")  # fmt: skip
    marks = [(mark.dollars, 100 * mark.map) for mark in line.measured]
    if marks:
        x, y = zip(*marks, strict=True)
        axes.plot(x, y, "o", ms=6.5 if line.chosen else 5, mfc="white", mec=dark, mew=1.3,
                  zorder=5 if line.chosen else 3, label=f"measured: {line.label}")  # fmt: skip


def _rulers(axes: Axes, chart: Chart) -> None:
    """Budget, target, and the label of the y axis."""
    place = axes.transAxes.inverted().transform(axes.transData.transform((chart.budget, 1)))[0]
    axes.axvline(chart.budget, color=_INK, lw=1, zorder=2, label="budget")
    axes.annotate(f"budget ${chart.budget:,.0f}", (place, 1), xytext=(0, 3),
                  xycoords="axes fraction", textcoords="offset points",
                  ha="right" if place > 0.5 else "left", va="bottom")  # fmt: skip
    axes.annotate("mAP on new images, points", (0, 1), xytext=(-30, 4 + _ROW), va="bottom",
                  xycoords="axes fraction", textcoords="offset points")  # fmt: skip
    if chart.target is not None:
        target = 100 * chart.target
        axes.axhline(target, color=_INK, lw=1, ls=(0, (4, 3)), zorder=2, label="target")
        axes.annotate(f"target {target:.3g}", (0, target), xytext=(3, 2), va="bottom",
                      xycoords=("axes fraction", "data"), textcoords="offset points",
                      bbox=_PAPER)  # fmt: skip


_PAPER = {"facecolor": "white", "alpha": 0.8, "lw": 0, "pad": 1}


def _choice(chart: Chart) -> str:
    mark = chart.chosen
    return _clean(mark.label) or f"${mark.dollars:,.0f}: {100 * mark.map:.1f} mAP"


def _name_choice(axes: Axes, chart: Chart, lines: list[Line]) -> None:
    """The label of the chosen purchase, in the corner that hides least."""
    import numpy as np

    x, y = axes.transData.transform((chart.chosen.dollars, 100 * chart.chosen.map))
    text = _shortened(_wrapped(_choice(chart), 20), 20)
    size = np.array((9.0 * max(map(_cells, text)), _ROW * len(text)))
    inked = [np.empty((0, 2))]
    if chart.target is not None:
        left = axes.transData.transform((axes.get_xlim()[0], 100 * chart.target))
        inked.append(left + np.mgrid[0:90:10, 0:_ROW:4].reshape(2, -1).T)
    for line in lines:
        ends = axes.transData.transform(
            [(d, 100 * v) for d, v in zip(line.dollars, line.median, strict=True)]
        )
        steps = np.linspace(0, len(ends) - 1, 200)
        inked.append(np.stack([np.interp(steps, range(len(ends)), e) for e in ends.T], axis=1))
    points = np.concatenate(inked)

    def hidden(offset: tuple[int, int]) -> float:
        low = np.array((x, y)) + offset - size * (np.array(offset) < 0)
        high = low + size
        outside = np.any(low < axes.bbox.min) or np.any(high > axes.bbox.max)
        return 1000.0 * outside + np.all((points > low) & (points < high), axis=1).sum()

    ups = (10, -10, 24, -24, 44, -44)
    across, up = min(((across, up) for up in ups for across in (-10, 10)), key=hidden)
    axes.annotate("\n".join(text), (chart.chosen.dollars, 100 * chart.chosen.map),
                  xytext=(across, up), textcoords="offset points", weight="bold", color=_BLUE,
                  ha="right" if across < 0 else "left", va="top" if up < 0 else "bottom",
                  bbox=_PAPER, zorder=7)  # fmt: skip


def _name_lines(axes: Axes, lines: list[Line], frame: _Frame) -> None:
    """Names at the right, near the ends of their lines and without overlap."""
    ends = [(line.dollars[-1], 100 * line.median[-1]) for line in lines]
    names = [_shortened(_wrapped(line.label, frame.letters), frame.letters) for line in lines]
    heights = [float(axes.transData.transform(end)[1]) for end in ends]
    places = _spread(heights, [_ROW * len(name) + 4 for name in names], frame)
    for place, (line, end, name, height) in enumerate(zip(lines, ends, names, places, strict=True)):
        colour, dark, _ = _colours(lines, place)
        axes.annotate(
            "\n".join(name), end, xytext=(frame.width - frame.right + 14, height),
            textcoords="figure points", va="center", color=dark, annotation_clip=False,
            weight="bold" if line.chosen else "normal", zorder=3,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.8, "shrinkA": 2, "shrinkB": 1,
                        "relpos": (0, 0.5)},
        )  # fmt: skip


def _spread(wanted: list[float], sizes: list[float], frame: _Frame) -> list[float]:
    """Centres near the `wanted` ones, without overlap and within the height of the frame."""
    order = sorted(range(len(wanted)), key=lambda place: -wanted[place])
    middles, ceiling = list(wanted), float(frame.height - frame.top + 8)
    for place in order:
        middles[place] = min(wanted[place], ceiling - sizes[place] / 2)
        ceiling = middles[place] - sizes[place] / 2
    floor = 4.0
    for place in reversed(order):
        middles[place] = max(middles[place], floor + sizes[place] / 2)
        floor = middles[place] + sizes[place] / 2
    return middles


def _wrapped(text: str, width: int) -> list[str]:
    text = _clean(text)
    return textwrap.wrap(text, max(2, width * len(text) // max(1, _cells(text)))) or [""]


def _shortened(name: list[str], letters: int) -> list[str]:
    most = 2 if letters > 15 else 3
    return name if len(name) <= most else [*name[: most - 1], name[most - 1][: letters - 1] + "…"]


def _svg(chart: Chart, *, narrow: bool) -> tuple[str, str]:
    """The content of <svg> with its closing tag, and its viewBox. Text stays text."""
    drawn = figure(chart, narrow=narrow)
    out = StringIO()
    with _look():
        none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        drawn.savefig(out, format="svg", metadata=none)
    opening, body = out.getvalue().split("<svg", 1)[1].split(">", 1)
    box = re.search(r'viewBox="([^"]*)"', opening)
    assert box is not None  # matplotlib writes one
    # Two drawings stand on a page: no rule for all elements, and no id twice.
    body = re.sub(r'<style.*?</style>| id="[\w.]+_\d+"', "", body, flags=re.DOTALL)
    body = re.sub(r'(id="|#)([mp][0-9a-f]{8,})', rf"\1{'n' if narrow else 'w'}\2", body)
    body = body.replace("'DejaVu Sans', sans-serif", _FONTS).replace("xlink:href", "href")
    body = body.replace("</svg>", "</g></svg>").strip()
    return f'<g style="stroke-linejoin:round">{body}', box[1]
