"""What `checks` holds, under its former name, and a check of a result in Arrow's form."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from simkit.study.analysis.checks import (
    by_name,
    count,
    counts,
    listed,
    names,
    one_method,
    part,
    picked,
    places,
    rows,
)
from simkit.study.tables import checked, column_of

__all__ = [
    "by_name", "count", "counts", "listed", "names", "one_method", "part", "picked", "places",
    "rows",
]  # fmt: skip


def check_result(table: Any, schema: pa.Schema, *, asker: str, made_by: str) -> None:
    """Raise BadInput unless this is what the analysis `made_by` returns, with a row at least."""
    columns = {each.name: column_of(each.type) for each in schema}
    checked(table, columns, asker=asker, mend=f"give what {made_by} returns")
