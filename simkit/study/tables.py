"""What is read of a table: which columns, what they hold, and what a null says."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_origin

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from simkit.errors import BadInput

Columns = Mapping[str, Any]
Whole = tuple[tuple[str, ...], ...]


class Endless(float):
    """What a column holds in which numbers may be infinite, as temperatures are."""


_WORDS = {
    str: "text", bool: "true or false", int: "a whole number", float: "a number",
    Endless: "a number",
}  # fmt: skip
_TYPES = {
    str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64(),
    Endless: pa.float64(),
}  # fmt: skip


def checked(
    table: Any,
    columns: Columns,
    *,
    asker: str,
    mend: str,
    whole: Whole = (),
    empty: bool = False,
) -> pa.Table:
    """These columns of the table alone, text as plain strings, and NaN as null.

    columns: what each one holds: str, bool, int, float (whole numbers do as well), Endless, or a
    list of them, such as list[str]; `float | None` where nulls may stand. A null says that nothing
    is known there, as of the interval of one draw, and so does NaN. Lists may hold infinite
    numbers, as the losses of a run that diverged do; a column of float may not.
    asker: who is named in errors; mend: what to do then, such as "give what y returns"; whole: sets
    of columns, such as (("scheme",), ("class",)) where there is one row for each scheme and class;
    empty: whether there may be no rows. Raises BadInput for what is no table or has no rows, for
    columns that are missing, hold something else, or have nulls or infinite numbers where none may
    stand, and where rows are missing or stand twice.
    """
    if isinstance(table, pd.DataFrame):
        about = {name: json.dumps(value) for name, value in table.attrs.items()}
        table = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(about)
    if not isinstance(table, pa.Table):
        raise BadInput(f"{asker}: a pyarrow Table is expected, not {type(table).__name__}; {mend}")
    if not len(table) and not empty:
        raise BadInput(f"{asker}: the table is empty; {mend}")
    have = table.column_names
    if missing := [name for name in columns if have.count(name) != 1]:
        raise BadInput(f"{asker}: the table has no {_listed(missing)}; {mend}")
    found = table.select(list(columns))
    for place, (name, holds) in enumerate(columns.items()):
        column = _plain(found.column(name), holds)
        if column is None:
            was = found.schema.field(name).type
            raise BadInput(
                f"{asker}: column {name!r} holds {was} where {_worded(holds)} is expected; {mend}"
            )
        if _lacks(column, holds):
            raise BadInput(
                f"{asker}: column {name!r} lacks values; leave out the rows without, or {mend}"
            )
        if _without_none(holds) is float and pc.any(pc.is_inf(column)).as_py():
            raise BadInput(
                f"{asker}: column {name!r} holds infinite numbers; leave out the rows with them, "
                f"or {mend}"
            )
        found = found.set_column(place, name, column)
    if whole and not _complete(found, whole):
        each = " and ".join(", ".join(part) for part in whole)
        raise BadInput(f"{asker}: the table does not hold one row for each {each}; {mend}")
    return found


def column_of(kind: pa.DataType) -> Any:
    """What a column of an Arrow type holds, as `checked` takes it, nulls included."""
    if pa.types.is_list(kind):
        return list[column_of(kind.value_type)] | None  # type: ignore[misc]
    return next(python for python, is_so in _HOLDS.items() if is_so(kind)) | None


def _complete(table: pa.Table, whole: Whole) -> bool:
    def distinct(names: Sequence[str]) -> int:
        return len(table.group_by(list(names)).aggregate([]))

    rows = distinct([name for part in whole for name in part])
    return rows == len(table) == math.prod(map(distinct, whole))


def _plain(column: Any, holds: Any) -> Any:
    """The column in its plain type; None where it holds something else."""
    kind = _without_none(holds)
    if get_origin(kind) is list:
        if column.null_count == len(column):
            return column
        inside = pc.list_flatten(column) if _is_list(column.type) else None
        return None if inside is None or _plain(inside, *get_args(kind)) is None else column
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), _TYPES[kind])])
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not _HOLDS[kind](column.type):
        return None
    if kind in (float, Endless):
        column = column.cast(pa.float64())
        return pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    return column.cast(pa.string()) if kind is str else column


def _lacks(column: Any, holds: Any) -> bool:
    """Whether there are nulls, also inside of lists, where none may stand."""
    kind = _without_none(holds)
    if kind is holds and column.null_count:
        return True
    if get_origin(kind) is not list or column.null_count == len(column):
        return False
    (inside,) = get_args(kind)
    return _lacks(_plain(pc.list_flatten(column), inside), inside)


def _without_none(holds: Any) -> Any:
    if not isinstance(holds, types.UnionType):
        return holds
    return next(part for part in get_args(holds) if part is not types.NoneType)


def _worded(holds: Any) -> str:
    kind = _without_none(holds)
    return f"a list of {_worded(*get_args(kind))}" if get_origin(kind) is list else _WORDS[kind]


def _is_list(kind: pa.DataType) -> bool:
    of = pa.types
    return of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind)


def _is_text(kind: pa.DataType) -> bool:
    of = pa.types
    return of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


_HOLDS: dict[type, Callable[[pa.DataType], bool]] = {
    str: _is_text,
    bool: pa.types.is_boolean,
    int: pa.types.is_integer,
    float: _is_number,
    Endless: _is_number,
}


def _listed(names: Sequence[str]) -> str:
    *first, last = map(repr, names)
    return f"columns {', '.join(first)} and {last}" if first else f"column {last}"
