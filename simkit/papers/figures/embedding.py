"""Features: neighbours, distances between classes, and temperatures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from simkit.registry import setting
from simkit.results.figures import marks, style
from simkit.results.figures.base import Figure, Panels, Pictures, register, single, split

Note = tuple[str, str, str]  # a line of text, its colour and weight
_LETTERS, _LINE = 7.5, 0.15  # size of notes in points, and distance of their lines in inches


def _named(
    sign: str, names: Sequence[str], color: str, room: float, *, most: int = 99,
    weight: str = "normal",
) -> list[Note]:  # fmt: skip
    """Notes of `room` inches, such as "+ cat, dog, 3 more"; none for no names."""
    kept = list(names[:most])
    if len(names) > most:
        kept.append(f"{len(names) - most:,}\u00a0more")  # no line break
    text = f"{sign} {', '.join(kept)}"
    lines = style.wrapped(text, room, _LETTERS, weight) if kept else []
    return [(line, color, weight) for line in lines]


def _write(axes: Axes, notes: Sequence[Note], *, below: bool) -> None:
    """Notes below an image, or at the top of its panel; the panel must have room for them."""
    for n, (text, color, weight) in enumerate(notes):
        written = axes.annotate(
            text, (0, 0 if below else 1), (0, -3 - 72 * _LINE * n), "axes fraction",
            "offset points", va="top", color=color, fontsize=_LETTERS, fontweight=weight,
            annotation_clip=False,
        )  # fmt: skip
        written.set_in_layout(False)


@register
class NeighbourImages(Figure):
    """The query on the left and its neighbours, nearest first, each with its known labels.

    Names after + are known to be present, after − to be absent; classes that the query is known to
    have too are bold. Unknown classes that are present in truth are grey. pictures: the query's
    first, in the order of the table; their central squares are shown.
    """

    name = "neighbours"
    title = "An image, its nearest neighbours, and their labels"
    reads: ClassVar = {
        "rank": int, "image": str, "distance": float, "unknown": int,
        "present": list[str], "absent": list[str], "hidden": list[str],
    }  # fmt: skip

    pictures: Pictures | None = setting(None, "the query first, in the order of the table")

    def draw(self, table: pd.DataFrame) -> Drawing:
        self.check_pictures(self.pictures, len(table))
        rows = list(table.itertuples())
        columns = min(6, max(4, len(rows)))
        room = style.WIDTH / columns - 0.12
        notes = [_notes(row, set(rows[0].present) if row.rank else set(), room) for row in rows]
        titles = [f"{row.rank}.  {row.distance:.3f}" for row in rows]
        titles[0] = f"image {rows[0].image}"
        places = [0]  # of images, row by row; the first column has the query alone
        for n in range(1, len(rows)):
            places += [-1] * (len(places) % columns == 0) + [n]
        places += [-1] * (columns - len(places))
        lengths = [max(len(notes[n]) for n in places[at : at + columns] if n >= 0)
                   for at in range(0, len(places), columns)]  # fmt: skip
        tall = 0.4 + (room if self.pictures else 0)
        tall += 0.3 * (style.text_width(titles[0], 11, "bold") > room)  # an id in several lines
        panels = Panels(
            ["" if n < 0 else titles[n] for n in places], across=columns,
            height=[tall + _LINE * length for length in lengths], sharex=False, sharey=False,
        )  # fmt: skip
        for axes, n in zip(panels, places, strict=True):
            picture = self.pictures[n] if self.pictures and n >= 0 else None
            if picture is not None:  # its central square
                side = min(picture.shape[:2])
                top, left = ((size - side) // 2 for size in picture.shape[:2])
                picture = picture[top : top + side, left : left + side]
            marks.picture(axes, picture)
            _write(axes, notes[n] if n >= 0 else [], below=bool(self.pictures))
        partly = (table["unknown"] > 0).any()
        return panels.finish(
            "Nearest neighbours of an image",
            "Above each image: distance between features of unit length. "
            "Bold: classes that are known to be present in the query, too."
            + (" + present, − absent, ? unknown, grey: truth." if partly else ""),
        )


def _notes(row: Any, shared: set[str], room: float) -> list[Note]:
    """The known classes of an image, the number of unknown ones, and its classes in truth."""
    both = [name for name in row.present if name in shared]
    notes = _named("+", both, style.PRESENT, room, weight="bold")
    notes += _named("+", [name for name in row.present if name not in shared], style.PRESENT, room)
    if row.unknown:  # with complete labels all other classes are absent
        notes += _named("−", row.absent, style.ABSENT, room, most=3)
        notes.append((f"? {row.unknown:,} unknown", style.PALE, "normal"))
    notes += _named("in truth", row.hidden, style.PALE, room, most=6)
    return notes or [("no class is present", style.PALE, "normal")]


@register
class LabelDistances(Figure):
    """Classes x classes, dark for near pairs; in the order of the table. Diagonal: grey."""

    name = "label-distances"
    title = "Distances between classes"
    reads: ClassVar = {"class": str, "other": str, "distance": float}
    unique = (("class",), ("other",))

    def draw(self, table: pd.DataFrame) -> Drawing:
        classes = table["class"].unique()
        L = len(classes)
        self.require(L > 1, "the table holds one class; distances need two")
        away = table.pivot(index="class", columns="other", values="distance")
        away = away.loc[classes, classes].to_numpy(copy=True)
        np.fill_diagonal(away, np.nan)  # distance to itself
        high = np.nanmax(away) or 1.0  # all distances may be 0
        # A few near pairs leave shades for others; equal distances still have a scale.
        low = min(max(np.nanmin(away), high / 100), high / 2)
        shades = LinearSegmentedColormap.from_list(
            "near", ["#041A33", "#0B3C6F", style.PRESENT, "#8FC1E0", "#DCECF7"]
        ).with_extremes(bad="#B8B8B8")
        panels, axes = single(float(np.clip(0.135 * L, 2.6, 12)))
        norm = LogNorm(low, high)  # a few far classes leave shades for others
        shown = axes.imshow(np.maximum(away, low), cmap=shades, norm=norm, aspect="auto")
        marks.bare(axes)
        step = -(-L // 88)  # most names that have room
        names = [name if n % step == 0 else "" for n, name in enumerate(classes)]
        marks.row_names(axes, names, size=8, room=1.6)
        axes.set(xticks=[], ylim=(L - 0.5, -0.5))
        if L <= 50:
            below = [style.fold(name, 1.3, size=8, lines=1) for name in classes]
            axes.set_xticks(range(L), below, rotation=90, fontsize=8)
        marks.scale(panels.drawing, axes, shown, "distance (log)", "{:g}".format)
        return panels.finish(
            "Distances between classes",
            "Dark: near; grey: the class itself. Columns are in the order of the rows.",
        )


@register
class TemperatureCurve(Figure):
    """Signed temperature over distance on the left, the gradient at a logit of 0 on the right.

    Solid lines are soft positives, dashed ones soft negatives; a colour for each setting. Distances
    are scaled: 1 is the largest of the image. A line ends where a temperature exceeds the range of
    floats.
    """

    name = "temperature-curve"
    title = "Temperature of soft labels over distance"
    made_by = "simkit.analysis.temperature_curves"
    reads: ClassVar = {
        "method": str, "side": str, "distance": float, "temperature": float, "slope": float,
    }  # fmt: skip

    def draw(self, table: pd.DataFrame) -> Drawing:
        panels = Panels(["Temperature", "Gradient"], height=3.0,
                        sharey=False)  # fmt: skip
        left, right = panels
        dashes = {"present": "-", "absent": (0, (4, 2))}
        for method, base in style.palette(table["method"], style.label).items():
            for side, dash in dashes.items():
                rows = table[(table["method"] == method) & (table["side"] == side)]
                look = style.Look(base.color, "", dash, name=base.name if side == "present" else "")
                marks.line(left, rows, "distance", "temperature", look)
                marks.line(right, rows, "distance", "slope", look)
        sizes = table["temperature"].abs()
        _signed(left, "y", sizes[np.isfinite(sizes)].max())
        left.axhline(0, color=style.PALE, linewidth=0.8, zorder=0)
        marks.log_axis(right, "y")
        left.set_ylabel("temperature T")
        right.set_ylabel("gradient at a logit of 0")
        panels.labels(x="distance to the nearest known label")
        return panels.finish(
            self.title,
            "Solid: the nearest known label is present; dashed: it is absent. "
            "Distances are scaled: 1 is the largest of the image.",
        )


def _signed(axes: Axes, which: Literal["x", "y"], largest: float, *, most: int = 4) -> None:
    """Temperatures along x or y: logarithmic on both sides of -1 to 1.

    At most `most` ticks on each side of 0, up to the power of ten below `largest`.
    """
    highest = max(2, math.floor(math.log10(max(largest, 1))))
    step = -(-(highest + 1) // most)
    above = [10.0**exponent for exponent in range(highest % step, highest + 1, step)]
    ticks = [-size for size in reversed(above)] + [0.0, *above]
    named = [style.power(tick) if tick >= 0 else "−" + style.power(-tick) for tick in ticks]
    axis = axes.yaxis if which == "y" else axes.xaxis
    (axes.set_yscale if which == "y" else axes.set_xscale)("symlog", linthresh=1, linscale=0.6)
    axis.set_ticks(ticks, labels=named)
    axis.set_ticks([], minor=True)


@register
class Temperatures(Figure):
    """Unknown labels sorted by temperature: soft positives above, soft negatives below.

    A panel for each method, in the order of the first; a cross marks ignored labels. Classes
    present in truth are bold. picture: (H, W, 3) uint8, drawn on the left. Raises BadInput for more
    than five methods, the most that fit.
    """

    name = "temperatures"
    title = "Temperatures of one image's unknown labels"
    reads: ClassVar = {
        "method": str, "class": str, "state": int, "temperature": float, "present": bool | None,
    }  # fmt: skip
    unique = (("method",), ("class",))

    picture: NDArray[np.uint8] | None = setting(None, "image (H, W, 3) uint8, drawn on the left")
    most: int = setting(60, "most classes shown; those in the middle are left out")

    def draw(self, table: pd.DataFrame) -> Drawing:
        methods = split(table, "method")
        mend = f"the table has {len(methods)} methods; at most 5 fit side by side: draw fewer"
        self.require(len(methods) < 6, mend)
        first = next(iter(methods.values()))
        unknown = first[first["state"] == 0].nlargest(len(first), "temperature")
        hidden = max(0, len(unknown) - self.most)
        shown = unknown.drop(unknown.index[self.most - self.most // 2 :][:hidden])
        names = list(shown["class"])
        widest = max([style.text_width(name, 8) for name in names], default=0)
        left = 1.15  # width of the image relative to a panel
        room = left * (style.WIDTH - 0.4 - min(widest, 1.5)) / (left + len(methods))
        notes = []
        for sign, code, color in (("+", 1, style.PRESENT), ("−", -1, style.ABSENT)):
            known = list(first.loc[first["state"] == code, "class"])
            notes += _named(sign, known or ["none known"], color, room, most=16)
        notes.append((f"? {(first['state'] == 0).sum()} unknown", style.PALE, "normal"))
        if first["present"].fillna(False).any():
            notes.append(("bold: present in truth", style.PALE, "normal"))
        tall = 0.0 if self.picture is None else room * self.picture.shape[0] / self.picture.shape[1]
        panels = Panels(
            ["", *map(style.label, methods)], across=6, widths=[left] + [1] * len(methods),
            height=max(2.0, 0.8 + 0.145 * len(names), 0.8 + tall + _LINE * len(notes)),
            sharex=False, sharey=False,
        )  # fmt: skip
        picture, *others = panels
        marks.picture(picture, self.picture)
        _write(picture, notes, below=self.picture is not None)
        for axes, rows in zip(others, methods.values(), strict=True):
            values = rows.set_index("class").loc[names, "temperature"].to_numpy()
            _sticks(axes, values, ticks={1: 4, 2: 4, 3: 2}.get(len(others), 1))
            written = marks.row_names(axes, names, size=8, room=1.5)
            for text, present in zip(written, shown["present"], strict=True):
                text.set_color(style.INK if present else style.PALE)
                text.set_fontweight("bold" if present else "normal")
        for axes in others[1:]:
            axes.set_yticks([])
        return panels.finish(
            self.title,
            "T on a log axis: far from 0 the loss is flat; ±1 is a hard label.",
            f"{hidden:,} labels in the middle are not shown." if hidden else "",
        )


def _sticks(axes: Axes, values: NDArray[np.float64], *, ticks: int) -> None:
    """A line from 0 to each temperature, in rows from the top."""
    top = max([*abs(values[np.isfinite(values)]), 100.0])
    edge = min(1.6 * top, 1e307)  # coordinate of infinite values
    values, rows = values.clip(-edge, edge), np.arange(len(values))
    for word, some, color in (
        ("soft positive", values > 0, style.PRESENT),
        ("soft negative", values < 0, style.ABSENT),
    ):
        axes.hlines(rows[some], 0, values[some], color=color, linewidth=1.4)
        axes.plot(values[some], rows[some], "o", color=color, markersize=3.6, label=word)
    ignored = values == 0
    axes.plot(values[ignored], rows[ignored], "x", color=style.PALE, markersize=4, label="ignored")
    _signed(axes, "x", min(top, edge), most=min(ticks, 2) if top > 1e5 else ticks)
    axes.set_xlim(-edge, edge)
    axes.axvline(0, color=style.INK, linewidth=0.8)
