"""Ignore or negative? Scores over the amount of labels, and how far two methods are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from simkit.annotate import schemes
from simkit.errors import BadInput, unknown
from simkit.study.analysis.asked import names
from simkit.study.analysis.comparing.chosen import (
    Methods,
    check_runs,
    no_runs,
    one_budget,
    some_methods,
    within,
)
from simkit.study.analysis.comparing.paired import Scores, difference, paired
from simkit.study.limit import Limit
from simkit.study.runs import COLUMNS, class_names
from simkit.study.statistics import Interval, interval

METRICS = {"map": "mAP", "map_all": "mAP of all classes", "map_o": "mAP(O)"}
_COUNTS = ("present", "absent", "unknown")
_MOST = 1_000  # methods: none is left out unless asked

_TEXT, _NUMBER = pa.string(), pa.float64()
_WHERE = [("scheme", _TEXT), ("family", _TEXT), ("setting", _TEXT), ("value", _NUMBER)]
_WHERE += [("known", _NUMBER), ("measure", _TEXT)]
_OVER = [("draws", pa.int64()), *((name, _NUMBER) for name in ("mean", "low", "high"))]
MODES = pa.schema([*_WHERE, ("method", _TEXT), *_OVER])
GAPS = pa.schema([*_WHERE, ("first", _TEXT), ("second", _TEXT), *_OVER])


def modes(
    runs: pa.Table,
    measures: Sequence[str] = ("map",),
    *,
    methods: Methods = "",
    budget: float | None = None,
    hours: float | None = None,
) -> pa.Table:
    """Mean scores of each scheme and method, one row for each measure.

    runs: with the columns of `study.runs.COLUMNS`; references and runs without a score are left
    out. measures: map, map_all, map_o, or a class, which stands for its AP. methods: only these.
    budget, hours: which one, where the table holds several.

    Columns: scheme as spelled; family, its name alone; setting and value, the amount that it is
    scaled by (null where it says none; under a budget the mean of what was bought); known, the mean
    share of labels of the asked images that are known (null where nobody counted); measure; method;
    draws, mean from 0 to 1 with its 95 % interval low to high (null for one draw).

    Raises BadInput for a measure or a method that the table does not have, and where nobody says
    which of several budgets.
    Source: Ben-Baruch et al., CVPR 2022, figures 6 and 10, table 4.
    """
    limit, bought = _one_budget(runs, budget, hours, asker="modes")
    wanted = some_methods(bought, wanted=methods, most=_MOST, asker="modes")
    rows = []
    for measure in _measures(measures, "modes"):
        for where, scores in _scores(bought, measure, limit):
            rows += [
                {**where, "method": name, **_over(interval(list(scores[name].values())))}
                for name in wanted
                if name in scores
            ]
    return pa.Table.from_pylist(rows, schema=MODES)


def mode_gaps(
    runs: pa.Table,
    first: str = "ignore",
    second: str = "an",
    measures: Sequence[str] = ("map",),
    *,
    budget: float | None = None,
    hours: float | None = None,
) -> pa.Table:
    """The score of `first` minus that of `second`, paired by draw; columns as `modes` has them.

    With first and second in the place of method; schemes that lack one of them are left out.
    Raises BadInput where no scheme has both, and where nobody says which of several budgets.
    Source: Ben-Baruch et al., CVPR 2022, figure 6: the gap shrinks as more labels are kept.
    """
    limit, bought = _one_budget(runs, budget, hours, asker="mode gaps")
    some_methods(bought, wanted=(first, second), most=2, asker="mode gaps")
    rows = []
    for measure in _measures(measures, "mode gaps"):
        for where, scores in _scores(bought, measure, limit):
            both = first in scores and second in scores
            gap = difference(scores[first], scores[second]) if both else None
            if gap is not None:
                rows.append({**where, "first": first, "second": second, **_over(gap.interval)})
    if not rows:
        raise BadInput(
            f"mode gaps: {first} and {second} share no draw under any scheme; compare them in one "
            "grid"
        )
    return pa.Table.from_pylist(rows, schema=GAPS)


def with_class_ap(runs: pa.Table, classes: Sequence[str]) -> pa.Table:
    """The runs with a column for the AP of each of these classes, so that it can be a metric.

    classes: also one name. Raises BadInput for a class that the runs are not about, and for one
    that is called like another column.
    """
    check_runs(runs, ("ap",), asker="class AP")
    if not len(runs):
        raise no_runs("class AP")
    if not (known := class_names(runs)):
        raise BadInput("class AP: the table does not name its classes; compare again")
    for name in names(classes, "classes"):
        if name not in known:
            raise unknown("class of the runs", name, list(known))
        if name in COLUMNS:
            raise BadInput(f"class AP: class {name!r} is called like a column; rename the class")
        place = known.index(name)
        ap = [None if row is None else row[place] for row in runs["ap"].to_pylist()]
        if name not in runs.column_names:
            runs = runs.append_column(name, pa.array(ap, _NUMBER))
    return runs


def _one_budget(
    runs: pa.Table, budget: float | None, hours: float | None, *, asker: str
) -> tuple[Limit, pa.Table]:
    """The runs of a budget, without references: amounts of labels differ from one to the next."""
    needs = ("scheme", "scheme_spec", "method", "draw", "reference", "map", *_COUNTS)
    check_runs(runs, needs, asker=asker)
    limit, bought = within(runs, budget=budget, hours=hours, asker=asker)
    if budget is None and hours is None:
        one_budget(runs, asker=asker, mend="name one of them as budget")
    return limit, bought


def _measures(given: Sequence[str], asker: str) -> tuple[str, ...]:
    if not (found := names(given, f"{asker}: measures")):
        raise BadInput(f"{asker}: no measure is named; name one, such as map, or a class")
    return found


def _scores(
    bought: pa.Table, measure: str, limit: Limit
) -> list[tuple[dict[str, Any], dict[str, Scores]]]:
    """Of each scheme where it stands, and the scores of its methods by draw."""
    if measure not in METRICS:
        bought = with_class_ap(bought, [measure])
    how = {"budget": limit.dollars, "hours": limit.hours}
    found = paired(bought, metric=measure, asker="modes", **how).scores
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in bought.select(["scheme", "scheme_spec", *_COUNTS]).to_pylist():
        if all(row[name] is not None for name in _COUNTS):  # those of failed runs are null
            rows.setdefault(row["scheme"], []).append(row)
    return [
        (_where(scheme, rows.get(scheme, []), limit) | {"measure": measure}, dict(scores))
        for scheme, scores in found.items()
    ]


def _where(scheme: str, rows: list[dict[str, Any]], limit: Limit) -> dict[str, Any]:
    made = schemes.make(scheme)
    said = [row["scheme_spec"] or scheme for row in rows] if limit else [scheme]
    amounts = [float(getattr(schemes.make(one), made.amount)) for one in said if made.amount]
    shares = [1 - row["unknown"] / max(sum(row[name] for name in _COUNTS), 1) for row in rows]
    return {
        "scheme": scheme,
        "family": made.name,
        "setting": made.amount,
        "value": float(np.mean(amounts)) if amounts else None,
        "known": float(np.mean(shares)) if shares else None,
    }


def _over(found: Interval) -> dict[str, Any]:
    ends = {"mean": found.mean, "low": found.low, "high": found.high}
    return {"draws": found.draws, **ends}
