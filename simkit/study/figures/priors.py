"""Class frequencies, and the treatment of unknown labels by methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from simkit.registry import Count, setting
from simkit.study.analysis.amounts import METRICS
from simkit.study.analysis.class_priors import COUNTED
from simkit.study.figures import marks, style
from simkit.study.figures.base import Facets, Figure, Panels, Pictures, option, register
from simkit.study.figures.options import MEANS, in_points

_READ = ("present", "absent", "ignored", "ignored_present", "assumed", "wrong")  # counts
_OUT = "#e6e6e6"  # ignored labels
_SEVERAL = "compare several, such as fpc(per_class=10) and fpc(per_class=100)"


@register
class CommonClasses(Figure):
    """The n classes with the largest share of images: left in truth, right by the estimate."""

    name = "common-classes"
    title = "The most frequent classes, true and estimated"
    made_by = "simkit.analysis.priors"
    reads: ClassVar = {"estimate": str, "class": str, "true": float, "prior": float}

    estimate: str = option("", "the estimate; by default the first")
    top: Count = option(10, "classes on each side")

    def draw(self, table: pd.DataFrame) -> Drawing:
        estimate = self.chosen("estimate", self.estimate, table["estimate"])
        rows = table[table["estimate"] == estimate].set_index("class")
        true, prior = (rows[key].nlargest(self.top) for key in ("true", "prior"))
        words = ("also in the other list", "in this list only")
        titles = ["in truth", f"by {_estimate(estimate)}"]
        panels = Panels(titles, height=0.6 + 0.25 * len(true), sharey=False)
        for axes, side, other in zip(panels, (true, prior), (prior, true), strict=True):
            _bars(axes, side.index, side, side.index.isin(other.index), words)
        panels.labels(x="share of images")
        return panels.finish(f"The {len(true)} most frequent classes")


@register
class Likelihood(Figure):
    """The share of images in which the k-th likeliest unknown label is present, over k.

    A panel for each method; lines are the first, the middle and the last epoch.
    Source: Ben-Baruch et al., CVPR 2022, eq. 5.
    """

    name = "likelihood"
    title = "Precision of the likeliest unknown labels of an image"
    reads: ClassVar = {"method": str, "epoch": int, "rank": int, "present": float, "chance": float}

    def draw(self, table: pd.DataFrame) -> Drawing:
        epochs = sorted(table["epoch"].unique())
        shown = sorted({epochs[0], epochs[(len(epochs) - 1) // 2], epochs[-1]})
        shades = [(style.SKY, "o", ":"), (style.BLUE, "s", "--"), (style.INK, "^", "-")]
        last = zip(shown, shades[-len(shown) :], strict=True)
        drawn = {epoch: style.Look(*shade, "full", f"epoch {epoch}") for epoch, shade in last}
        panels = Facets(table, "method", named=style.label, height=2.6)
        for axes, rows in panels:
            chance = {"color": "#b5b5b5", "linewidth": 2.5, "zorder": 0}
            axes.axhline(rows["chance"].iloc[0], **chance, label="chosen at random")
            marks.lines(axes, rows, "rank", "present", drawn, by="epoch")
        axes.set_ylim(0, 1)
        marks.percent(axes.yaxis)
        panels.labels("rank among the unknown labels of an image", "present in truth")
        return panels.finish("Precision of the likeliest unknown labels", "Rank 1: highest score.")


@register
class LikelyLabels(Figure):
    """Images, with their likeliest unknown labels and probabilities below.

    pictures: one for each image of the table.
    Source: Ben-Baruch et al., CVPR 2022, figure 4.
    """

    name = "likely-labels"
    title = "The likeliest unknown labels of a few images"
    reads: ClassVar = {"row": int, "class": str, "rank": int, "probability": float, "present": bool}

    pictures: Pictures = setting((), "one image for each in the table")
    ignored: int = option(5, "number of labels ignored by the method: a line")

    def draw(self, table: pd.DataFrame) -> Drawing:
        self.check_pictures(self.pictures, table["row"].nunique())
        table = table.sort_values("rank", kind="stable")
        most = table["rank"].max()
        height = [1.1, 0.5 + 0.22 * most][0 if self.pictures else 1 :]
        layout: dict[str, Any] = {"rows": len(height), "sharex": "row", "sharey": False}
        words = ("present in truth", "absent in truth")
        panels = Facets(table, "row", named=lambda row: "", height=height, **layout)
        for place, (column, rows) in enumerate(panels):
            if self.pictures:
                marks.picture(column[0], self.pictures[place])
            _bars(column[-1], rows["class"], rows["probability"], rows["present"], words)
            if self.ignored < most:
                column[-1].axhline(self.ignored - 0.5, color=style.INK, linewidth=1)
        panels.labels(x="probability")
        above = f" Above the line: the {self.ignored} ignored in the loss."
        note = "Probability by the model." + (above if self.ignored < most else "")
        return panels.finish("The likeliest unknown labels", note)


def _bars(
    axes: Axes, names: Sequence[str], shares: pd.Series, full: pd.Series, words: tuple[str, str]
) -> None:
    """Shares of classes from the top, filled and hollow; words: names of these two."""
    for fill, kept, word in ((style.BLUE, full, words[0]), ("white", ~full, words[1])):
        places = np.flatnonzero(kept)
        if not len(places):
            continue  # the legend would have a bar of another colour
        bar: dict[str, Any] = {"height": 0.7, "edgecolor": style.BLUE, "linewidth": 1.2}
        axes.barh(places, shares.to_numpy()[places], color=fill, label=word, **bar)
    marks.row_names(axes, list(names), room=1.3)
    axes.set_xlim(0, 1)
    marks.percent(axes.xaxis)


@register
class Modes(Figure):
    """A row of panels for each measure, a column for each kind of scheme, a line for each method.

    Bands are 95 % over draws. Schemes with a single amount in the table are left out.
    Source: Ben-Baruch et al., CVPR 2022, figures 6 and 10.
    """

    name = "modes"
    title = "Scores of methods over the amount of labels, by kind of scheme"
    reads: ClassVar = {
        "family": str, "setting": str | None, "value": float | None, "measure": str, "method": str,
        **MEANS,
    }  # fmt: skip

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = _several_amounts(self, table)
        drawn = style.looks(table["method"].unique())
        layout: dict[str, Any] = {"height": 2.9, "sharex": "col", "sharey": "row"}
        panels = Facets(table, "family", down="measure", **layout)
        for axes, rows in panels:
            marks.lines(axes, rows, "value", "mean", drawn, band=marks.BAND)
            marks.ticks_at(axes, sorted(rows["value"]))
        for axes in panels.grid[:, 0]:
            marks.score_limits(axes)
        panels.labels(
            x=table.groupby("family", sort=False)["setting"].first(),
            y=[f"{_measure(name)}, points" for name in table["measure"].unique()],
        )
        heading = "Treatment of unknown labels, by the amount of labels"
        return panels.finish(heading, style.over_draws(table["draws"]))


@register
class ModeGap(Figure):
    """The lead of one method over another, by the share of known labels.

    A panel for each measure, a line for each kind of scheme; bands are 95 % over draws, paired.
    Source: Ben-Baruch et al., CVPR 2022, figure 6.
    """

    name = "mode-gap"
    title = "Difference of two methods over the share of known labels"
    made_by = "simkit.analysis.mode_gaps"
    reads: ClassVar = {
        "family": str, "value": float | None, "known": float | None, "measure": str,
        "first": str, "second": str, **MEANS,
    }  # fmt: skip

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = _several_amounts(self, table.dropna(subset="known"))
        first, second = (style.label(table[key].iloc[0]) for key in ("first", "second"))
        drawn = style.palette(table["family"])
        panels = Facets(table, "measure", named=_measure, height=2.7, sharey=False)
        for axes, rows in panels:
            marks.lines(axes, rows, "known", "mean", drawn, by="family", band=marks.BAND)
            axes.axhline(0, color=style.INK, linewidth=1)
        marks.log_percent(axes)
        panels.labels("share of known labels, log axis", f"{first} minus {second}, points")
        above = f"Above 0: {first} is ahead."
        return panels.finish(f"{first} against {second}", above, style.over_draws(table["draws"]))


@register
class ScorePair(Figure):
    """One measure over another, a marker with 95 % intervals for each method; best is top right.

    Source: Ben-Baruch et al., CVPR 2022, table 4 and figure 10, where these are mAP and person.
    """

    name = "score-pair"
    title = "Two scores of each method at once, such as mAP and the AP of one class"
    made_by = "simkit.analysis.modes"
    reads: ClassVar = {"scheme": str, "measure": str, "method": str, **MEANS}

    scheme: str = option("", "the scheme; by default the first")
    x: str = option("", "measure of the x axis; by default the first")
    y: str = option("", "measure of the y axis; by default the second")

    def draw(self, table: pd.DataFrame) -> Drawing:
        measures = list(table["measure"].unique())
        mend = "two measures are needed; give modes() two, such as map and a class"
        self.require(len(measures) > 1, mend)
        scheme = self.chosen("scheme", self.scheme, table["scheme"])
        x = self.chosen("measure", self.x, measures)
        y = self.chosen("measure", self.y, measures[1:] + measures[:1])
        scores = in_points(table[table["scheme"] == scheme])
        over, up = (scores[scores["measure"] == measure] for measure in (x, y))
        both = over.merge(up, on="method", suffixes=("", "_y"))
        self.require(len(both), f"no method has {x} and {y} under {scheme}; name others")
        panels = Panels(height=4)
        (axes,) = panels
        marks.pairs(axes, both)
        panels.labels(f"{_measure(x)}, points", f"{_measure(y)}, points")
        draws = both[["draws", "draws_y"]].max(axis=1)
        return panels.finish(f"Two measures: {scheme}", style.over_draws(draws, "Lines"))


def _several_amounts(figure: Figure, table: pd.DataFrame) -> pd.DataFrame:
    """Rows of schemes with two amounts or more, in points. Raises BadInput without any."""
    table = table.dropna(subset="value")
    table = table[table.groupby("family")["value"].transform("nunique") > 1]
    figure.require(len(table), f"no scheme in the table has two amounts; {_SEVERAL}")
    return in_points(table)


def _measure(name: str) -> str:
    return METRICS.get(name, f"AP of {name}")


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

    named: int = option(5, "classes named in a panel")

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
class RankAgreement(Figure):
    """Spearman correlation with the true frequencies over the n most frequent classes.

    A line for each estimate, in the look of its method; it has gaps where an estimate gives all
    classes the same prior.
    """

    name = "rank-agreement"
    title = "Estimated class priors against the truth, over the top classes"
    reads: ClassVar = {"estimate": str, "top": int, "spearman": float | None}

    def draw(self, table: pd.DataFrame) -> Drawing:
        drawn = style.looks(table["estimate"].unique(), _estimate)
        ranked = table[table.groupby("estimate")["spearman"].transform("count") > 0]
        panels = Panels(height=3.2)
        (axes,) = panels
        marks.lines(axes, ranked, "top", "spearman", drawn, by="estimate")
        axes.axhline(0, color=style.PALE, linewidth=0.8, zorder=0)
        axes.set_ylim(top=1.02)
        panels.labels("number of most frequent classes", "Spearman correlation")
        silent = len(drawn) - ranked["estimate"].nunique()
        return panels.finish(
            "Rank correlation of estimated and true frequencies",
            "1: the same order, 0: no relation.",
            f"Not shown: {silent} with the same prior for every class." if silent else "",
        )


def _estimate(name: str) -> str:
    """The name of an estimate: its method, or counted labels."""
    return "counted labels" if name == COUNTED else style.label(name)


@register
class Readings(Figure):
    """A panel for each method: the treatment of each class's labels, as shares of all images.

    Classes by falling true frequency.
    Source: Ben-Baruch et al., CVPR 2022, figure 2.
    """

    name = "readings"
    title = "Treatment of the labels of every class by each method"
    reads: ClassVar = {"method": str, "rank": int, "images": int, **dict.fromkeys(_READ, int)}

    def draw(self, table: pd.DataFrame) -> Drawing:
        panels = Facets(table, "method", named=style.label, across=2, height=2.5)
        for axes, rows in panels:
            rows = rows.sort_values("rank")
            of = rows[list(_READ)].div(rows["images"].clip(lower=1), axis=0)
            parts = {
                "labelled": (of["present"] + of["absent"], {"color": style.BLUE}),
                "assumed absent, correct": (of["assumed"] - of["wrong"], {"color": "#BFD9EA"}),
                "assumed absent, wrong": (of["wrong"], _hatched(style.RED, "////", "w")),
                "ignored, absent": (of["ignored"] - of["ignored_present"], {"color": _OUT}),
                "ignored, present": (of["ignored_present"], _hatched(_OUT, "....", style.INK)),
            }
            marks.stacked(axes, rows["rank"] + 1, parts, width=1, linewidth=0)
            axes.grid(False)
        axes.set(xlim=(0.4, table["rank"].max() + 1.6), ylim=(0, 1))
        marks.percent(axes.yaxis)
        panels.labels("class, most frequent first", "share of the images")
        return panels.finish(
            "Treatment of labels by each method",
            "Stacked from below. Grey, dotted or not: ignored in the loss.",
        )


def _hatched(color: str, hatch: str, ink: str) -> dict[str, str]:
    return {"color": color, "hatch": hatch, "edgecolor": ink}
