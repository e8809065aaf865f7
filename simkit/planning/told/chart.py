"""The plan's curves as a picture inside a page: mAP over dollars, drawn as SVG by hand.

By hand, so that the text can be read by machines and scales with the page, and that nothing is
loaded. Lines differ by dashes and marks, not by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from simkit.planning.evidence.tested import NEW
from simkit.planning.told.wording import points, span
from simkit.study.grids.limit import money

if TYPE_CHECKING:
    from simkit.planning.told.parts import Line
    from simkit.planning.told.planned import Plan

WIDTH, HEIGHT = 520, 400  # of the drawing's own units: small, so that words stay large on a phone
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 18, 26, 46
_WORDS, _LINE = 125, 12  # width of the words at the choice, and half of a line's height with room
_LOOKS = (  # colours of Okabe and Ito, which most people tell apart; dashes; marks
    ("#0072B2", "", "circle"),
    ("#D55E00", "7 4", "square"),
    ("#009E73", "2 3", "triangle"),
    ("#7A5195", "9 3 2 3", "diamond"),
    ("#4D4D4D", "1 4", "circle"),
)
MOST = len(_LOOKS)  # lines that can be told apart


def figure(plan: Plan, *, name: str) -> str:
    """The chart with its legend, as a <figure>; "" without curves.

    name: what its ids begin with, so that several fit on one page.
    """
    drawn = chart(plan, name=name)
    below = f"<figcaption>{legend(plan)}{_caption(plan)}</figcaption>"
    return f"<figure>{drawn}{below}</figure>" if drawn else ""


def _caption(plan: Plan) -> str:
    runs = " on its own test images" if plan.images == NEW else ""
    return (
        '<p class="note">Lines are medians, shades 90 % bands, small marks the '
        f"pilot's runs{runs}; the ring with its bar is the choice with its 90 % band.</p>"
    )


class _Place:
    """Where dollars (on a log axis) and mAP lie in the drawing."""

    def __init__(self, plan: Plan) -> None:
        shown = plan.lines[:MOST]
        dollars = [d for line in shown for d in line.dollars] + [plan.chosen.dollars, plan.left]
        dollars += [d for line in shown for d, _ in line.points]
        score = [v for line in shown for v in (*line.low5, *line.high95)]
        score += [v for line in shown for _, v in line.points]
        positive = [d for d in dollars if d > 0]
        self.low, self.high = min(positive), max(positive) * 1.05
        self.floor = max(0.0, math.floor(10 * min(score)) / 10)
        self.ceiling = min(1.0, math.ceil(10 * max(score)) / 10)
        self.ceiling = max(self.ceiling, self.floor + 0.1)

    def x(self, dollars: float) -> float:
        share = math.log(max(dollars, self.low) / self.low) / math.log(self.high / self.low)
        return _LEFT + share * (WIDTH - _LEFT - _RIGHT)

    def y(self, score: float) -> float:
        share = (score - self.floor) / (self.ceiling - self.floor)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    def path(self, dollars: tuple[float, ...], score: tuple[float, ...]) -> str:
        return " ".join(
            f"{self.x(d):.1f},{self.y(v):.1f}" for d, v in zip(dollars, score, strict=True)
        )


def chart(plan: Plan, *, name: str) -> str:
    """An <svg> of the plan's curves, bands, pilot points, budget and choice; "" without curves.

    name: what its ids begin with, so that several fit on one page.
    """
    if not plan.lines:
        return ""
    at = _Place(plan)
    lines = plan.lines[:MOST]
    drawn = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}-t {name}-d">',
        f'<title id="{name}-t">mAP over dollars of training labels</title>',
        f'<desc id="{name}-d">{escape(described(plan))}</desc>',
        *_axes(at),
        *(_band(at, line, place) for place, line in reversed(list(enumerate(lines)))),
        *_uprights(at, plan),
        *(_curve(at, line, place) for place, line in reversed(list(enumerate(lines)))),
        *_choice(at, plan),
        "</svg>",
    ]
    return "\n".join(drawn)


def legend(plan: Plan) -> str:
    """A list of what the lines are, each with a piece of it."""
    items = []
    for place, line in enumerate(plan.lines[:MOST]):
        colour, dashes, mark = _LOOKS[place]
        piece = (
            f'<svg viewBox="0 0 44 14" class="key" aria-hidden="true"><line x1="1" y1="7" x2="43" '
            f'y2="7" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dashes}"/>'
            f"{_mark(mark, 22, 7, colour)}</svg>"
        )
        items.append(f"<li>{piece} {escape(line.way)}, {escape(line.method)}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


def described(plan: Plan) -> str:
    """What the picture shows, for those who do not see it."""
    told = [
        f"{line.way} trained with {line.method}: {points(line.median[0])} mAP at "
        f"{money(line.dollars[0])}, {points(line.median[-1])} at {money(line.dollars[-1])} "
        f"(90 % band {span((line.low5[-1], line.high95[-1]))})"
        for line in plan.lines[:MOST]
    ]
    choice = f"The choice is {money(plan.chosen.dollars)} with {points(plan.chosen.median)} mAP"
    return f"{'; '.join(told)}. {choice}; the budget has {money(plan.left)} for labels."


def _axes(at: _Place) -> Iterator[str]:
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    step = 0.1 if at.ceiling - at.floor > 0.25 else 0.05 if at.ceiling - at.floor > 0.1 else 0.02
    for count in range(round((at.ceiling - at.floor) / step) + 1):
        score = at.floor + count * step
        y = at.y(score)
        yield f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{100 * score:.0f}</text>'
    for dollars in ticks(at.low, at.high):
        x = at.x(dollars)
        yield f'<line class="tick" x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}"/>'
        text = escape(_short(dollars))
        yield f'<text x="{x:.1f}" y="{bottom + 19}" text-anchor="middle">{text}</text>'
    yield f'<line class="tick" x1="{_LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'
    yield '<text x="4" y="14">mAP</text>'
    middle = (_LEFT + right) / 2
    words = "dollars of training labels, log axis"
    yield f'<text x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{words}</text>'


def ticks(low: float, high: float) -> list[float]:
    """Dollars to write below a log axis: 1, 2, 5, 10 and so on, or fewer where many would fit."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high]
        if len(found) <= 7:
            return found
    return found[:: -(-len(found) // 7)]


def _short(dollars: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if dollars >= size:
            return f"${dollars / size:g}{letter}"
    return f"${dollars:g}"


def _band(at: _Place, line: Line, place: int) -> str:
    colour = _LOOKS[place][0]
    back = at.path(line.dollars[::-1], line.low5[::-1])
    shape = f"{at.path(line.dollars, line.high95)} {back}"
    return f'<polygon points="{shape}" fill="{colour}" fill-opacity="{0.2 if not place else 0.1}"/>'


def _curve(at: _Place, line: Line, place: int) -> str:
    colour, dashes, mark = _LOOKS[place]
    width = 2.8 if not place else 1.8
    parts = [
        f'<polyline points="{at.path(line.dollars, line.median)}" fill="none" stroke="{colour}" '
        f'stroke-width="{width}" stroke-dasharray="{dashes}"/>'
    ]
    parts += [_mark(mark, at.x(dollars), at.y(score), colour) for dollars, score in line.points]
    return "".join(parts)


def _mark(mark: str, x: float, y: float, colour: str) -> str:
    style = f'fill="white" stroke="{colour}" stroke-width="1.5"'
    corners = {
        "square": ((-3, -3), (3, -3), (3, 3), (-3, 3)),
        "triangle": ((-3.6, 3), (3.6, 3), (0, -3.8)),
        "diamond": ((-4, 0), (0, -4), (4, 0), (0, 4)),
    }.get(mark)
    if corners is None:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" {style}/>'
    around = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners)
    return f'<polygon points="{around}" {style}/>'


def _uprights(at: _Place, plan: Plan) -> Iterator[str]:
    """Where the pilot ends, and what the budget leaves for labels."""
    pilot = plan.chosen.dollars / plan.chosen.times if plan.chosen.times else 0.0
    places = [(plan.left, "budget", "budget", "end"), (pilot, "pilot", "pilot ends", "end")]
    for dollars, kind, words, anchor in places:
        if at.low <= dollars <= at.high:
            x, bottom = at.x(dollars), HEIGHT - _BOTTOM
            yield f'<line class="{kind}" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}"/>'
            yield f'<text x="{x + 2:.1f}" y="{_TOP - 6}" text-anchor="{anchor}">{words}</text>'


def _choice(at: _Place, plan: Plan) -> Iterator[str]:
    x, y = at.x(plan.chosen.dollars), at.y(plan.chosen.median)
    low, high = (at.y(value) for value in plan.chosen.band90)
    yield f'<line class="choice" x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}"/>'
    yield f'<circle class="choice" cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>'
    words, at_y = f"choice {points(plan.chosen.median)} mAP", _free(at, plan, x)
    yield f'<text class="strong" x="{x - 4:.1f}" y="{at_y:.1f}" text-anchor="end">{words}</text>'


def _free(at: _Place, plan: Plan, x: float) -> float:
    """Where the words of the choice stand: above its bar or below it, on no curve and no mark."""
    low, high = (round(at.y(score)) for score in plan.chosen.band90)
    taken = [
        at.y(score)
        for line in plan.lines[:MOST]
        for dollars, score in (*zip(line.dollars, line.median, strict=True), *line.points)
        if x - _WORDS <= at.x(dollars) <= x + 8
    ]
    places = (*range(high - 8, _TOP + 14, -4), *range(low + 18, HEIGHT - _BOTTOM - 8, 4))
    for place in places:
        if all(abs(y - (place - 5)) > _LINE for y in taken):
            return float(place)
    return float(high - 8)
