"""AP of each class under several methods, and its number of labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.learn.metrics import class_groups, group_map
from simkit.study.analysis import selection
from simkit.study.analysis.selection import Methods, listed
from simkit.study.cells import one_result
from simkit.study.frames import class_names, leaves
from simkit.study.statistics import Interval, interval

Values = NDArray[np.float64]
_LISTS = ["ap", "class_present", "class_absent"]


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
        return class_groups(self.present, min(number, len(self.classes)))

    def group_intervals(self, method: str, groups: NDArray[np.int64]) -> list[Interval | None]:
        """mAP of each group over draws."""
        return _over_draws(group_map(ap, groups) for ap in self.ap[method].values())


def by_class(
    runs: Any, *, methods: Methods, asker: str = "by_class", inner: bool = False
) -> ByClass:
    """AP of each class, from the runs of one scheme at one budget.

    Parameters
    ----------
    runs
        A table of runs with the columns of `simkit.study.runs.COLUMNS`.
    methods
        The methods; those without AP are left out.
    asker
        Name of the caller in errors.
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
    columns = ("scheme", "method", "draw", "images", *_LISTS)
    table = selection.read_runs(runs, columns, asker=asker)
    wanted = listed(methods)
    table = table[table["method"].isin(wanted)]
    table = table[table["ap"].str.len() > 0]
    if (schemes := table["scheme"].unique()).size > 1:
        raise BadInput(f"{asker}: the table has the schemes {', '.join(schemes)}; select one")
    if len({length for name in _LISTS for length in table[name].str.len()}) != 1:
        mend = "select others (an atlas has AP at its largest budget alone)"
        raise BadInput(f"{asker}: no AP and numbers of labels of the same classes; {mend}")
    table = one_result(table, "ap", asker=asker)
    L = len(table["ap"].iloc[0])
    places = (not inner and list(leaves(table))) or list(range(L))
    names = class_names(table) or [f"class {place}" for place in range(L)]
    by_draw = {
        name: of_method.set_index("draw")["ap"] for name, of_method in table.groupby("method")
    }
    ap = {n: {d: ap[places] for d, ap in by_draw[n].items()} for n in wanted if n in by_draw}
    draws = table.drop_duplicates("draw")  # all methods of a draw learn from the same labels
    present, absent = (np.stack(list(draws[name])).astype(float)[:, places] for name in _LISTS[1:])
    asked = draws["images"].clip(lower=1).to_numpy(float)[:, None]
    missing = (1 - (present + absent) / asked).mean(0)
    shown = tuple(names[place] for place in places)
    return ByClass(shown, ap, present.mean(0), missing, L - len(places))


def _over_draws(rows: Iterable[Values]) -> list[Interval | None]:
    """An interval for each column of (draws, n), without NaN."""
    columns = np.stack([*rows]).T
    finite = [values[~np.isnan(values)] for values in columns]
    return [interval(values) if len(values) else None for values in finite]
