"""The house style: fonts, colours, wrapped texts, and the look of each method."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.colors import to_hex, to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from simkit.results.method_facts import label, of

WIDTH = 9.0  # inches; at 100 dots each a figure fits a README's 900 pixels
INK, PALE, FAINT = "#222222", "#767676", "#efefef"
# Colours of Okabe & Ito (2008), which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PINK, SKY, PURPLE, GREY = "#CC79A7", "#56B4E9", "#7A5195", "#4D4D4D"
PRESENT, ABSENT = BLUE, "#B87300"  # of known labels
DASHED = (0, (4, 3))  # of lines for a single number, such as a baseline

_FILE = Path(__file__).with_name("house.mplstyle")
STYLE = dict(mpl.rc_params_from_file(_FILE, use_default_template=False))


@contextmanager
def house_style() -> Iterator[None]:
    """Our fonts and lines within the block; the user's settings are restored afterwards."""
    with mpl.rc_context(STYLE):
        yield


@cache
def text_width(text: str, size: float = 10, weight: str = "normal") -> float:
    """The width of a line of text in inches. size: of its letters, in points."""
    font = FontProperties(family=STYLE["font.family"], size=size, weight=weight)
    points, *_ = text_to_path.get_text_width_height_descent(text, font, False)
    return 1.05 * float(points) / 72  # a raster image rounds each letter to whole pixels


_PARTS = r" +|\(?(?:,\d|[^ ,(-])+[,-]?|[,(-]"


def wrapped(
    text: str, room: float, size: float = 10, weight: str = "normal", *, whole: bool = False
) -> list[str]:
    """Lines of at most `room` inches.

    Lines break at spaces and, unless names stay `whole`, after hyphens, before the opening
    parentheses of settings and after their commas; a word longer than a line breaks after its last
    "_", "/" or "." that fits, else anywhere.
    """

    def fits(line: str) -> bool:
        return text_width(line.rstrip(), size, weight) <= room

    if "\n" in text:
        parts = (wrapped(part, room, size, weight, whole=whole) for part in text.split("\n"))
        return [line for part in parts for line in part]
    lines = [""]
    for part in re.findall(r" +|[^ ]+" if whole else _PARTS, text):
        if not fits(lines[-1] + part) and lines[-1].strip():
            lines.append("")
            part = part.lstrip()
        while len(part) > 1 and not fits(part):
            place = next(n for n in range(len(part) - 1, 0, -1) if n == 1 or fits(part[:n]))
            place = 1 + max(part.rfind(sign, 0, place) for sign in "_/.") or place
            lines[-1:] = [part[:place], ""]
            part = part[place:]
        lines[-1] += part
    return [line.rstrip() for line in lines if line.strip()] or [""]


def fold(
    text: str, room: float, *, size: float = 10, lines: int = 2, weight: str = "normal"
) -> str:
    """A name in at most so many lines of `room` inches; longer ones end in "…"."""
    folded = wrapped(text, room, size, weight)
    if len(folded) > lines:
        last = folded[lines - 1]
        while last and text_width(last + "…", size, weight) > room:
            last = last[:-1]
        folded[lines - 1 :] = [last.rstrip() + "…"]
    return "\n".join(folded)


def power(value: float) -> str:
    """A tick of a logarithmic axis: 0.01, 1, 1,000, and 10⁻⁵ or 2·10⁸ for longer numbers."""
    if value == 0 or 1e-3 <= value < 1e6:
        return f"{value:,.0f}" if value == 0 or value >= 10 else f"{value:g}"
    factor, exponent = f"{value:.0e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return ("" if factor == "1" else f"{factor}·") + f"10{raised}"


def count(mean: float) -> str:
    """A mean of counts: 1,234, 52, 5.7, 0.33; 0 only for a mean of 0."""
    return f"{mean:,.0f}" if mean >= 10 or mean == round(mean) else f"{mean:.2g}"


def over_draws(draws: pd.Series[int], what: str = "Bands") -> str:
    """A sentence of the caption about intervals. draws: number of draws of each mean."""
    many = int(draws.max())
    return f"{what}: 95 % over {many} draws." if many > 1 else f"One draw: no {what.lower()}."


@dataclass(frozen=True)
class Look:
    """The look of a method, or of another thing with its own lines and markers.

    Dashes and marker distinguish it without colour. fill: of the marker, "full", "none", "pale", or
    the filled half, such as "left". name: in the legend.
    """

    color: str
    marker: str = ""
    dashes: Any = "-"  # any line style of matplotlib
    fill: str = "full"
    name: str = ""

    def line(self) -> dict[str, Any]:
        """Keyword arguments for a matplotlib line."""
        pale = to_hex([1 - 0.4 * (1 - part) for part in to_rgb(self.color)])
        inside = {"none": "white", "pale": pale}.get(self.fill)
        return {
            "color": self.color,
            "marker": self.marker or None,
            "linestyle": self.dashes,
            "fillstyle": "full" if inside else self.fill,
            "markerfacecolor": inside or self.color,
            "markerfacecoloralt": "white",
            "markeredgecolor": self.color,
            "markeredgewidth": 1.4,
            "label": self.name,
        }


_COLORS = [RED, PINK, SKY, PURPLE, "#9A6324", "#5B7F00", "#A50034", GREY]
_MARKERS = "DvPX<>hpd8"
# Fills and dashes of the variations of a method; the first three are of the usual wrappers.
_FILLS = ("none", "left", "pale", "top", "right")
_DASHES: tuple[Any, ...] = ("--", "-.", ":", (0, (7, 1.5, 1, 1.5, 1, 1.5)), (0, (2.5, 1)))
_WRAPPERS = ("+boostlu", "+cl", "+scl")
_PALETTE = [BLUE, RED, INK, GREEN, ORANGE, PINK, SKY, PURPLE]


def looks(methods: Iterable[str], named: Callable[[str], str] = label) -> dict[str, Look]:
    """The looks of the methods of a table, in their order; pass all of them.

    The innermost method determines colour and marker, the same in every figure; methods of a
    family have the same hue. Settings and wrappers are variations of it, with another fill and
    other dashes: `ll-r+boostlu` is `ll-r` dashed and hollow.
    """
    parts = {method: re.split(r"(?=[(+])", method, maxsplit=1) for method in methods}
    drawn = {}
    for method, (base, *variation) in parts.items():
        # Else by the name alone, so that a method looks the same in all figures.
        digest = hashlib.sha256(base.encode()).digest()
        chosen = _COLORS[digest[0] % len(_COLORS)], _MARKERS[digest[1] % len(_MARKERS)]
        color, marker = of(base).look or chosen
        look = Look(color, marker, name=named(method))
        if variation:
            others = {each[1] for each in parts.values() if each[0] == base and len(each) > 1}
            order = [*_WRAPPERS, *sorted(others - set(_WRAPPERS))]
            again, place = divmod(order.index(variation[0]), len(_FILLS))
            dashes = _DASHES[(place + again) % len(_DASHES)]
            look = Look(color, marker, dashes, _FILLS[place], look.name)
        drawn[method] = look
    return drawn


def palette(names: Iterable[Any], named: Callable[[Any], str] = str) -> dict[Any, Look]:
    """The looks of other things than methods, such as schemes: by their place among the names."""
    dashes = ("-", "--", ":", "-.")
    by_name = {}
    for place, name in enumerate(dict.fromkeys(names)):
        again, at = divmod(place, len(_PALETTE))
        fill = ("full", "none", "left")[again % 3]
        by_name[name] = Look(_PALETTE[at], "os^DvPXh"[at], dashes[place % 4], fill, named(name))
    return by_name
