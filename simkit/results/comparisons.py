"""Comparisons of methods over shared draws: ablations, mean ranks, training curves, classes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest
from typing import Any, Literal, get_args

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import f as fisher
from scipy.stats import rankdata, studentized_range

from simkit import metrics
from simkit.errors import BadInput, unknown
from simkit.results import selection
from simkit.results.cells import RUN, SMALLEST, Budget, one_result
from simkit.results.result_tables import class_names, leaves, passed_on
from simkit.results.selection import Methods, Table, listed
from simkit.results.statistics import Interval, Scores, holm, interval, p_over_choices, p_value

Test = Literal["paired", "nemenyi"]
What = Literal["curve", "losses"]
Values = NDArray[np.float64]
_LISTS = ["ap", "class_present", "class_absent"]
_ERROR = 0.05  # family-wise error rate of the differences under a scheme
_SAME_RANK = 0.01  # mean ranks that are closer may print the same, and so count as a tie
_CHOICES = 2000  # samples of the choices of settings


def ablation(
    runs: Table,
    base: str,
    *,
    methods: Methods = "",
    metric: str = "map",
    budget: float | None = None,
    hours: float | None = None,
) -> pd.DataFrame:
    """Every method with its difference to `base`, paired by draw.

    Parameters
    ----------
    runs
        A table of runs; references and runs without a score are left out.
    base
        The baseline, as spelled in the table.
    methods
        The methods to include; all by default.
    metric
        A column of scores from 0 to 1.
    budget, hours
        The budget in dollars or in hours; by default the middle one of the table.

    Returns
    -------
    DataFrame
        A row for each scheme and method in the order of the table: scheme, method, base (whether
        it is the base), draws, missing (draws in which other methods have a run under the scheme,
        but this one has no score), mean with its 95 % confidence interval low to high, gap (mean
        difference to the base over shared draws) with gap_low to gap_high, p, and significant. p
        is adjusted by Holm's method over the differences of the scheme. The interval of a gap has
        the level at which Holm's method tests it, so it contains 0 if the gap is not significant.
        Differences below 0.05 points are never significant. One draw has neither intervals nor p.
        `attrs` hold the failures.

    Raises
    ------
    BadInput
        If the base or a method is not in the table, or the metric is not a column of numbers.

    References
    ----------
    BoostLU (Kim et al., CVPR 2023), Table 1; "Spatial Consistency Loss" (WACV 2023), Table 2;
    Ben-Baruch et al., CVPR 2022, Tables 1 and 5.
    """
    table = selection.read_runs(runs, RUN, metric=metric)
    _, bought = selection.within(table, Budget(budget, hours))
    scores = selection.scores_by_pair(bought, metric)
    known = list(dict.fromkeys(method for _, method in scores))
    wanted = listed(methods) or known
    selection.check_known([base, *wanted], known)
    draws = bought.groupby("scheme")["draw"].nunique()
    rows = []
    for scheme in dict.fromkeys(scheme for scheme, _ in scores):
        of_scheme = {
            method: one for (name, method), one in scores.items()
            if name == scheme and method in (base, *wanted)
        }  # fmt: skip
        tests = _tests(of_scheme, base)
        for name, one in of_scheme.items():
            row = {"scheme": scheme, "method": name, "base": name == base}
            row["missing"] = draws[scheme] - len(one.by_draw)
            rows.append(row | mean_columns(one) | tests[name])
    result = pd.DataFrame(rows)
    result.attrs = passed_on(table)
    return result


def _tests(scores: Mapping[str, Scores], base: str) -> dict[str, dict[str, Any]]:
    """Columns about the difference of each method to the base, if they share a draw."""
    none = Scores({})
    of_base = scores.get(base, none)
    gaps = {name: none if name == base else one - of_base for name, one in scores.items()}
    ps = pd.Series({name: gap.p for name, gap in gaps.items()}, dtype=float).dropna()
    adjusted = pd.Series(holm(list(ps)), ps.index, dtype=float)
    # The level of each test by Holm's method: the k-th smallest p of m against 5 % / (m - k + 1).
    # After the first test that is not rejected none is, and all have its level.
    ordered, errors = ps.sort_values(kind="stable"), _ERROR / np.arange(len(ps), 0, -1)
    retained = np.flatnonzero(ordered >= errors)
    if len(retained):
        errors[retained[0] :] = errors[retained[0]]
    levels = pd.Series(1 - errors, ordered.index)
    tests = {}
    for name, gap in gaps.items():
        columns = gap_columns(gap, level=levels.get(name, 1 - _ERROR))
        significant = None
        if name in adjusted:
            significant = bool(adjusted[name] < _ERROR and abs(columns["gap"]) >= SMALLEST)
        tests[name] = columns | {"p": adjusted.get(name, np.nan), "significant": significant}
    return tests


def mean_columns(scores: Scores, *, bounded: bool = True) -> dict[str, Any]:
    """Columns draws, mean, low and high of one cell.

    bounded: whether the scores are in [0, 1], where their interval ends.
    """
    cell = scores.mean.bounded if bounded else scores.mean
    mean, low, high = np.array([cell.mean, cell.low, cell.high], float).tolist()  # None is NaN
    return {"draws": cell.draws, "mean": mean, "low": low, "high": high}


def gap_columns(
    gaps: Scores,
    *,
    level: float = 0.95,
    names: Sequence[str] = ("gap", "gap_low", "gap_high"),
) -> dict[str, float]:
    """Columns of the mean of paired differences and its interval; NaN without differences."""
    if not gaps.by_draw:
        return dict.fromkeys(names, np.nan)
    cell = gaps.gap(level)
    values = np.array([cell.mean, cell.low, cell.high], float)  # None is NaN
    return dict(zip(names, values.tolist(), strict=True))


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of methods over blocks; a block is a scheme in one draw, 1 the highest score.

    Attributes
    ----------
    methods, mean
        Methods by mean rank, the best first, and their mean ranks.
    by_scheme
        Mean ranks under each scheme, copies included.
    alike
        The largest groups without a significant difference of mean ranks; None without a test.
    blocks, left_out
        Number of ranked blocks, and of blocks in which a method has no score.
    draws
        Number of draws in the ranked blocks.
    distance
        With "nemenyi", the critical difference of two mean ranks.
    copies
        Number of blocks with the labels of another one in the same draw; they count once.
    """

    methods: tuple[str, ...]
    mean: Mapping[str, float]
    by_scheme: Mapping[str, Mapping[str, float]]
    alike: tuple[tuple[str, ...], ...] | None
    blocks: int
    left_out: int
    draws: int
    distance: float | None = None
    copies: int = 0

    def _repr_html_(self) -> str:
        table = pd.DataFrame({"mean rank": self.mean, **self.by_scheme})
        return table.to_html(border=0, float_format="{:.2f}".format)


def ranks(runs: Table, *, test: Test = "paired", metric: str = "map") -> Ranks:
    """Rank the methods in each scheme and draw; ties share their mean rank.

    Blocks in which a method has no score are left out. Schemes that bought the same labels, such
    as complete labels, have the same runs and count as one block.

    Parameters
    ----------
    runs
        A table of runs of one budget; references are left out.
    test
        "paired": the mean rank over the schemes of each draw, compared draw by draw for all pairs
        of methods (Student's t, bootstrapped from 20 draws on), with Holm's correction; mean ranks
        that are closer than 0.01 never differ. Where settings were chosen, p is the mean over
        samples of what else might have been chosen (Student's t).
        "nemenyi": the critical difference of mean ranks is q sqrt(k (k + 1) / 6 N) for k methods
        in N blocks, at 5 %; it treats blocks as independent, although schemes share images and the
        draws of a scheme its chosen settings.
    metric
        A column of scores from 0 to 1.

    Returns
    -------
    Ranks

    Raises
    ------
    BadInput
        For several budgets, for fewer than two methods, without a complete block, and for a
        metric that is not a column of numbers.

    References
    ----------
    Demsar, JMLR 7 (2006), section 3.2.2: mean ranks and the critical difference.
    """
    if test not in get_args(Test):
        raise unknown("test", test, get_args(Test))
    bought = selection.of_one_budget(runs, (*RUN, "labels_id"), metric)
    methods = bought["method"].unique()
    if len(methods) < 2:
        raise BadInput(f"the table has one method, {methods[0]!r}; two are needed")
    scored = one_result(bought.dropna(subset=[metric]), metric)
    blocks = scored.pivot_table(metric, ["scheme", "draw"], "method", sort=False)
    blocks = blocks.reindex(columns=methods)
    complete = blocks.dropna()
    if complete.empty:
        rarest = blocks.count().idxmin()
        raise BadInput(
            f"no scheme has scores of all {len(methods)} methods in any draw; leave out "
            f"{rarest!r}, which is missing most often, or finish the comparison"
        )
    scored["labels"] = scored["labels_id"].fillna(scored["scheme"])
    labels = scored.groupby(["scheme", "draw"])["labels"].first().loc[complete.index]
    copies = labels.reset_index()[["draw", "labels"]].duplicated().to_numpy()
    placed = complete.rank(axis=1, ascending=False)
    by_draw = placed[~copies].groupby("draw").mean()
    # Of one quantity are the order and the test: ranks by draw, or by block in Nemenyi's test.
    mean = (placed[~copies] if test == "nemenyi" else by_draw).mean().sort_values(kind="stable")
    pairs = list(combinations(mean.index, 2))
    N, k, distance, alike = int((~copies).sum()), len(methods), None, None
    if test == "nemenyi":
        q = studentized_range.ppf(1 - _ERROR, k, np.inf) / np.sqrt(2)
        distance = float(q * np.sqrt(k * (k + 1) / (6 * N)))
        alike = [(a, b) for a, b in pairs if mean[b] - mean[a] <= distance]
    elif len(by_draw) > 1:
        gaps = [by_draw[a] - by_draw[b] for a, b in pairs]
        grain = 0.5 / placed.index.get_level_values("scheme").nunique()  # half a step
        if (scored["tuned_error"] > 0).any():
            chosen = _ranks_by_choice(complete[~copies], scored)
            ps = [p_over_choices(chosen[a] - chosen[b], grain) for a, b in pairs]
        else:
            ps = [p_value(gap, grain) or 0.0 for gap in gaps]
        ps = holm(ps)
        tests = zip(pairs, gaps, ps, strict=True)
        alike = [pair for pair, gap, p in tests if p >= _ERROR or abs(gap.mean()) < _SAME_RANK]
    ordered = tuple(mean.index)
    by_scheme = placed.groupby("scheme", sort=False).mean().to_dict("index")
    cliques = nx.find_cliques(nx.Graph(alike or []))
    groups = sorted(sorted(map(ordered.index, clique)) for clique in cliques)
    named = tuple(tuple(ordered[place] for place in group) for group in groups)
    counts = (N, len(blocks) - len(complete), len(by_draw), distance, int(copies.sum()))
    return Ranks(ordered, mean.to_dict(), by_scheme, None if alike is None else named, *counts)


def _ranks_by_choice(blocks: pd.DataFrame, scored: pd.DataFrame) -> dict[str, Values]:
    """(S, D) mean ranks by method, in samples of the choices of settings and in each draw.

    The scores of a scheme and method move by the same normal error in all draws.

    blocks: scores by scheme and draw (rows) and method. scored: the runs, with `tuned_error`.
    """
    errors = scored.pivot_table("tuned_error", "scheme", "method", aggfunc="max")
    errors = errors.reindex(columns=blocks.columns).fillna(0.0)
    draws = blocks.groupby("draw").size()
    rng = np.random.default_rng(0)
    placed = np.zeros((_CHOICES, len(draws), blocks.shape[1]))
    for scheme, of_scheme in blocks.groupby("scheme", sort=False):
        moved = errors.loc[scheme].to_numpy() * rng.standard_normal((_CHOICES, blocks.shape[1]))
        for (_, draw), row in of_scheme.iterrows():
            ranked = rankdata(-(row.to_numpy() + moved), axis=1)
            placed[:, draws.index.get_loc(draw)] += ranked / draws[draw]
    return {name: placed[:, :, place] for place, name in enumerate(blocks.columns)}


def variance(runs: Table, *, metric: str = "map") -> pd.DataFrame:
    """Analysis of variance of the runs of one budget: what decides the score.

    A draw is random and has labels of its own under each scheme, so that scheme, method and their
    interaction are tested against their interactions with the draw. Methods without a score under
    every scheme, and draws that not all methods have, are left out. Where settings were chosen, the
    scheme, the method and their interaction contain the error of this choice.

    Parameters
    ----------
    runs
        A table of runs of one budget; references are left out.
    metric
        A column of scores from 0 to 1.

    Returns
    -------
    DataFrame
        Rows scheme, method, scheme x method, draw, scheme x draw, method x draw and rest. Columns
        freedom: degrees of freedom; share: of the sum of squares, 0 to 1; F, p: of the tests.

    Raises
    ------
    BadInput
        For several budgets, and for fewer than two schemes, methods or draws.
    """
    scored = selection.of_one_budget(runs, RUN, metric).dropna(subset=[metric])
    wide = one_result(scored, metric).pivot_table(metric, ["scheme", "draw"], "method")
    everywhere = wide.notna().groupby("scheme").any().all()
    complete = wide.loc[:, everywhere].dropna()
    full = complete.groupby("draw").size() == complete.index.get_level_values(0).nunique()
    kept = complete.loc[(slice(None), full.index[full]), :].sort_index()
    schemes, draws = (kept.index.get_level_values(level).nunique() for level in (0, 1))
    shape = (schemes, draws, kept.shape[1])
    if min(shape) < 2:
        raise BadInput("at least two schemes, methods and draws with scores are needed")
    Y = kept.to_numpy().reshape(shape) - kept.to_numpy().mean()
    # Axes: 0 scheme, 1 draw, 2 method. The effect of some axes is their mean without smaller ones.
    names = {
        "scheme": (0,), "method": (2,), "scheme x method": (0, 2), "draw": (1,),
        "scheme x draw": (0, 1), "method x draw": (1, 2), "rest": (0, 1, 2),
    }  # fmt: skip
    effects: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for axes in sorted(names.values(), key=len):
        mean = Y.mean(tuple({0, 1, 2} - {*axes}), keepdims=True)
        smaller = [effect for inner, effect in effects.items() if {*inner} < {*axes}]
        effects[axes] = mean - sum(smaller, np.zeros(()))
    rows = {}
    for name, axes in names.items():
        freedom = math.prod(shape[axis] - 1 for axis in axes)
        squares = (effects[axes] ** 2).sum() * Y.size / effects[axes].size
        rows[name] = {"freedom": freedom, "squares": squares, "share": squares / (Y**2).sum()}
    result = pd.DataFrame(rows).T.astype({"freedom": int})
    mean_squares = result.pop("squares") / result["freedom"]
    tests = {"scheme": "scheme x draw", "method": "method x draw", "scheme x method": "rest"}
    for name, error in tests.items():
        F = mean_squares[name] / mean_squares[error]
        result.loc[name, ["F", "p"]] = F, fisher.sf(F, *result["freedom"][[name, error]])
    return result.rename_axis("source").reset_index()


@dataclass(frozen=True)
class Course:
    """The training curve of one method under one scheme.

    Attributes
    ----------
    points
        For each epoch, from 1 on, the mean over draws with its interval; None without a value.
        Draws that stopped earlier are left out of later epochs.
    chosen
        By epoch, the number of draws that score its weights.
    of
        "val" or "test" for mAP, "train" for losses.
    """

    scheme: str
    method: str
    points: tuple[Interval | None, ...]
    chosen: Mapping[int, int]
    of: str

    @property
    def draws(self) -> int:
        """The largest number of draws at any epoch."""
        return max((point.draws for point in self.points if point), default=0)


def courses(runs: Table, what: What) -> list[Course]:
    """mAP ("curve") or loss ("losses") after every epoch, for each scheme and method.

    Parameters
    ----------
    runs
        A table of runs of one budget.
    what
        "curve" or "losses"; methods without any value are left out.

    Returns
    -------
    list of Course

    Raises
    ------
    BadInput
        For several budgets, and if no run has values for its epochs.
    """
    table = selection.read_runs(runs, (*RUN, "epochs", "curve_of", what))
    selection.check_one_budget(table)
    drawn = table[table[what].str.len() > 0]
    if drawn.empty:
        raise BadInput(f"no run has {what!r}; compare again with curves = true")
    drawn = one_result(drawn, what)
    courses = []
    for (scheme, method), of_pair in drawn.groupby(["scheme", "method"], sort=False):
        epochs = map(np.array, zip_longest(*of_pair[what], fillvalue=np.nan))
        finite = [values[np.isfinite(values)] for values in epochs]
        error = float(of_pair["tuned_error"].max()) if what == "curve" else 0.0
        points = tuple(
            interval(values, tuned_error=error) if len(values) else None for values in finite
        )
        chosen = Counter(of_pair["epochs"][of_pair["epochs"] > 0].astype(int))
        of = "train" if what == "losses" else next(iter(of_pair["curve_of"].dropna()), "")
        courses.append(Course(scheme, method, points, dict(sorted(chosen.items())), of))
    return courses


@dataclass(frozen=True, eq=False)
class ByClass:
    """AP of every class under one scheme at one budget.

    Attributes
    ----------
    classes
        Names of the L classes.
    ap
        (L,) float, by method and draw, in [0, 1]; NaN if no test image shows the class.
    present, missing
        (L,) float: number of images labelled with the class, and share of asked images with an
        unknown label of it; means over draws.
    left_out
        Number of excluded inner classes of the hierarchy.
    """

    classes: tuple[str, ...]
    ap: Mapping[str, Mapping[int, Values]]
    present: Values
    missing: Values
    left_out: int = 0

    def interval(self, method: str, place: int) -> Interval | None:
        """AP of the class at index `place` over draws; None if it has none."""
        return _over_draws(ap[[place]] for ap in self.ap[method].values())[0]

    def differences(self, first: str, second: str) -> list[Interval | None]:
        """AP of `first` minus that of `second` for each class, paired by draw.

        Raises BadInput if they share no draw.
        """
        draws = [draw for draw in self.ap[first] if draw in self.ap[second]]
        if not draws:
            raise BadInput(f"{first} and {second} share no draw; compare methods of one grid")
        return _over_draws(self.ap[first][draw] - self.ap[second][draw] for draw in draws)

    def groups(self, number: int) -> NDArray[np.int64]:
        """(L,) group of each class, at most L groups: 1 has the fewest present labels."""
        return metrics.class_groups(self.present, min(number, len(self.classes)))

    def group_intervals(self, method: str, groups: NDArray[np.int64]) -> list[Interval | None]:
        """mAP of each group over draws."""
        return _over_draws(metrics.group_map(ap, groups) for ap in self.ap[method].values())


def by_class(runs: Table, *, methods: Methods, inner: bool = False) -> ByClass:
    """AP of each class, from the runs of one scheme at one budget.

    Parameters
    ----------
    runs
        A table of runs with the columns of `simkit.results.runs.COLUMNS`.
    methods
        The methods; those without AP are left out.
    inner
        Include inner classes of the hierarchy; mAP is the mean over leaves alone. If the table does
        not name the leaves, all classes count.

    Returns
    -------
    ByClass

    Raises
    ------
    BadInput
        For runs of several schemes, budgets or data sets, and without AP.
    """
    table = selection.read_runs(runs, ("scheme", "method", "draw", "images", *_LISTS))
    wanted = listed(methods)
    table = table[table["method"].isin(wanted)]
    table = table[table["ap"].str.len() > 0]
    if (schemes := table["scheme"].unique()).size > 1:
        raise BadInput(f"the table has the schemes {', '.join(schemes)}; select one")
    if len({length for name in _LISTS for length in table[name].str.len()}) != 1:
        mend = "select others (an atlas has AP at its largest budget alone)"
        raise BadInput(f"no AP and numbers of labels of the same classes; {mend}")
    table = one_result(table, "ap")
    L = len(table["ap"].iloc[0])
    places = (not inner and list(leaves(table))) or list(range(L))
    names = class_names(table) or [f"class {place}" for place in range(L)]
    by_draw = {name: rows.set_index("draw")["ap"] for name, rows in table.groupby("method")}
    ap = {n: {d: ap[places] for d, ap in by_draw[n].items()} for n in wanted if n in by_draw}
    draws = table.drop_duplicates("draw")  # all methods of a draw learn from the same labels
    present, absent = (np.stack(list(draws[name])).astype(float)[:, places] for name in _LISTS[1:])
    asked = draws["images"].clip(lower=1).to_numpy(float)[:, None]
    missing = (1 - (present + absent) / asked).mean(0)
    shown = tuple(names[place] for place in places)
    return ByClass(shown, ap, present.mean(0), missing, L - len(places))


def _over_draws(rows: Iterable[Values]) -> list[Interval | None]:
    """An interval for each column of (draws, n), without NaN."""
    finite = [values[~np.isnan(values)] for values in np.stack([*rows]).T]
    return [interval(values) if len(values) else None for values in finite]
