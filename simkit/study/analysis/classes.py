"""AP of each class under several methods, and the labels that the class was learned from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.learn.metrics import class_groups, group_map
from simkit.study.analysis import selection
from simkit.study.analysis.checks import Methods, listed
from simkit.study.cells import one_result
from simkit.study.frames import class_names, leaves
from simkit.study.statistics import Interval, interval

Values = NDArray[np.float64]
_LISTS = ["ap", "class_present", "class_absent"]


@dataclass(frozen=True, eq=False)
class ByClass:
    """AP of every class under one scheme within one budget.

    Attributes
    ----------
    classes
        Names of the L classes.
    ap
        For each method and draw (L,) from 0 to 1, NaN where no test image shows the class.
    present, missing
        (L,) images labelled with the class, and the share of asked images whose label of it is
        unknown; means over draws.
    left_out
        How many classes with children there are besides.
    """

    classes: tuple[str, ...]
    ap: Mapping[str, Mapping[int, Values]]
    present: Values
    missing: Values
    left_out: int = 0

    def interval(self, method: str, place: int) -> Interval | None:
        """AP of the class at `place` over draws; None where it has none."""
        return _over_draws(ap[[place]] for ap in self.ap[method].values())[0]

    def differences(self, first: str, second: str) -> list[Interval | None]:
        """AP of `first` minus that of `second` for each class, paired by draw.

        Raises BadInput where they share no draw.
        """
        draws = [draw for draw in self.ap[first] if draw in self.ap[second]]
        if not draws:
            raise BadInput(f"{first} and {second} share no draw; compare methods of one grid")
        return _over_draws(self.ap[first][draw] - self.ap[second][draw] for draw in draws)

    def groups(self, number: int) -> NDArray[np.int64]:
        """(L,) groups from 1, for the fewest present labels; never more than classes."""
        return class_groups(self.present, min(number, len(self.classes)))

    def group_intervals(self, method: str, groups: NDArray[np.int64]) -> list[Interval | None]:
        """mAP of each group over draws."""
        return _over_draws(group_map(ap, groups) for ap in self.ap[method].values())


def by_class(
    runs: Any, *, methods: Methods, asker: str = "by_class", inner: bool = False
) -> ByClass:
    """AP of each class from the runs of one scheme within one budget.

    Parameters
    ----------
    runs
        A table of runs with the columns of `simkit.study.runs.COLUMNS`.
    methods
        Which methods; those without AP are left out.
    asker
        Who is named in errors.
    inner
        Whether classes with children count as well; mAP is the mean over leaves alone. Where the
        table does not say which those are, all classes count.

    Raises
    ------
    BadInput
        For runs of several schemes, budgets or data sets, and where they lack AP or counts of
        labels.
    """
    columns = ("scheme", "method", "draw", "images", *_LISTS)
    table = selection.read_runs(runs, columns, asker=asker)
    wanted = listed(methods, f"{asker}: methods")
    table = table[table["method"].isin(wanted) & (table["ap"].str.len() > 0)]
    if (schemes := table["scheme"].unique()).size > 1:
        raise BadInput(
            f"{asker}: the runs are of the schemes {', '.join(schemes)}; give those of one of them"
        )
    lengths = {length for name in _LISTS for length in table[name].str.len()}
    if len(lengths) != 1:
        raise BadInput(
            f"{asker}: the runs do not all have AP and numbers of labels of the same classes; give "
            "those of one comparison, made with this version of simkit"
        )
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
    """An interval for each column of (draws, n), over the draws that have a number."""
    columns = np.stack([*rows]).T
    finite = [values[~np.isnan(values)] for values in columns]
    return [interval(values) if len(values) else None for values in finite]
