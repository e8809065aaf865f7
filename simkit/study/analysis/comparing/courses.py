"""How training goes: mAP or loss after every epoch, over draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from simkit.errors import BadInput, unknown
from simkit.study.analysis.comparing.chosen import check_runs, enter, no_runs, one_budget
from simkit.study.statistics import Interval, interval

What = Literal["curve", "losses"]
_NEEDS = ("scheme", "method", "reference", "budget", "budget_hours", "draw", "epochs", "curve_of")


@dataclass(frozen=True)
class Course:
    """One method under one scheme.

    points   for each epoch, from 1 on, the mean over draws with its interval; None where no draw
             has a number. Draws that stopped earlier are left out of later epochs.
    chosen   how many draws had their weights of which epoch scored.
    of       "val" or "test" for mAP, "train" for losses.
    """

    scheme: str
    method: str
    points: tuple[Interval | None, ...]
    chosen: Mapping[int, int]
    of: str

    @property
    def draws(self) -> int:
        """How many there are at most."""
        return max((point.draws for point in self.points if point), default=0)


def courses(runs: pa.Table, what: What, *, asker: str = "courses") -> list[Course]:
    """Of each scheme and method, in the order of the table, those without any number left out.

    runs: with the columns of `study.runs.COLUMNS`, of one budget. Raises BadInput for several,
    and where no run has a course.
    """
    if what not in get_args(What):
        raise unknown(f"course ({asker})", what, get_args(What))
    check_runs(runs, (*_NEEDS, what), asker=asker)
    if not len(runs):
        raise no_runs(asker)
    one_budget(runs, asker=asker, mend="give the runs of one of them")
    groups: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for row in runs.select([*_NEEDS, what]).to_pylist():
        if row[what]:
            own = groups.setdefault((row["scheme"], row["method"]), {})
            enter(own, row, row, asker=asker)
    if not groups and what == "curve":
        raise BadInput(
            f"{asker}: no run was scored after every epoch; set curves = true in the grid and "
            "compare again, or draw losses"
        )
    if not groups:
        raise BadInput(f"{asker}: the table holds no losses; compare again")
    return [
        _course(scheme, method, list(rows.values()), what)
        for (scheme, method), rows in groups.items()
    ]


def _course(scheme: str, method: str, rows: list[dict[str, Any]], what: What) -> Course:
    longest = max(len(row[what]) for row in rows)
    points = []
    for epoch in range(longest):
        values = [row[what][epoch] for row in rows if len(row[what]) > epoch]
        known = [v for v in values if v is not None and np.isfinite(v)]
        points.append(interval(known) if known else None)
    chosen = Counter(row["epochs"] for row in rows if row["epochs"])
    of = "train" if what == "losses" else next((r["curve_of"] for r in rows if r["curve_of"]), "")
    return Course(scheme, method, tuple(points), dict(sorted(chosen.items())), of)
