"""What a figure is, and how all of them look: fonts, sizes, one colour and marker per method."""

from __future__ import annotations

import hashlib
import math
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import matplotlib as mpl
import pyarrow as pa
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, NullFormatter

from simkit.registry import Registry

Metric = Literal["map", "map_all", "map_o"]
WIDTH = 9.0  # inches; at 100 dots each a figure fits a README's 900 pixels
INK, PALE = "#222222", "#8a8a8a"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Figure(Protocol):
    """A frozen dataclass whose fields are its options; called with a table of runs it draws."""

    name: ClassVar[str]
    title: ClassVar[str]

    def __call__(self, table: pa.Table) -> Drawing: ...


figures: Registry[Figure] = Registry("figure", "simkit.study.figures")
register = figures.register

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    # Names of classes and images stand as they are: "$5 to $10" is no formula.
    "text.parse_math": False,
    "savefig.dpi": 200,
    "figure.facecolor": "white",
    # Equal tables give equal files: no random ids inside, text stays text.
    "svg.hashsalt": "simkit",
    "svg.fonttype": "none",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Our fonts and lines for the block; the user's own settings are back afterwards."""
    with mpl.rc_context(STYLE):
        yield


def heading(drawing: Drawing, text: str) -> None:
    """What the figure is about, top left."""
    drawing.suptitle(text, x=0.01, ha="left", fontsize=13, fontweight="bold")


def caption(drawing: Drawing, *parts: str) -> None:
    """How to read it, below; a line or more for each part that says something."""
    width = int(14 * drawing.get_figwidth())  # letters of 9 points in a line
    lines = [line for part in parts for line in textwrap.wrap(part, width)]
    drawing.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=9, color="#555555")


def not_shown(others: int) -> str:
    """What to say where methods are left out so that the rest can be read."""
    many = "other methods are" if others > 1 else "other method is"
    return f"{others} {many} not shown; the option methods chooses." if others else ""


def cut(name: str, letters: int = 28) -> str:
    """A name that keeps to its place."""
    return name if len(name) <= letters else name[: letters - 1] + "…"


def power(value: float) -> str:
    """A tick of a logarithmic axis: 0.01, 1, 1,000, and 10⁻⁵ or 10⁸ for what is longer."""
    if value == 0 or 1e-3 <= value < 1e5:
        return f"{value:,.0f}" if value == 0 or value >= 1 else f"{value:g}"
    return "10" + f"{math.log10(value):.0f}".translate(_RAISED)


def plain_log(axis: Axis) -> None:
    """Powers of ten as plain text: matplotlib's own ticks would be formulas."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
    axis.set_minor_formatter(NullFormatter())


@dataclass(frozen=True)
class Look:
    """How one method is drawn everywhere; line and marker tell it apart without colour."""

    color: str
    marker: str
    dashes: str
    hollow: bool

    def line(self) -> dict[str, Any]:
        """Keyword arguments for a matplotlib line."""
        face = "white" if self.hollow else self.color
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": self.dashes,
            "markerfacecolor": face,
            "markeredgecolor": self.color,
            "markeredgewidth": 1.4,
        }


# Colours of Okabe & Ito (2008), which colour-blind readers can tell apart; a family shares a hue.
_KNOWN = {
    "full": ("#222222", "*"),
    "an": ("#0072B2", "o"),
    "wan": ("#5FA8D3", "v"),
    "fe": ("#0B3C6F", "p"),
    "ignore": ("#E69F00", "s"),
    "partial-bce": ("#A67300", "d"),
    "curriculum": ("#C9B037", "<"),
    "lsan": ("#7A5195", "p"),
    "ls-constant": ("#B79BD0", "H"),
    "focal": ("#5B7F00", "v"),
    "asl": ("#A1C349", "d"),
    "epr": ("#1B7F8C", "s"),
    "role": ("#56B4E9", "X"),
    "em": ("#A50034", "P"),
    "em-apl": ("#E0718F", "d"),
    "ll-r": ("#009E73", "^"),
    "ll-ct": ("#00573F", "v"),
    "ll-cp": ("#66C9A8", "<"),
    "ll-r-abs": ("#009E73", ">"),
    "ll-ct-abs": ("#00573F", "h"),
    "ll-cp-abs": ("#66C9A8", "8"),
    "p-asl": ("#F0A175", "s"),
    "csl": ("#D55E00", "D"),
    "se": ("#CC79A7", "P"),
    "se-l": ("#8A2D63", "X"),
    "se-i": ("#E6B3D0", "v"),
    "en": ("#9A6324", "h"),
    "ep": ("#D2A679", "d"),
    "imcl": ("#4D4D4D", "8"),
    "latent-noise": ("#7F7F7F", "D"),
    "cnn-rnn": ("#ABABAB", ">"),
}
_COLORS = ["#D55E00", "#CC79A7", "#56B4E9", "#7A5195", "#9A6324", "#5B7F00", "#A50034", "#4D4D4D"]
_MARKERS = ["D", "v", "P", "X", "<", ">", "h", "p", "d", "8"]


def look(method: str) -> Look:
    """The look of a method as a grid spells it: what it wraps says colour and marker, so
    `ll-r+boostlu` is `ll-r` with a dashed line and a hollow marker."""
    base, *around = [part.partition("(")[0] for part in method.split("+")]
    color, marker = _KNOWN.get(base) or _chosen(base)
    return Look(color, marker, ("-", "--", ":")[min(len(around), 2)], bool(around))


def _chosen(name: str) -> tuple[str, str]:
    # By the name alone, so that a method looks the same whatever else is in a figure.
    digest = hashlib.sha256(name.encode()).digest()
    return _COLORS[digest[0] % len(_COLORS)], _MARKERS[digest[1] % len(_MARKERS)]


def label(method: str) -> str:
    """A method's display name: `ll-r(delta=1)+boostlu` is "LL-R(delta=1) + BoostLU"."""
    from simkit.errors import BadInput
    from simkit.learn import methods

    shown = []
    for part in method.split("+"):
        name, bracket, settings = part.partition("(")
        try:
            shown.append(methods.get(name).title + bracket + settings)
        except BadInput:  # a table may come from elsewhere
            shown.append(part)
    return " + ".join(shown)
