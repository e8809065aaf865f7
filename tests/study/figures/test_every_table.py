"""A figure draws the table it is made for, and refuses any other one in a sentence."""

from functools import reduce
from importlib import import_module

import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study import figures
from simkit.study.tables import checked
from tests.study.figures.made import OF_RUNS, in_hours, tables

NAMES = figures.names()
OPTIONS = {  # which make a figure look at all of its columns
    "convergence": ({}, {"of": "losses"}),
    "cost-curve": ({}, {"metric": "map_all"}, {"metric": "map_o"}),
    "heat-map": ({}, {"metric": "map_all"}, {"metric": "map_o"}),
    "label-shares": ({}, {"share": "labels"}),
    "map-course": ({}, {"of": "bottom"}, {"of": "logit"}),
    "memorisation": ({}, {"middle": "median"}),
    "modification": ({}, {"beside": "found"}),
    "rank-diagram": ({}, {"metric": "map_all"}, {"metric": "map_o"}),
}


def reads(name: str):
    return figures.get(name).reads


def without(table: pa.Table, *columns: str, value=None) -> pa.Table:
    for name in columns:
        place, kind = table.column_names.index(name), table.schema.field(name).type
        table = table.set_column(place, name, pa.array([value] * len(table), kind))
    return table


def may_lack(name: str) -> list[str]:
    return [column for column, holds in reads(name).items() if "None" in str(holds)]


def numbers(table: pa.Table) -> list[str]:
    return [each.name for each in table.schema if pa.types.is_floating(each.type)]


def drawn_or_refused(name: str, table: object) -> str:
    """What it says where it does not draw; another exception than BadInput fails the test."""
    try:
        assert figures.make(name)(table).axes
    except BadInput as error:
        return str(error)
    return ""


@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_what_its_analysis_makes_is_drawn(name: str, draws: int) -> None:
    assert drawn_or_refused(name, tables(draws)[name]) == ""


@pytest.mark.parametrize("name", NAMES)
def test_other_tables_are_refused_in_its_name_with_what_makes_the_right_one(name: str) -> None:
    mend = f"; give what {figures.get(name).made_by} returns"
    others = [*tables().values(), pa.table({"a": [1]})]
    others = [table for table in others if not set(reads(name)) <= set(table.column_names)]
    assert len(others) > len(NAMES) - 2 - len(OF_RUNS)
    for other in others:
        said = drawn_or_refused(name, other)
        assert said.startswith(f"{name}: the table has no column") and said.endswith(mend)
        missing = set(reads(name)) - set(other.column_names)
        assert all(repr(column) in said for column in missing)
    for none in (tables()[name].slice(0, 0), pa.table({})):
        assert drawn_or_refused(name, none) == f"{name}: the table is empty{mend}"
    said = drawn_or_refused(name, tables()[name].to_pylist())
    assert said == f"{name}: a pyarrow Table is expected, not list{mend}"


@pytest.mark.parametrize("name", NAMES)
def test_nulls_and_nan_say_the_same_and_are_left_out_or_refused(name: str) -> None:
    table = tables()[name]
    said = drawn_or_refused(name, without(table, *numbers(table)))
    assert said == drawn_or_refused(name, without(table, *numbers(table), value=float("nan")))
    needed = [column for column in numbers(table) if column in set(reads(name)) - {*may_lack(name)}]
    if needed:
        assert said.startswith(f"{name}: column {needed[0]!r} lacks values; leave out the rows")
    for columns in ([column] for column in may_lack(name)):
        said = drawn_or_refused(name, without(table, *columns))
        assert not said or said.startswith(name)
    drawn_or_refused(name, without(table, *may_lack(name)))


@pytest.mark.parametrize("name", NAMES)
def test_some_rows_of_a_table_are_drawn_or_refused(name: str) -> None:
    table = tables()[name]
    for some in (table.slice(0, 1), table.take(list(range(0, len(table), 2))), table.slice(1)):
        drawn_or_refused(name, some)
    if figures.get(name).whole:
        said = drawn_or_refused(name, table.slice(1))
        assert said.startswith(f"{name}: the table does not hold one row for each ")


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_what_it_declares_and_nothing_else(name: str) -> None:
    right = [tables()[name], *([in_hours()] if name in OF_RUNS else [])]
    right = [checked(table, reads(name), asker=name, mend="") for table in right]
    assert all(seen.column_names == list(reads(name)) for seen in right)
    options = OPTIONS.get(name, ({},))
    assert not any(needs(name, seen, **some) for seen in right for some in options)
    counted = {column for part in figures.get(name).whole for column in part}
    for column in set(reads(name)) - counted - {"test_id"}:  # which counts where it is there
        less = [seen.drop([column]) for seen in right]
        assert any(needs(name, seen, **some) for seen in less for some in options), column


def needs(name: str, table: pa.Table, **options) -> bool:
    try:
        figures.make(name, **options).draw(table)
    except (KeyError, BadInput, pa.ArrowInvalid):
        return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_what_makes_its_table_is_there(name: str) -> None:
    module, attributes = figures.get(name).made_by, []
    while True:
        module, _, last = module.rpartition(".")
        attributes.insert(0, last)
        try:
            found = import_module(module)
            break
        except ModuleNotFoundError:
            continue
    assert callable(reduce(getattr, attributes, found))


def test_runs_of_several_data_sets_are_refused() -> None:
    table = tables()["heat-map"]
    ids = pa.array([str(place % 2) for place in range(len(table))])
    table = table.set_column(table.column_names.index("test_id"), "test_id", ids)
    assert "2 test splits" in drawn_or_refused("heat-map", table)
