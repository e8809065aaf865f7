import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.analysis.comparing.sweep import SWEEP, sweep
from tests.study import planted


def table(scores, schemes=("rpa",), draws=3, **fields):
    """{method: mean}, draws apart by two points."""
    return runs.tidy(
        [
            planted.row(scheme=scheme, method=method, draw=d, map=score + 0.02 * d, **fields)
            for scheme in schemes
            for d in range(draws)
            for method, score in scores.items()
        ],
        classes=(),
    )


LL = {"ll-r(delta=0.3)": 0.5, "ll-r(delta=0.05)": 0.4, "ll-r": 0.45, "an": 0.3}


def test_a_line_ascends_and_marks_the_default():
    found = sweep(table(LL), "delta")
    assert found.schema.equals(SWEEP)
    rows = found.to_pylist()
    assert [row["method"] for row in rows] == ["ll-r"] * len(rows)
    (usual,) = [row for row in rows if row["default"]]
    assert [row["number"] for row in rows] == sorted(row["number"] for row in rows)
    assert {row["value"] for row in rows} == {"0.3", "0.05", "0.5"} and usual["value"] == "0.5"
    assert rows[0]["mean"] == pytest.approx(0.42)
    # t(0.975, 2) * 0.02 / sqrt(3)
    assert rows[0]["high"] - rows[0]["mean"] == pytest.approx(4.3027 * 0.02 / 3**0.5, rel=1e-4)


def test_gaps_are_to_the_default_and_paired():
    scores = {"se": 0.5, "se(k=5)": 0.48, "se(k=20)": 0.53}
    rows = {row["value"]: row for row in sweep(table(scores), "k").to_pylist()}
    assert rows["10"]["default"] and rows["10"]["gap"] is None
    assert rows["5"]["gap"] == pytest.approx(-0.02) and rows["20"]["gap"] == pytest.approx(0.03)
    assert rows["20"]["gap_high"] - rows["20"]["gap_low"] < rows["20"]["high"] - rows["20"]["low"]
    rows = sweep(table({"se(k=5)": 0.4, "se(k=20)": 0.5}), "k").to_pylist()
    assert [row["gap"] for row in rows] == [None, None]  # the default was not run


def test_what_spells_the_same_value_twice_counts_once():
    rows = sweep(table({"se": 0.5, "se(k=10)": 0.9, "se(k=20)": 0.5}), "k").to_pylist()
    assert [(row["value"], round(row["mean"], 3)) for row in rows] == [("10", 0.52), ("20", 0.52)]


def test_lines_are_what_is_left_without_the_setting():
    scores = {
        "ll-r+boostlu": 0.5,
        "ll-r+boostlu(alpha=2)": 0.4,
        "ll-r(delta=0.3)+boostlu(alpha=2)": 0.3,
        "ll-r(delta=0.3)+boostlu(beta=1.0)": 0.3,
        "ll-r(delta=0.3)+boostlu(beta=1.0, alpha=3)": 0.3,
        "an+boostlu": 0.2,
    }
    rows = sweep(table(scores, schemes=("rpa", "fpc")), "alpha").to_pylist()
    lines = {(row["scheme"], row["method"]) for row in rows}
    names = ("ll-r+boostlu", "ll-r(delta=0.3)+boostlu(beta=1.0)")
    assert lines == {(scheme, name) for scheme in ("rpa", "fpc") for name in names}
    rows = sweep(table(scores), "delta").to_pylist()
    assert {row["method"] for row in rows} == {"ll-r+boostlu(alpha=2.0)"}


def test_values_that_are_no_numbers_keep_the_order_of_the_table():
    scores = {"se": 0.5, "se(temperature=inverse)": 0.4, "an": 0.3}
    rows = sweep(table(scores), "temperature").to_pylist()
    assert [(row["value"], row["number"]) for row in rows] == [("printed", None), ("inverse", None)]
    assert [row["default"] for row in rows] == [True, False]
    rows = sweep(table({"an+boostlu": 0.5, "an+boostlu(eval=no)": 0.4}), "eval").to_pylist()
    assert [(row["value"], row["number"]) for row in rows] == [("true", None), ("false", None)]


def test_schemes_are_swept_where_no_method_is():
    schemes = ("rpa(keep=0.1)", "rpa(keep=0.3)", "fpc(per_class=10)")
    rows = sweep(table({"an": 0.5, "se": 0.4}, schemes=schemes), "keep").to_pylist()
    assert [(row["scheme"], row["method"], row["value"]) for row in rows] == [
        ("rpa", "an", "0.1"),
        ("rpa", "an", "0.3"),
        ("rpa", "se", "0.1"),
        ("rpa", "se", "0.3"),
    ]
    with pytest.raises(BadInput, match=r"^no setting of what is in the table"):
        sweep(table({"an": 0.5}, schemes=schemes), "keep", of="method")


def test_amounts_that_a_budget_sets_are_no_values():
    runs_of = table({"an": 0.5}, schemes=("rpa", "rpa(keep=0.3)"), budget=8.0)
    with pytest.raises(BadInput) as caught:
        sweep(runs_of, "keep")
    assert str(caught.value) == (
        "sweep: amounts are set by the budget, so 'keep' of rpa is what $8 pays for; sweep another "
        "setting, or compare without a budget"
    )
    assert len(sweep(table(LL, budget=8.0), "delta")) == 3


def test_one_draw_has_no_interval():
    rows = sweep(table(LL, draws=1), "delta").to_pylist()
    assert all(row["low"] is None and row["gap_low"] is None for row in rows)
    assert any(row["gap"] is not None for row in rows)


def test_failed_runs_are_left_out_and_counted():
    rows = table(LL).to_pylist()
    lost = [row for row in rows if (row["method"], row["draw"]) != ("ll-r(delta=0.3)", 2)]
    lost[0]["map"] = np.nan  # of delta=0.3 too
    told = runs.with_failures(runs.tidy(lost, classes=()), ["why"])
    found = sweep(told, "delta")
    row = next(row for row in found.to_pylist() if row["value"] == "0.3")
    assert (row["draws"], row["missing"]) == (1, 2)
    assert runs.failures(found) == ("why",)


def test_methods_from_elsewhere_have_no_settings():
    assert len(sweep(table(LL | {"from-elsewhere": 0.5}), "delta")) == 3


def test_a_setting_that_is_not_there_is_named():
    with pytest.raises(BadInput) as caught:
        sweep(table(LL), "delt")
    assert str(caught.value).startswith(
        "no setting of what is in the table (sweep) is called 'delt'; did you mean 'delta'?"
    )
    with pytest.raises(BadInput) as caught:
        sweep(table({"ll-r(delta=0.3)": 0.5, "an": 0.4}), "delta")
    assert str(caught.value) == (
        "sweep: 'delta' has one value alone in the table, 0.3 of ll-r under rpa; compare several, "
        "such as ll-r(delta=0.1) and ll-r(delta=0.5)"
    )


def test_values_that_are_nearly_the_same_stay_apart():
    scores = {"ll-r(delta=0.12345678)": 0.5, "ll-r(delta=0.12345679)": 0.4, "ll-r(delta=0.1)": 0.3}
    rows = sweep(table(scores), "delta").to_pylist()
    assert [row["value"] for row in rows] == ["0.1", "0.12345678", "0.12345679"]
