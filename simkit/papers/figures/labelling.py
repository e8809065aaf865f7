"""Purchased labels: answers of annotators, unknown labels, and class hierarchies."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from simkit.labels.hierarchy import Hierarchy
from simkit.labels.outline import Line, outline
from simkit.registry import setting
from simkit.results.figures import marks, style
from simkit.results.figures.base import Facets, Figure, Panels, register


@register
class Confusion(Figure):
    """Answers by truth, each worker's misses over false alarms, and yes votes, real and simulated.

    Raises BadInput for a table without votes.
    """

    name = "confusion"
    title = "Answers of annotators, their errors, and their agreement"
    reads: ClassVar = {
        "part": str, "name": str, "answer": str | None,
        **dict.fromkeys(("votes", "share", "simulated", "miss", "false_alarm"), float | None),
    }  # fmt: skip

    def draw(self, table: pd.DataFrame) -> Drawing:
        needed = {"matrix": ["answer", "votes"], "gold": ["answer", "share"]}
        needed |= {"worker": ["votes"], "yes": ["share", "simulated"]}
        matrix, gold, workers, yes = (
            table[table["part"] == part].dropna(subset=columns) for part, columns in needed.items()
        )
        votes = len(yes) and matrix["votes"].sum() and workers["votes"].sum()
        self.require(votes, "the table has no votes; pass the result of simkit.analysis.confusion")
        panels = Panels(
            ["Answers by estimated truth", "Each worker", "Agreement"],
            height=2.9, widths=[1.5, 1, 1], sharex=False, sharey=False,
        )  # fmt: skip
        left, middle, right = panels
        _answers(left, matrix, gold)
        known = workers.dropna(subset=["miss", "false_alarm"])
        alarms = known["false_alarm"].clip(lower=1e-3)  # limit of the log axis
        area = 12 + 260 * known["votes"] / known["votes"].max()
        middle.scatter(alarms, known["miss"], area, style.BLUE, alpha=0.45, edgecolors="white")
        middle.set(xlabel="false alarms, of absent classes (log)")
        middle.set(ylabel="misses, of present classes")
        # False alarms are rare for most people and frequent for some: hence the log axis.
        marks.log_percent(middle)
        marks.percent(middle.yaxis)
        middle.margins(0.15)
        places = np.arange(len(yes))
        right.bar(places - 0.2, yes["share"], 0.4, color=style.BLUE, label="these votes")
        hollow = {"color": "white", "edgecolor": style.INK}
        fitted = "votes simulated from the fit"
        right.bar(places + 0.2, yes["simulated"], 0.4, label=fitted, **hollow)
        right.set_xticks(places, yes["name"])
        right.set(xlabel=f"yes among {len(yes) - 1} votes", ylabel="questions")
        right.grid(False, axis="x")
        marks.percent(right.yaxis)
        return panels.finish(
            f"Answers of {len(workers):,} people: {matrix['votes'].sum():,.0f} votes",
            f"Area of a worker: votes, at most {workers['votes'].max():,.0f}.",
        )


def _answers(axes: Axes, matrix: pd.DataFrame, gold: pd.DataFrame) -> None:
    """Cells shaded by their share of the truth's votes; experts' shares are below ours."""
    truths, occurring = ["present", "absent"], matrix.loc[matrix["votes"] > 0, "answer"].unique()
    answers = [word for word in ("no", "maybe", "yes") if word in occurring or word != "maybe"]
    experts = gold.set_index(["name", "answer"])["share"].to_dict()
    colors: list[list[Any]] = [[style.FAINT] * len(answers) for _ in truths]
    for row in matrix[matrix["answer"].isin(answers)].itertuples():
        x, y = answers.index(row.answer), truths.index(row.name)
        share = np.nan_to_num(row.share)  # missing if no question was about such a class
        right = (row.answer == "yes") == (row.name == "present")
        hue = style.PALE if row.answer == "maybe" else style.BLUE if right else style.ORANGE
        colors[y][x] = to_rgba(hue, 0.12 + 0.78 * share)
        texts = [(-0.14, f"{share:.1%}", 13), (0.09, f"{row.votes:,.0f}", 8.5)]
        if (row.name, row.answer) in experts:
            texts.append((0.27, f"experts: {experts[row.name, row.answer]:.1%}", 8))
        for down, text, size in texts:
            color = "white" if share > 0.6 and hue != style.ORANGE else style.INK
            axes.text(x, y + down, text, fontsize=size, color=color, ha="center", va="center")
    marks.cells(axes, colors)
    axes.set_xticks(range(len(answers)), [f"says {word}" for word in answers])
    axes.set_yticks(range(2), truths, rotation=90, va="center")
    axes.set_xlabel("share and number of votes")


@register
class LabelDepths(Figure):
    """Shares of known and missing labels at each level; missing ones are hatched."""

    name = "label-depths"
    title = "Known and missing labels by depth in the hierarchy"
    made_by = "simkit.analysis.depths"
    reads: ClassVar = {"scheme": str, "depth": int, "classes": int, "state": str, "share": float}

    def draw(self, table: pd.DataFrame) -> Drawing:
        grey = "#b5b5b5"
        states = {  # name, colours of face and edge, and hatches
            "present": ("known to be present", style.BLUE, style.BLUE, ""),
            "missing present": ("present, unknown", "#CFE3F2", style.BLUE, "////"),
            "missing absent": ("absent, unknown", "#F4F4F4", grey, "...."),
            "absent": ("known to be absent", grey, grey, ""),
        }
        levels = table.groupby("depth")["classes"].first()
        names = [f"depth {depth}\n{number} classes" for depth, number in levels.items()]
        panels = Facets(table, "scheme", across=3, height=0.5 + 0.42 * len(levels))
        for axes, rows in panels:
            shares = rows.pivot(index="depth", columns="state", values="share")
            shares = shares.reindex(index=levels.index, columns=list(states)).fillna(0)
            parts = {
                word: (shares[state], {"facecolor": face, "edgecolor": edge, "hatch": hatch})
                for state, (word, face, edge, hatch) in states.items()
            }
            thin = {"height": 0.72, "linewidth": 0.4}
            marks.stacked(axes, range(len(levels)), parts, across=True, style=thin)
            marks.row_names(axes, names, lines=2, size=8.5)
        axes.set_xlim(0, 1)
        marks.percent(axes.xaxis)
        panels.labels(x="of the labels of the level")
        return panels.finish(
            "Known and missing labels by depth in the hierarchy",
            "Depth 0: classes without parents. Asked images only.",
        )


@register
class Distributions(Figure):
    """A panel for each scheme: images per class in truth (line) and labelled present (bars)."""

    name = "distributions"
    title = "Class distribution before and after annotation"
    reads: ClassVar = {"scheme": str, "class": str, "true": int, "present": int}
    unique = (("scheme",), ("class",))

    columns: int = setting(3, "panels in a row")

    def draw(self, table: pd.DataFrame) -> Drawing:
        sums = table.groupby("scheme")[["true", "present"]].sum()
        shares = sums["present"] / sums["true"].clip(lower=1)
        few = 0.5  # y of classes without images, below the axis
        named = (shares.index + ": ") + shares.map("{:.0%}".format)
        panels = Facets(table, "scheme", named=named.get, across=self.columns, height=2.2)
        for axes, rows in panels:
            ranks = np.arange(len(rows)) + 1
            labelled, true = (rows[key].clip(lower=few) for key in ("present", "true"))
            axes.bar(ranks, labelled, color=style.BLUE, label="labelled present")
            axes.step(ranks, true, where="mid", color=style.INK, linewidth=1.2, label="truth")
        marks.log_axis(axes, "y")
        axes.set_ylim(0.8, 1.6 * max(table["true"].max(), 1))
        panels.labels("class, most frequent first", "images")
        return panels.finish(
            "Class distribution before and after annotation",
            "Percent: share of all present labels of the truth.",
        )


@register
class NamedShare(Figure):
    """A panel for each scheme, a dot for each class: images labelled present over those in truth.

    On the line every present label is known. The classes with the most missing labels are named.
    Source: Ben-Baruch et al., CVPR 2022, figure 1 (2) and section 3.3.1.
    """

    name = "named-share"
    title = "Labelled images over true images of each class"
    made_by = "simkit.analysis.distributions"
    reads: ClassVar = {"scheme": str, "class": str, "true": int, "present": int}

    named: int = setting(5, "classes named in a panel")

    def draw(self, table: pd.DataFrame) -> Drawing:
        few = 0.5  # y of classes without labels
        shown = table[table["true"] > 0].assign(present=table["present"].clip(lower=few))
        largest = shown["true"].max()
        panels = Facets(shown, "scheme", across=2, height=2.9)
        for axes, rows in panels:
            whole = "every present label is known"
            axes.plot([1, largest], [1, largest], color=style.PALE, linewidth=1, label=whole)
            dots = {"color": style.BLUE, "markersize": 5, "alpha": 0.75, "label": "class"}
            axes.plot(rows["true"], rows["present"], "o", **dots)
            missing = rows["true"] - rows["present"]
            self._names(axes, rows.loc[missing.nlargest(self.named).index], largest, few)
        marks.log_axis(axes, "x")
        marks.log_axis(axes, "y")
        axes.set_xlim(max(shown["true"].min() / 1.5, 0.8), 9 * largest)  # room for names
        axes.set_ylim(few / 1.6, 2 * largest)
        panels.labels("images with the class, log axis", "images labelled with it, log axis")
        none = (shown["present"] == few).any()
        note = f"At {few:g}: classes without a label." if none else ""
        return panels.finish("Missing positives of each class", note)

    def _names(self, axes: Axes, rows: pd.DataFrame, largest: float, few: float) -> None:
        """Class names right of all dots, each with a dotted line to its dot."""
        rows = rows.sort_values("present", kind="stable")
        places = np.geomspace(few, largest, len(rows))
        right = 1.5 * largest
        for row, place in zip(rows.to_dict("records"), places, strict=True):
            ends = [row["true"], right], [row["present"], place]
            axes.plot(*ends, ":", color=style.PALE, linewidth=0.8)
            name = style.fold(row["class"], 1.2, size=9, lines=1)
            axes.text(1.1 * right, place, name, fontsize=9, va="center")


@register
class HierarchyTree(Figure):
    """Every class below its parent; classes with children in blue, with other parents beside them.

    A hierarchy of more lines than `most` shows its upper levels, and the number of classes below.
    """

    name = "hierarchy"
    title = "Class hierarchy"
    made_by = "simkit.labels.hierarchy.Hierarchy.table"
    reads: ClassVar = {"class": str, "parents": list[str]}

    most: int = setting(200, "most lines shown")
    columns: int = setting(0, "columns of lines; 0: by their number")
    heading: str = setting("", "above it")

    def draw(self, table: pd.DataFrame) -> Drawing:
        edges = table.explode("parents").dropna(subset="parents")
        tree = Hierarchy.of(list(table["class"]), list(edges.itertuples(index=False, name=None)))
        lines = outline(tree, self.most)
        count = self.columns or (1 if len(lines) < 25 else 2 if len(lines) < 60 else 3)
        parts = _columns(lines, count)
        rows, width = max(map(len, parts)), style.WIDTH / len(parts) - 0.15
        panels = Panels([""] * len(parts), height=0.168 * rows, across=len(parts))
        for axes, part in zip(panels, parts, strict=True):
            axes.set_axis_off()
            axes.set(xlim=(0, width), ylim=(rows - 0.5, -0.5))
            ways = []  # from each line to its parent, the last line above with less indentation
            for y, line in enumerate(part):
                if line.depth:
                    above = next(v for v in reversed(range(y)) if part[v].depth < line.depth)
                    x = (line.depth - 1) * _STEP + 0.04
                    ways.append([(x, above + 0.45), (x, y), (x + 0.07, y)])
            axes.add_collection(LineCollection(ways, colors="#c4c4c4", linewidths=0.7))
            for y, each in enumerate(part):
                _write(axes, each, y, width)
        classes = f"{len(table)} classes, {len(tree.leaves)} of them without children"
        whole = sum(len(each.names) for each in lines) == len(table)
        levels = "." if whole else "; upper levels."
        return panels.finish(self.heading or self.title, classes + levels, "Blue: with children.")


_STEP = 0.13  # inches between levels of a tree
_LETTERS = 7.5  # points


def _columns(lines: list[Line], count: int) -> list[list[Line]]:
    """Columns of about equal length; each starts with the ancestors of its first line."""
    rows = -(-len(lines) // count)
    columns: list[list[Line]] = []
    start = 0
    while start < len(lines):
        end = min(start + rows, len(lines)) if len(columns) + 1 < count else len(lines)
        while end < len(lines) and lines[end - 1].depth < lines[end].depth:
            end -= 1  # keep a class with its first child
        path: list[Line] = []
        for line in reversed(lines[:start]):
            if line.depth < (path[0] if path else lines[start]).depth:
                path.insert(0, Line(line.depth, line.names, hidden=-1))
        columns.append(path + lines[start:end])
        start = end
    return columns


def _write(axes: Axes, line: Line, y: int, width: float) -> None:
    x = line.depth * _STEP
    again = line.hidden < 0  # an ancestor repeated from the previous column
    color = style.PALE if again else style.BLUE if line.inner else style.INK
    look: dict[str, Any] = {"fontsize": _LETTERS, "va": "center_baseline"}
    for shown in range(min(len(line.names), 20), 0, -1):  # as many names as fit
        left = len(line.names) - shown
        name = ", ".join(line.names[:shown]) + f" + {left}" * (left > 0)
        if style.text_width(name, _LETTERS) <= width - x:
            break
    name = style.fold(name, width - x, size=_LETTERS, lines=1)
    axes.text(x, y, name, color=color, **look)
    room = width - x - style.text_width(name, _LETTERS) - 0.1
    if line.note and not again and room > 0.4:
        note = style.fold(line.note, room, size=_LETTERS, lines=1)
        axes.text(width - room, y, note, color=style.PALE, **look)


@register
class Revealed(Figure):
    """Cells of classes x schemes for one image: filled with + present, with − absent, pale unknown.

    picture: (H, W, 3) uint8, drawn on the left; without it cells only. All present classes are
    shown, and the absent ones known under the most schemes.
    """

    name = "revealed"
    title = "Labels of one image under each scheme"
    reads: ClassVar = {"scheme": str, "class": str, "present": bool, "state": int, "dollars": float}
    unique = (("scheme",), ("class",))

    picture: NDArray[np.uint8] | None = setting(None, "image (H, W, 3) uint8, drawn on the left")
    absent: int = setting(8, "absent classes shown")

    def draw(self, table: pd.DataFrame) -> Drawing:
        states = table.pivot(index="class", columns="scheme", values="state")
        states = states.loc[table["class"].unique(), table["scheme"].unique()]
        present = table.drop_duplicates("class").set_index("class")["present"]
        rest = states[~present].ne(0).sum(axis=1).sort_values(ascending=False, kind="stable").index
        shown = states.loc[[*states.index[present], *rest[: self.absent]]]
        hidden = states.loc[rest[self.absent :]]
        first = 0 if self.picture is None else 1
        panels = Panels(
            ["The image", ""][1 - first :], height=0.27 * (len(shown) + 4),
            widths=[1, 2.6][1 - first :], sharex=False, sharey=False,
        )  # fmt: skip
        *left, axes = panels
        if left:
            marks.picture(left[0], self.picture)
        cells = np.column_stack([np.where(present[shown.index], 1, -1), shown])
        colors = np.select([cells > 0, cells < 0], [style.PRESENT, style.ABSENT], style.FAINT)
        signs = np.select([cells > 0, cells < 0], ["+", "−"], "")
        marks.cells(axes, colors.tolist(), signs.tolist())
        axes.axvline(0.5, color=style.INK, linewidth=1)
        marks.row_names(axes, [*shown.index, f"{len(hidden)} more absent"], room=1.4)
        for x, number in enumerate(hidden.ne(0).sum(), start=1):
            text = f"{number} known"
            axes.text(x, len(shown), text, ha="center", va="center", color=style.PALE, fontsize=8)
        dollars = table.groupby("scheme", sort=False)["dollars"].first()
        room = ((6.5 if left else style.WIDTH) - 1.6) / (1 + len(dollars))
        heads = ["truth"]
        for scheme, cost in dollars.items():
            heads.append(f"{style.fold(scheme, room, size=8)}\n{100 * cost:.1f} ¢")
        axes.set_xticks(range(len(heads)), heads, fontsize=8)
        axes.xaxis.tick_top()
        return panels.finish(
            self.title,
            "+ known to be present, − known to be absent, blank: unknown. ¢: mean cost of an asked "
            "image.",
        )
