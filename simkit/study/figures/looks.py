"""How each method is drawn: its colour, marker, fill and dashes, the same in every figure."""

from __future__ import annotations

import colorsys
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from matplotlib.colors import to_hex, to_rgb


@dataclass(frozen=True)
class Look:
    """How one method is drawn everywhere; line and marker tell it apart without colour.

    fill: of the marker, "full", "none", "pale", or the half that is full, such as "left".
    """

    color: str
    marker: str
    dashes: Any = "-"  # whatever matplotlib takes as a line's style
    fill: str = "full"

    def line(self) -> dict[str, Any]:
        """Keyword arguments for a matplotlib line."""
        inside = {"none": "white", "pale": _pale(self.color)}.get(self.fill)
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": self.dashes,
            "fillstyle": "full" if inside else self.fill,
            "markerfacecolor": inside or self.color,
            "markerfacecoloralt": "white",
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
# What a variation of a method has of its own: one of the strokes, and a shade of its colour.
_STROKES: list[tuple[str, Any]] = [
    ("none", "--"),
    ("left", "-."),
    ("pale", ":"),
    ("top", (0, (7, 1.5, 1, 1.5, 1, 1.5))),
    ("right", (0, (2.5, 1))),
]
_SHADES = 3  # a light colour gets darker, a dark one lighter
_USUAL = {"+boostlu": (0, 0), "+cl": (1, 0), "+scl": (2, 0)}  # stroke and shade


def look(method: str, among: Iterable[str] = ()) -> Look:
    """The look of a method as a grid spells it.

    What it wraps says colour and marker; settings and wrappers make it a variation, with another
    fill, other dashes and perhaps another shade: `ll-r+boostlu` is `ll-r` dashed and hollow. The
    name alone decides, unless two of those `among` which it stands would be too much alike: give
    all methods of a table, so that its figures agree.
    """
    base, rest = _parted(method)
    color, marker = _KNOWN.get(base) or _chosen(base)
    if not rest:
        return Look(color, marker)
    parted = map(_parted, {method, *among})
    stroke, shade = _variations({r for b, r in parted if b == base and r})[rest]
    fill, dashes = _STROKES[stroke]
    return Look(_shaded(color, shade), marker, dashes, fill)


def _parted(method: str) -> tuple[str, str]:
    """ "ll-r(delta=1)+boostlu" is the method "ll-r" and the rest."""
    base = re.match(r"[^(+]*", method)
    assert base is not None  # it matches anything
    return base[0], method[base.end() :]


def _variations(rests: set[str]) -> dict[str, tuple[int, int]]:
    """Stroke and shade of each: by its name, then apart from the others, strokes before shades."""
    every = list(product(range(len(_STROKES)), range(_SHADES)))
    found: dict[str, tuple[int, int]] = {}
    for rest in sorted(rests, key=lambda rest: (rest not in _USUAL, rest)):
        digest = hashlib.sha256(rest.encode()).digest()
        first = _USUAL.get(rest, (digest[0] % len(_STROKES), digest[1] % _SHADES))
        used = list(found.values())
        strokes = [stroke for stroke, _ in used]
        found[rest] = min(
            every,
            key=lambda one: (
                used.count(one),
                strokes.count(one[0]),
                (one[0] - first[0]) % len(_STROKES),
                (one[1] - first[1]) % _SHADES,
            ),
        )
    return found


def _pale(color: str) -> str:
    return to_hex([1 - 0.4 * (1 - part) for part in to_rgb(color)])


def _shaded(color: str, shade: int) -> str:
    if not shade:
        return color
    hue, lightness, saturation = colorsys.rgb_to_hls(*to_rgb(color))
    times = 1 - 0.22 * shade if lightness > 0.3 else 1 + 0.5 * shade
    return to_hex(colorsys.hls_to_rgb(hue, lightness * times, saturation)).upper()


def _chosen(name: str) -> tuple[str, str]:
    # By the name alone, so that a method looks the same whatever else is in a figure.
    digest = hashlib.sha256(name.encode()).digest()
    return _COLORS[digest[0] % len(_COLORS)], _MARKERS[digest[1] % len(_MARKERS)]
