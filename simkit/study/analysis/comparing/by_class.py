"""What each class gains or loses: AP under each method, how many labels it has, what is missing.

All of it is about one scheme within one budget, and paired by draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.learn.metrics import class_groups, group_map
from simkit.study.analysis.asked import listed
from simkit.study.analysis.comparing.chosen import check_runs, column, enter, filled
from simkit.study.runs import class_names, leaves
from simkit.study.statistics import Interval, interval

Values = NDArray[np.float64]
_NEEDS = ["scheme", "method", "draw", "images", "ap", "class_present", "class_absent"]
_NEEDS += ["map", "map_all"]


@dataclass(frozen=True, eq=False)
class ByClass:
    """AP of every class and the labels it was learnt from; L classes.

    ap: for each method and draw (L,) from 0 to 1, nan where no image of the test split shows the
    class. present, missing (L,): how many images are labelled with the class, and the share of the
    asked images that say nothing about it; means over draws. left_out: how many classes with
    children there are besides.
    """

    classes: tuple[str, ...]
    ap: Mapping[str, Mapping[int, Values]]
    present: Values
    missing: Values
    left_out: int = 0

    def interval(self, method: str, place: int) -> Interval | None:
        """Of the class at `place` over draws; None where it has no AP."""
        return _over([ap[place] for ap in self.ap[method].values()])

    def shared(self, first: str, second: str) -> list[int]:
        """Draws that both methods have."""
        return [draw for draw in self.ap[first] if draw in self.ap[second]]

    def differences(self, first: str, second: str) -> list[Interval | None]:
        """For each class the AP of `first` minus that of `second`, draw by draw.

        Raises BadInput where they share no draw.
        """
        draws = self.shared(first, second)
        if not draws:
            raise BadInput(f"{first} and {second} share no draw; compare methods of one grid")
        gaps = np.stack([self.ap[first][draw] - self.ap[second][draw] for draw in draws])
        return [_over(gaps[:, place]) for place in range(len(self.classes))]

    def groups(self, number: int) -> NDArray[np.int64]:
        """(L,) from 1, for the classes with the fewest present labels; never more than classes."""
        return class_groups(self.present, min(number, len(self.classes)))

    def group_intervals(self, method: str, groups: NDArray[np.int64]) -> list[Interval | None]:
        """mAP of each group over draws."""
        each = np.stack([group_map(ap, groups) for ap in self.ap[method].values()])
        return [_over(each[:, place]) for place in range(each.shape[1])]


def by_class(runs: pa.Table, *, methods: Sequence[str], asker: str, inner: bool = False) -> ByClass:
    """From the runs of one scheme within one budget; of a hierarchy the leaves, or inner ones too.

    methods: those that have no AP are left out. Raises BadInput where the runs do not say, and for
    those of several schemes or budgets.
    """
    check_runs(runs, _NEEDS, asker=asker)
    methods = listed(methods, f"{asker}: methods")
    rows = [r for r in runs.select(_NEEDS).to_pylist() if r["method"] in methods and r["ap"]]
    again = "compare again with this version of simkit"
    if len(schemes := dict.fromkeys(row["scheme"] for row in rows)) > 1:
        raise BadInput(
            f"{asker}: the runs are of the schemes {', '.join(schemes)}; give those of one of them"
        )
    for name in ("ap", "class_present", "class_absent"):
        column(rows, name, asker=asker, mend=again)
    filled(rows, ("images",), asker=asker)
    L = len(rows[0]["ap"])
    lists = ("ap", "class_present", "class_absent")
    if any(len(row[name] or []) != L for row in rows for name in lists):
        raise BadInput(f"{asker}: the runs are about different classes; show one comparison")
    kept = list(range(L)) if inner else _leaves(runs, rows, asker)
    once: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        enter(once.setdefault(row["method"], {}), row, row["ap"], asker=asker)
    ap = {
        name: {draw: _numbers(values)[kept] for draw, values in once[name].items()}
        for name in methods
        if name in once
    }
    # All methods of a draw learn from the same labels.
    draws = list({row["draw"]: row for row in rows}.values())
    names = class_names(runs)
    return ByClass(
        tuple(names[place] if len(names) == L else f"class {place}" for place in kept),
        ap,
        np.mean([_numbers(row["class_present"]) for row in draws], axis=0)[kept],
        np.mean([_missing(row) for row in draws], axis=0)[kept],
        L - len(kept),
    )


def _leaves(runs: pa.Table, rows: Sequence[Mapping[str, Any]], asker: str) -> list[int]:
    """Places of the leaves; of all classes where nobody says and mAP is over all of them."""
    if told := leaves(runs):
        return list(told)
    both = [
        (row["map"], row["map_all"]) for row in rows if None not in (row["map"], row["map_all"])
    ]
    if any(abs(one - other) > 0 for one, other in both):  # nan is not
        raise BadInput(
            f"{asker}: the table does not say which classes are leaves; compare again with this "
            "version of simkit, or set classes=all"
        )
    return list(range(len(rows[0]["ap"])))


def _missing(row: Mapping[str, Any]) -> Values:
    known = _numbers(row["class_present"]) + _numbers(row["class_absent"])
    return 1 - known / max(row["images"], 1)


def _numbers(values: Sequence[float | None]) -> Values:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _over(values: Sequence[float] | Values) -> Interval | None:
    found = np.asarray(values, np.float64)
    found = found[~np.isnan(found)]
    return interval(found) if len(found) else None
