"""Settings that a sweep chose at the edge of what it tried: better ones may lie beyond."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from simkit.study.grids.limit import Limit
from simkit.study.grids.tuning import Tuning

_COLUMNS = ["scheme", "budget", "budget_hours", "method", "tuned", "tuned_runs"]


def at_the_edge(runs: pa.Table, tuning: Tuning | None) -> list[str]:
    """A note for each number that is the smallest or largest tried and was chosen in most cases.

    A case is a method under a scheme and limit. Of fewer than three numbers, all are at an edge:
    nothing is said of them.
    """
    cases: Counter[str] = Counter()
    chosen: Counter[tuple[str, float, str]] = Counter()
    for method, values in _cases(runs) if tuning else ():
        assert tuning is not None
        tried = tuning.tried(method)
        for name, value in values.items():
            if len(tried[name]) < 3 or not all(type(one) in (int, float) for one in tried[name]):
                continue
            cases[name] += 1
            for edge, last in (("smallest", min(tried[name])), ("largest", max(tried[name]))):
                chosen[name, last, edge] += value == last
    return [
        f"{name}={value:g} was chosen in {count} of {cases[name]} cases and is the {edge} that was "
        f"tried; widen the values of {name} in [tuning.space]"
        for (name, value, edge), count in chosen.items()
        if 2 * count > cases[name]
    ]


def _cases(runs: pa.Table) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each method with what was chosen for it, once for all draws."""
    found = {}
    for row in runs.select(_COLUMNS).to_pylist():
        if row["tuned_runs"]:
            found[row["scheme"], Limit.of(row), row["method"]] = json.loads(row["tuned"])
    yield from ((method, values) for (_, _, method), values in found.items())
