"""Scores over an amount: a setting's value, the share or number of labels, the number of images."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from simkit.annotate import schemes
from simkit.errors import BadInput, unknown
from simkit.learn.methods import make as make_method
from simkit.study.analysis import selection
from simkit.study.analysis.comparisons import gap_columns, mean_columns
from simkit.study.analysis.learning import layers
from simkit.study.analysis.selection import RUN, Methods, Table
from simkit.study.cells import one_result
from simkit.study.frames import class_names, failures, opened, with_attrs
from simkit.study.limit import Limit
from simkit.study.runs import COLUMNS

Of = Literal["auto", "method", "scheme"]
_MAKE = {"method": make_method, "scheme": schemes.make}
_COUNTS = ("present", "absent", "unknown")


def sweep(
    runs: Table,
    setting: str,
    *,
    of: Of = "auto",
    metric: str = "map",
    budget: float | None = None,
    hours: float | None = None,
) -> pd.DataFrame:
    """Scores over the values of `setting`, of all methods or schemes with two values or more.

    Parameters
    ----------
    runs
        A table of runs in which methods, or schemes, are spelled with several values, such as
        "ll-r", "ll-r(delta=0.1)" and "ll-r(delta=0.5)". References and runs without a score are
        left out.
    setting
        Its name; of a method with wrappers the innermost part that has it counts.
    of
        Whose setting it is. "auto": of methods, or of schemes where no method has two values.
    metric
        A column of scores from 0 to 1.
    budget, hours
        Which budget, in dollars or in hours; of several the middle one by default.

    Returns
    -------
    DataFrame
        scheme and method, one of them without the setting; setting; value, as text, and number,
        NaN for other values; default, whether it is the default value; draws, missing (draws in
        which others have a run under the scheme, and this one no score), mean with its 95 %
        interval low to high, and gap, the difference to the default, paired by draw, with gap_low
        to gap_high (each alone, uncorrected). One draw has no intervals; the default has no gap.
        Numbers ascend within each scheme and method, other values keep the order of the table.
        `attrs` say what failed.

    Raises
    ------
    BadInput
        Where nothing in the table has the setting, or only one value of it, and for the amount of
        a scheme that a budget decides.
    """
    if of not in get_args(Of):
        raise unknown("kind of settings (sweep)", of, get_args(Of))
    table = selection.read_runs(runs, RUN, asker="sweep", metric=metric)
    limit, bought = selection.within(table, budget=budget, hours=hours, asker="sweep")
    scores = selection.scores_by_draw(bought, metric, asker="sweep")
    for kind in ("method", "scheme") if of == "auto" else (of,):
        points = _points(scores, setting, kind, limit)
        if len(points):
            break
    else:
        raise BadInput(
            f"sweep: nothing in the table has two values of {setting!r}; compare several, such as "
            "ll-r(delta=0.1) and ll-r(delta=0.5)"
        )
    draws = bought.groupby("scheme")["draw"].nunique()
    rows = []
    for _, line in points.groupby(["scheme", "method"], sort=False):
        usual = next(iter(line["column"][line["default"]]), None)
        ordered = line if line["number"].isna().any() else line.sort_values("number")
        for point in ordered.to_dict("records"):
            column = point.pop("column")
            values = scores[column]
            gaps = values - scores[usual] if usual not in (None, column) else values[:0]
            row = point | {"setting": setting, "missing": draws[column[0]] - values.count()}
            rows.append(row | mean_columns(values) | gap_columns(gaps))
    return with_attrs(pd.DataFrame(rows), {"failures": failures(table)})


def _points(scores: pd.DataFrame, setting: str, kind: str, limit: Limit) -> pd.DataFrame:
    """Columns of `scores` by the value of a setting that they have, where there are several.

    Of equal values the first alone. Raises BadInput for an amount, which a budget decides.
    """
    rows = []
    for scheme, method in scores:
        parts = _made(kind, method if kind == "method" else scheme)
        owner = next((one for one in parts if setting in _defaults(one)), None)
        if owner is None:
            continue
        if limit and kind == "scheme" and owner.amount == setting:
            raise BadInput(
                f"sweep: amounts are set by the budget, so {setting!r} of {owner.name} is what "
                f"{limit} pays for; sweep another setting, or compare without a budget"
            )
        value = getattr(owner, setting)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        row = {"scheme": scheme, "method": method, kind: _short(parts, owner, setting)}
        row["value"] = _digits(value) if isinstance(value, float) else str(value).lower()
        row |= {"number": float(value) if number else np.nan, "column": (scheme, method)}
        rows.append(row | {"default": value == _defaults(owner)[setting]})
    names = ["scheme", "method", "value", "number", "default", "column"]
    points = pd.DataFrame(rows, columns=names).drop_duplicates(names[:3])
    return points[points.duplicated(names[:2], keep=False)]


def shares(runs: Table, *, base: str = "", metric: str = "map") -> pd.DataFrame:
    """Scores over the share of labels, each scheme at all its amounts or budgets; then the oracle.

    Parameters
    ----------
    runs
        A table of runs with references: these are the oracle, and their labels are all there are.
        Runs without a score are left out.
    base
        A method with which all others are compared; none by default.
    metric
        A column of scores from 0 to 1.

    Returns
    -------
    DataFrame
        scheme, without its amount; method; reference; bought, the scheme as the table has it with
        its budget; positives and labels, the shares from 0 to 1 of all present labels and of all
        labels, means over draws; draws; mean with its 95 % interval low to high; base, and gap,
        the difference to the base on the same labels, paired by draw, with gap_low to gap_high
        (each alone, uncorrected). Rows ascend by labels within each scheme and method; references,
        whose scheme is "", stand last. One draw has no intervals.

    Raises
    ------
    BadInput
        Where references or other runs are missing or have no score, where nothing is present or
        was counted, for a base that is not in the table, and for a metric that is no column of
        numbers.

    References
    ----------
    "Soft Exposure", Fig. 3, whose fractions are those of positives.
    """
    table = selection.read_runs(runs, (*RUN, "present", "absent"), asker="shares", metric=metric)
    scored = table.dropna(subset=[metric, "present", "absent"])
    if scored["reference"].all():
        raise BadInput(f"shares: no compared run has {metric} and label counts; compare again")
    compared = scored.loc[~scored["reference"], "method"].unique()
    selection.check_known([base] if base else [], list(compared), asker="shares")
    scored = scored.assign(positives=scored["present"], labels=scored["present"] + scored["absent"])
    every = scored[scored["reference"]].drop_duplicates("draw")[["positives", "labels"]].mean()
    if not every["positives"] > 0:
        raise BadInput(
            "shares: no reference says how many labels there are, or none of its labels is "
            "present; compare again with reference = true"
        )
    place = ["reference", "scheme", "budget", "budget_hours"]
    scored = one_result(scored, metric, by=["method", *place], asker="shares")
    of_base = scored[scored["method"] == base][[*place, "draw", metric]]
    scored = scored.sort_values("reference", kind="stable")
    scored = scored.merge(of_base, "left", [*place, "draw"], suffixes=("", "_base"))
    scored.loc[scored["method"] == base, f"{metric}_base"] = np.nan  # no gap to itself
    rows = []
    groups = scored.groupby(["method", *place], sort=False, dropna=False)
    for (method, reference, scheme, dollars, hours), cell in groups:
        spent = [(dollars, "dollars"), (hours, "hours")]
        budget = [f", {_digits(value, ',')} {unit}" for value, unit in spent if value == value]
        row = {"scheme": "" if reference else _family(scheme), "method": method}
        row |= {"reference": reference, "bought": "".join([scheme, *budget])}
        row |= (cell[["positives", "labels"]].mean() / every).to_dict()
        row |= mean_columns(cell[metric]) | {"base": base if base and not reference else None}
        rows.append(row | gap_columns(cell[metric] - cell[f"{metric}_base"]))
    return _in_order(pd.DataFrame(rows), "labels")


def _family(scheme: str) -> str:
    """A scheme without its amount; as it is where it is none of the registry."""
    parts = _made("scheme", scheme)
    return _short(parts, parts[0], parts[0].amount) if parts else scheme


def images_or_labels(
    runs: Table | list[Table], *, full: str = "full-subset", metric: str = "map"
) -> pd.DataFrame:
    """Scores over the number of images, weakly and completely labelled, and which equal which.

    Parameters
    ----------
    runs
        A table of runs, or several, such as those of grids that differ in `images` alone. Runs of
        equal numbers of images belong together, or runs of one budget of one table, which may buy
        more images in one draw than in another. References count as complete labels of all images.
    full
        The scheme with complete labels.
    metric
        A column of scores from 0 to 1.

    Returns
    -------
    DataFrame
        scheme, method; complete, whether it is of that scheme; images asked about (a rounded mean
        over draws), and their share of the largest number; labels that are known, a mean over
        draws; draws; mean with its 95 % interval low to high; equal_images: how many completely
        labelled images have the same score, interpolated on a log scale, and fewer: how many times
        as many labels those have. The last two are NaN for complete labels and for scores beyond
        theirs. Rows ascend in images within each scheme and method.

    Raises
    ------
    BadInput
        Without runs of complete labels, or of others, and for a metric that is no column of
        numbers.

    References
    ----------
    Kim et al., CVPR 2022, Fig. 6.
    """
    asker = "images-or-labels"
    several = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not several:
        raise BadInput(f"{asker}: there is no table of runs; run a comparison first")
    needs = ("scheme", "method", "draw", "budget", "budget_hours", "images", "present", "absent")
    tables = [selection.read_runs(table, needs, asker=asker, metric=metric) for table in several]
    table = pd.concat([one.assign(grid=place) for place, one in enumerate(tables)])
    selection.check_one_test(table, asker=asker)
    scored = table.dropna(subset=[metric, "images", "present", "absent"])
    complete = scored["scheme"].str.split("(").str[0] == full
    if complete.all() or not (complete & (scored["images"] > 0)).any():
        have = ", ".join(scored["scheme"].unique()) or "nothing"
        raise BadInput(
            f"{asker}: both {full} and another scheme are needed, and the runs hold {have}; "
            "compare both at several numbers of images"
        )
    cells = _cells(scored.assign(complete=complete), metric)
    ladder = cells[cells["complete"] & (cells["images"] > 0)]
    # Where several methods had complete labels the best counts, and more images are never worse.
    ladder = ladder.loc[ladder.groupby("images")["mean"].idxmax()]
    means, first = np.unique(np.maximum.accumulate(ladder["mean"]), return_index=True)
    logs = np.log(ladder["images"].to_numpy(float))[first]
    equal = np.exp(np.interp(cells["mean"], means, logs, left=np.nan, right=np.nan))
    each = (ladder["labels"] / ladder["images"]).mean()
    cells.insert(4, "share", cells["images"] / cells["images"].max())
    cells["equal_images"] = np.where(cells["complete"], np.nan, equal)
    cells["fewer"] = cells["equal_images"] * each / cells["labels"].where(cells["labels"] > 0)
    return cells


def _cells(scored: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Each scheme, method, and budget or number of images, over draws."""
    known = scored.assign(labels=scored["present"] + scored["absent"])
    runs = zip(known["grid"], selection.limits_of(known), known["images"], strict=True)
    known["place"] = [(grid, limit) if limit else images for grid, limit, images in runs]
    keys = ["scheme", "method", "complete", "place"]
    known = one_result(known, metric, by=keys, asker="images-or-labels")
    rows = []
    for key, cell in known.groupby(keys, sort=False):
        row = {"images": round(cell["images"].mean()), "labels": cell["labels"].mean()}
        rows.append(dict(zip(keys, key, strict=True)) | row | mean_columns(cell[metric]))
    return _in_order(pd.DataFrame(rows).drop(columns="place"), "images")


METRICS = {"map": "mAP", "map_all": "mAP of all classes", "map_o": "mAP(O)"}


def modes(
    runs: Table,
    measures: Sequence[str] = ("map",),
    *,
    methods: Methods = "",
    budget: float | None = None,
    hours: float | None = None,
) -> pd.DataFrame:
    """Mean scores of each scheme and method over the amount of labels.

    Parameters
    ----------
    runs
        A table of runs; references and runs without a score are left out.
    measures
        map, map_all, map_o, or names of classes, which stand for their AP.
    methods
        Only these; all by default.
    budget, hours
        Which budget, in dollars or in hours; needed where the table holds several.

    Returns
    -------
    DataFrame
        scheme as spelled; family, its name alone; setting and value, the amount by which it is
        scaled (missing where it has none; under a budget the mean of what was bought); known, the
        mean share of known labels of the asked images (NaN where none were counted); measure;
        method; draws, mean from 0 to 1 with its 95 % interval low to high (NaN for one draw).

    Raises
    ------
    BadInput
        For a measure or a method that the table does not have, and for several budgets.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Figs 6 and 10, Table 4.
    """
    limit = Limit(budget, hours)
    rows = [
        where | {"method": name} | mean_columns(scores[name])
        for where, scores in _by_scheme(runs, measures, methods, limit, asker="modes")
        for name in scores
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
    """The score of `first` minus that of `second`, paired by draw; else as `modes`.

    Columns are those of `modes`, with first and second in place of method. Schemes under which one
    of them is missing are left out. Raises BadInput where no scheme has both.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Fig. 6: the gap shrinks as more labels are kept.
    """
    rows = []
    pair, limit = (first, second), Limit(budget, hours)
    for where, scores in _by_scheme(runs, measures, pair, limit, asker="mode gaps"):
        gaps = (scores[first] - scores[second]).dropna() if {*pair} <= {*scores} else []
        if len(gaps):
            row = where | {"first": first, "second": second, "draws": len(gaps)}
            rows.append(row | gap_columns(gaps, names=("mean", "low", "high")))
    if not rows:
        raise BadInput(
            f"mode gaps: {first} and {second} share no draw under any scheme; compare them in one "
            "grid"
        )
    return pd.DataFrame(rows)


def with_class_ap(runs: Table, classes: Sequence[str] | str) -> pd.DataFrame:
    """The runs with a column for the AP of each of these classes, which can serve as a metric.

    Raises BadInput for a class that the runs do not have, and one named like another column.
    """
    ap = selection.read_runs(runs, ("ap",), asker="class AP")
    known = class_names(ap)
    if not known or ap.empty:
        what = "holds no runs" if ap.empty else "does not name its classes"
        raise BadInput(f"class AP: the table {what}; compare again")
    table: pd.DataFrame = opened(runs)
    for name in [classes] if isinstance(classes, str) else classes:
        if name not in known:
            raise unknown("class of the runs", name, known)
        if name in COLUMNS:
            raise BadInput(f"class AP: class {name!r} is called like a column; rename the class")
        table = table.assign(**{name: ap["ap"].str[known.index(name)].astype(float).to_numpy()})
    return table


def _by_scheme(
    runs: Table, measures: Sequence[str], methods: Methods, limit: Limit, *, asker: str
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Columns about each measure and scheme, and the scores (draws, methods) there."""
    for measure in [measures] if isinstance(measures, str) else measures:
        table = runs if measure in METRICS else with_class_ap(runs, [measure])
        needs = (*RUN, "scheme_spec", *_COUNTS)
        table = selection.read_runs(table, needs, asker=asker, metric=measure)
        if not limit:
            selection.check_one_budget(table, asker=asker)
        how: dict[str, Any] = {"budget": limit.dollars, "hours": limit.hours}
        chosen, bought = selection.within(table, **how, asker=asker)
        every: dict[str, Any] = {"most": len(bought), "metric": measure}
        shown = selection.some_methods(bought, wanted=methods, **every, asker=asker)
        scores = selection.scores_by_draw(bought, measure, asker=asker)
        for scheme in scores.columns.unique("scheme"):
            counted = bought[bought["scheme"] == scheme].dropna(subset=[*_COUNTS])
            where = _amount(scheme, counted, chosen) | {"measure": measure}
            of_scheme = scores[scheme]
            yield where, of_scheme[[name for name in shown if name in of_scheme]]


def _amount(scheme: str, runs: pd.DataFrame, limit: Limit) -> dict[str, Any]:
    """Columns about a scheme and how many labels it has."""
    part = next(iter(_made("scheme", scheme)), None)
    setting = None if part is None else part.amount
    specs = runs["scheme_spec"].fillna(scheme) if limit else [scheme]
    amounts = [float(getattr(_made("scheme", spec)[0], setting)) for spec in specs if setting]
    labels = runs[list(_COUNTS)].sum(axis=1).clip(lower=1)
    return {
        "scheme": scheme,
        "family": scheme if part is None else part.name,
        "setting": setting,
        "value": np.mean(amounts) if amounts else np.nan,
        "known": (1 - runs["unknown"] / labels).mean(),
    }


def _in_order(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Rows sorted within each scheme and method, which keep their order."""
    line = table.groupby(["scheme", "method"], sort=False).ngroup()
    return table.iloc[np.lexsort([table[by], line])].reset_index(drop=True)


def _made(kind: str, spec: str) -> list[Any]:
    """The method and its wrappers, the innermost first, or the scheme; none the registry lacks."""
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
        said = [
            f"{name}={getattr(part, name)}"
            for name, default in _defaults(part).items()
            if getattr(part, name) != default and not (part is owner and name == setting)
        ]
        texts.append(f"{part.name}({','.join(said)})" if said else part.name)
    return "+".join(texts)


def _digits(value: float, mark: str = "") -> str:
    """Six digits where they tell the number, else all it takes; mark: between thousands."""
    short = f"{value:g}"
    return f"{value:{mark}g}" if float(short) == value else f"{value:{mark}}".removesuffix(".0")
