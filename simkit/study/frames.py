"""Tables as pandas DataFrames: their columns, types and missing values are checked on reading.

`attrs` holds the facts of a comparison beside its rows: the names of the classes, the indices of
the leaves, a sentence for each failure, and the number of planned runs.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, get_args, get_origin

import numpy as np
import pandas as pd
import pyarrow as pa

from simkit.errors import BadInput
from simkit.study.store import facts

Columns = Mapping[str, Any]
Unique = tuple[tuple[str, ...], ...]


_NAMES = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
_INFERRED = {  # results of pandas.api.types.infer_dtype for values of each type
    str: {"string"}, bool: {"boolean"}, int: {"integer"},
    float: {"floating", "integer", "mixed-integer-float"},
}  # fmt: skip
_STORED = {str: object, bool: np.bool_, int: np.int64, float: np.float64}


def frame(
    table: Any,
    columns: Columns,
    *,
    asker: str,
    mend: str,
    unique: Unique = (),
    empty: bool = False,
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
        raise BadInput(f"{asker}: the table has no {_listed(missing)}; {mend}")
    values = {}
    for name, kind in columns.items():
        try:
            values[name] = _column(table[name], kind)
        except ValueError as error:
            raise BadInput(f"{asker}: column {name!r} {error}{mend}") from None
    checked = pd.DataFrame(values, index=pd.RangeIndex(len(table)))
    checked.attrs = dict(table.attrs)
    if unique and not _complete(checked, unique):
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


def _column(values: pd.Series[Any], declared: Any) -> Any:
    """The column as an array. Raises ValueError with a message that lacks the mend."""
    kind = _without_none(declared)
    missing = values.isna().to_numpy(bool)
    present = values.to_numpy(object)[~missing]
    wrong = ValueError(f"holds {values.dtype} where {_named(declared)} is expected; ")
    if get_origin(kind) is list:
        if not all(map(pd.api.types.is_list_like, present)):
            raise wrong
        lists = [list(value) for value in present]
        (element,) = get_args(kind)
        flat = pd.Series(list(chain.from_iterable(lists)), dtype=object)
        checked = np.asarray(_column(flat, element))
        ends = np.cumsum([len(values) for values in lists])[:-1]
        present = np.empty(len(lists), object)
        present[:] = np.split(checked, ends) if lists else []
    elif (inferred := pd.api.types.infer_dtype(present)) not in {*_INFERRED[kind], "empty"}:
        # Whole numbers may be floats: so pandas stores integers beside missing values.
        if kind is not int or inferred != "floating" or np.mod(present.astype(float), 1).any():
            raise wrong
    if missing.any() and kind is declared:
        raise ValueError("has missing values; leave out these rows, or ")
    if not missing.any() and get_origin(kind) is not list:
        return present.astype(_STORED[kind])
    numbers = kind in (int, float)
    filled = np.full(len(values), np.nan if numbers else None, float if numbers else object)
    filled[~missing] = present
    return filled if numbers else pd.Series(filled, dtype=object)  # None stays None


def _complete(table: pd.DataFrame, unique: Unique) -> bool:
    distinct = len(table.drop_duplicates([name for part in unique for name in part]))
    combinations = math.prod(len(table.drop_duplicates(list(part))) for part in unique)
    return distinct == len(table) == combinations


def _without_none(declared: Any) -> Any:
    if not isinstance(declared, types.UnionType):
        return declared
    return next(part for part in get_args(declared) if part is not types.NoneType)


def _named(declared: Any) -> str:
    kind = _without_none(declared)
    return f"a list of {_named(*get_args(kind))}" if get_origin(kind) is list else _NAMES[kind]


def _listed(names: Sequence[str]) -> str:
    *first, last = map(repr, names)
    return f"columns {', '.join(first)} and {last}" if first else f"column {last}"


def label(method: str) -> str:
    """A method's display name: `ll-r(delta=1)+boostlu` is "LL-R(delta=1) + BoostLU"."""
    from simkit.learn import methods

    names = []
    for part in method.split("+"):
        name, bracket, settings = part.partition("(")
        try:
            names.append(methods.get(name).title + bracket + settings)
        except BadInput:  # not a registered method, in a table of other origin
            names.append(part)
    return " + ".join(names)
