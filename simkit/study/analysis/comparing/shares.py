"""mAP by the share of labels that were bought, beside what all labels would give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simkit.annotate import schemes
from simkit.errors import BadInput, unknown
from simkit.study.analysis.comparing.chosen import check_scores, enter, filled
from simkit.study.analysis.comparing.paired import difference, ends
from simkit.study.analysis.comparing.written import written
from simkit.study.statistics import interval

_TEXT, _WHOLE, _NUMBER = pa.string(), pa.int64(), pa.float64()
SHARES = pa.schema(
    [
        ("scheme", _TEXT),
        ("method", _TEXT),
        ("reference", pa.bool_()),
        ("bought", _TEXT),
        ("positives", _NUMBER),
        ("labels", _NUMBER),
        ("draws", _WHOLE),
        *((name, _NUMBER) for name in ("mean", "low", "high")),
        ("base", _TEXT),
        *((name, _NUMBER) for name in ("gap", "gap_low", "gap_high")),
    ]
)
_NEEDS = ("scheme", "method", "reference", "budget", "budget_hours", "draw", "present", "absent")
Row = dict[str, Any]


def shares(runs: pa.Table, *, base: str = "", metric: str = "map") -> pa.Table:
    """Scores over how much is known, each scheme at all its amounts or budgets; then the oracle.

    runs: with the columns of `study.runs.COLUMNS`, references included: what is there to be
    bought is what they have, and they are the oracle. Runs without a score are left out. base: a
    method that all others are compared with. metric: a column of scores from 0 to 1.

    Columns: scheme, without its amount; method; reference; bought, the scheme as the table has it
    with its budget; positives and labels, the shares in [0, 1] of all present labels and of all
    labels that are known, means over draws; draws; mean with its 95 % interval low to high; base,
    and gap, the mean minus that of the base on the same labels, paired by draw, with gap_low to
    gap_high (each alone, uncorrected; null without a base, and for references). Rows ascend by
    labels within each scheme and method; references, with shares of 1, stand last and belong to no
    scheme (""). One draw has no intervals.

    Raises BadInput where there are no references, nothing else, or none with a score, where nothing
    is present or nobody counted, for a base that is not in the table, and for a metric that is no
    column of numbers.
    Source: "Soft Exposure", Fig. 3, whose fractions are those of positives.
    """
    check_scores(runs, metric, _NEEDS, asker="shares")
    known = runs.filter(pc.is_finite(runs[metric]))  # null is not finite either
    rows = known.select(list(dict.fromkeys([*_NEEDS, metric]))).to_pylist()
    if len(runs) and not rows:
        raise BadInput(f"shares: no run has {metric}; compare again")
    filled(rows, ("present", "absent"), asker="shares")
    bought = [row for row in rows if not row["reference"]]
    if not bought:
        raise BadInput(f"shares: no run but the references has {metric}; compare again")
    if base and base not in (methods := list(dict.fromkeys(row["method"] for row in bought))):
        raise unknown("method of the table (shares)", base, methods)
    most = _most(rows)
    groups: dict[tuple[str, str], dict[tuple[Any, ...], list[Row]]] = {}
    for row in bought:
        place = row["scheme"], row["budget"], row["budget_hours"]
        amounts = groups.setdefault((_family(row["scheme"]), row["method"]), {})
        amounts.setdefault(place, []).append(row)
    found = []
    for (scheme, method), amounts in groups.items():
        others = groups.get((scheme, base), {})
        line = [
            _row(scheme, method, some, most, metric)
            | ({"base": base} if base else {})
            | (_gap(some, others.get(place, []), metric) if method != base else {})
            for place, some in amounts.items()
        ]
        found += sorted(line, key=lambda row: float(row["labels"]))
    oracles: dict[str, list[Row]] = {}
    for row in rows:
        if row["reference"]:
            oracles.setdefault(row["method"], []).append(row)
    found += [_row("", method, some, most, metric) for method, some in oracles.items()]
    return pa.Table.from_pylist(found, schema=SHARES)


_KINDS = {"positives": ("present",), "labels": ("present", "absent")}


def _most(rows: list[Row]) -> dict[str, float]:
    """How many labels there are to be bought, by kind: what the references have."""
    full = {row["draw"]: row for row in rows if row["reference"]}
    if not full:
        raise BadInput(
            "shares: the table has no reference to say how many labels there are; compare again "
            "with reference = true"
        )
    most = {k: float(np.mean([_count(row, k) for row in full.values()])) for k in _KINDS}
    if not most["positives"]:
        raise BadInput(
            "shares: no label of the references is present, so nothing is a share of them; give "
            "runs whose references were counted"
        )
    return most


def _count(row: Mapping[str, Any], kind: str) -> int:
    return sum(row[name] for name in _KINDS[kind])


def _row(
    scheme: str, method: str, rows: list[Row], most: Mapping[str, float], metric: str
) -> dict[str, Any]:
    mean = interval(list(_scores(rows, metric).values()))
    first = rows[0]
    spent = {"dollars": first["budget"], "hours": first["budget_hours"]}
    limit = [
        f"{written(value, mark=',')} {unit}" for unit, value in spent.items() if value is not None
    ]
    part = {kind: np.mean([_count(row, kind) for row in rows]) / most[kind] for kind in _KINDS}
    return {
        "scheme": scheme,
        "method": method,
        "reference": first["reference"],
        "bought": ", ".join([first["scheme"], *limit]),
        **{kind: float(share) for kind, share in part.items()},
        "draws": mean.draws,
        "mean": mean.mean,
        "low": mean.low,
        "high": mean.high,
    }


def _gap(rows: list[Row], base: list[Row], metric: str) -> dict[str, float | None]:
    """Three columns: the difference to the base over the draws that both have."""
    found = difference(_scores(rows, metric), _scores(base, metric))
    return ends("gap", found.interval if found else None)


def _scores(rows: list[Row], metric: str) -> dict[int, float]:
    found: dict[int, float] = {}
    for row in rows:
        enter(found, row, row[metric], asker="shares")
    return found


def _family(scheme: str) -> str:
    """A scheme without its amount; as it is where nobody knows it."""
    try:
        part = schemes.make(scheme)
    except BadInput:
        return scheme
    usual = {name: getattr(type(part)(), name) for name in vars(part)}
    said = [
        f"{name}={value}"
        for name, value in vars(part).items()
        if name != part.amount and value != usual[name]
    ]
    return f"{part.name}({','.join(said)})" if said else part.name
