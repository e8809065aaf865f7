"""Comparisons of methods: with a base, over the cost of labels, over epochs, and by rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Drawing

from simkit.quantities import money
from simkit.registry import setting
from simkit.results import selection
from simkit.results.cells import references, summary_rows, zero_shot
from simkit.results.comparisons import Test, What, courses, ranks
from simkit.results.figures import base, marks
from simkit.results.figures.base import Facets, Figure, Panels, register, split
from simkit.results.figures.style import INK, PALE, Look, fold, label, looks, over_draws, palette
from simkit.results.result_tables import failures
from simkit.results.statistics import BOOTSTRAP_FROM
from simkit.results.summary import assumptions

Kind = Literal["scheme", "method"]
PANELS = "panels by scheme or by method; the other is shown as lines"
SCORE = "mAP on the test split, points"
GAP = ("gap", "gap_low", "gap_high")


@register
class Ablation(Figure):
    """Means with 95 % intervals, one row per variation, and the paired differences on the right.

    Filled dots differ significantly from the base, hollow ones do not; the base is a dashed line.
    """

    name = "ablation"
    title = "Variations of a method: scores, and differences to a base"
    reads: ClassVar = {
        "scheme": str, "method": str, "base": bool, "missing": int,
        "significant": bool | None, **base.MEANS,
        **dict.fromkeys(GAP, float | None),
    }  # fmt: skip

    score: str = setting("mAP", "name of the score")

    def draw(self, table: pd.DataFrame) -> Drawing:
        rows = base.in_points(table, *GAP)
        rows["place"] = rows.groupby("scheme").cumcount()
        rows["significant"] = rows["significant"].eq(True)
        drawn = looks(rows["method"].unique())
        fits: dict[str, Any] = {"room": 2.8, "lines": 2, "size": 9.5}
        folded = [fold(label(method), **fits) for method in rows["method"]]
        each = 0.44 if "\n" in "".join(folded) else 0.3  # names of two lines need more room
        tall = [0.45 + each * max(n, 2) for n in rows.groupby("scheme", sort=False).size()]
        panels = Facets(rows, "scheme", across=1, height=tall, sharey=False)
        for axes, in_panel in panels:
            for method, row in split(in_panel, "method").items():
                full = (row["base"] | row["significant"]).all()
                dot: dict[str, Any] = {"marker": "o", "markersize": 7, "label": ""}
                dot["markerfacecolor"] = drawn[method].color if full else "white"
                look = replace(drawn[method], fill="full")
                marks.points(axes, row, "mean", "place", look, xband=marks.BAND, style=dot)
            for mean in in_panel[in_panel["base"]]["mean"]:
                axes.axvline(mean, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
            names = [label(method) for method in in_panel["method"]]
            gaps = []
            for row in in_panel.itertuples():
                ends = f"  ({row.gap_low:+z.1f} to {row.gap_high:+z.1f})"
                ends = "" if np.isnan(row.gap_low) else ends
                gap = "no baseline" if np.isnan(row.gap) else f"{row.gap:+z.1f}{ends}"
                gaps.append("base" if row.base else gap)
            texts = marks.row_names(axes, names, right=gaps, **fits)
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
            failed(table),
        )


def failed(table: pd.DataFrame) -> str:
    """Notes on failed runs for the caption."""
    missing, sentences = table["missing"].sum(), len(failures(table))
    note = f"Runs without a score, left out: {missing}. " if missing else ""
    return note + (f"Failures of the comparison: {sentences}." if sentences else "")


def line_looks(table: pd.DataFrame, panels: Kind) -> tuple[Kind, dict[str, Look]]:
    """The column that is drawn as lines (the other one gives the panels), and the lines' looks."""
    if panels == "method":
        return "scheme", palette(table["scheme"])
    return "method", looks(table["method"].unique())


@register
class CostCurve(Figure):
    """mAP over dollars, or hours, on a log axis; bands are 95 % intervals over draws."""

    of_runs: ClassVar[bool] = True
    name = "cost-curve"
    title = "mAP over dollars, one panel per scheme or method"
    made_by = "simkit.open_runs"
    reads: ClassVar = base.PRICED

    panels: Kind = setting("scheme", PANELS)
    over: Literal["auto", "dollars", "hours"] = setting("auto", "auto: hours if all budgets are")
    metric: base.Metric = setting("map", "the score to average over draws")
    methods: selection.Methods = base.methods_option("eight")

    def draw(self, table: pd.DataFrame) -> Drawing:
        selection.check_one_test(table)
        runs = selection.without_references(table)
        methods = selection.some_methods(runs, wanted=self.methods, most=8, metric=self.metric)
        summary = summary_rows(runs[runs["method"].isin(methods)], metric=self.metric)
        self.require(summary, f"no run has {self.metric}; compare again")
        cells = [cell for row in summary for cell in row.cells]
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
        other, drawn = line_looks(points if self.panels == "method" else runs, self.panels)
        named = label if self.panels == "method" else str
        # Ticks at the budgets themselves, if these are few.
        budgets = set(points["limit"].dropna())
        others = set(points["spent"][points["limit"].isna()].round(2)) - budgets
        values = [value for value in (*sorted(budgets), *sorted(others)) if value > 0]
        costs = [*values, *points["spent"][points["spent"] > 0]] or [1.0]
        room = max(1.12, (max(costs) / min(costs)) ** 0.12)  # labels stay within the panel
        panels = Facets(points, self.panels, named=named, across=3, height=2.5)
        # Methods with a single budget would hide each other's intervals.
        single = len(values) == 1 and points.groupby(self.panels)[other].nunique().max() > 1
        for axes, rows in panels:
            if single:
                places = [list(drawn).index(name) for name in rows[other]]
                moved = [0.2 * marks.dodge(place, len(drawn)) for place in places]
                rows = rows.assign(spent=rows["spent"] * np.exp(moved))
            marks.lines(axes, rows, "spent", "mean", drawn, by=other, band=marks.BAND)
            names = [f"{label(c.method)}, {price(getattr(c, unit))}" for c in ends]
            marks.across(axes, names, [100 * c.score.mean for c in ends])
            marks.log_axis(axes, "x", price)
            axes.set_xlim(min(costs) / room, max(costs) * room)
            if 0 < len(values) < 7:
                marks.ticks_at(axes, values, price)
        panels.labels(f"{unit} of annotation, log axis", SCORE)
        hidden = base.not_shown(runs["method"].nunique() - len(methods))
        paid = table.attrs.get("paid", "")
        return panels.finish(
            "mAP over the cost of annotation",
            f"{paid[:1].upper()}{paid[1:]}." if paid else "",
            *(f"{text}." for text in assumptions(table)),
            over_draws(points["draws"], "Bars" if single else "Bands"),
            "Points at the same cost stand side by side." if single else "",
            hidden,
        )


@register
class Convergence(base.AtBudget):
    """mAP after every epoch, a panel for each scheme; bands are 95 % intervals over draws.

    Bands end where the first draw stopped. Large markers show the epochs whose weights are
    scored, larger if more draws chose them; small ones distinguish lines without colour.
    """

    name = "convergence"
    title = "mAP or loss after every epoch, with bands over draws"
    mend = (
        "pass the result of simkit.open_runs for a comparison; an atlas has no curves, and losses "
        "are kept with curves = true in the grid"
    )
    reads: ClassVar = {
        **base.RUNS, "epochs": int | None, "curve_of": str | None,
        "curve": list[float | None] | None, "losses": list[float | None] | None,
    }  # fmt: skip

    of: What = setting("curve", "curve (mAP) or losses")
    scheme: str = setting("", "one scheme; by default all")
    methods: selection.Methods = base.methods_option("eight")

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
                small = {"markevery": (first, every), "markersize": 3.4, "markeredgewidth": 1}
                small["linewidth"] = 1.5
                marks.line(
                    axes, course, "epoch", "mean", drawn[method], band=marks.BAND, style=small
                )
                for row in course[course["chosen"] > 0].itertuples():
                    large = {"markersize": 4 + 4.5 * row.chosen**0.5, "label": "", "zorder": 3}
                    style = {**drawn[method].line(), "linestyle": "none", **large}
                    axes.plot([row.epoch], [row.mean], **style)
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
        parts = []
        for course in courses(runs, self.of):
            rows = base.intervals(course.points, "losses" if self.of == "losses" else "scores")
            rows["epoch"] = rows.index + 1
            share = pd.Series(course.chosen, dtype=float) / sum(course.chosen.values())
            rows["chosen"] = rows["epoch"].map(share).fillna(0)
            rows.loc[rows["draws"] < course.draws, list(marks.BAND)] = np.nan
            parts.append(rows.assign(scheme=course.scheme, method=course.method, of=course.of))
        return pd.concat(parts, ignore_index=True).dropna(subset="mean")


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
        # Markers at the mean ranks, ticks at those under each scheme, above a critical difference.
        k = len(ranking.methods)
        for row, (method, look) in enumerate(looks(ranking.methods).items()):
            under_each = [ranks_of[method] for ranks_of in ranking.by_scheme.values()]
            means.vlines(under_each, row - 0.22, row + 0.22, color=PALE, linewidth=1.1)
            marker = {"linestyle": "none", "markersize": 8.5, "label": ""}
            means.plot([ranking.mean[method]], [row], **{**look.line(), **marker})
        values = [f"{ranking.mean[name]:.2f}" for name in ranking.methods]
        names = [label(name) for name in ranking.methods]
        marks.row_names(means, names, right=values, size=10, room=3.2)
        means.set(xlim=(0.6, k + 0.4), xlabel=f"mean rank, 1 is the best of {k}")
        means.spines["left"].set_visible(False)
        means.grid(False, axis="x")
        marks.whole_numbers(means.xaxis)
        if ranking.distance:
            means.set_ylim(top=-1.7)
            end = 1 + min(ranking.distance, k - 1)
            means.plot([1, end], [-0.95] * 2, color=INK, linewidth=1.2, marker="|", markersize=8)
            critical = f"critical difference {ranking.distance:.2f}"
            means.text(end + 0.02 * k, -0.95, critical, va="center", fontsize=9)
        marks.bare(bars)
        wide = {"linewidth": 2.2, "markersize": 5} if len(groups) < 13 else {"markersize": 3}
        for column, group in enumerate(groups):
            places = [ranking.methods.index(name) for name in group]
            bars.plot([column] * len(places), places, "o-", color=INK, **wide)
        bars.set(xticks=[], xlim=(-0.8, max(len(groups), 4) - 0.2))
        text = "no significant\ndifference" if groups else "all differ\nsignificantly"
        bars.set_xlabel("one draw:\nno test" if ranking.alike is None else text, loc="left")
        copies, left_out = ranking.copies, ranking.left_out
        kind = "paired t" if ranking.draws < BOOTSTRAP_FROM else "bootstrapped paired t"
        test = f"{kind} tests, draw by draw, with Holm's correction"
        if ranking.distance:
            test = "Nemenyi's test, which assumes that draws of several schemes are independent"
        joined = f"Joined on the right: no significant difference of mean ranks at 5 % by {test}."
        return panels.finish(
            f"Mean ranks of methods over all schemes ({base.paid(limit)})",
            "Marker: mean rank by mAP on the test split over "
            f"{ranking.blocks} blocks (scheme, draw).",
            "Grey: under each scheme." if len(ranking.by_scheme) > 1 else "",
            f"Blocks with the same labels as others, which count once: {copies}." if copies else "",
            f"Blocks left out, as a method has no score: {left_out}." if left_out else "",
            "One draw: differences are not tested." if ranking.alike is None else joined,
        )
