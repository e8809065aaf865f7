"""Scores over an amount: the value of a setting, the share of labels, the number of images."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from simkit.annotate import schemes
from simkit.errors import BadInput, unknown
from simkit.learn.method import layers
from simkit.learn.methods import make as make_method
from simkit.results import selection
from simkit.results.cells import RUN, Budget, one_result, scores_of
from simkit.results.comparisons import gap_columns, mean_columns
from simkit.results.result_tables import class_names, opened, passed_on
from simkit.results.selection import METRICS, Methods, Table
from simkit.results.statistics import Scores

_MAKE = {"method": make_method, "scheme": schemes.make}
_COUNTS = ("present", "absent", "unknown")


def sweep(
    runs: Table,
    setting: str,
    *,
    metric: str = "map",
    budget: float | None = None,
    hours: float | None = None,
) -> pd.DataFrame:
    """Scores over the values of a setting, for all methods or schemes with two values or more.

    Parameters
    ----------
    runs
        A table of runs whose methods, or schemes, have several values of the setting, such as
        "ll-r", "ll-r(delta=0.1)" and "ll-r(delta=0.5)". References and runs without a score are
        left out.
    setting
        Name of the setting, of methods or, if no method has two values of it, of schemes; for
        wrapped methods that of the innermost part that has it.
    metric
        A column of scores from 0 to 1.
    budget, hours
        The budget in dollars or in hours; by default the middle one of the table.

    Returns
    -------
    DataFrame
        scheme and method, one of them without the setting; setting; value, as text, and number,
        NaN for other values; default, whether it is the default value; draws, missing (draws in
        which other methods have a run under the scheme, but this one has no score), mean with its
        95 % confidence interval low to high, and gap, the difference to the default, paired by
        draw, with the interval gap_low to gap_high (not corrected for multiple comparisons). One
        draw has no intervals; the default has no gap. Numbers ascend within each scheme and
        method, other values keep the order of the table. `attrs` hold the failures.

    Raises
    ------
    BadInput
        If the table has fewer than two values of the setting, or the setting is an amount that the
        budget determines.
    """
    table = selection.read_runs(runs, RUN, metric=metric)
    limit, bought = selection.within(table, Budget(budget, hours))
    scores = selection.scores_by_pair(bought, metric)
    for kind in ("method", "scheme"):
        points = _points(scores, setting, kind, limit)
        if len(points):
            break
    else:
        raise BadInput(f"sweep: the table has no two values of {setting!r}; compare several")
    draws = bought.groupby("scheme")["draw"].nunique()
    rows = []
    for _, line in points.groupby(["scheme", "method"], sort=False):
        usual = next(iter(line["column"][line["default"]]), None)
        ordered = line if line["number"].isna().any() else line.sort_values("number")
        for point in ordered.to_dict("records"):
            column = point.pop("column")
            one = scores[column]
            gaps = Scores({}) if usual in (None, column) else one - scores[usual]
            row = point | {"setting": setting, "missing": draws[column[0]] - len(one.by_draw)}
            rows.append(row | mean_columns(one) | gap_columns(gaps))
    result = pd.DataFrame(rows)
    result.attrs = passed_on(table)
    return result


def _points(
    pairs: Iterable[tuple[str, str]], setting: str, kind: str, limit: Budget
) -> pd.DataFrame:
    """Schemes and methods by their value of a setting, if there are several distinct values.

    Raises BadInput for an amount, which the budget determines.
    """
    rows = []
    for scheme, method in pairs:
        parts = _made(kind, method if kind == "method" else scheme)
        owner = next((one for one in parts if setting in _defaults(one)), None)
        if owner is None:
            continue
        if limit and kind == "scheme" and owner.amount == setting:
            raise BadInput(f"sweep: the budget decides {setting!r} of {owner.name}; sweep another")
        value = getattr(owner, setting)
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        row = {"scheme": scheme, "method": method, kind: _short(parts, owner, setting)}
        row["value"] = _digits(value) if isinstance(value, float) else str(value).lower()
        place = {"number": float(value) if numeric else np.nan, "column": (scheme, method)}
        rows.append(row | place | {"default": value == _defaults(owner)[setting]})
    names = ["scheme", "method", "value", "number", "default", "column"]
    points = pd.DataFrame(rows, columns=names).drop_duplicates(names[:3])
    return points[points.duplicated(names[:2], keep=False)]


def shares(runs: Table, *, base: str = "", metric: str = "map") -> pd.DataFrame:
    """Scores over the share of labels, for all amounts of each scheme, and those of the oracle.

    Parameters
    ----------
    runs
        A table of runs with references, which are the oracle with all labels. Runs without a score
        are left out.
    base
        The method with which all others are compared; none by default.
    metric
        A column of scores from 0 to 1.

    Returns
    -------
    DataFrame
        scheme, without its amount; method; reference; bought, the scheme and budget as in the
        table; positives and labels, the shares from 0 to 1 of all present labels and of all
        labels, means over draws; draws; mean with its 95 % confidence interval low to high; base,
        and gap, the difference to the base on the same labels, paired by draw, with the interval
        gap_low to gap_high (not corrected for multiple comparisons). Rows ascend by labels within
        each scheme and method; references, whose scheme is "", are last. One draw has no
        intervals.

    Raises
    ------
    BadInput
        If references or other runs are missing or have no score or counts of labels, if the base is
        not in the table, or if the metric is not a column of numbers.

    References
    ----------
    "Soft Exposure", Fig. 3, whose fractions are shares of positives.
    """
    table = selection.read_runs(runs, (*RUN, "present", "absent"), metric=metric)
    scored = table.dropna(subset=[metric, "present", "absent"])
    compared = selection.without_references(scored)["method"].unique()
    selection.check_known([base] if base else [], list(compared))
    scored = scored.assign(positives=scored["present"], labels=scored["present"] + scored["absent"])
    every = scored[scored["reference"]].drop_duplicates("draw")[["positives", "labels"]].mean()
    if not every["positives"] > 0:
        raise BadInput("shares: no reference with present labels; compare with reference = true")
    keys = ["method", "reference", "scheme", "budget", "budget_hours"]
    scored = one_result(scored, metric, by=keys).sort_values("reference", kind="stable")
    groups = [
        (method, reference, scheme, _bought(scheme, *spent), scores_of(cell, metric), cell)
        for (method, reference, scheme, *spent), cell in scored.groupby(
            keys, sort=False, dropna=False
        )
    ]
    of_base = {
        (reference, bought): scores
        for method, reference, _, bought, scores, _ in groups if method == base
    }  # fmt: skip
    rows = []
    for method, reference, scheme, bought, scores, cell in groups:
        gaps = Scores({})
        if method != base and (reference, bought) in of_base:
            gaps = scores - of_base[reference, bought]
        parts = _made("scheme", scheme)  # unregistered schemes are unchanged
        without_amount = _short(parts, parts[0], parts[0].amount) if parts else scheme
        row = {"scheme": "" if reference else without_amount, "method": method}
        row |= {"reference": reference, "bought": bought}
        row |= (cell[["positives", "labels"]].mean() / every).to_dict()
        row |= mean_columns(scores) | {"base": base if base and not reference else None}
        rows.append(row | gap_columns(gaps))
    return _in_order(pd.DataFrame(rows), "labels")


def _bought(scheme: str, dollars: float, hours: float) -> str:
    spent = [(dollars, "dollars"), (hours, "hours")]
    return scheme + "".join(f", {_digits(value, ',')} {unit}" for value, unit in spent
                            if value == value)  # fmt: skip


def images_or_labels(
    runs: Table | list[Table], *, full: str = "full-subset", metric: str = "map"
) -> pd.DataFrame:
    """Scores over the number of images, weakly or completely labelled, and equivalent numbers.

    Parameters
    ----------
    runs
        A table of runs, or several, such as those of grids that differ only in `images`. Runs are
        grouped by number of images, or by budget within one table, as one budget may buy more
        images in one draw than in another. References are complete labels of all images.
    full
        The scheme with complete labels.
    metric
        A column of scores from 0 to 1.

    Returns
    -------
    DataFrame
        scheme, method; complete, whether the labels are complete; images, the number of asked
        images (a rounded mean over draws), and share, relative to the largest number; labels, the
        number of known labels (mean over draws); draws; mean with its 95 % confidence interval low
        to high; equal_images, the number of completely labelled images with the same score,
        interpolated on a log scale; and fewer, their number of labels as a multiple of `labels`.
        The last two are NaN for complete labels and for scores outside their range. Rows ascend
        in images within each scheme and method.

    Raises
    ------
    BadInput
        If runs on complete or on other labels are missing, or if the metric is not a column of
        numbers.

    References
    ----------
    Kim et al., CVPR 2022, Fig. 6.
    """
    several = runs if isinstance(runs, list | tuple) else [runs]
    needs = ("scheme", "method", "draw", "budget", "budget_hours", "images", "present", "absent")
    tables = [selection.read_runs(table, needs, metric=metric) for table in several]
    table = pd.concat([one.assign(grid=place) for place, one in enumerate(tables)])
    selection.check_one_test(table)
    scored = table.dropna(subset=[metric, "images", "present", "absent"])
    complete = scored["scheme"].str.split("(").str[0] == full
    if complete.all() or not (complete & (scored["images"] > 0)).any():
        have = ", ".join(scored["scheme"].unique()) or "nothing"
        raise BadInput(f"the runs hold {have}; compare {full} and another scheme")
    counted = scored.assign(complete=complete, labels=scored["present"] + scored["absent"])
    places = zip(counted["grid"], selection.budgets_of(counted), counted["images"], strict=True)
    counted["place"] = [(grid, limit) if limit else images for grid, limit, images in places]
    keys, rows = ["scheme", "method", "complete", "place"], []
    for key, cell in one_result(counted, metric, by=keys).groupby(keys, sort=False):
        row = {"images": round(cell["images"].mean()), "labels": cell["labels"].mean()}
        rows.append(dict(zip(keys, key, strict=True)) | row | mean_columns(scores_of(cell, metric)))
    cells = _in_order(pd.DataFrame(rows).drop(columns="place"), "images")
    ladder = cells[cells["complete"] & (cells["images"] > 0)]
    # The best method on complete labels counts, and scores are made monotone in images.
    ladder = ladder.loc[ladder.groupby("images")["mean"].idxmax()]
    means, first = np.unique(np.maximum.accumulate(ladder["mean"]), return_index=True)
    logs = np.log(ladder["images"].to_numpy(float))[first]
    equal = np.exp(np.interp(cells["mean"], means, logs, left=np.nan, right=np.nan))
    each = (ladder["labels"] / ladder["images"]).mean()
    cells.insert(4, "share", cells["images"] / cells["images"].max())
    cells["equal_images"] = np.where(cells["complete"], np.nan, equal)
    cells["fewer"] = cells["equal_images"] * each / cells["labels"].where(cells["labels"] > 0)
    return cells


def modes(
    runs: Table,
    measures: Sequence[str] = ("map",),
    *,
    methods: Methods = "",
    budget: float | None = None,
    hours: float | None = None,
) -> pd.DataFrame:
    """Mean scores of each scheme and method over the number of labels.

    Parameters
    ----------
    runs
        A table of runs; references and runs without a score are left out.
    measures
        map, map_all, map_o, or names of classes, for their AP.
    methods
        The methods to include; all by default.
    budget, hours
        The budget in dollars or in hours; required if the table has several.

    Returns
    -------
    DataFrame
        scheme as spelled; family, its name without settings; setting and value, its amount
        (missing if it has none; within a budget the mean bought amount); known, the mean share of
        known labels in asked images (NaN without counts); measure; method; draws, mean in [0, 1]
        with its 95 % confidence interval low to high (NaN for one draw).

    Raises
    ------
    BadInput
        If the table lacks a measure or a method, or has several budgets and none is chosen.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Figs 6 and 10, Table 4.
    """
    limit = Budget(budget, hours)
    rows = [
        where | {"method": name} | mean_columns(one, bounded=False)
        for where, scores in _by_scheme(runs, measures, methods, limit)
        for name, one in scores.items()
    ]
    return pd.DataFrame(rows)


def mode_gaps(
    runs: Table,
    first: str = "ignore",
    second: str = "an",
    measures: Sequence[str] = ("map",),
    *,
    budget: float | None = None,
    hours: float | None = None,
) -> pd.DataFrame:
    """The score of `first` minus that of `second`, paired by draw.

    Parameters
    ----------
    runs, measures, budget, hours
        As for `modes`.
    first, second
        The two methods.

    Returns
    -------
    DataFrame
        The columns of `modes`, with first and second in place of method; schemes without one of
        the two are left out.

    Raises
    ------
    BadInput
        As `modes`, and if no scheme has both methods.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Fig. 6: the gap shrinks as more labels are kept.
    """
    rows = []
    pair, limit = [first, second], Budget(budget, hours)
    for where, scores in _by_scheme(runs, measures, pair, limit):
        one, other = (scores.get(name, Scores({})) for name in pair)
        if (gaps := one - other).by_draw:
            row = where | {"first": first, "second": second, "draws": len(gaps.by_draw)}
            rows.append(row | gap_columns(gaps, names=("mean", "low", "high")))
    if not rows:
        raise BadInput(f"mode gaps: {first} and {second} share no draw; compare both in one grid")
    return pd.DataFrame(rows)


def with_class_ap(runs: Table, classes: Sequence[str] | str) -> pd.DataFrame:
    """The runs with a column for the AP of each of these classes, for use as a metric.

    Parameters
    ----------
    runs
        A table of runs.
    classes
        One or more names of classes.

    Returns
    -------
    DataFrame
        The table with a float column per class, AP in [0, 1].

    Raises
    ------
    BadInput
        For a class that the runs do not have.
    """
    ap = selection.read_runs(runs, ("ap",))
    names = class_names(ap)
    if ap.empty or not names:
        raise BadInput("class AP: the table has no runs, or does not name classes; compare again")
    table: pd.DataFrame = opened(runs)
    for name in [classes] if isinstance(classes, str) else classes:
        if name not in names:
            raise unknown("class of the runs", name, names)
        table = table.assign(**{name: ap["ap"].str[names.index(name)].astype(float).to_numpy()})
    return table


def _by_scheme(
    runs: Table, measures: Sequence[str], methods: Methods, limit: Budget
) -> Iterator[tuple[dict[str, Any], dict[str, Scores]]]:
    """Description of each measure and scheme, and its scores by method."""
    for measure in [measures] if isinstance(measures, str) else measures:
        table = runs if measure in METRICS else with_class_ap(runs, [measure])
        table = selection.read_runs(table, (*RUN, "scheme_spec", *_COUNTS), metric=measure)
        if not limit:
            selection.check_one_budget(table)
        chosen, bought = selection.within(table, limit)
        shown = selection.some_methods(bought, wanted=methods, most=len(bought), metric=measure)
        scores = selection.scores_by_pair(bought, measure)
        for scheme in dict.fromkeys(scheme for scheme, _ in scores):
            counted = bought[bought["scheme"] == scheme].dropna(subset=[*_COUNTS])
            part = next(iter(_made("scheme", scheme)), None)
            setting = None if part is None else part.amount
            specs = counted["scheme_spec"].fillna(scheme) if chosen else [scheme]
            amounts = [float(getattr(_made("scheme", s)[0], setting)) for s in specs if setting]
            labels = counted[list(_COUNTS)].sum(axis=1).clip(lower=1)
            where = {
                "scheme": scheme,
                "family": scheme if part is None else part.name,
                "setting": setting,
                "value": np.mean(amounts) if amounts else np.nan,
                "known": (1 - counted["unknown"] / labels).mean(),
                "measure": measure,
            }
            of_methods = {name: scores.get((scheme, name)) for name in shown}
            yield where, {name: one for name, one in of_methods.items() if one is not None}


def _in_order(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Rows sorted within each scheme and method, in unchanged order of these."""
    line = table.groupby(["scheme", "method"], sort=False).ngroup()
    return table.iloc[np.lexsort([table[by], line])].reset_index(drop=True)


def _made(kind: str, spec: str) -> list[Any]:
    """The method and its wrappers, the innermost first, or the scheme; empty if unregistered."""
    try:
        return layers(_MAKE[kind](spec))
    except BadInput:
        return []


def _defaults(part: Any) -> Mapping[str, Any]:
    """The default of each setting."""
    return {one.name: one.default for one in dataclasses.fields(part) if one.name != "inner"}


def _short(parts: Sequence[Any], owner: Any, setting: str | None) -> str:
    """The spelling of a method with its wrappers, without defaults and `setting` of `owner`."""
    texts = []
    for part in parts:
        settings = [
            f"{name}={getattr(part, name)}"
            for name, default in _defaults(part).items()
            if getattr(part, name) != default and not (part is owner and name == setting)
        ]
        texts.append(f"{part.name}({','.join(settings)})" if settings else part.name)
    return "+".join(texts)


def _digits(value: float, mark: str = "") -> str:
    """The number with six digits, or all if these are not exact; mark: thousands separator."""
    short = f"{value:g}"
    return f"{value:{mark}g}" if float(short) == value else f"{value:{mark}}".removesuffix(".0")
