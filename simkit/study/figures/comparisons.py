"""How methods compare: over settings, the amount and the cost of labels, epochs, and by rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from simkit.errors import BadInput
from simkit.study.analysis.comparisons import What, courses
from simkit.study.analysis.comparisons import Ranks, Test, ranks
from simkit.study.analysis.selection import Methods, some_methods, under, without_references
from simkit.study.cells import Cell, is_full, references
from simkit.study.figures import marks
from simkit.study.figures.base import (
    MEANS,
    Facets,
    Figure,
    Panels,
    in_points,
    option,
    register,
    split,
)
from simkit.study.figures.options import (
    RUNS,
    SCORED,
    AtBudget,
    Metric,
    not_shown,
    paid,
    scored,
    some,
)
from simkit.study.figures.previous import arrow
from simkit.study.figures.style import (
    DASHED,
    INK,
    PALE,
    WIDTH,
    Look,
    fold,
    label,
    looks,
    over_draws,
    palette,
)
from simkit.study.frames import failures
from simkit.study.limit import money
from simkit.study.statistics import BOOTSTRAP_FROM

Kind = Literal["scheme", "method"]  # what has a panel of its own; the other has lines
_BAND = ("low", "high")
_GAP = ["gap", "gap_low", "gap_high"]
_SCORE = "{} on the test split, points"
_DASHES: tuple[Any, ...] = ((0, (1, 1.5)), (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (9, 3)))


@register
@dataclass(frozen=True)
class Ablation(Figure):
    """Means with 95 % intervals, rows as in the table, and on the right the paired difference.

    Full dots differ significantly from the base, hollow ones do not; the base is a dashed line.
    """

    name = "ablation"
    title = "Variations of a method: scores, and differences to a base"
    made_by = "simkit.study.analysis.comparing.ablation.ablation"
    reads: ClassVar = {
        "scheme": str, "method": str, "base": bool, "missing": int, "noise": bool | None, **MEANS,
        **dict.fromkeys(_GAP, float | None),
    }  # fmt: skip

    score: str = option("mAP", "how the score is called")

    def draw(self, table: pd.DataFrame) -> Drawing:
        rows = in_points(in_points(table), _GAP)
        rows = rows.assign(significant=rows["noise"].eq(False))
        drawn = looks(rows["method"].unique())
        tall = [0.45 + 0.3 * max(n, 2) for n in rows.groupby("scheme", sort=False).size()]
        panels = Facets(rows, "scheme", across=1, height=tall, sharey=False)
        for axes, own in panels:
            for place, row in own.reset_index(drop=True).iterrows():
                look = drawn[row["method"]]
                full = row["base"] or row["significant"]
                dot = {"marker": "o", "markersize": 7, "fillstyle": "full", "label": ""}
                dot["markerfacecolor"] = look.color if full else "white"
                point = row.to_frame().T.assign(place=place)
                marks.points(axes, point, "mean", "place", look, xband=_BAND, **dot)
                if row["base"]:
                    axes.axvline(row["mean"], color=INK, linewidth=0.9, linestyle=DASHED, zorder=1)
            names = [label(method) for method in own["method"]]
            gaps = [_difference(row) for row in own.to_dict("records")]
            texts = marks.row_names(axes, names, right=gaps, lines=2, size=9.5, room=2.8)
            for text, sure in zip(texts, own["significant"], strict=True):
                text.set(color=INK if sure else PALE, fontweight="bold" if sure else "normal")
        panels.labels(x=_SCORE.format(self.score))
        base = "".join(f", against {label(method)}" for method in rows[rows["base"]]["method"][:1])
        note = (
            "Right: the difference to the base, paired by draw, with the interval at which Holm's "
            "correction tests it; bold, with a full dot: significant."
        )
        return panels.finish(
            f"What each variation is worth{base}",
            over_draws(rows["draws"], "Lines"),
            note if rows["draws"].max() > 1 else "",
            _failed(table),
        )


def _difference(row: dict[str, Any]) -> str:
    """The difference to the base in points, and its interval."""
    if row["base"] or np.isnan(row["gap"]):
        return "base" if row["base"] else "no base here"
    interval = "  ({gap_low:+.1f} to {gap_high:+.1f})".format_map(row)
    return f"{row['gap']:+.1f}" + ("" if np.isnan(row["gap_low"]) else interval)


@register
@dataclass(frozen=True)
class Sweep(Figure):
    """Scores over the values of a setting; bands are 95 % over draws, rings stand at defaults.

    The axis is logarithmic where the largest number is at least 20 times the smallest; values that
    are no numbers, and numbers of which one is 0 where it would be, stand side by side.
    Source: the sweeps of Large Loss Matters (Fig. 5), BoostLU, Class-aware Selective Loss and Soft
    Exposure (rebuttal).
    """

    name = "sweep"
    title = "mAP over the values of one setting, the default marked"
    made_by = "simkit.study.analysis.comparing.sweep.sweep"
    reads: ClassVar = {
        "scheme": str, "method": str, "setting": str, "value": str, "number": float | None,
        "default": bool, "missing": int, **MEANS,
    }  # fmt: skip

    panels: Kind = option("scheme", "what has a panel of its own: scheme or method")
    score: str = option("mAP", "how the score is called")

    def draw(self, table: pd.DataFrame) -> Drawing:
        other = _other(self.panels)
        drawn = _looks(table, other)
        places, beside = _places(table)
        rows = in_points(table).assign(place=table["value"].map(places))
        words = table["number"].isna().any()
        if words:  # without an order there are no lines
            shift = {name: marks.dodge(n, len(drawn), 0.3) for n, name in enumerate(drawn)}
            rows["place"] += rows[other].map(shift)
        titles = rows[self.panels].nunique()
        height = 3.1 if titles < 3 else 2.5
        named = label if self.panels == "method" else str
        panels = Facets(rows, self.panels, named=named, across=2, height=height)
        for axes, own in panels:
            for name, line in split(own, other).items():
                draw, band = (marks.points, "yband") if words else (marks.line, "band")
                draw(axes, line, "place", "mean", drawn[name], **{band: _BAND})
            ring = {"markersize": 13, "markerfacecolor": "none", "markeredgecolor": INK}
            default = own[own["default"]]
            axes.plot(default["place"], default["mean"], "o", label="default", **ring)
            _ticks(axes, places, beside, WIDTH / min(titles, 2))
        setting = table["setting"].iloc[0]
        log = ", log axis" if axes.get_xscale() == "log" else ""
        panels.labels(setting + log, _SCORE.format(self.score))
        return panels.finish(
            f"{self.score} over {setting}",
            over_draws(table["draws"], "Lines" if words else "Bands"),
            _failed(table),
        )


def _places(table: pd.DataFrame) -> tuple[dict[str, float], bool]:
    """Where each value stands: at its number, or (True) side by side."""
    values = table.drop_duplicates("value")
    if values["number"].notna().all():
        values = values.sort_values("number")
    numbers = values["number"]
    sizes = numbers[numbers != 0].abs()
    wide = sizes.max() >= 20 * sizes.min()
    beside = bool(numbers.isna().any() or (wide and numbers.min() <= 0))
    return dict(zip(values["value"], range(len(values)) if beside else numbers)), beside


def _ticks(axes: Axes, places: dict[str, float], beside: bool, room: float) -> None:
    names = {place: value for value, place in places.items()}
    if not beside:
        return marks.ticks_at(axes, names, lambda place: names.get(place, ""))
    room *= 0.8 / len(names)
    axes.set_xticks(list(names), [fold(name, room, lines=3) for name in names.values()])
    axes.set_xlim(-0.5, len(names) - 0.5)


def _failed(table: pd.DataFrame) -> str:
    """What the caption says of runs that failed."""
    counts = {
        "runs without a score, left out": int(table["missing"].sum()),
        "failures of the comparison": len(failures(table)),
    }
    texts = [f"{number} {what}" for what, number in counts.items() if number]
    return f"Failed: {'; '.join(texts)}." if texts else ""


@register
@dataclass(frozen=True)
class ImagesOrLabels(Figure):
    """Left, mAP over the share of images; right, the same over the number of labels.

    On the left all lines of a place have the same images and complete labels have many times the
    labels; on the right those above each other have the same number of labels.
    """

    name = "images-or-labels"
    title = "Few images completely labelled, or many weakly: over images and labels"
    made_by = "simkit.study.analysis.comparing.images_or_labels.images_or_labels"
    reads: ClassVar = {
        "scheme": str, "method": str, "complete": bool, "share": float, "labels": float, **MEANS,
    }  # fmt: skip

    height: float = option(3.3, "of the panels, in inches")

    def draw(self, table: pd.DataFrame) -> Drawing:
        table = in_points(table)
        colors, dashes = looks(table["method"].unique()), palette(table["scheme"])
        several = table[~table["complete"]]["scheme"].nunique() > 1
        panels = Panels(["At equal images", "At equal labels"], height=self.height, sharex=False)
        images, labels = panels
        for (scheme, method), rows in table.groupby(["scheme", "method"], sort=False):
            alone = method == "full" if rows["complete"].iloc[0] else not several
            name = label(method) if alone else f"{label(method)}, {scheme}"
            look = replace(colors[method], dashes=dashes[scheme].dashes, name=name)
            marks.line(images, rows, "share", "mean", look, band=_BAND)
            marks.line(labels, rows, "labels", "mean", look, band=_BAND)
        images.set_xlim(0, 1.03)
        marks.percent(images.xaxis)
        marks.log_axis(labels, "x")
        panels.labels(["share of the images", "number of labels, log axis"], _SCORE.format("mAP"))
        heading = "Many images weakly labelled, or few completely?"
        return panels.finish(heading, over_draws(table["draws"]))


@register
@dataclass(frozen=True)
class LabelShares(Figure):
    """Scores over the share of labels, a panel for each scheme; bands are 95 % over draws.

    Where the table has differences to a base, they stand below the scores.
    Source: "Soft Exposure", Fig. 3.
    """

    name = "label-shares"
    title = "mAP by the share of labels that are known, beside the oracle"
    made_by = "simkit.study.analysis.comparing.shares.shares"
    reads: ClassVar = {
        "scheme": str, "method": str, "base": str | None, "reference": bool,
        **dict.fromkeys(("positives", "labels"), float), **MEANS,
        **dict.fromkeys(_GAP, float | None),
    }  # fmt: skip

    share: Literal["positives", "labels"] = option("positives", "of present labels, or of all")
    score: str = option("mAP", "how the score is called")

    def draw(self, table: pd.DataFrame) -> Drawing:
        oracles = table[table["reference"] & table["method"].map(is_full)]
        table = table[~table["reference"]]
        if table.empty:
            raise BadInput("label-shares: the table holds references alone; compare schemes too")
        drawn = looks(table["method"].unique())
        base = "".join(table["base"].dropna()[:1])
        rows = {_SCORE.format(self.score): table}
        if base:
            gaps = table.drop(columns=["mean", *_BAND]).dropna(subset="gap")
            names = dict(zip(_GAP, ("mean", *_BAND), strict=True))
            rows[f"difference to {label(base)}, points"] = gaps.rename(columns=names)
        both = in_points(pd.concat(rows, names=["what"]).reset_index("what"))
        down: dict[str, Any] = {"down": "what", "sharey": "row"} if base else {"across": 2}
        panels = Facets(both, "scheme", height=3.0, **down)
        for axes, own in panels:
            marks.lines(axes, own, self.share, "mean", drawn, band=_BAND)
            if own["what"].iloc[0] in list(rows)[:1]:
                means = oracles.set_index("method")["mean"]
                _across(axes, {f"{label(m)}: {100 * mean:.1f}": mean for m, mean in means.items()})
            else:
                axes.axhline(0, color=INK, linewidth=0.9)
            marks.percent(axes.xaxis)
        of = "present labels" if self.share == "positives" else "labels"
        panels.labels(f"share of all {of}", list(both["what"].unique()) if base else [*rows][0])
        return panels.finish(
            f"What more labels buy: {self.score} by the share of labels",
            over_draws(table["draws"]),
            "Dashed: everything labelled." if len(oracles) else "",
            "Differences are paired by draw." if base else "",
            key="ends",
        )


def _across(axes: Axes, means: dict[str, float]) -> None:
    """A line across the panel for each share, in points: what complete labels reach."""
    for place, (name, mean) in enumerate(means.items()):
        style = {"color": PALE, "linewidth": 1.2, "linestyle": _DASHES[place % len(_DASHES)]}
        axes.axhline(100 * mean, label=name, zorder=1, **style)


@register
@dataclass(frozen=True)
class CostCurve(Figure):
    """mAP over dollars, or hours, on a log axis; bands are 95 % intervals over draws."""

    of_runs: ClassVar[bool] = True
    name = "cost-curve"
    title = "mAP over dollars, one panel per scheme or method"
    made_by = "simkit.study.runs.table"
    reads: ClassVar = {**SCORED, "dollars": float, "images": int}

    panels: Kind = option("scheme", "what has a panel of its own: scheme or method")
    over: Literal["auto", "dollars", "hours"] = option(
        "auto", "dollars, hours, or auto: hours where all budgets are in hours"
    )
    metric: Metric = option("map", "what is averaged over draws")
    methods: Methods = some("eight")

    def draw(self, table: pd.DataFrame) -> Drawing:
        runs = without_references(table, asker=self.name)
        asked: dict[str, Any] = {"wanted": self.methods, "metric": self.metric}
        methods = some_methods(runs, most=8, asker=self.name, **asked)
        shown = runs[runs["method"].isin(methods)]
        cells = [c for line in scored(shown, self.metric, asker=self.name) for c in line.cells]
        whole = references(table, metric=self.metric)
        hours = self._in_hours([*cells, *whole])
        spent = _spent(cells, hours)
        other = _other(self.panels)
        drawn = looks(runs["method"].unique()) if other == "method" else _looks(spent, other)
        named = label if self.panels == "method" else str
        panels = Facets(spent, self.panels, named=named, across=3, height=2.5)
        for axes, rows in panels:
            marks.lines(axes, rows, "spent", "mean", drawn, by=other, band=_BAND)
            prices = [_price(cell.hours if hours else cell.dollars, hours) for cell in whole]
            names = [f"{label(c.method)}, {price}" for c, price in zip(whole, prices, strict=True)]
            _across(axes, dict(zip(names, (cell.score.mean for cell in whole), strict=True)))
            _cost_axis(axes, spent, hours)
        unit = "hours" if hours else "dollars"
        panels.labels(f"{unit} of annotation, log axis", _SCORE.format("mAP"))
        return panels.finish(
            "What more annotation buys",
            over_draws(spent["draws"]),
            not_shown(runs["method"].nunique() - len(methods)),
        )

    def _in_hours(self, cells: list[Cell]) -> bool:
        """Whether the axis is about hours. Raises BadInput where some of them are missing."""
        hours = self.over == "hours"
        if self.over == "auto":
            hours = all(cell.limit.hours for cell in cells if cell.limit)
        if hours and any(cell.hours is None for cell in cells):
            raise BadInput(
                "cost-curve: the price list does not know the time of some labels; draw over "
                "dollars"
            )
        return hours


def _spent(cells: list[Cell], hours: bool) -> pd.DataFrame:
    """A row for each cell, in points; amounts as written make one curve of each scheme."""
    rows = [
        {
            "scheme": cell.scheme if cell.limit else cell.scheme.partition("(")[0],
            "method": cell.method,
            "spent": cell.hours if hours else cell.dollars,
            "limit": cell.limit.hours if hours else cell.limit.dollars,
            "mean": cell.score.mean,
            "low": cell.score.low,
            "high": cell.score.high,
            "draws": cell.score.draws,
        }
        for cell in cells
    ]
    kinds = dict.fromkeys(("spent", "limit", "mean", "low", "high"), float)
    return in_points(pd.DataFrame(rows).astype(kinds))


def _cost_axis(axes: Axes, spent: pd.DataFrame, hours: bool) -> None:
    """Ticks stand at the budgets themselves where those are few: a reader knows these numbers."""
    budgets = sorted(spent["limit"].dropna().unique())
    others = spent[spent["limit"].isna()]["spent"].round(2).unique()
    values = [*budgets, *sorted(set(others) - set(budgets))]
    paid = spent["spent"][spent["spent"] > 0]
    low, high = (min([*values, *paid]), max([*values, *paid]))
    if len(values) > 6:  # round numbers, powers of ten before others
        powers = np.arange(np.floor(np.log10(low)), np.log10(high) + 1)
        values = [value for step in (1, 5, 2) for value in step * 10.0**powers]
    axes.set_xscale("log")
    axes.set_xlim(low / 1.12, high * 1.12)
    marks.ticks_at(axes, values, lambda value: _price(value, hours))


def _price(value: float | None, hours: bool) -> str:
    return f"{value:,.3g} h" if hours else money(value)


def _other(kind: Kind) -> Kind:
    return "method" if kind == "scheme" else "scheme"


def _looks(table: pd.DataFrame, kind: Kind) -> dict[Any, Look]:
    """How the lines are drawn, which stand for methods or for schemes."""
    names = table[kind].unique()
    return looks(names) if kind == "method" else palette(names)


@register
@dataclass(frozen=True)
class Convergence(AtBudget):
    """mAP after every epoch, a panel for each scheme; bands are 95 % intervals over draws.

    Large markers stand at the epochs whose weights are scored, larger where more draws chose them;
    small ones tell lines apart without colour.
    """

    name = "convergence"
    title = "mAP or loss after every epoch, with bands over draws"
    reads: ClassVar = {
        **RUNS, "epochs": int | None, "curve_of": str | None,
        "curve": list[float | None] | None, "losses": list[float | None] | None,
    }  # fmt: skip

    of: What = option("curve", "curve (mAP) or losses")
    scheme: str = option("", "one scheme; nothing: all of them")
    methods: Methods = some("eight")

    def draw(self, table: pd.DataFrame) -> Drawing:
        limit, runs = self.at_budget(table)
        if self.scheme:
            _, runs = under(runs, scheme=self.scheme, asker=self.name)
        methods = some_methods(runs, wanted=self.methods, most=8, asker=self.name)
        rows = self._rows(runs[runs["method"].isin(methods)])
        drawn = looks(runs["method"].unique())
        losses = self.of == "losses"
        height = 3.1 if rows["scheme"].nunique() < 3 else 2.4
        panels = Facets(rows, "scheme", across=2, height=height, sharey=not losses)
        for axes, own in panels:
            courses = split(own, "method")
            step = max(-(-own["epoch"].max() // 3), min(-(-own["epoch"].max() // 2), len(courses)))
            for place, (method, course) in enumerate(courses.items()):
                _course(axes, course, drawn[method], (place * step // len(courses), step))
            marks.whole_numbers(axes.xaxis)
        splits = {"val": "the validation split", "test": "the test split"}
        on = " and ".join(splits.get(name, name) for name in rows["of"].unique())
        panels.labels("epochs", "mean training loss" if losses else f"mAP on {on}, points")
        chosen = rows[rows["chosen"] > 0]
        what = "How losses fall" if losses else "How fast methods learn"
        return panels.finish(
            f"{what}, {paid(limit, runs) or 'amounts as written'}",
            over_draws(rows["draws"]) + " Large marker: the epoch whose weights are scored"
            + (", larger where more draws chose it." if (chosen["chosen"] < 1).any() else "."),
            "" if rows["whole"].all() else "Thin lines: only the draws that were trained for so long.",
            "Nothing is chosen by the test split." if (rows["of"] == "test").any() else "",
            "Losses of different methods have different scales." if losses else "",
            not_shown(len(drawn) - len(methods)),
            key="ends",
        )  # fmt: skip

    def _rows(self, runs: pd.DataFrame) -> pd.DataFrame:
        """A row for each scheme, method and epoch. chosen: the share of draws that scored it."""
        rows = [
            {
                "scheme": course.scheme,
                "method": course.method,
                "of": course.of,
                "epoch": epoch,
                "mean": point.mean,
                "low": point.low,
                "high": point.high,
                "draws": point.draws,
                "whole": point.draws == course.draws,
                "chosen": course.chosen.get(epoch, 0) / max(1, sum(course.chosen.values())),
            }
            for course in courses(arrow(runs), self.of, asker=self.name)
            for epoch, point in enumerate(course.points, 1)
            if point
        ]
        table = pd.DataFrame(rows).astype({"low": float, "high": float})
        return table if self.of == "losses" else in_points(table)


def _course(axes: Axes, rows: pd.DataFrame, look: Look, marked: tuple[int, int]) -> None:
    """The mean with its band, thin where some draws had stopped. marked: as matplotlib's markevery.

    Each method has its small markers at other epochs than those that it may lie upon.
    """
    all_draws = int(rows["whole"].sum())
    small = {"markevery": marked, "markersize": 3.4, "markeredgewidth": 1, "linewidth": 1.5}
    rest = rows[all_draws - 1 :]
    if len(rest) > 1:  # a band would be about other draws than the one before it
        marks.line(axes, rest, "epoch", "mean", look, marker="", linewidth=0.7)
        small["label"] = ""
    marks.line(axes, rows[:all_draws], "epoch", "mean", look, band=_BAND, **small)
    for epoch, mean, share in rows[rows["chosen"] > 0][["epoch", "mean", "chosen"]].to_numpy():
        size = {"linestyle": "none", "markersize": 4 + 4.5 * share**0.5, "label": "", "zorder": 3}
        axes.plot([epoch], [mean], **{**look.line(), **size})


@register
@dataclass(frozen=True)
class RankDiagram(AtBudget):
    """Methods by mean rank over schemes and draws; bars join those without significant difference.

    Small ticks are the mean ranks under each scheme. Source: the critical-difference diagrams of
    Demsar, JMLR 7 (2006), turned by a quarter so that names have their rows.
    """

    name = "rank-diagram"
    title = "mean ranks of methods, those without significant difference joined"
    reads: ClassVar = SCORED

    test: Test = option(
        "paired", "how differences are tested: paired (by draw) or nemenyi (by mean rank)"
    )
    metric: Metric = option("map", "what is averaged over draws")

    def draw(self, table: pd.DataFrame) -> Drawing:
        limit, runs = self.at_budget(table)
        found = ranks(arrow(runs), test=self.test, metric=self.metric, asker=self.name)
        groups = found.alike or ()
        height = 0.75 + 0.27 * len(found.methods) + (0.3 if found.distance else 0)
        widths = [3.2, max(1.0, 0.075 * len(groups))]
        panels = Panels(["", ""], height=height, widths=widths, sharex=False)
        means, bars = panels
        _mean_ranks(means, found)
        marks.bare(bars)
        small = len(groups) > 12
        style = {"color": INK, "linewidth": 1.2 if small else 2.2, "markersize": 3 if small else 5}
        for column, group in enumerate(groups):
            places = [found.methods.index(name) for name in group]
            bars.plot([column] * len(places), places, "o-", **style)
        bars.set(xticks=[], xlim=(-0.8, max(len(groups), 4) - 0.2))
        text = "no significant\ndifference" if groups else "all differ\nsignificantly"
        bars.set_xlabel("one draw:\nno test" if found.alike is None else text, loc="left")
        where = paid(limit, runs) or "amounts as written, costs differ"
        heading = f"Which methods rank higher, over all schemes ({where})"
        return panels.finish(heading, _blocks(found), _test(found))


def _mean_ranks(axes: Axes, found: Ranks) -> None:
    """Markers at the mean ranks, ticks at those under each scheme, the critical difference above."""
    k = len(found.methods)
    for row, (method, look) in enumerate(looks(found.methods).items()):
        under_each = [means[method] for means in found.by_scheme.values()]
        axes.vlines(under_each, row - 0.22, row + 0.22, color=PALE, linewidth=1.1)
        marker = {"linestyle": "none", "markersize": 8.5, "label": "", "zorder": 3}
        axes.plot([found.mean[method]], [row], **{**look.line(), **marker})
    values = [f"{found.mean[name]:.1f}" for name in found.methods]
    marks.row_names(axes, [label(name) for name in found.methods], right=values, size=10, room=3.2)
    axes.set_xlim(0.6, k + 0.4)
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="x")
    axes.set_xlabel(f"mean rank, 1 is the best of {k}")
    marks.whole_numbers(axes.xaxis)
    if found.distance:
        axes.set_ylim(top=-1.7)
        end = 1 + min(found.distance, k - 1)
        axes.plot([1, end], [-0.95] * 2, color=INK, linewidth=1.2, marker="|", markersize=8)
        text = f"critical difference {found.distance:.2f}"
        axes.text(end + 0.02 * k, -0.95, text, va="center", fontsize=9)


def _blocks(found: Ranks) -> str:
    """What the caption says of the blocks that were ranked."""
    note = (
        f"Marker: mean rank by mAP on the test split over blocks (schemes x draws): {found.blocks}"
    )
    if found.copies:
        note += f"; {found.copies} more, with the same labels, do not count again"
    if found.left_out:
        note += f"; {found.left_out} left out, in which a method has no run"
    return note + ("; grey: under each scheme." if len(found.by_scheme) > 1 else ".")


def _test(found: Ranks) -> str:
    """What the caption says of the test."""
    if found.alike is None:
        return "One draw: differences are not tested."
    if found.distance:
        return (
            "Joined: mean ranks that differ by less than the critical difference (Nemenyi's test "
            "at 5 % after Demsar 2006; draws of several schemes share images but count as "
            "independent, so it finds a little too many differences)."
        )
    kind = "paired t" if found.draws < BOOTSTRAP_FROM else "bootstrapped paired t"
    return (
        f"Joined: no significant difference at 5 % by {kind} tests of mAP averaged over the "
        "schemes, draw by draw, with Holm's correction over all pairs."
    )
