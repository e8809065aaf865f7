"""What is read of a table: which columns, what they hold, and which may lack values.

Tables are pandas DataFrames. What a comparison says beside its rows stands in `attrs`: the names of
its classes, the places of the leaves, a sentence for each failure, and how many runs were planned.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, get_args, get_origin

import numpy as np
import pandas as pd
import pyarrow as pa

from simkit.errors import BadInput

Columns = Mapping[str, Any]
Unique = tuple[tuple[str, ...], ...]


class Endless(float):
    """Declares a column of numbers that may be infinite, such as temperatures."""


_WORDS = {
    str: "text", bool: "true or false", int: "a whole number", float: "a number",
    Endless: "a number",
}  # fmt: skip
_NUMBERS = {"floating", "integer", "mixed-integer-float"}
_INFERRED = {  # what pandas.api.types.infer_dtype says of values of each kind
    str: {"string"}, bool: {"boolean"}, int: {"integer"}, float: _NUMBERS, Endless: _NUMBERS,
}  # fmt: skip
_STORED = {str: object, bool: np.bool_, int: np.int64, float: np.float64, Endless: np.float64}


def frame(
    table: Any,
    columns: Columns,
    *,
    asker: str,
    mend: str,
    unique: Unique = (),
    empty: bool = False,
) -> pd.DataFrame:
    """These columns of a table alone, each of the kind that is declared.

    Parameters
    ----------
    table
        A DataFrame, a pyarrow Table, or a comparison's `Runs`, references included.
    columns
        What each column holds: str, bool, int, float, Endless, or a list such as list[float];
        `float | None` where values may be missing. Missing numbers are NaN, missing texts and
        lists None; lists become arrays.
    asker, mend
        Who is named in errors, and what to do then, such as "give what simkit.analysis.x returns".
    unique
        Sets of columns, such as (("scheme",), ("class",)), where there is one row for each scheme
        and class.
    empty
        Whether there may be no rows.

    Raises
    ------
    BadInput
        For what is no table or has no rows; for columns that are missing, hold something else, or
        lack values or hold infinite numbers where neither is allowed; and where rows are missing
        or stand twice.
    """
    table = opened(table)
    if not isinstance(table, pd.DataFrame):
        raise BadInput(f"{asker}: a table is expected, not {type(table).__name__}; {mend}")
    if not len(table) and not empty:
        raise BadInput(f"{asker}: the table is empty; {mend}")
    have = list(table.columns)
    if missing := [name for name in columns if have.count(name) != 1]:
        raise BadInput(f"{asker}: the table has no {_listed(missing)}; {mend}")
    found = {}
    for name, holds in columns.items():
        try:
            found[name] = _column(table[name], holds)
        except ValueError as error:
            raise BadInput(f"{asker}: column {name!r} {error}{mend}") from None
    made = pd.DataFrame(found, index=pd.RangeIndex(len(table)))
    made.attrs = dict(table.attrs)
    if unique and not _complete(made, unique):
        each = " and ".join(", ".join(part) for part in unique)
        raise BadInput(f"{asker}: the table does not hold one row for each {each}; {mend}")
    return made


def opened(table: Any) -> Any:
    """A pyarrow Table or a comparison's runs as a DataFrame; anything else as it is."""
    table = getattr(table, "every", table)
    if not isinstance(table, pa.Table) or len(set(table.column_names)) < table.num_columns:
        return table
    about = {key.decode(): text for key, text in (table.schema.metadata or {}).items()}
    frame = table.replace_schema_metadata(None).to_pandas()
    names = ("classes", "leaves", "failures", "planned")
    frame.attrs = {name: json.loads(about[name]) for name in names if name in about}
    return frame


def class_names(table: pd.DataFrame) -> tuple[str, ...]:
    """Names of the classes in the order of `ap`; empty where the table does not say."""
    return tuple(table.attrs.get("classes", ()))


def leaves(table: pd.DataFrame) -> tuple[int, ...]:
    """Places of the classes without children; empty where the table does not say."""
    return tuple(table.attrs.get("leaves", ()))


def failures(table: pd.DataFrame) -> tuple[str, ...]:
    """A sentence for each failure of the comparison behind a table."""
    return tuple(table.attrs.get("failures", ()))


def with_attrs(table: pd.DataFrame, attrs: Mapping[str, Any]) -> pd.DataFrame:
    """The same rows with what a comparison says beside them."""
    table = table.copy(deep=False)
    table.attrs = dict(attrs)
    return table


def _column(values: pd.Series[Any], holds: Any) -> Any:
    """An array of what the column holds. Raises ValueError, which ends before the mend."""
    kind = _without_none(holds)
    missing = values.isna().to_numpy(bool)
    present = values.to_numpy(object)[~missing]
    if get_origin(kind) is list:
        lists = [_list(one, values.dtype, holds) for one in present]
        (inside,) = get_args(kind)
        flat = pd.Series(list(chain.from_iterable(lists)), dtype=object)
        checked = np.asarray(_column(flat, inside))
        ends = np.cumsum([len(one) for one in lists])[:-1]
        present = np.empty(len(lists), object)
        present[:] = np.split(checked, ends) if lists else []
    elif (found := pd.api.types.infer_dtype(present)) not in {*_INFERRED[kind], "empty"}:
        if not (kind is int and _whole(present, found)):
            raise ValueError(f"holds {values.dtype} where {_worded(holds)} is expected; ")
    if missing.any() and kind is holds:
        raise ValueError("lacks values; leave out the rows without, or ")
    if kind is float and np.isinf(present.astype(float)).any():
        raise ValueError("holds infinite numbers; leave out the rows with them, or ")
    if not missing.any() and get_origin(kind) is not list:
        return present.astype(_STORED[kind])
    numbers = kind in (int, float, Endless)
    filled = np.full(len(values), np.nan if numbers else None, float if numbers else object)
    filled[~missing] = present
    return filled if numbers else pd.Series(filled, dtype=object)  # None stays None


def _whole(present: Any, inferred: str) -> bool:
    """Whether floats are whole numbers: pandas keeps integers so beside missing values."""
    return inferred == "floating" and bool((np.mod(present.astype(float), 1) == 0).all())


def _list(value: Any, dtype: Any, holds: Any) -> Any:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"holds {dtype} where {_worded(holds)} is expected; ")
    return list(value)


def _complete(table: pd.DataFrame, unique: Unique) -> bool:
    rows = len(table.drop_duplicates([name for part in unique for name in part]))
    each = math.prod(len(table.drop_duplicates(list(part))) for part in unique)
    return rows == len(table) == each


def _without_none(holds: Any) -> Any:
    if not isinstance(holds, types.UnionType):
        return holds
    return next(part for part in get_args(holds) if part is not types.NoneType)


def _worded(holds: Any) -> str:
    kind = _without_none(holds)
    return f"a list of {_worded(*get_args(kind))}" if get_origin(kind) is list else _WORDS[kind]


def _listed(names: Sequence[str]) -> str:
    *first, last = map(repr, names)
    return f"columns {', '.join(first)} and {last}" if first else f"column {last}"
