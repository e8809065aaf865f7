"""Scores over an amount: the value of a setting, the share of labels, the number of images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import pandas as pd
from matplotlib.figure import Figure as Drawing

from simkit.registry import setting
from simkit.results.cells import is_full
from simkit.results.figures import base, marks
from simkit.results.figures.base import Facets, Figure, Panels, register, single, split
from simkit.results.figures.comparisons import GAP, PANELS, SCORE, Kind, failed, line_looks
from simkit.results.figures.style import INK, label, looks, over_draws, palette
from simkit.results.selection import METRICS

_SEVERAL = "compare several, such as fpc(per_class=10) and fpc(per_class=100)"


@register
class Sweep(Figure):
    """Scores over the values of a setting; bands are 95 % over draws, rings mark defaults.

    The axis is logarithmic if the largest number is at least 20 times the smallest; values that are
    not numbers, and numbers with a 0 among them on such an axis, are evenly spaced.
    Source: the sweeps of Large Loss Matters (Fig. 5), BoostLU, Class-aware Selective Loss and Soft
    Exposure (rebuttal).
    """

    name = "sweep"
    title = "mAP over the values of one setting, the default marked"
    reads: ClassVar = {
        "scheme": str, "method": str, "setting": str, "value": str, "number": float | None,
        "default": bool, "missing": int, **base.MEANS,
    }  # fmt: skip

    panels: Kind = setting("scheme", PANELS)
    score: str = setting("mAP", "name of the score")

    def draw(self, table: pd.DataFrame) -> Drawing:
        other, drawn = line_looks(table, self.panels)
        numbers = table.drop_duplicates("value").set_index("value")["number"]
        if numbers.notna().all():
            numbers = numbers.sort_values()
        sizes = numbers[numbers != 0].abs()
        wide = sizes.max() >= 20 * sizes.min()
        beside = numbers.isna().any() or (wide and numbers.min() <= 0)  # evenly spaced
        places = dict(zip(numbers.index, range(len(numbers)) if beside else numbers, strict=True))
        values = {place: value for value, place in places.items()}
        rows = base.in_points(table).assign(place=table["value"].map(places))
        words = table["number"].isna().any()
        if words:  # they have no order: evenly spaced points without lines
            shift = {name: marks.dodge(n, len(drawn), 0.3) for n, name in enumerate(drawn)}
            rows["place"] += rows[other].map(shift)
        height = 3.1 if rows[self.panels].nunique() < 3 else 2.5
        named = label if self.panels == "method" else str
        panels = Facets(rows, self.panels, named=named, across=2, height=height)
        for axes, in_panel in panels:
            for name, line in split(in_panel, other).items():
                if words:
                    marks.points(axes, line, "place", "mean", drawn[name], yband=marks.BAND)
                else:
                    marks.line(axes, line, "place", "mean", drawn[name], band=marks.BAND)
            ring = {"markersize": 13, "markerfacecolor": "none", "markeredgecolor": INK}
            default = in_panel[in_panel["default"]]
            if len(default):
                axes.plot(default["place"], default["mean"], "o", label="default", **ring)
            if beside:
                marks.column_names(axes, list(places))
            else:
                marks.ticks_at(axes, values, lambda place: values.get(place, ""))
        setting = table["setting"].iloc[0]
        log = ", log axis" if axes.get_xscale() == "log" else ""
        panels.labels(setting + log, f"{self.score} on the test split, points")
        interval = over_draws(table["draws"], "Lines" if words else "Bands")
        return panels.finish(f"{self.score} over {setting}", interval, failed(table))


@register
class ImagesOrLabels(Figure):
    """Left, mAP over the share of images; right, the same over the number of labels.

    On the left all lines at a position have the same images, and complete labels have many times
    the labels; on the right those at a position have the same number of labels.
    """

    name = "images-or-labels"
    title = "Few complete or many weak labels: over images and labels"
    reads: ClassVar = {"scheme": str, "method": str, "share": float, "labels": float, **base.MEANS}

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = base.in_points(table)
        colors, dashes = looks(table["method"].unique()), palette(table["scheme"])
        panels = Panels(["At equal images", "At equal labels"], height=3.3, sharex=False)
        images, labels = panels
        for (scheme, method), rows in table.groupby(["scheme", "method"], sort=False):
            name = f"{label(method)}, {scheme}"
            look = replace(colors[method], dashes=dashes[scheme].dashes, name=name)
            marks.line(images, rows, "share", "mean", look, band=marks.BAND)
            marks.line(labels, rows, "labels", "mean", look, band=marks.BAND)
        images.set_xlim(0, 1.03)
        marks.percent(images.xaxis)
        marks.log_axis(labels, "x")
        panels.labels(["share of the images", "number of labels, log axis"], SCORE)
        heading = "Many weakly labelled images, or few complete ones"
        return panels.finish(heading, over_draws(table["draws"]))


@register
class LabelShares(Figure):
    """Scores over the share of labels, a panel for each scheme; bands are 95 % over draws.

    If the table has differences to a base, they are below the scores.
    Source: "Soft Exposure", Fig. 3.
    """

    name = "label-shares"
    title = "mAP by the share of known labels, with the oracle"
    made_by = "simkit.analysis.shares"
    reads: ClassVar = {
        "scheme": str, "method": str, "base": str | None, "reference": bool, "positives": float,
        "labels": float, **base.MEANS, **dict.fromkeys(GAP, float | None),
    }  # fmt: skip

    share: Literal["positives", "labels"] = setting("positives", "of present labels, or of all")
    score: str = setting("mAP", "name of the score")

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = base.in_points(table, *GAP)
        oracles = table[table["reference"] & table["method"].map(is_full)]
        table = table[~table["reference"]]
        self.require(len(table), "the table holds references alone; compare schemes too")
        drawn = looks(table["method"].unique())
        other = "".join(table["base"].dropna()[:1])
        parts = {f"{self.score} on the test split, points": table}
        layout: dict[str, Any] = {"across": 2}
        if other:
            gaps = table.drop(columns=["mean", *marks.BAND]).dropna(subset="gap")
            gaps = gaps.rename(columns=dict(zip(GAP, ("mean", *marks.BAND), strict=True)))
            parts[f"difference to {label(other)}, points"] = gaps
            layout = {"down": "what", "sharey": "row"}
        rows = pd.concat(parts, names=["what"]).reset_index("what")
        panels = Facets(rows, "scheme", height=3.0, **layout)
        for axes, in_panel in panels:
            marks.lines(axes, in_panel, self.share, "mean", drawn, band=marks.BAND)
            if in_panel["what"].iloc[0].startswith("difference"):
                axes.axhline(0, color=INK, linewidth=0.9)
            else:
                names = [f"{label(row.method)}: {row.mean:.1f}" for row in oracles.itertuples()]
                marks.across(axes, names, oracles["mean"])
            marks.percent(axes.xaxis)
        of = "present labels" if self.share == "positives" else "labels"
        scores = list(rows["what"].unique())
        panels.labels(f"share of all {of}", scores if other else scores[0])
        return panels.finish(
            f"{self.score} by the share of labels",
            over_draws(table["draws"]),
            "Horizontal lines: complete labels." if len(oracles) else "",
            "Differences are paired by draw." if other else "",
        )


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
        **base.MEANS,
    }  # fmt: skip

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = _several_amounts(self, table)
        drawn = looks(table["method"].unique())
        panels = Facets(table, "family", down="measure", height=2.9, sharex="col", sharey="row")
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
        return panels.finish(heading, over_draws(table["draws"]))


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
        "first": str, "second": str, **base.MEANS,
    }  # fmt: skip

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = _several_amounts(self, table.dropna(subset="known"))
        first, second = (label(table[key].iloc[0]) for key in ("first", "second"))
        drawn = palette(table["family"])
        panels = Facets(table, "measure", named=_measure, height=2.7, sharey=False)
        for axes, rows in panels:
            marks.lines(axes, rows, "known", "mean", drawn, by="family", band=marks.BAND)
            axes.axhline(0, color=INK, linewidth=1)
        marks.log_percent(axes)
        panels.labels("share of known labels, log axis", f"{first} minus {second}, points")
        above = f"Above 0: {first} is ahead."
        return panels.finish(f"{first} against {second}", above, over_draws(table["draws"]))


@register
class ScorePair(Figure):
    """One measure over another, a marker with 95 % intervals for each method; best is top right.

    Source: Ben-Baruch et al., CVPR 2022, table 4 and figure 10, where these are mAP and person.
    """

    name = "score-pair"
    title = "Two scores of each method at once, such as mAP and the AP of one class"
    made_by = "simkit.analysis.modes"
    reads: ClassVar = {"scheme": str, "measure": str, "method": str, **base.MEANS}

    scheme: str = setting("", "the scheme; by default the first")
    x: str = setting("", "measure of the x axis; by default the first")
    y: str = setting("", "measure of the y axis; by default the second")

    def draw(self, table: pd.DataFrame) -> Drawing:
        measures = list(table["measure"].unique())
        mend = "two measures are needed; give modes() two, such as map and a class"
        self.require(len(measures) > 1, mend)
        scheme = self.chosen("scheme", self.scheme, table["scheme"])
        x = self.chosen("measure", self.x, measures)
        y = self.chosen("measure", self.y, measures[1:] + measures[:1])
        scores = base.in_points(table[table["scheme"] == scheme])
        over, up = (scores[scores["measure"] == measure] for measure in (x, y))
        both = over.merge(up, on="method", suffixes=("", "_y"))
        self.require(len(both), f"no method has {x} and {y} under {scheme}; name others")
        panels, axes = single(4)
        marks.pairs(axes, both)
        panels.labels(f"{_measure(x)}, points", f"{_measure(y)}, points")
        draws = both[["draws", "draws_y"]].max(axis=1)
        return panels.finish(f"Two measures: {scheme}", over_draws(draws, "Lines"))


def _several_amounts(figure: Figure, table: pd.DataFrame) -> pd.DataFrame:
    """Rows of schemes with two amounts or more, in points. Raises BadInput without any."""
    table = table.dropna(subset="value")
    table = table[table.groupby("family")["value"].transform("nunique") > 1]
    figure.require(len(table), f"no scheme in the table has two amounts; {_SEVERAL}")
    return base.in_points(table)


def _measure(name: str) -> str:
    return METRICS.get(name, f"AP of {name}")
