import pyarrow as pa
import pytest
from simkit.study.grids.limit import Limit

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.analysis.comparing.ablation import ablation
from simkit.study.analysis.comparing.chosen import listed, some_methods, under, within
from simkit.study.analysis.comparing.images_or_labels import images_or_labels
from simkit.study.analysis.comparing.shares import shares
from simkit.study.analysis.comparing.sweep import sweep
from tests.study import planted
from tests.study.planted_classes import table


def within_(runs_, **asked):
    return within(runs_, **{"budget": None, "hours": None, "asker": "x"} | asked)


def test_of_several_budgets_the_middle_one_is_taken_unless_another_is_asked_for():
    limit, found = within_(planted.table())
    assert limit == Limit(150.0) and set(found["budget"].to_pylist()) == {150.0}
    assert not any(found["reference"].to_pylist())
    assert within_(planted.table(), budget=50.0)[0] == Limit(50.0)
    with pytest.raises(BadInput) as caught:
        within_(planted.table(), hours=3.0)
    assert str(caught.value) == (
        "x: no runs at the budget 3 hours; budgets in the table are $50, $150, $450"
    )


def test_budgets_in_hours_are_budgets():
    rows = [planted.row(scheme="fpc", method="an", draw=0, budget_hours=h) for h in (2.0, 8.0)]
    assert within_(runs.tidy(rows, classes=()), hours=2.0)[1].num_rows == 1


def test_amounts_as_written_are_all_of_it():
    rows = [planted.row(scheme=s, method="an", draw=0) for s in ("fpc(per_class=1)", "rpa")]
    limit, found = within_(runs.tidy(rows, classes=()))
    assert not limit and len(found) == 2


def test_a_table_of_references_alone_is_refused():
    alone = runs.tidy([row for row in planted.rows() if row["reference"]], classes=())
    with pytest.raises(BadInput) as caught:
        within_(alone)
    assert str(caught.value) == "x: the table holds no runs; run a comparison first"


def test_schemes_and_methods_by_name():
    scheme, found = under(table(), scheme="", asker="x")
    assert scheme == "fpc" and set(found["scheme"].to_pylist()) == {"fpc"}
    with pytest.raises(BadInput, match=r"^no scheme of the table \(x\) is called 'rpx'; did you "):
        under(table(), scheme="rpx", asker="x")
    rows = [
        r | {"scheme": s}
        for s in ("fpc(k=2)", "rpa(q=1)", "rpa(q=2)")
        for r in [planted.row(method="an")]
    ]
    assert under(runs.tidy(rows, classes=()), scheme="fpc", asker="x")[0] == "fpc(k=2)"
    with pytest.raises(BadInput, match=r"is called 'rpa'; "):  # there are two of them
        under(runs.tidy(rows, classes=()), scheme="rpa", asker="x")
    methods = {"wanted": "", "most": 2, "asker": "x"}
    assert some_methods(table(), **methods) == ["ll-r", "csl"]  # the highest
    assert some_methods(table(), **methods | {"wanted": "csl, an"}) == ["an", "csl"]
    with pytest.raises(
        BadInput, match=r"^no method of the table \(x\) is called 'am'; known are an, csl, ll-r$"
    ):
        some_methods(table(), **methods | {"wanted": ("am",)})


def test_commas_inside_of_parentheses_part_no_methods():
    assert listed("ll-r(delta=0.5, k_of=batch),an") == ("ll-r(delta=0.5, k_of=batch)", "an")


ASKERS = {
    "ablation": lambda runs, metric: ablation(runs, "an", metric=metric),
    "sweep": lambda runs, metric: sweep(runs, "delta", metric=metric),
    "shares": lambda runs, metric: shares(runs, metric=metric),
    "images-or-labels": lambda runs, metric: images_or_labels(runs, metric=metric),
}


@pytest.mark.parametrize("asker", ASKERS)
def test_a_metric_is_a_column_of_numbers_in_a_table_of_runs(asker):
    runs = planted.table(draws=1)
    for metric in ("scheme", "nope", "ap"):
        with pytest.raises(BadInput) as caught:
            ASKERS[asker](runs.append_column("mf1", pa.nulls(len(runs), pa.float64())), metric)
        assert str(caught.value).startswith(
            f"no column of scores ({asker}) is called {metric!r}; "
        ), caught.value
        assert "map_all" in str(caught.value) or "did you mean" in str(caught.value)
    with pytest.raises(BadInput) as caught:
        ASKERS[asker](pa.table({"a": [1]}), "map")
    told = str(caught.value)
    assert told.startswith(f"{asker}: the table has no columns 'scheme', ")
    assert told.endswith("; give a table of runs, as a comparison leaves it")
