"""Explanations of models: class maps, heat maps, their peaks, and scores on parts of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patheffects import withStroke

from simkit.registry import setting
from simkit.results.comparisons import mean_columns
from simkit.results.figures import marks, style
from simkit.results.figures.base import Facets, Figure, Panels, Pictures, register, single, split
from simkit.results.statistics import Scores

_MAPS = {"map": list[list[float]], "boxes": list[list[float]]}


@dataclass(frozen=True, eq=False)
class MapRows(Figure):
    """A row of tiles for each picked image and class: the image, then maps of it.

    pictures: one for each image and class, in the order of the table; without them maps only.
    Frames are the objects of the class.
    """

    pictures: Pictures | None = setting(None, "one for each image and class of the table")

    def tiles(
        self, table: pd.DataFrame, by: list[str], titles: list[str], names: list[str], *,
        below: float, cmap: str,
    ) -> tuple[Panels, list[tuple[Axes, Any]]]:  # fmt: skip
        """The panels, with a map for each value of the columns `by`; axes and row of each map.

        titles: of these maps. names: columns with the texts on the left. below: inches between
        rows. The column "top" holds the brightest value of each map.
        """
        rows = table[by].drop_duplicates().merge(table)  # maps in the same order in each row
        picks = list(rows.groupby(["image", "class"], sort=False))
        self.check_pictures(self.pictures, len(picks))
        first = 1 if self.pictures else 0
        side = min(1.5, (style.WIDTH - 1.7) / (first + len(titles)))
        panels = Panels(
            [""] * first + titles, rows=len(picks), sharex=False, sharey=False,
            height=side + below + 0.3 / len(picks),
        )  # fmt: skip
        panels.drawing.set_layout_engine("compressed")  # tiles are close together
        whole: dict[str, Any] = {"extent": (0, 1, 1, 0)}  # boxes are shares of an image's sides
        tiles = []
        for place, (line, (_, maps)) in enumerate(zip(panels.grid, picks, strict=True)):
            if self.pictures:
                marks.picture(line[0], self.pictures[place], whole)
            for axes, row in zip(line[first:], maps.itertuples(), strict=True):
                values = np.stack(list(row.map))
                marks.picture(axes, values, {"vmin": 0, "vmax": row.top, "cmap": cmap, **whole})
                tiles.append((axes, row))
            for axes in line:
                marks.boxes(axes, maps["boxes"].iloc[0])
            left = "\n".join(style.fold(maps[name].iloc[0], 1.4, size=9) for name in names)
            line[0].set_yticks([0.5], [left], fontsize=9)
        return panels, tiles


@register
class ActivationMaps(MapRows):
    """A row for each picked image and class: the image, then each model's map of the class.

    Source: BoostLU (Kim et al., CVPR 2023), Figs 1 and 4; Large Loss (Kim et al., CVPR 2022),
    suppl. Fig. 1.
    """

    name = "activation-maps"
    title = "Images and class maps of models"
    made_by = "simkit.analysis.activation"
    reads: ClassVar = {"model": str, "image": int, "class": str, "probability": float, **_MAPS}
    unique = (("image", "class"), ("model",))

    scale: Literal["row", "own"] = setting("row", "brightest: highest value of row, or each map")

    def draw(self, table: pd.DataFrame) -> Drawing:
        table["top"] = [max(np.concatenate(list(rows)).max(), 1e-9) for rows in table["map"]]
        if self.scale == "row":
            table["top"] = table.groupby(["image", "class"])["top"].transform("max")
        titles = [style.label(model) for model in table["model"].unique()]
        panels, tiles = self.tiles(table, ["model"], titles, ["class"], below=0.3, cmap="magma")
        edge = [withStroke(linewidth=2.6, foreground=style.INK)]  # on bright cells too
        for axes, row in tiles:
            values = np.stack(list(row.map))
            y, x = (np.argwhere(values == values.max())[0] + 0.5) / values.shape
            axes.plot(x, y, "x", color="white", ms=6, path_effects=edge)
            axes.set_xlabel(f"p = {row.probability:.2f}", fontsize=9)
        scale = "of the row" if self.scale == "row" else "of each map"
        return panels.finish(
            "Class maps of models",
            f"Dark: a score of 0 and less; bright: the highest {scale}. Frames: objects of the "
            "class. Cross: the maximum. p: the model's probability of the class.",
        )


@register
class HeatMapRows(MapRows):
    """A row for each picked image and class: the image, then its heat maps.

    Columns are the models and epochs of the table. The label is below each class.
    Source: "Spatial Consistency Loss" (WACV 2023), Figs 2, 3 and 4.
    """

    name = "heat-maps"
    title = "Heat maps of training images over the epochs"
    reads: ClassVar = {
        "model": str, "epoch": int, "image": int, "class": str, "kind": str, **_MAPS,
    }  # fmt: skip
    unique = (("image", "class"), ("model", "epoch"))

    def draw(self, table: pd.DataFrame) -> Drawing:
        by = ["model", "epoch"]
        shown = table[by].drop_duplicates()
        names = shown["model"].map(style.label)
        when = shown["epoch"].map(lambda epoch: f"epoch {epoch}" if epoch else "before")
        differ = [part for part in (names, when) if part.nunique() > 1]
        titles = ["\n".join(parts) for parts in zip(*differ, strict=True)] or [""]
        table["top"] = 1
        panels, _ = self.tiles(table, by, titles, ["class", "kind"], below=0.1, cmap="inferno")
        return panels.finish(
            "Heat maps of training images",
            "Black: a probability of 0; white: 1. Frames: objects of the class.",
        )


@register
class HeatLocated(Figure):
    """A panel for annotated positives, unannotated ones and negatives; over the epochs.

    Lines with markers are the mean probability inside objects (for negatives: of the whole map),
    thin lines without markers are that outside.
    """

    name = "heat-located"
    title = "Mean probability of heat maps inside and outside of objects"
    made_by = "simkit.analysis.located"
    reads: ClassVar = {
        "model": str, "epoch": int, "kind": str,
        "mean": float, "inside": float | None, "outside": float | None,
    }  # fmt: skip

    def draw(self, table: pd.DataFrame) -> Drawing:
        drawn = style.looks(table["model"].unique())
        table["inside"] = table["inside"].where(table["kind"] != "negative", table["mean"])
        thin: dict[str, Any] = {"marker": "", "linewidth": 1.1, "label": ""}
        panels = Facets(table, "kind", named="{}s".format, height=2.9)
        for axes, rows in panels:
            marks.lines(axes, rows, "epoch", "inside", drawn, by="model")
            marks.lines(axes, rows, "epoch", "outside", drawn, by="model", style=thin)
        axes.set_ylim(bottom=0)
        panels.labels("epoch", "mean probability in heat maps")
        return panels.finish(
            "Heat maps inside and outside of objects",
            "With markers: inside of objects (negatives: whole maps); thin, without: outside.",
        )


def _means(table: pd.DataFrame, by: list[str], column: str) -> pd.DataFrame:
    """Draws, mean and 95 % interval, in points, for each value of the columns `by`."""
    groups = table.groupby(by, sort=False)[column]
    means = groups.apply(lambda each: pd.Series(mean_columns(
        Scores(dict(enumerate(100 * each.dropna()))), bounded=False
    )))  # fmt: skip
    return means.unstack().reset_index()


@register
class ByPart(Figure):
    """A line for each method over the parts, and, with a base, its differences to the base.

    Bars are 95 % over draws, for each method alone; differences are paired by draw. The table is by
    the size of objects, or by present labels (`object_size.positives`).
    Source: "Spatial Consistency Loss" (WACV 2023), Fig. 5d, Table 3 and appendix D.
    """

    name = "by-part"
    title = "mAP by the size of objects, or by the number of present labels"
    made_by = "simkit.analysis.object_size"
    reads: ClassVar = {"method": str, "by": str, "part": str, "draw": int, "map": float | None}

    base: str = setting("", "the baseline of the differences")

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = table.dropna(subset="map")
        self.require(len(table), f"the table has no mAP; pass the result of {self.made_by}")
        parts, drawn = list(table["part"].unique()), style.looks(table["method"].unique())
        sides = {"": table}
        if self.base:
            base = self.chosen("method", self.base, drawn)
            gaps = table.merge(table[table["method"] == base], on=["part", "draw"])
            gaps = gaps[gaps["method_x"] != base].rename(columns={"method_x": "method"})
            gaps["map"] = gaps["map_x"] - gaps["map_y"]
            sides[f"minus {style.label(base)}"] = gaps
        panels = Panels(sides, height=3.2, sharey=False)
        for axes, (minus, side) in zip(panels, sides.items(), strict=True):
            means = _means(side, ["method", "part"], "map")
            means["at"] = means["part"].map(parts.index).astype(float)
            for place, (method, look) in enumerate(drawn.items()):
                rows = means[means["method"] == method].sort_values("at")
                rows["at"] += marks.dodge(place, len(drawn), 0.3)
                line = {"linestyle": look.dashes}
                if len(rows):  # the base has no difference to itself
                    marks.points(axes, rows, "at", "mean", look, yband=marks.BAND, style=line)
            marks.column_names(axes, parts)
            axes.set_ylabel("difference, points" if minus else "mAP, points")
            if minus:
                axes.axhline(0, color=style.INK, linewidth=0.9)
        by, draws = table["by"].iloc[0], table.groupby(["method", "part"])["draw"].nunique()
        panels.labels(x=by)
        return panels.finish(f"mAP by {by}", style.over_draws(draws, "Bars"))


@register
class Pointing(Figure):
    """The pointing game over mAP, a marker for each method with its intervals over draws.

    Source: Large Loss (Kim et al., CVPR 2022), Table 4.
    """

    name = "pointing"
    title = "The pointing game over mAP, method by method"
    reads: ClassVar = {"method": str, "draw": int, "map": float, "pointing": float}

    centre: float | None = setting(None, "score of pointing at the centre, 0 to 1; none: no line")

    def draw(self, table: pd.DataFrame) -> Drawing:
        both = _means(table, ["method"], "map").merge(
            _means(table, ["method"], "pointing"), on="method", suffixes=("", "_y")
        )
        panels, axes = single(4.0)
        marks.pairs(axes, both)
        axes.set_ylim(0, 100)
        if self.centre is not None:
            middle: dict[str, Any] = {"linestyle": style.DASHED, "label": "pointing at the centre"}
            axes.axhline(100 * self.centre, color=style.INK, linewidth=1, **middle)
        panels.labels("mAP on the test split, points", "pointing game, points")
        return panels.finish(
            "Pointing game over mAP",
            "Share of maps with their maximum on an object.",
            style.over_draws(table.groupby("method")["draw"].nunique(), "Lines"),
        )


@register
class MapScores(Figure):
    """A panel for present and one for absent classes, a line for each model.

    Tables of several models are concatenated.
    """

    name = "map-course"
    title = "Attribution scores of class maps over the epochs"
    made_by = "simkit.analysis.MapCourse.table"
    reads: ClassVar = {
        "model": str, "labels": str, "epoch": int, "top": float, "bottom": float, "logit": float,
    }  # fmt: skip

    of: Literal["top", "bottom", "logit"] = setting("top", "highest 5 % of a map, lowest, or mean")

    def draw(self, table: pd.DataFrame) -> Drawing:
        words = {"top": "highest 5 %", "bottom": "lowest 5 %", "logit": "mean"}
        drawn = style.looks(table["model"].unique())
        panels = Facets(table, "labels", named="{} classes".format, height=2.8)
        for axes, rows in panels:
            marks.lines(axes, rows, "epoch", self.of, drawn, by="model")
            axes.axhline(0, color=style.PALE, linewidth=0.8, zorder=0)
        panels.labels("epoch", f"{words[self.of]} of a map's scores")
        heading = "Class maps of held-out images over the epochs"
        return panels.finish(heading, "Means over all images and classes.")


@register
class MapDamage(Figure):
    """Left: rank correlation with the full model's maps; right: mean of the extreme scores.

    Boxes extend from quartile to quartile, whiskers over 90 % of the maps.
    Source: BoostLU (Kim et al., CVPR 2023), Fig. 2.
    """

    name = "map-damage"
    title = "Class maps beside those of a fully trained model"
    made_by = "simkit.analysis.damage"
    reads: ClassVar = {
        "model": str, "present": bool, "agreement": float | None, "control": float | None,
        **dict.fromkeys(("top", "bottom", "full_top", "full_bottom"), float),
    }  # fmt: skip

    def draw(self, table: pd.DataFrame) -> Drawing:
        models = split(table, "model")
        full = next(iter(models.values())).assign(model="full")  # the same for all models
        full = full.assign(top=full["full_top"], bottom=full["full_bottom"])
        drawn = style.looks(["full", *models])
        titles = ["order of cells, present", "highest 5 % of a map", "lowest 5 % of a map"]
        panels = Panels(titles, height=3.1, widths=(1.25, 1, 1), sharex=False, sharey=False)
        order, *ends = panels
        name = drawn["full"].name  # a box in the legend
        order.stairs([0], [0, 0], fill=True, color=style.INK, label=name)
        for model, rows in models.items():
            _steps(order, rows[rows["present"]]["agreement"], drawn[model])
        control = style.Look(style.PALE, dashes=(0, (2, 1.5)), name="control")
        _steps(order, full[full["present"]]["control"], control)
        order.axvline(0, color=style.INK, linewidth=0.8, zorder=0)
        order.set(xlabel="rank correlation with full labels", ylabel="share of maps, %")
        for axes, key in zip(ends, ("top", "bottom"), strict=True):
            for place, (model, rows) in enumerate({"full": full, **models}.items()):
                away, color = marks.dodge(place, len(drawn), 0.8), drawn[model].color
                face, line = (color, "white") if model == "full" else ("white", color)
                groups = split(rows, "present")
                axes.boxplot(
                    [group[key] for group in groups.values()], widths=0.6 / len(drawn),
                    positions=[away + (0 if present else 1) for present in groups],
                    whis=(5, 95), showfliers=False, patch_artist=True, manage_ticks=False,
                    boxprops={"facecolor": face, "edgecolor": color, "linewidth": 1.5},
                    medianprops={"color": line, "linewidth": 2},
                    whiskerprops={"color": color}, capprops={"color": color},
                )  # fmt: skip
            axes.axhline(0, color=style.PALE, linewidth=0.8, zorder=0)
            axes.set_xticks([0, 1], ["present", "absent"])
            axes.set_ylabel("mean attribution score")
        return panels.finish(
            "Effect of missing labels on class maps",
            "Boxes, in the order of the legend: half of the maps; whiskers: 90 %. Control: the "
            "full model's maps and a Gaussian in the middle of the image.",
        )


def _steps(axes: Axes, values: pd.Series, look: style.Look) -> None:
    """Histogram of the correlations; those of constant maps are missing."""
    counts, edges = np.histogram(values.dropna(), np.linspace(-1, 1, 41))
    line: dict[str, Any] = {"color": look.color, "linestyle": look.dashes, "label": look.name}
    axes.stairs(100 * counts / max(counts.sum(), 1), edges, linewidth=1.8, **line)


@register
class CellGradients(Figure):
    """A panel for cells above BoostLU's threshold and one for those below, a bar for each method.

    To the right of zero training lowers a cell, to the left it raises it; 1 is the maximum of
    cross-entropy without BoostLU.
    Source: BoostLU (Kim et al., CVPR 2023), Eqs 9 and 10.
    """

    name = "cell-gradients"
    title = "Gradients at cells of class maps, with and without BoostLU"
    reads: ClassVar = {"method": str, "labels": str, "cells": str, "push": float}

    def draw(self, table: pd.DataFrame) -> Drawing:
        sides = {"above": "in cells above the threshold", "below": "in cells below it"}
        right = {"named present": "up", "false negative": "up", "true negative": "down"}
        kinds = list(table["labels"].unique())
        names = [f"{kind}\n(correct: {right[kind]})" if kind in right else kind for kind in kinds]
        drawn = style.looks(table["method"].unique())
        panels = Facets(table.replace({"cells": sides}), "cells", height=2.8)
        for axes, rows in panels:
            for place, (method, look) in enumerate(drawn.items()):
                of_method = rows[rows["method"] == method]
                at = of_method["labels"].map(kinds.index) + marks.dodge(place, len(drawn), 0.72)
                bar: dict[str, Any] = {"height": 0.65 / len(drawn), "label": look.name}
                bar |= {"edgecolor": look.color, "hatch": ("", "///", "...", "xxx")[place % 4]}
                bar["facecolor"] = "white" if place else look.color
                bars = axes.barh(at, of_method["push"], **bar)
                axes.bar_label(bars, fmt="%.2f", padding=3, fontsize=8.5)
            marks.row_names(axes, names, lines=3)
            axes.axvline(0, color=style.INK, linewidth=1)
            axes.margins(x=0.18)
        panels.labels("mean gradient: pushed up  ←   0   →  pushed down")
        return panels.finish(
            "AN's gradients at the cells of a class map",
            "1 is the maximum of cross-entropy at a cell without BoostLU.",
        )


@register
class TopScores(Figure):
    """A panel for each rank, a line for each model: the share of images with at least p.

    Source: "Spatial Consistency Loss" (WACV 2023), Fig. 5a.
    """

    name = "top-scores"
    title = "Distributions of the highest probabilities, model by model"
    reads: ClassVar = {"model": str, "rank": int, "probability": float}

    def draw(self, table: pd.DataFrame) -> Drawing:
        order = {1: "highest", 2: "second", 3: "third", 4: "fourth"}
        p, drawn = np.linspace(0, 1, 101), style.looks(table["model"])
        table = table.sort_values("rank", kind="stable").replace({"rank": order})
        panels = Facets(table, "rank", height=2.9)
        for axes, rows in panels:
            for model, values in rows.groupby("model", sort=False)["probability"]:
                share = 100 * (values.to_numpy()[:, None] >= p).mean(0)
                axes.plot(p, share, **{**drawn[model].line(), "markevery": 20})
        axes.set_ylim(-2, 102)
        panels.labels("probability p", "images with at least p, %")
        return panels.finish(
            "Highest probabilities of models",
            "Highest, second ... probability of each held-out image.",
        )
