"""Methods during training: losses, class priors, and rejected, corrected or likely labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from simkit.registry import Count, setting
from simkit.results.figures import marks
from simkit.results.figures.base import Facets, Figure, Panels, Pictures, register, single, split
from simkit.results.figures.style import BLUE, FAINT, GREEN, INK, PALE, RED, SKY, Look, label, looks

_READ = ("present", "absent", "ignored", "ignored_present", "assumed", "wrong")  # counts
_OUT = "#e6e6e6"  # ignored labels


@register
class Memorisation(Figure):
    """Above, loss over the epochs for each kind of label; below, the epoch of the highest loss.

    A column for each method. Above are the mean, or the median with a band between quartiles. Below
    is the share of labels whose highest loss was in that epoch or before: a curve that starts high
    belongs to labels that were learned from the first epoch on.
    """

    name = "memorisation"
    title = "Epoch of the highest loss for each kind of label"
    reads: ClassVar = {
        "method": str, "kind": str, "epoch": int,
        **dict.fromkeys(("share", "mean", "low", "median", "high"), float),
    }  # fmt: skip

    middle: Literal["mean", "median"] = setting("mean", "average of the losses: mean or median")
    log: bool = setting(False, "losses on a log axis")

    def draw(self, table: pd.DataFrame) -> Drawing:
        kinds = {
            "true positive": Look(GREEN, "^", (0, (5, 2)), name="true positives"),
            "true negative": Look(BLUE, "o", name="true negatives"),
            "false negative": Look(RED, "s", (0, (1, 1.5)), "none", "false negatives"),
        }
        table = table.sort_values("epoch", kind="stable")
        table["past"] = 100 * table.groupby(["method", "kind"])["share"].cumsum()
        median = self.middle == "median"
        band = ("low", "high") if median else None
        panels = Facets(table, "method", named=label, rows=2, height=2.2, sharey="row")
        for (losses, past), rows in panels:
            marks.lines(losses, rows, "epoch", self.middle, kinds, by="kind", band=band)
            marks.lines(past, rows, "epoch", "past", kinds, by="kind")
        if self.log:
            marks.log_axis(losses, "y")
        else:
            losses.set_ylim(bottom=0)
        past.set_ylim(-3, 103)
        loss = f"{self.middle} loss as absent\n(true positives: as present)"
        panels.labels(x="epoch", y=[loss, "labels past their highest loss, %"])
        return panels.finish(
            "Epoch of the highest loss for each kind of label",
            "Bands: half of the labels." if median else "",
            "Below: share of labels whose loss was highest in this epoch or an earlier one.",
        )


@register
class Modification(Figure):
    """Precision of modification on the left, number of modified false negatives on the right.

    A line for each method; the dotted one is the precision of modifying at random. Permanent
    corrections are counted over all epochs so far.
    """

    name = "modification"
    title = "Precision and recall of rejected or corrected labels"
    reads: ClassVar = {
        "method": str, "lasting": bool, "epoch": int, "modified": int, "right": int,
        **dict.fromkeys(("precision", "found", "chance"), float | None),
    }  # fmt: skip

    beside: Literal["right", "found", "modified"] = setting("right", "measure on the right side")

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = table[table["modified"] > 0]
        mend = "use a method that selects, such as ll-r, for two epochs or more"
        self.require(len(table), f"no label was modified; {mend}")
        title, unit = {
            "right": ("False negatives modified", "labels"),
            "found": ("Recall of false negatives", "share of all false negatives, %"),
            "modified": ("Labels modified", "labels"),
        }[self.beside]
        drawn = looks(table["method"].unique())
        table = table.assign(precision=100 * table["precision"], found=100 * table["found"])
        panels = Panels(["Precision of modification", title], height=3.2, sharey=False)
        precision, beside = panels
        marks.lines(precision, table, "epoch", "precision", drawn)
        marks.lines(beside, table, "epoch", self.beside, drawn)
        chance = 100 * table["chance"].iloc[0]
        if chance == chance:
            precision.axhline(chance, color=PALE, linestyle=":", label="at random")
        precision.set(ylabel="false negatives, %", ylim=(0, 103))
        beside.set_ylabel(unit)
        beside.set_ylim(bottom=0)
        beside.yaxis.set_major_formatter("{x:,.0f}")
        panels.labels(x="epoch")
        note = "Permanent corrections are counted over all epochs so far."
        heading = "False negatives among the modified labels"
        return panels.finish(heading, note if table["lasting"].any() else "")


@register
class Corrections(Figure):
    """For each image a row of cells for each class, a column for each epoch, two side by side.

    Grey names: absent classes. pictures: in the order of the table. Raises BadInput unless there is
    one image for each of the table.
    """

    name = "corrections"
    title = "Corrected labels of images, epoch by epoch"
    reads: ClassVar = {
        "method": str, "row": int, "why": str, "class": str, "epoch": int,
        **dict.fromkeys(("given", "present", "corrected"), bool),
    }  # fmt: skip

    pictures: Pictures | None = setting(None, "images in the order of the table")
    classes: int = setting(14, "most classes shown per image")

    def draw(self, table: pd.DataFrame) -> Drawing:
        state = [table["given"], ~table["corrected"], table["present"]]
        table["color"] = np.select(state, [PALE, FAINT, BLUE], RED)
        table["sign"] = np.select(state, ["", "", "+"], "×")
        images = list(split(table, "row").values())
        self.check_pictures(self.pictures, len(images))
        shown = 2 if self.pictures else 1
        across = min(2, len(images))
        tall = [0.7 + max(0.2 * min(self.classes, i["class"].nunique()), 1.2) for i in images]
        panels = Panels(
            [title for rows in images for title in (rows["why"].iloc[0], "")[:shown]],
            height=[max(tall[n : n + across]) for n in range(0, len(images), across)],
            across=shown * across, widths=[1, 1.6][-shown:] * across, sharex=False, sharey=False,
        )  # fmt: skip
        axes = list(panels)
        for picture, each in zip(self.pictures or (), axes[::2], strict=False):
            marks.picture(each, picture)
        for rows, each in zip(images, axes[shown - 1 :: shown], strict=True):
            every = rows["class"].unique()
            names = every[: self.classes]
            wide = rows.pivot(index="class", columns="epoch", values=["color", "sign"]).loc[names]
            colors, signs = wide["color"].fillna("white"), wide["sign"].fillna("")
            marks.cells(each, colors.to_numpy().tolist(), signs.to_numpy().tolist())
            present = rows[rows["present"] | rows["given"]]["class"].unique()
            for text, name in zip(marks.row_names(each, names), names, strict=True):
                text.set_color(INK if name in present else PALE)
            step = -(-len(colors.columns) // 10)
            each.set_xticks(range(0, len(colors.columns), step), colors.columns[::step], fontsize=9)
            hidden = len(every) - len(names)
            each.set_xlabel(f"epoch ({hidden} more classes)" if hidden else "epoch")
        return panels.finish(
            f"Corrections by {label(table['method'].iloc[0])}, epoch by epoch",
            "+ on blue: correct, the class is present; × on red: wrong correction; dark "
            "grey: labelled from the start; light grey: assumed absent. Names in grey: absent.",
        )


@register
class LossShapes(Figure):
    """The loss of one kind of label, a panel for each method; a late epoch dashed where it differs.

    In the background of each panel is the curve of AN, if the table has it.
    """

    name = "loss-shapes"
    title = "Loss of a label over its logit, a panel for each method"
    reads: ClassVar = {
        "method": str, "entry": str, "epoch": int, "logit": float, "loss": float, "gradient": float,
    }  # fmt: skip
    unique = (("method",), ("entry",), ("epoch",), ("logit",))

    entry: str = setting("unknown", "the label whose logit varies")
    what: Literal["loss", "gradient"] = setting("loss", "the loss or its gradient")

    def draw(self, table: pd.DataFrame) -> Drawing:
        entry = self.chosen("entry", self.entry, table["entry"])
        table = table[table["entry"] == entry].sort_values("logit", kind="stable")
        drawn = looks(table["method"].unique())
        bare = {method: re.sub(r"\([^)]*\)", "", method) for method in drawn}
        alone = {method: [*bare.values()].count(name) == 1 for method, name in bare.items()}
        titles = {method: label(bare[method] if alone[method] else method) for method in drawn}
        panels = Facets(table, "method", named=titles.__getitem__, across=6, height=1.15)
        for axes, rows in panels:
            curves = split(rows.sort_values("epoch", kind="stable"), "epoch")
            first, *_, last = [*curves, *curves]
            base = table[(table["method"] == "an") & (table["epoch"] == first)]
            axes.plot(base["logit"], base[self.what], color="#d4d4d4", linewidth=4)
            color = drawn[rows["method"].iloc[0]].color
            for epoch, dashes in {last: (0, (3, 1.5)), first: "-"}.items():
                values, early = (curves[each][self.what] for each in (epoch, first))
                if epoch == first or not np.allclose(values, early, atol=1e-3):
                    axes.plot(curves[epoch]["logit"], values, color=color, linestyle=dashes)
        low, high = np.quantile(table[self.what], (0.02, 0.98))
        axes.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
        axes.plot([], [], color=INK, label=f"epoch {first}")
        if last != first:
            late = f"epoch {last}, where it differs"
            axes.plot([], [], color=INK, linestyle=(0, (3, 1.5)), label=late)
        panels.labels(x="logit", y=f"{self.what} of the label: {entry}")
        return panels.finish(self.title, "Grey: AN." if "an" in drawn else "")


@register
class CommonClasses(Figure):
    """The n classes with the largest share of images: left in truth, right by the estimate."""

    name = "common-classes"
    title = "The most frequent classes, true and estimated"
    made_by = "simkit.analysis.priors"
    reads: ClassVar = {"estimate": str, "class": str, "true": float, "prior": float}

    estimate: str = setting("", "the estimate; by default the first")
    top: Count = setting(10, "classes on each side")

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
        shades = [(SKY, "o", ":"), (BLUE, "s", "--"), (INK, "^", "-")]
        last = zip(shown, shades[-len(shown) :], strict=True)
        drawn = {epoch: Look(*shade, "full", f"epoch {epoch}") for epoch, shade in last}
        panels = Facets(table, "method", named=label, height=2.6)
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
    ignored: int = setting(5, "number of labels ignored by the method: a line")

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
                column[-1].axhline(self.ignored - 0.5, color=INK, linewidth=1)
        panels.labels(x="probability")
        above = f" Above the line: the {self.ignored} ignored in the loss."
        note = "Probability by the model." + (above if self.ignored < most else "")
        return panels.finish("The likeliest unknown labels", note)


def _bars(
    axes: Axes, names: Sequence[str], shares: pd.Series, full: pd.Series, words: tuple[str, str]
) -> None:
    """Shares of classes from the top, filled and hollow; words: names of these two."""
    for fill, kept, word in ((BLUE, full, words[0]), ("white", ~full, words[1])):
        places = np.flatnonzero(kept)
        if not len(places):
            continue  # the legend would have a bar of another colour
        bar: dict[str, Any] = {"height": 0.7, "edgecolor": BLUE, "linewidth": 1.2}
        axes.barh(places, shares.to_numpy()[places], color=fill, label=word, **bar)
    marks.row_names(axes, list(names), room=1.3)
    axes.set_xlim(0, 1)
    marks.percent(axes.xaxis)


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
        drawn = looks(table["estimate"].unique(), _estimate)
        ranked = table[table.groupby("estimate")["spearman"].transform("count") > 0]
        panels, axes = single(3.2)
        marks.lines(axes, ranked, "top", "spearman", drawn, by="estimate")
        axes.axhline(0, color=PALE, linewidth=0.8, zorder=0)
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
    from simkit.papers.analysis.learning import COUNTED  # which trains, so with torch

    return "counted labels" if name == COUNTED else label(name)


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
        panels = Facets(table, "method", named=label, across=2, height=2.5)
        for axes, rows in panels:
            rows = rows.sort_values("rank")
            of = rows[list(_READ)].div(rows["images"].clip(lower=1), axis=0)
            parts = {
                "labelled": (of["present"] + of["absent"], {"color": BLUE}),
                "assumed absent, correct": (of["assumed"] - of["wrong"], {"color": "#BFD9EA"}),
                "assumed absent, wrong": (of["wrong"], _hatched(RED, "////", "w")),
                "ignored, absent": (of["ignored"] - of["ignored_present"], {"color": _OUT}),
                "ignored, present": (of["ignored_present"], _hatched(_OUT, "....", INK)),
            }
            marks.stacked(axes, rows["rank"] + 1, parts, style={"width": 1, "linewidth": 0})
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
