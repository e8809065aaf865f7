"""Ablation: what each variation of a method is worth, set against one base."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from simkit.errors import BadInput, unknown
from simkit.study.analysis.asked import listed
from simkit.study.analysis.comparing.chosen import Methods
from simkit.study.analysis.comparing.paired import Paired, Scores, difference, ends, paired
from simkit.study.cells import SMALLEST
from simkit.study.runs import failures, with_failures
from simkit.study.statistics import Difference, holm, interval

_ERROR = 0.05  # allowed for all differences of a scheme together

_TEXT, _WHOLE, _NUMBER = pa.string(), pa.int64(), pa.float64()
ABLATION = pa.schema(
    [
        ("scheme", _TEXT),
        ("method", _TEXT),
        ("base", pa.bool_()),
        ("draws", _WHOLE),
        ("missing", _WHOLE),
        *((name, _NUMBER) for name in ("mean", "low", "high")),
        *((name, _NUMBER) for name in ("gap", "gap_low", "gap_high", "p")),
        ("noise", pa.bool_()),
    ]
)


def ablation(
    runs: pa.Table,
    base: str,
    *,
    methods: Methods = "",
    metric: str = "map",
    budget: float | None = None,
    hours: float | None = None,
) -> pa.Table:
    """Every method with its difference to `base`, paired by draw; rows in the order of the table.

    runs: with the columns of `study.runs.COLUMNS`; references and runs without a score are left
    out. base: a method as the table spells it. methods: only these and the base, also as one text
    with commas. metric: a column of scores from 0 to 1. budget, hours: which one; of several the
    middle one unless asked.

    Columns: scheme, method, base (whether it is the base), draws, missing (how many draws others
    have under the scheme, and this one not: runs that failed), mean with its 95 % interval low to
    high, gap (mean minus that of the base, over shared draws) with gap_low to gap_high, p, noise.
    p is adjusted by Holm over the differences of the scheme, and the interval is at the level at
    which Holm tests the difference: it holds 0 where the difference is noise. Noise is also what
    is smaller than 0.05 points. One draw has no intervals, no p and no noise; all of gap, p and
    noise are null for the base itself and where it has no run under the scheme. What the comparison
    says of failures is in the metadata, as `study.runs.failures` reads it.

    Raises BadInput where the base or a method is not in the table, and for a metric that is no
    column of numbers.
    Source: the ablation tables of BoostLU (Table 1), "Spatial Consistency Loss" (Table 2) and
    "Class-aware Selective Loss" (Tables 1 and 5).
    """
    found = paired(runs, metric=metric, budget=budget, hours=hours, asker="ablation")
    known = list(dict.fromkeys(name for some in found.scores.values() for name in some))
    wanted = listed(methods, "ablation: methods")
    for name in (base, *wanted):
        if name not in known:
            raise unknown("method of the table (ablation)", name, known)
    if len(known) < 2:
        raise BadInput(f"ablation: the table holds one method, {base!r}; two are needed")
    shown = [name for name in known if not wanted or name in (base, *wanted)]
    rows = [row for scheme in found.scores for row in _rows(found, scheme, shown, base)]
    return with_failures(pa.Table.from_pylist(rows, schema=ABLATION), failures(runs))


def _rows(found: Paired, scheme: str, shown: list[str], base: str) -> list[dict[str, Any]]:
    scores, draws = found.scores[scheme], found.draws[scheme]
    there = [name for name in shown if name in scores]
    gaps = _gaps({name: scores[name] for name in there}, base)
    rows = []
    for name in there:
        mean = interval(list(scores[name].values()))
        gap = gaps.get(name)
        noise = None
        if gap and gap.adjusted is not None:
            noise = gap.adjusted >= _ERROR or abs(gap.interval.mean) < SMALLEST
        rows.append(
            {
                "scheme": scheme,
                "method": name,
                "base": name == base,
                "draws": mean.draws,
                "missing": len(draws - scores[name].keys()),
                "mean": mean.mean,
                "low": mean.low,
                "high": mean.high,
                **ends("gap", gap.interval if gap else None),
                "p": gap.adjusted if gap else None,
                "noise": noise,
            }
        )
    return rows


def _gaps(scores: dict[str, Scores], base: str) -> dict[str, Difference]:
    """Of each method that shares a draw with the base, its difference with Holm's correction."""
    others = [name for name in scores if name != base] if base in scores else []
    first = {name: difference(scores[name], scores[base]) for name in others}
    tested = {name: gap.p for name, gap in first.items() if gap and gap.p is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    levels = _levels(tested)
    found = {}
    for name, gap in first.items():
        again = difference(scores[name], scores[base], level=levels.get(name, 1 - _ERROR))
        if gap and again:
            found[name] = Difference(name, base, again.interval, gap.p, adjusted.get(name))
    return found


def _levels(ps: dict[str, float]) -> dict[str, float]:
    """At which level Holm tests each: the k-th smallest p of m against an error of 5 % / (m - k).

    From the first that fails on all fail, and have the level of that one.
    """
    found: dict[str, float] = {}
    error = _ERROR
    failed = False
    for place, name in enumerate(sorted(ps, key=lambda name: ps[name])):
        if not failed:
            error = _ERROR / (len(ps) - place)
            failed = ps[name] >= error
        found[name] = 1 - error
    return found
