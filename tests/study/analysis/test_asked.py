"""What is asked for is made sure of, and what is wrong is named with its mend."""

import numpy as np
import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study.analysis import asked


def refused(act) -> str:
    with pytest.raises(BadInput) as error:
        act()
    return str(error.value)


@pytest.mark.parametrize("value", [0, -1, 2.5, 2.0, True, np.True_, "2", None, np.nan, [1]])
def test_a_count_is_a_whole_number_from_1(value) -> None:
    wanted = f"x: k is {value!r}; a whole number of at least 1 is expected"
    assert refused(lambda: asked.count(value, "x: k")) == wanted


def test_counts_have_ends() -> None:
    assert asked.count(np.int32(3), "k") == 3 and asked.count(0, "k", least=0) == 0
    wanted = "k is 4; a whole number from 1 to 3 is expected"
    assert refused(lambda: asked.count(4, "k", most=3)) == wanted
    wanted = "k is -1; a whole number of at least 0 is expected"
    assert refused(lambda: asked.count(-1, "k", least=0)) == wanted


@pytest.mark.parametrize("value", [0, -0.1, 0.6, np.nan, np.inf, True, "0.1", None])
def test_a_part_is_above_nothing(value) -> None:
    wanted = f"share is {value!r}; a number above 0 and up to 0.5 is expected"
    assert refused(lambda: asked.part(value, "share", most=0.5)) == wanted


def test_parts_are_numbers_of_any_kind() -> None:
    assert asked.part(np.float32(0.5), "share") == 0.5 and asked.part(1, "share") == 1.0


def test_one_text_is_one_name() -> None:
    assert asked.names("map", "measures") == ("map",)
    assert asked.names("dining table, small", "classes") == ("dining table, small",)
    assert asked.names(iter(["a", "b"]), "classes") == ("a", "b")
    for given in (3, [3], ["a", None], None):
        told = refused(lambda given=given: asked.names(given, "classes"))
        assert told == f"classes are {given!r}; names are expected, as text"


def test_methods_stand_between_commas() -> None:
    spec = "an, csl(prior=none,top_k=2)+boostlu(alpha=2, beta=1) ,"
    wanted = ("an", "csl(prior=none,top_k=2)+boostlu(alpha=2, beta=1)")
    assert asked.listed(spec) == wanted == asked.listed(list(wanted))
    assert asked.listed("") == asked.listed(()) == ()
    assert refused(lambda: asked.listed(3)) == "methods are 3; names are expected, as text"
    assert asked.one_method(["an"], "method") == asked.one_method("an ", "method") == "an"
    told = refused(lambda: asked.one_method("an,ll-r", "x: method"))
    assert told == "x: method is 'an,ll-r'; one method is expected"


def test_rows_are_of_images_that_are_there() -> None:
    assert asked.rows(np.array([2, 0]), 3, "x") == [2, 0] and asked.rows(1, 3, "x") == [1]
    assert asked.rows(np.array(1), 3, "x") == [1] and asked.rows([10**6], None, "x") == [10**6]
    for given, told in ((3, "3"), (-1, "-1"), (0.5, "0.5"), (True, "True"), ("0", "'0'")):
        for some in (given, [given]):
            wanted = f"x: there is no image {told}; rows from 0 to 2 are expected"
            assert refused(lambda some=some: asked.rows(some, 3, "x")) == wanted


def test_places_are_indices_once() -> None:
    assert asked.places(None, 3, "x").tolist() == [0, 1, 2]
    assert asked.places([2, 0], 3, "x").tolist() == [2, 0]
    for given in ([], [True, False, True], [0.0], ["a"], 1):
        told = refused(lambda given=given: asked.places(given, 3, "x"))
        assert told == (
            f"x: classes are {given!r}; indices are expected, one at least, such as the leaves of "
            "a data set"
        )
    for given, ends in (([0, 3], "0 to 3"), ([-1], "-1 to -1"), ([1, 1], "1 to 1")):
        wanted = f"x: classes go from {ends}; indices from 0 to 2 are expected, each once"
        assert refused(lambda given=given: asked.places(given, 3, "x")) == wanted


def test_picks_are_pairs() -> None:
    assert asked.picked([(np.int64(1), "b")], ("a", "b"), 2, "x") == [(1, "b")]
    for given in ((0, "ab"), 3, [(0, "a", 1)]):
        told = refused(lambda given=given: asked.picked(given, ("a", "b"), 2, "x"))
        assert told == f"x: picks are {given!r}; pairs are expected, as [(0, 'a')]"
    wanted = "x: there is no image 2; rows from 0 to 1 are expected"
    assert refused(lambda: asked.picked([(2, "a")], ("a", "b"), 2, "x")) == wanted
    told = refused(lambda: asked.picked([(0, "c")], ("a", "b"), 2, "x"))
    assert told.startswith("no class (x) is called 'c'")


def test_what_comes_by_name_is_a_mapping() -> None:
    asked.by_name({"a": 1}, "model", "{'an': trained}")
    wanted = "x: no model came; give some, as {'an': trained}"
    assert refused(lambda: asked.by_name({}, "model", "{'an': trained}", "x")) == wanted
    wanted = "no model came by name, but a list; give some, as {'an': trained}"
    assert refused(lambda: asked.by_name([1], "model", "{'an': trained}")) == wanted


SCHEMA = pa.schema({"name": pa.string(), "n": pa.int64(), "many": pa.list_(pa.float64())})
FINE = {"name": ["a", "b"], "n": [1, None], "many": [[1.0, None], None]}


def test_a_result_may_hold_nulls() -> None:
    for table in (pa.table(FINE), pa.table(FINE | {"n": pa.nulls(2)})):
        asked.check_result(table, SCHEMA, asker="x", made_by="y")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (pa.table(FINE)[:0], "the table is empty"),
        (pa.table(FINE | {"n": ["1", "2"]}), "column 'n' holds string where a whole number is "
         "expected"),
        (pa.table(FINE).drop(["name"]), "the table has no column 'name'"),
    ],
)  # fmt: skip
def test_a_result_is_what_its_analysis_returns(table, sentence) -> None:
    told = refused(lambda: asked.check_result(table, SCHEMA, asker="x", made_by="y"))
    assert told == f"x: {sentence}; give what y returns"
