"""Comparisons of methods: over settings, the amount and cost of labels, epochs, and by rank."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from simkit.quantities import money
from simkit.registry import setting
from simkit.results.analysis import selection
from simkit.results.analysis.comparisons import Ranks, Test, What, courses, ranks
from simkit.results.analysis.selection import METRICS, Methods
from simkit.results.cells import is_full, lines, references, zero_shot
from simkit.results.figures import base, marks
from simkit.results.figures.base import Facets, Figure, Panels, register, single, split
from simkit.results.figures.style import INK, PALE, Look, label, looks, over_draws, palette
from simkit.results.result_tables import failures
from simkit.results.statistics import BOOTSTRAP_FROM

Kind = Literal["scheme", "method"]
_PANELS = "panels by scheme or by method; the other is shown as lines"
_SCORE = "mAP on the test split, points"
_GAP = ("gap", "gap_low", "gap_high")
_SEVERAL = "compare several, such as fpc(per_class=10) and fpc(per_class=100)"
_DASHES: tuple[Any, ...] = ((0, (1, 1.5)), (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (9, 3)))


@register
class Ablation(Figure):
    """Means with 95 % intervals, rows as in the table, and on the right the paired difference.

    Filled dots differ significantly from the base, hollow ones do not; the base is a dashed line.
    """

    name = "ablation"
    title = "Variations of a method: scores, and differences to a base"
    reads: ClassVar = {
        "scheme": str, "method": str, "base": bool, "missing": int,
        "significant": bool | None, **base.MEANS,
        **dict.fromkeys(_GAP, float | None),
    }  # fmt: skip

    score: str = setting("mAP", "name of the score")

    def draw(self, table: pd.DataFrame) -> Drawing:
        rows = base.in_points(table, *_GAP)
        rows["place"] = rows.groupby("scheme").cumcount()
        rows["significant"] = rows["significant"].eq(True)
        drawn = looks(rows["method"].unique())
        tall = [0.45 + 0.3 * max(n, 2) for n in rows.groupby("scheme", sort=False).size()]
        panels = Facets(rows, "scheme", across=1, height=tall, sharey=False)
        for axes, in_panel in panels:
            for method, row in split(in_panel, "method").items():
                full = (row["base"] | row["significant"]).all()
                dot: dict[str, Any] = {"marker": "o", "markersize": 7, "label": ""}
                dot["markerfacecolor"] = drawn[method].color if full else "white"
                look = replace(drawn[method], fill="full")
                marks.points(axes, row, "mean", "place", look, xband=marks.BAND, **dot)
            for mean in in_panel[in_panel["base"]]["mean"]:
                axes.axvline(mean, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
            names = [label(method) for method in in_panel["method"]]
            gaps = [_difference(row) for row in in_panel.to_dict("records")]
            texts = marks.row_names(axes, names, right=gaps, lines=2, size=9.5, room=2.8)
            for text, sure in zip(texts, in_panel["significant"], strict=True):
                text.set(color=INK if sure else PALE, fontweight="bold" if sure else "normal")
        panels.labels(x=f"{self.score} on the test split, points")
        against = [f", against {label(name)}" for name in rows[rows["base"]]["method"]]
        tested = (
            "Right: the difference to the base, paired by draw, with the interval at which Holm's "
            "correction tests it; bold, with a full dot: significant."
        )
        return panels.finish(
            f"Scores of the variations{''.join(against[:1])}",
            over_draws(rows["draws"], "Lines"),
            tested if rows["draws"].max() > 1 else "",
            _failed(table),
        )


def _difference(row: dict[Any, Any]) -> str:
    """The difference to the base in points, and its interval."""
    if row["base"] or np.isnan(row["gap"]):
        return "base" if row["base"] else "no baseline"
    ends = "" if np.isnan(row["gap_low"]) else "  ({gap_low:+z.1f} to {gap_high:+z.1f})"
    return ("{gap:+z.1f}" + ends).format_map(row)


def _failed(table: pd.DataFrame) -> str:
    """Notes of the caption on failed runs."""
    missing, sentences = table["missing"].sum(), len(failures(table))
    note = f"Runs without a score, left out: {missing}. " if missing else ""
    return note + (f"Failures of the comparison: {sentences}." if sentences else "")


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

    panels: Kind = setting("scheme", _PANELS)
    score: str = setting("mAP", "name of the score")

    def draw(self, table: pd.DataFrame) -> Drawing:
        other, drawn = _lines(table, self.panels)
        places, beside = _places(table)
        values = {place: value for value, place in places.items()}
        rows = base.in_points(table).assign(place=table["value"].map(places))
        words = table["number"].isna().any()
        if words:  # they have no order: evenly spaced points without lines
            shift = {name: marks.dodge(n, len(drawn), 0.3) for n, name in enumerate(drawn)}
            rows["place"] += rows[other].map(shift)
        height = 3.1 if rows[self.panels].nunique() < 3 else 2.5
        panels = Facets(rows, self.panels, named=label, across=2, height=height)
        for axes, in_panel in panels:
            for name, line in split(in_panel, other).items():
                if words:
                    marks.points(axes, line, "place", "mean", drawn[name], yband=marks.BAND)
                else:
                    marks.line(axes, line, "place", "mean", drawn[name], band=marks.BAND)
            ring = {"markersize": 13, "markerfacecolor": "none", "markeredgecolor": INK}
            default = in_panel[in_panel["default"]]
            axes.plot(default["place"], default["mean"], "o", label="default", **ring)
            if beside:
                marks.column_names(axes, list(places))
            else:
                marks.ticks_at(axes, values, lambda place: values.get(place, ""))
        setting = table["setting"].iloc[0]
        log = ", log axis" if axes.get_xscale() == "log" else ""
        panels.labels(setting + log, f"{self.score} on the test split, points")
        interval = over_draws(table["draws"], "Lines" if words else "Bands")
        return panels.finish(f"{self.score} over {setting}", interval, _failed(table))


def _lines(table: pd.DataFrame, panels: Kind) -> tuple[Kind, dict[str, Look]]:
    """The column shown as lines, the other being shown as panels, and their looks."""
    if panels == "method":
        return "scheme", palette(table["scheme"])
    return "method", looks(table["method"].unique())


def _places(table: pd.DataFrame) -> tuple[dict[str, float], bool]:
    """Coordinates of the values, and whether they are evenly spaced instead of numbers."""
    values = table.drop_duplicates("value").set_index("value")["number"]
    if values.notna().all():
        values = values.sort_values()
    sizes = values[values != 0].abs()
    wide = sizes.max() >= 20 * sizes.min()
    if values.isna().any() or (wide and values.min() <= 0):
        return {value: float(place) for place, value in enumerate(values.index)}, True
    return dict(values), False


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
        panels.labels(["share of the images", "number of labels, log axis"], _SCORE)
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
        "labels": float, **base.MEANS, **dict.fromkeys(_GAP, float | None),
    }  # fmt: skip

    share: Literal["positives", "labels"] = setting("positives", "of present labels, or of all")
    score: str = setting("mAP", "name of the score")

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = base.in_points(table, *_GAP)
        oracles = table[table["reference"] & table["method"].map(is_full)]
        table = table[~table["reference"]]
        self.require(len(table), "the table holds references alone; compare schemes too")
        drawn = looks(table["method"].unique())
        other = "".join(table["base"].dropna()[:1])
        parts = {f"{self.score} on the test split, points": table}
        layout: dict[str, Any] = {"across": 2}
        if other:
            gaps = table.drop(columns=["mean", *marks.BAND]).dropna(subset="gap")
            gaps = gaps.rename(columns=dict(zip(_GAP, ("mean", *marks.BAND), strict=True)))
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
                _across(axes, names, oracles["mean"])
            marks.percent(axes.xaxis)
        of = "present labels" if self.share == "positives" else "labels"
        scores = list(rows["what"].unique())
        panels.labels(f"share of all {of}", scores if other else scores[0])
        return panels.finish(
            f"{self.score} by the share of labels",
            over_draws(table["draws"]),
            "Dashed: complete labels." if len(oracles) else "",
            "Differences are paired by draw." if other else "",
        )


def _across(axes: Axes, names: Iterable[str], means: Iterable[float]) -> None:
    """A line across the panel at the score of each method on complete labels."""
    for place, (name, mean) in enumerate(zip(names, means, strict=True)):
        dashes = _DASHES[place % len(_DASHES)]
        axes.axhline(mean, color=PALE, linewidth=1.2, linestyle=dashes, zorder=1, label=name)


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


@register
class CostCurve(Figure):
    """mAP over dollars, or hours, on a log axis; bands are 95 % intervals over draws."""

    of_runs: ClassVar[bool] = True
    name = "cost-curve"
    title = "mAP over dollars, one panel per scheme or method"
    made_by = "simkit.open_runs"
    reads: ClassVar = base.PRICED

    panels: Kind = setting("scheme", _PANELS)
    over: Literal["auto", "dollars", "hours"] = setting("auto", "auto: hours if all budgets are")
    metric: base.Metric = setting("map", "the score to average over draws")
    methods: Methods = base.methods_option("eight")

    def draw(self, table: pd.DataFrame) -> Drawing:
        selection.check_one_test(table)
        runs = selection.without_references(table)
        methods = selection.some_methods(runs, wanted=self.methods, most=8, metric=self.metric)
        summary = lines(runs[runs["method"].isin(methods)], metric=self.metric)
        self.require(summary, f"no run has {self.metric}; compare again")
        cells = [cell for line in summary for cell in line.cells]
        complete = references(table, metric=self.metric)
        free = zero_shot(table, metric=self.metric)
        ends = [free, *complete] if free else complete
        hours = self.over == "hours"
        if self.over == "auto":
            hours = all(cell.limit.hours for cell in cells)
        timed = all(cell.hours is not None for cell in (*cells, *complete))
        mend = "the price list has no hours of some labels; draw over dollars"
        self.require(timed or not hours, mend)
        unit, price = ("hours", "{:,.3g} h".format) if hours else ("dollars", money)
        points = base.intervals(cell.score for cell in cells).assign(
            # Without budgets each scheme has one curve over its amounts.
            scheme=[c.scheme if c.limit else c.scheme.partition("(")[0] for c in cells],
            method=[c.method for c in cells],
            spent=[getattr(c, unit) for c in cells],
            limit=[getattr(c.limit, unit) for c in cells],
        )
        other, drawn = _lines(points if self.panels == "method" else runs, self.panels)
        panels = Facets(points, self.panels, named=label, across=3, height=2.5)
        for axes, rows in panels:
            marks.lines(axes, rows, "spent", "mean", drawn, by=other, band=marks.BAND)
            names = [f"{label(c.method)}, {price(getattr(c, unit))}" for c in ends]
            _across(axes, names, [100 * c.score.mean for c in ends])
            _cost_axis(axes, points, price)
        panels.labels(f"{unit} of annotation, log axis", _SCORE)
        others = base.not_shown(runs["method"].nunique() - len(methods))
        return panels.finish("mAP over the cost of annotation", over_draws(points["draws"]), others)


def _cost_axis(axes: Axes, points: pd.DataFrame, price: Callable[[float], str]) -> None:
    """Ticks at the budgets themselves, if these are few."""
    budgets = set(points["limit"].dropna())
    others = set(points["spent"][points["limit"].isna()].round(2)) - budgets
    values = [value for value in (*sorted(budgets), *sorted(others)) if value > 0]
    ends = [*values, *points["spent"][points["spent"] > 0]] or [1.0]
    marks.log_axis(axes, "x", price)
    room = max(1.12, (max(ends) / min(ends)) ** 0.12)  # labels stay within the panel
    axes.set_xlim(min(ends) / room, max(ends) * room)
    if 0 < len(values) < 7:
        marks.ticks_at(axes, values, price)


@register
class Convergence(base.AtBudget):
    """mAP after every epoch, a panel for each scheme; bands are 95 % intervals over draws.

    Bands end where the first draw stopped. Large markers are at the epochs whose weights are
    scored, larger if more draws chose them; small ones distinguish lines without colour.
    """

    name = "convergence"
    title = "mAP or loss after every epoch, with bands over draws"
    reads: ClassVar = {
        **base.RUNS, "epochs": int | None, "curve_of": str | None,
        "curve": list[float | None] | None, "losses": list[float | None] | None,
    }  # fmt: skip

    of: What = setting("curve", "curve (mAP) or losses")
    scheme: str = setting("", "one scheme; by default all")
    methods: Methods = base.methods_option("eight")

    def draw(self, table: pd.DataFrame) -> Drawing:
        limit, runs = self.at_budget(table)
        if self.scheme:
            _, runs = selection.under(runs, scheme=self.scheme)
        methods = selection.some_methods(runs, wanted=self.methods, most=8)
        rows = self._epochs(runs[runs["method"].isin(methods)])
        losses = self.of == "losses"
        drawn = looks(runs["method"].unique())
        height = 3.1 if rows["scheme"].nunique() < 3 else 2.4
        panels = Facets(rows, "scheme", across=2, height=height, sharey=not losses)
        for axes, in_panel in panels:
            every = -(-in_panel["epoch"].max() // 3)
            for place, (method, course) in enumerate(split(in_panel, "method").items()):
                first = place * every // in_panel["method"].nunique()  # lines may coincide
                _course(axes, course, drawn[method], (first, every))
        splits = {"val": "validation split", "test": "test split"}
        on = " and ".join(splits.get(name, name) for name in rows["of"].unique())
        panels.labels("epochs", "mean training loss" if losses else f"mAP on the {on}, points")
        what = "Training loss by epoch" if losses else "mAP by epoch"
        return panels.finish(
            f"{what}, {base.paid(limit)}",
            over_draws(rows["draws"]),
            "Large marker: the epoch whose weights are scored, larger where more draws chose it.",
            base.not_shown(len(drawn) - len(methods)),
        )

    def _epochs(self, runs: pd.DataFrame) -> pd.DataFrame:
        """A row for each scheme, method and epoch; chosen: the share of the draws that chose it."""
        scale = 1 if self.of == "losses" else 100
        parts = []
        for course in courses(runs, self.of):
            rows = base.intervals(course.points, scale)
            rows["epoch"] = rows.index + 1
            share = pd.Series(course.chosen, dtype=float) / sum(course.chosen.values())
            rows["chosen"] = rows["epoch"].map(share).fillna(0)
            rows.loc[rows["draws"] < course.draws, list(marks.BAND)] = np.nan
            parts.append(rows.assign(scheme=course.scheme, method=course.method, of=course.of))
        return pd.concat(parts, ignore_index=True).dropna(subset="mean")


def _course(axes: Axes, rows: pd.DataFrame, look: Look, marked: tuple[int, int]) -> None:
    """The mean with its band. marked: start and distance of small markers."""
    small = {"markevery": marked, "markersize": 3.4, "markeredgewidth": 1, "linewidth": 1.5}
    marks.line(axes, rows, "epoch", "mean", look, band=marks.BAND, **small)
    for row in rows[rows["chosen"] > 0].itertuples():
        size = {"linestyle": "none", "markersize": 4 + 4.5 * row.chosen**0.5, "label": ""}
        axes.plot([row.epoch], [row.mean], **{**look.line(), **size, "zorder": 3})


@register
class RankDiagram(base.AtBudget):
    """Methods by mean rank over schemes and draws; bars join those without significant difference.

    Small ticks are the mean ranks under each scheme. Source: the critical-difference diagrams of
    Demsar, JMLR 7 (2006), rotated so that each name has a row.
    """

    name = "rank-diagram"
    title = "Mean ranks of methods, joined without significant difference"
    reads: ClassVar = base.SCORED | {"labels_id": str | None}

    test: Test = setting(
        "paired", "test of differences: paired (by draw) or nemenyi (by mean rank)"
    )
    metric: base.Metric = setting("map", "the score to average over draws")

    def draw(self, table: pd.DataFrame) -> Drawing:
        limit, runs = self.at_budget(table)
        ranking = ranks(runs, test=self.test, metric=self.metric)
        groups = ranking.alike or ()
        height = 0.75 + 0.27 * len(ranking.methods) + (0.3 if ranking.distance else 0)
        widths = [3.2, max(1.0, 0.075 * len(groups))]
        panels = Panels(["", ""], height=height, widths=widths, sharex=False)
        means, bars = panels
        _mean_ranks(means, ranking)
        marks.bare(bars)
        wide = {"linewidth": 2.2, "markersize": 5} if len(groups) < 13 else {"markersize": 3}
        for column, group in enumerate(groups):
            places = [ranking.methods.index(name) for name in group]
            bars.plot([column] * len(places), places, "o-", color=INK, **wide)
        bars.set(xticks=[], xlim=(-0.8, max(len(groups), 4) - 0.2))
        text = "no significant\ndifference" if groups else "all differ\nsignificantly"
        bars.set_xlabel("one draw:\nno test" if ranking.alike is None else text, loc="left")
        heading = f"Mean ranks of methods over all schemes ({base.paid(limit)})"
        return panels.finish(heading, *_ranked(ranking))


def _mean_ranks(axes: Axes, ranking: Ranks) -> None:
    """Markers at the mean ranks, ticks at those under each scheme, above a critical difference."""
    k = len(ranking.methods)
    for row, (method, look) in enumerate(looks(ranking.methods).items()):
        under_each = [means[method] for means in ranking.by_scheme.values()]
        axes.vlines(under_each, row - 0.22, row + 0.22, color=PALE, linewidth=1.1)
        marker = {"linestyle": "none", "markersize": 8.5, "label": ""}
        axes.plot([ranking.mean[method]], [row], **{**look.line(), **marker})
    values = [f"{ranking.mean[name]:.1f}" for name in ranking.methods]
    marks.row_names(
        axes, [label(name) for name in ranking.methods], right=values, size=10, room=3.2
    )
    axes.set(xlim=(0.6, k + 0.4), xlabel=f"mean rank, 1 is the best of {k}")
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="x")
    marks.whole_numbers(axes.xaxis)
    if ranking.distance:
        axes.set_ylim(top=-1.7)
        end = 1 + min(ranking.distance, k - 1)
        axes.plot([1, end], [-0.95] * 2, color=INK, linewidth=1.2, marker="|", markersize=8)
        text = f"critical difference {ranking.distance:.2f}"
        axes.text(end + 0.02 * k, -0.95, text, va="center", fontsize=9)


def _ranked(ranking: Ranks) -> list[str]:
    """Notes of the caption on mean ranks and their test."""
    copies, left_out = ranking.copies, ranking.left_out
    kind = "paired t" if ranking.draws < BOOTSTRAP_FROM else "bootstrapped paired t"
    test = f"{kind} tests of mAP over all schemes, draw by draw, with Holm's correction"
    if ranking.distance:
        test = "Nemenyi's test, which assumes that draws of several schemes are independent"
    joined = f"Joined: no significant difference at 5 % by {test}."
    return [
        f"Marker: mean rank by mAP on the test split over {ranking.blocks} blocks (scheme, draw).",
        "Grey: under each scheme." if len(ranking.by_scheme) > 1 else "",
        f"Blocks with the same labels as others, which count once: {copies}." if copies else "",
        f"Blocks left out, as a method has no score: {left_out}." if left_out else "",
        "One draw: differences are not tested." if ranking.alike is None else joined,
    ]
