"""AP of each class, and of rare and frequent ones, under one scheme at one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure as Drawing
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from scipy.stats import spearmanr

from simkit.registry import Count, Range, setting
from simkit.results.comparisons import ByClass, by_class
from simkit.results.figures import base, marks, style
from simkit.results.figures.base import register, single
from simkit.results.selection import Methods, check_known, some_methods, under

# One hue with decreasing lightness: the order is visible in grey prints.
_SHADES = LinearSegmentedColormap.from_list("missing", ["#F7E08B", "#6BA8A0", "#1D3B6F", "#0A1530"])
_LEAST = 0.02  # least range of shares over all shades, so that similar values look similar
_STRIP = 0.035  # of the height of the axes
_NAMED = 70  # most classes with names under their bars


@dataclass(frozen=True)
class OfScheme(base.AtBudget):
    """A figure of the classes under one scheme."""

    reads: ClassVar = base.RUNS | {
        "images": int, "ap": list[float | None] | None,
        "class_present": list[int] | None, "class_absent": list[int] | None,
    }  # fmt: skip

    scheme: str = setting("", "the scheme; by default the first")
    classes: Literal["leaves", "all"] = setting("leaves", "leaves, or all: inner classes too")

    def of_scheme(self, table: pd.DataFrame) -> tuple[str, pd.DataFrame]:
        """The scheme with its cost, for a heading, and its runs."""
        limit, runs = self.at_budget(table)
        scheme, runs = under(runs, scheme=self.scheme)
        return f"{scheme} for up to {limit}" if limit else scheme, runs

    def by_class(self, runs: pd.DataFrame, methods: Sequence[str]) -> ByClass:
        """AP of each class under these methods. Raises BadInput if no class has one."""
        scored = by_class(runs, methods=methods, inner=self.classes == "all")
        seen = not _unseen(scored).all()
        self.require(seen, "no class has an AP; the test split shows none of them")
        return scored

    def notes(self, scored: ByClass, intervals: str, others: int = 0) -> list[str]:
        """Notes of the caption on intervals, and on classes and methods that are not shown."""
        draws = pd.Series([len(by_draw) for by_draw in scored.ap.values()])
        unseen, shown = _unseen(scored).sum(), len(scored.classes)
        unseen_note = f"Classes without a test image, not shown: {unseen:,}." if unseen else ""
        leaves = f"Leaves only: {shown:,} of {shown + scored.left_out:,} classes."
        left_out = leaves if scored.left_out else ""
        return [style.over_draws(draws, intervals), unseen_note, left_out, base.not_shown(others)]


@register
class PerClass(OfScheme):
    """AP of each class with its interval over draws; rows by falling number of present labels."""

    name = "per-class"
    title = "AP of each class under several methods, by frequency"

    methods: Methods = base.methods_option("three")
    most: Count = setting(60, "most classes shown, selected evenly by frequency")

    def draw(self, table: pd.DataFrame) -> Drawing:
        where, runs = self.of_scheme(table)
        scored = self.by_class(runs, some_methods(runs, wanted=self.methods, most=3))
        order = np.argsort(-scored.present, kind="stable")
        order = order[~_unseen(scored)[order]]
        fewer = len(order) > self.most
        places = np.linspace(0, len(order) - 1, self.most if fewer else len(order))
        shown = order[places.round().astype(int)]
        panels, axes = single(0.6 + 0.2 * max(len(shown), 4))
        drawn = style.looks(runs["method"].unique())
        small = {"markersize": 5}
        for place, method in enumerate(scored.ap):
            rows = base.intervals(scored.interval(method, c) for c in shown)
            rows["y"] = rows.index + marks.dodge(place, len(scored.ap))
            marks.points(axes, rows, "mean", "y", drawn[method], xband=marks.BAND, style=small)
        names, labels = [scored.classes[c] for c in shown], map(style.count, scored.present[shown])
        for text in marks.row_names(axes, names, right=list(labels), size=8.5, room=1.8):
            text.set_color(style.PALE)
        for y in range(0, len(shown), 2):  # stripes lead the eye from name to number
            axes.axhspan(y - 0.5, y + 0.5, color="#f6f6f6", linewidth=0, zorder=0)
        axes.set_xlim(-1, 101)
        panels.labels(x="AP on the test split, points")
        return panels.finish(
            f"AP of each class with {where}",
            "Right: images labelled with the class.",
            f"{len(shown)} of {len(order):,} classes, evenly by frequency." if fewer else "",
            *self.notes(scored, "Lines", len(drawn) - len(scored.ap)),
        )


@register
class ClassGroups(OfScheme):
    """mAP of groups of classes, from few to many present labels, with intervals over draws.

    Source: the groups G1 to G5 of Kim et al. CVPR 2022 (Large Loss), here by number of present
    labels, which is about equal for all classes under FPC.
    """

    name = "class-groups"
    title = "mAP of rare to frequent classes under each method"

    methods: Methods = base.methods_option("eight")
    groups: Annotated[int, Range(1, 10)] = setting(5, "number of groups of classes")

    def draw(self, table: pd.DataFrame) -> Drawing:
        where, runs = self.of_scheme(table)
        scored = self.by_class(runs, some_methods(runs, wanted=self.methods, most=8))
        groups = scored.groups(self.groups)
        panels, axes = single(3.8)
        drawn = style.looks(runs["method"].unique())
        for place, method in enumerate(scored.ap):
            look = drawn[method]
            rows = base.intervals(scored.group_intervals(method, groups)).dropna(subset="mean")
            rows["x"] = rows.index + marks.dodge(place, len(scored.ap))
            line: dict[str, Any] = {"linestyle": look.dashes, "linewidth": 1}
            marks.points(axes, rows, "x", "mean", look, yband=marks.BAND, style=line)
        names = []
        for group, present in pd.Series(scored.present).groupby(groups):
            ends = [style.count(present.min()), style.count(present.max())]
            span = " to ".join(dict.fromkeys(ends))
            names.append(f"G{group}\n{span}\n{len(present):,} class{'es' * (len(present) > 1)}")
        axes.set_xticks(range(len(names)), names, fontsize=10 if len(names) < 7 else 7.5)
        axes.set_xlim(-0.45, len(names) - 0.45)
        marks.score_limits(axes)
        axes.grid(False, axis="x")
        by = "classes by the number of images that are labelled with them, mean over draws"
        panels.labels(by, "mAP of the group on the test split, points")
        fewer = f"{len(names)} groups instead of {self.groups}, as there are no more classes."
        return panels.finish(
            f"mAP of rare and frequent classes with {where}",
            fewer if len(names) < self.groups else "",
            *self.notes(scored, "Bars", len(drawn) - len(scored.ap)),
        )


@register
class ClassDifference(OfScheme):
    """AP of `first` minus AP of `second` for each class, sorted; darker with more missing labels.

    Source: "Soft Exposure", Fig. 5, whose caption and text contradict each other about the colours;
    here dark means missing. Missing is the share of asked images with an unknown label of the
    class.
    """

    name = "class-difference"
    title = "AP difference of two methods for each class, by missing labels"

    first: str = setting("", "a method; by default the highest")
    second: str = setting("", "the other method; by default an, or the next highest")
    most: int = setting(0, "classes shown, those with the largest differences; 0: all")

    def draw(self, table: pd.DataFrame) -> Drawing:
        where, runs = self.of_scheme(table)
        means = runs.groupby("method", sort=False)["map"].mean()
        ranked = list(means.sort_values(ascending=False, kind="stable").index)
        check_known(filter(None, (self.first, self.second)), ranked)
        self.require(len(ranked) > 1, f"{ranked[0]!r} is the only method; two are needed")
        second = self.second or ("an" if "an" in ranked and self.first != "an" else "")
        first = self.first or next(name for name in ranked if name != second)
        second = second or next(name for name in ranked if name != first)
        self.require(first != second, f"first and second are both {first!r}; name two methods")
        scored = self.by_class(runs, [first, second])
        gaps = base.intervals(scored.differences(first, second), "gaps")
        gaps = gaps.assign(missing=scored.missing, name=scored.classes).dropna(subset="mean")
        every = gaps = gaps.sort_values("mean", kind="stable", ignore_index=True)
        if 0 < self.most < len(every):
            largest = every["mean"].abs().nlargest(self.most).index
            gaps = every.loc[sorted(largest)].reset_index(drop=True)
        size = float(np.clip(480 / len(gaps), 7.5, 9))
        names = [style.fold(name, 1.9, size=size, lines=1) for name in gaps["name"]]
        named = len(names) <= _NAMED
        below = max(style.text_width(name, size) for name in names) if named else 0.3
        panels, axes = single(3.4 + below)
        _bars(panels.drawing, axes, gaps, named)
        if named:
            axes.set_xticks(gaps.index, names, rotation=90, fontsize=size)
        else:
            axes.set(xticks=[], xlabel=f"{len(gaps):,} classes, by their difference")
        panels.labels(y=f"AP of {style.label(first)} − {style.label(second)}, points")
        correlation = "" if every["missing"].any() else "No labels are missing."
        if len(every) > 2 and np.ptp(every["missing"]) and np.ptp(every["mean"]):
            rho = float(spearmanr(every["missing"], every["mean"]).statistic)
            with_missing = "Rank correlation of the difference with the share of missing labels"
            correlation = f"{with_missing}: {rho:+.2f}."
        over, *left_out = self.notes(scored, "Lines")
        return panels.finish(
            f"AP of each class by {style.label(first)} instead of {style.label(second)}: {where}",
            f"The {len(gaps):,} largest differences." if len(gaps) < len(every) else "",
            f"Better in {(every['mean'] > 0).sum():,} of {len(every):,} classes.",
            f"{over} Not corrected for multiple comparisons." if named else "",
            *left_out,
            correlation,
        )


def _bars(drawing: Drawing, axes: Axes, gaps: pd.DataFrame, named: bool) -> None:
    """A bar for each class with its interval, and a colour bar of missing labels."""
    missing = gaps["missing"].to_numpy()
    high = max(missing.max(), _LEAST)
    norm = Normalize(min(missing.min(), high - _LEAST), high)
    bar: dict[str, Any] = {"width": 0.82 if named else 1, "linewidth": 0}
    bar["color"] = _SHADES(norm(missing))
    axes.bar(gaps.index, gaps["mean"], **bar)
    if named:
        line: dict[str, Any] = {"color": style.INK, "linewidth": 0.9}
        line["path_effects"] = [withStroke(linewidth=2.6, foreground="white")]  # on dark bars too
        axes.vlines(gaps.index, gaps["low"], gaps["high"], **line)
    axes.axhline(0, color=style.INK, linewidth=0.8)
    axes.tick_params(axis="x", length=0)
    axes.spines["bottom"].set_visible(False)
    axes.grid(False, axis="x")
    axes.set_xlim(-0.7, len(gaps) - 0.3)
    if missing.any():  # a strip below, as low bars do not show their shade
        low, high = axes.get_ylim()
        axes.set_ylim(low - 2 * _STRIP * (high - low), high)
        axes.bar(gaps.index, _STRIP, transform=axes.get_xaxis_transform(), **bar)
        shades = ScalarMappable(norm, _SHADES)
        what = "labels missing, of asked images"
        marks.scale(drawing, axes, shades, what, lambda share: f"{100 * share:.4g}%")


def _unseen(scored: ByClass) -> NDArray[np.bool_]:
    """(L,) whether no image of the test split shows the class."""
    ap = np.stack([ap for by_draw in scored.ap.values() for ap in by_draw.values()])
    return np.asarray(np.isnan(ap).all(0))
