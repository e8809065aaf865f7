"""Tables as pandas DataFrames: their columns, types and missing values are checked on reading.

`attrs` holds the facts of a comparison beside its rows: the names of the classes, the indices of
the leaves, a sentence for each failure, and the number of planned runs.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Any, get_args, get_origin

import pandas as pd
import pyarrow as pa

from simkit.errors import BadInput
from simkit.results.job_store import facts
from simkit.results.method_facts import FACTS

Columns = Mapping[str, Any]
Unique = tuple[tuple[str, ...], ...]

_KINDS = {
    str: (pa.string(), "text"), bool: (pa.bool_(), "true or false"),
    int: (pa.int64(), "a whole number"), float: (pa.float64(), "a number"),
}  # fmt: skip


def frame(
    table: Any, columns: Columns, *, asker: str, mend: str, unique: Unique = (), empty: bool = False
) -> pd.DataFrame:
    """The declared columns of a table, checked.

    Parameters
    ----------
    table
        A DataFrame, a pyarrow Table, or a comparison's `Runs`, references included.
    columns
        The type of each column: str, bool, int, float, or a list such as list[float];
        `float | None` if values may be missing. Missing numbers are NaN, missing strings and lists
        None; lists become arrays.
    asker, mend
        Start and end of error messages: who needs the table, and the remedy, such as "pass the
        result of simkit.analysis.x".
    unique
        Sets of columns, such as (("scheme",), ("class",)) for a table with exactly one row for
        each scheme and class.
    empty
        Whether the table may have no rows.

    Raises
    ------
    BadInput
        If this is no table or has no rows; if a column is missing, has another type, or has missing
        values that are not allowed; if rows are missing or repeated.
    """
    table = opened(table)
    if not isinstance(table, pd.DataFrame):
        raise BadInput(f"{asker}: a table is expected, not {type(table).__name__}; {mend}")
    if not len(table) and not empty:
        raise BadInput(f"{asker}: the table is empty; {mend}")
    names = list(table.columns)
    if missing := [name for name in columns if names.count(name) != 1]:
        raise BadInput(f"{asker}: the table has no column {', '.join(map(repr, missing))}; {mend}")
    values = {}
    for name, kind in columns.items():
        try:
            values[name] = _column(table[name], kind)
        except ValueError as error:
            raise BadInput(f"{asker}: column {name!r} {error}{mend}") from None
    checked = pd.DataFrame(values, index=pd.RangeIndex(len(table)))
    checked.attrs = dict(table.attrs)
    if unique:
        distinct = len(checked.drop_duplicates([name for part in unique for name in part]))
        combinations = math.prod(len(checked.drop_duplicates(list(part))) for part in unique)
        if not distinct == len(checked) == combinations:
            keys = " and ".join(", ".join(part) for part in unique)
            raise BadInput(f"{asker}: the table does not hold one row for each {keys}; {mend}")
    return checked


def opened(table: Any) -> Any:
    """A pyarrow Table or the runs of a comparison as a DataFrame; other values unchanged."""
    table = getattr(table, "every", table)
    if not isinstance(table, pa.Table):
        return table
    frame = table.replace_schema_metadata(None).to_pandas()
    frame.attrs = facts(table)
    return frame


def class_names(table: pd.DataFrame) -> tuple[str, ...]:
    """Names of the classes in the order of `ap`; empty if the table does not name them."""
    return tuple(table.attrs.get("classes", ()))


def leaves(table: pd.DataFrame) -> tuple[int, ...]:
    """Indices of the leaf classes; empty if the table does not name them."""
    return tuple(table.attrs.get("leaves", ()))


def failures(table: pd.DataFrame) -> tuple[str, ...]:
    """A sentence for each failure of the comparison behind a table."""
    return tuple(table.attrs.get("failures", ()))


def passed_on(table: pd.DataFrame) -> dict[str, Any]:
    """The `attrs` that an analysis of runs gives its result: failures and facts of methods."""
    methods = {FACTS: table.attrs[FACTS]} if FACTS in table.attrs else {}
    return {"failures": failures(table), **methods}


def _column(values: pd.Series[Any], declared: Any) -> Any:
    """The column as an array. Raises ValueError with a message that lacks the mend."""
    kind, words = _kind(declared)
    try:
        array = pa.array(values.to_numpy(object), from_pandas=True)
        _check(array, declared)
        array = array.cast(kind)  # refuses fractions in a column of integers
    except (TypeError, pa.ArrowException):
        raise ValueError(f"holds {values.dtype} where {words} is expected; ") from None
    numbers = array.to_numpy(zero_copy_only=False)
    missing = array.null_count and numbers.dtype == object
    return pd.Series(numbers, dtype=object) if missing else numbers  # None stays None


def _check(array: pa.Array, declared: Any) -> None:
    """Raise TypeError for values of another type, ValueError for missing ones."""
    kind, given = _kind(declared)[0], array.type
    if array.null_count and not isinstance(declared, types.UnionType):
        raise ValueError("has missing values; leave out these rows, or ")
    if pa.types.is_null(given):
        return
    if pa.types.is_list(kind) and pa.types.is_list(given):
        (inner,) = get_args(_without_none(declared))
        return _check(array.flatten(), inner)
    numeric = pa.types.is_integer(given) or pa.types.is_floating(given)
    if not (numeric if kind in (pa.int64(), pa.float64()) else given == kind):
        raise TypeError


def _kind(declared: Any) -> tuple[pa.DataType, str]:
    """The Arrow type of a declared column, and its name in words."""
    kind = _without_none(declared)
    if get_origin(kind) is not list:
        return _KINDS[kind]
    inner, words = _kind(*get_args(kind))
    return pa.list_(inner), f"a list of {words}"


def _without_none(declared: Any) -> Any:
    return get_args(declared)[0] if isinstance(declared, types.UnionType) else declared
