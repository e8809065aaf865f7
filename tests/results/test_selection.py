"""Runs of one budget, one scheme and some methods."""

import pytest

from simkit.errors import BadInput
from simkit.results import runs
from simkit.results.cells import Budget
from simkit.results.selection import listed, read_runs, some_methods, under, within
from tests.results import planted

COLUMNS = ("scheme", "method", "draw", "reference", "budget", "budget_hours")


def read(rows):
    return read_runs(runs.to_table(rows), COLUMNS, metric="map")


@pytest.fixture(scope="module")
def table():
    return read(planted.rows())


def limited(table, budget=None, hours=None):
    return within(table, Budget(budget, hours))


def test_the_middle_of_several_budgets_is_the_default(table) -> None:
    limit, found = limited(table)
    assert limit == Budget(150.0) and set(found["budget"]) == {150.0}
    assert not found["reference"].any()
    assert limited(table, budget=50.0)[0] == Budget(50.0)
    with pytest.raises(BadInput, match=r"3 hours; budgets in the table are \$50, \$150, \$450"):
        limited(table, hours=3.0)


def test_budgets_may_be_hours_or_none() -> None:
    rows = [planted.row(scheme="fpc", method="an", draw=0, budget_hours=h) for h in (2.0, 8.0)]
    assert len(limited(read(rows), hours=2.0)[1]) == 1
    limit, found = limited(read([row | {"budget_hours": None} for row in rows]))
    assert not limit and len(found) == 2


def test_references_alone_are_no_runs(table) -> None:
    with pytest.raises(BadInput, match="no runs; run a comparison first"):
        limited(table[table["reference"]])


def test_a_scheme_goes_by_its_name(table) -> None:
    assert under(table, scheme="")[0] == "single-positive"
    assert set(under(table, scheme="rpa")[1]["scheme"]) == {"rpa"}
    with pytest.raises(BadInput, match="'rpx'; did you mean 'rpa'"):
        under(table, scheme="rpx")
    rows = [
        planted.row(scheme=s, method="an", draw=0) for s in ("fpc(k=2)", "rpa(q=1)", "rpa(q=2)")
    ]
    assert under(read(rows), scheme="fpc")[0] == "fpc(k=2)"
    with pytest.raises(BadInput, match="'rpa'"):  # of two
        under(read(rows), scheme="rpa")


def test_the_highest_methods_are_the_default(table) -> None:
    def chosen(wanted):
        return some_methods(table, wanted=wanted, most=2)

    means = table.groupby("method")["map"].mean().nlargest(2)
    assert set(chosen("")) == set(means.index)
    assert chosen("ll-r, an") == ["an", "ll-r"]  # in the order of the table
    with pytest.raises(BadInput, match=r"'am'; known are an, "):
        chosen(("am",))


def test_methods_are_listed_once() -> None:
    given = "an, csl(eta=1,top_k=2)+boostlu ,"
    assert listed(given) == ["an", "csl(eta=1,top_k=2)+boostlu"]
    assert listed(iter(["an", "ll-r", "an"])) == ["an", "ll-r"]
    assert listed(()) == []
