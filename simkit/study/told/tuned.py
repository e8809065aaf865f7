"""What a sweep chose, told: a note that says how, and a table of what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from simkit.study.grids.limit import Limit, money

_COLUMNS = [
    "scheme",
    "budget",
    "budget_hours",
    "method",
    "draw",
    "tuned",
    "tuned_runs",
    "tuned_map",
    "tuned_by",
    "tuned_dollars",
    "reference",
]


def notes(runs: pa.Table) -> list[str]:
    """How the settings of the runs were chosen; nothing where they were as the grid has them."""
    rows = list(_choices(runs))
    if not rows:
        return []
    counts = sorted({row["tuned_runs"] for row in rows})
    many = " to ".join(str(count) for count in dict.fromkeys([counts[0], counts[-1]]))
    bought = _purchases(rows)
    prices = list(dict.fromkeys(money(of(bought.values())) for of in (min, max)))
    each = f", {' to '.join(prices)} each" if len(bought) > 1 else ""
    return [
        f"settings come from a sweep of {many} trainings for each method under each scheme and "
        f"budget, by {rows[0]['tuned_by']} labels of the validation split; it had a draw of its "
        f"own, whose labels cost {money(sum(bought.values()))} beside the dollars of the runs"
        f"{each}"
    ]


def price(runs: pa.Table, scheme: str, limit: Limit) -> float | None:
    """What the labels cost by which a sweep chose under a scheme; None where none did."""
    return _purchases(list(_choices(runs))).get((scheme, limit, False))


def _purchases(rows: list[dict[str, Any]]) -> dict[tuple[str, Limit, bool], float]:
    """Dollars by what was bought in the sweep's draw, for all methods together."""
    return {
        (row["scheme"], Limit.of(row), bool(row["reference"])): row["tuned_dollars"] for row in rows
    }


def chapter(runs: pa.Table) -> list[str]:
    """What was chosen, as lines of Markdown."""
    rows = [_line(row) for row in _choices(runs)]
    if not rows:
        return []
    head = [
        "| scheme | budget | method | chosen | mAP on validation | trainings |",
        "|---|--:|---|---|--:|--:|",
    ]
    return ["", "## Settings chosen by the sweep", "", *head, *rows, ""]


def _choices(runs: pa.Table) -> Iterator[dict[str, Any]]:
    """One row of the table for each choice."""
    seen = set()
    for row in runs.select(_COLUMNS).to_pylist():
        place = row["scheme"], Limit.of(row), row["method"]
        if row["tuned_runs"] and place not in seen:
            seen.add(place)
            yield row


def _line(row: dict[str, Any]) -> str:
    values = ", ".join(f"{name}={value}" for name, value in json.loads(row["tuned"]).items())
    score = f"{100 * row['tuned_map']:.1f}"
    limit = str(Limit.of(row))
    columns = [row["scheme"], limit, row["method"], values, score, str(row["tuned_runs"])]
    return "| " + " | ".join(columns) + " |"
