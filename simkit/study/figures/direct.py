"""Names at the ends of lines instead of a legend: moved apart where they would overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from simkit.study.figures.previous import fold

End = tuple[str, float, float, str]  # name, where its line ends (x, y), colour


def name_ends(
    drawing: Drawing,
    panels: Sequence[tuple[Axes, list[End]]],
    *,
    size: float = 9,
    letters: int = 36,
) -> None:
    """Write each name right of its axes, at the height of its line's end or next to it.

    Names longer than `letters` take several lines. A dotted line leads from the end to a name that
    had to move. Called last: it needs the places that the layout has given to the axes.
    """
    sides = []
    for axes, ends in panels:
        ends = [(fold(name, letters, 3), x, y, color) for name, x, y, color in ends]
        ends.sort(key=lambda end: end[2])
        side = axes.secondary_yaxis("right")
        side.spines["right"].set_visible(False)
        side.tick_params(length=0, pad=2)
        side.set_yticks([end[2] for end in ends], [end[0] for end in ends], fontsize=size)
        sides.append((axes, side, ends))
    drawing.draw_without_rendering()
    for axes, side, ends in sides:
        if not ends:
            continue
        low, high = axes.get_ylim()
        height = axes.get_window_extent().height / drawing.dpi * 72  # points
        deep = max(name.count("\n") for name, *_ in ends)
        line = (1.25 + 1.45 * deep) * size * (high - low) / height
        # Half a line from both ends: no name lies on the axis below.
        places = spread([end[2] for end in ends], line, low + line / 2, high - line / 2)
        side.set_yticks(list(places), [end[0] for end in ends], fontsize=size)
        right = axes.get_xlim()[1]
        for text, (_, x, y, color), place in zip(side.get_yticklabels(), ends, places, strict=True):
            text.set_color(color)
            axes.plot([x, right], [y, place], ":", color=color, linewidth=0.8, zorder=1)
        axes.set_xlim(right=right)
        axes.set_ylim(low, high)


def spread(
    wanted: Sequence[float], gap: float, low: float = -np.inf, high: float = np.inf
) -> NDArray[np.float64]:
    """Ascending places (n,) at least `gap` apart, near those wanted (n, ascending).

    Neighbours that are too near share their mean as middle. They keep between low and high where
    there is room for all of them.
    """
    blocks: list[tuple[float, int]] = []  # the mean of what its first place would be, how many
    for place, value in enumerate(wanted):
        start, number = value - place * gap, 1
        while blocks and blocks[-1][0] > start:
            before, many = blocks.pop()
            start = (before * many + start * number) / (many + number)
            number += many
        blocks.append((start, number))
    flat = np.repeat([start for start, _ in blocks], [number for _, number in blocks])
    room = high - (len(wanted) - 1) * gap
    if room >= low:
        flat = np.clip(flat, low, room)
    elif np.isfinite(room):
        flat = np.full(len(wanted), (low + room) / 2)  # over both ends alike
    return flat + gap * np.arange(len(wanted))
