"""What is read of a table: columns by kind, and one sentence for what does not fit."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.results.result_tables import class_names, frame, leaves

TABLE = pa.table({
    "text": ["x", None], "whole": [1, None], "yes": [True, False], "number": [1.0, np.nan],
 "numbers": [[0.5, None], None], "places": [[1, 2], [3]],
})  # fmt: skip
HOLDS = {
    "text": str | None, "whole": int | None, "yes": bool, "number": float | None,
 "numbers": list[float | None] | None, "places": list[int],
}  # fmt: skip


def read(table, columns, **more):
    return frame(table, columns, asker="figure", mend="give what x returns", **more)


def test_arrow_and_pandas_give_the_same_columns():
    found = read(TABLE.append_column("other", [[1, 2]]), HOLDS)
    assert list(found.columns) == list(HOLDS)
    assert found.text.tolist() == ["x", None] and found.yes.dtype == bool
    assert found.whole.isna().tolist() == [False, True]
    assert np.isnan(found.numbers[0][1]) and found.numbers[1] is None
    assert found.places[0].dtype == np.int64
    pd.testing.assert_frame_equal(read(found, HOLDS), found)


@pytest.mark.parametrize(
    ("column", "holds", "told"),
    [
        ("text", str, "'text' has missing "),
        ("whole", int, "'whole' has missing "),
        ("numbers", list[float] | None, "'numbers' has missing "),
        ("yes", int, "'yes' holds bool where a whole number is expected; "),
        ("number", str | None, "'number' holds float64 where text is expected; "),
        ("text", list[float] | None, "where a list of a number is expected; "),
        ("gone", str, "no column 'gone'; "),
    ],
)
def test_what_does_not_fit_is_named_with_its_mend(column, holds, told):
    with pytest.raises(BadInput, match=r"^figure: .*give what x returns$") as error:
        read(TABLE, {column: holds})
    assert told in str(error.value)


@pytest.mark.parametrize("table", [None, [1], TABLE.slice(0, 0)])
def test_no_table_and_no_rows_are_refused(table):
    with pytest.raises(BadInput, match=r"^figure: .*give what x returns$"):
        read(table, HOLDS)


def test_lists_of_lists_are_arrays_of_arrays():
    maps = [[[1, 2.0], [3.0, 4.0]], [[], [1.0]], []]
    for table in (pa.table({"map": maps}), pd.DataFrame({"map": maps})):
        found = read(read(table, {"map": list[list[float]]}), {"map": list[list[float]]})
        assert [[line.tolist() for line in one] for one in found["map"]] == maps
        np.testing.assert_array_equal(np.stack(found["map"][0]), maps[0])
        with pytest.raises(BadInput, match="'map' holds"):
            read(table, {"map": list[list[str]]})


def test_rows_that_are_missing_or_stand_twice_are_refused():
    pairs = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": [1, 2, 1, 2]})
    unique = (("a",), ("b",))
    assert len(read(pairs, {"a": str, "b": int}, unique=unique)) == 4
    for wrong in (pairs[:3], pd.concat([pairs, pairs])):
        with pytest.raises(BadInput, match="one row for each a and b"):
            read(wrong, {"a": str, "b": int}, unique=unique)


def test_what_stands_beside_the_rows_stays_with_them():
    told = TABLE.replace_schema_metadata({"classes": '["cat"]', "leaves": "[0]", "other": "?"})
    found = read(read(told, {"text": str | None}), {"text": str | None})
    assert class_names(found[found.text == "x"]) == ("cat",) and leaves(found) == (0,)
