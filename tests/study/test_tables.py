"""A table is read as it is declared: its columns come plain, and others are refused."""

import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study.tables import Endless, checked, column_of


def one(column: pa.Array, holds, **how) -> list:
    seen = checked(
        pa.table({"a": column, "b": column}), {"a": holds}, asker="x", mend="give y", **how
    )
    assert seen.column_names == ["a"]
    return seen["a"].to_pylist()


def test_columns_come_plain() -> None:
    assert one(pa.array(["c", "d", "c"]).dictionary_encode(), str) == ["c", "d", "c"]
    assert one(pa.array(["c"], pa.large_string()), str) == ["c"]
    assert one(pa.array([1, 2]), float) == [1.0, 2.0]
    assert one(pa.array([1.0, float("nan"), None]), float | None) == [1.0, None, None]
    assert one(pa.nulls(2), bool | None) == [None, None]
    assert one(pa.array([[["c"], []], []]), list[list[str]]) == [[["c"], []], []]
    assert one(pa.array([[1.0, None], None]), list[float | None] | None) == [[1.0, None], None]


@pytest.mark.parametrize(
    "column, holds, said",
    [
        (pa.array(["c"]), float, "holds string where a number is expected"),
        (pa.array([1.5]), int, "holds double where a whole number is expected"),
        (pa.array([1]), bool | None, "holds int64 where true or false is expected"),
        (pa.array([[1]]), list[str], "holds list<item: int64> where a list of text is expected"),
        (pa.array(["c"]), list[str], "holds string where a list of text is expected"),
        (pa.array(["c", None]), str, "lacks values; leave out the rows without"),
        (pa.array([[1.0, float("nan")]]), list[float], "lacks values; leave out the rows without"),
        (pa.array([[1.0], None]), list[float], "lacks values; leave out the rows without"),
        (pa.array([1.0, -float("inf")]), float, "holds infinite numbers; leave out the rows with"),
        (pa.array([float("inf"), None]), float | None, "holds infinite numbers; leave out the "),
    ],
)
def test_columns_that_hold_something_else_are_refused(column, holds, said) -> None:
    with pytest.raises(BadInput) as error:
        one(column, holds)
    assert str(error.value).startswith(f"x: column 'a' {said}")


def test_numbers_may_be_infinite_where_it_is_declared_and_in_lists() -> None:
    assert one(pa.array([-float("inf"), 1.0]), Endless) == [-float("inf"), 1.0]
    assert one(pa.array([[float("inf")]]), list[float]) == [[float("inf")]]
    with pytest.raises(BadInput, match="column 'a' lacks values"):
        one(pa.array([float("nan")]), Endless)


def test_rows_that_are_missing_or_stand_twice_are_refused() -> None:
    how = {"asker": "x", "mend": "give y", "whole": (("a",), ("b",))}
    whole = pa.table({"a": [1, 1, 2, 2], "b": [3, 4, 3, 4]})
    assert len(checked(whole, {"a": int, "b": int}, **how)) == 4
    for some in (whole.slice(1), pa.concat_tables([whole, whole])):
        with pytest.raises(BadInput, match="x: the table does not hold one row for each a and b"):
            checked(some, {"a": int, "b": int}, **how)


def test_no_rows_are_fine_where_they_may_be() -> None:
    none = pa.table({"a": pa.array([], pa.string())})
    assert len(checked(none, {"a": str}, asker="x", mend="give y", empty=True)) == 0
    with pytest.raises(BadInput, match=r"^x: the table is empty; give y$"):
        checked(none, {"a": str}, asker="x", mend="give y")


def test_what_a_column_of_an_arrow_type_holds() -> None:
    assert column_of(pa.string()) == str | None and column_of(pa.bool_()) == bool | None
    assert column_of(pa.int64()) == int | None and column_of(pa.float64()) == float | None
    assert column_of(pa.list_(pa.float64())) == list[float | None] | None
