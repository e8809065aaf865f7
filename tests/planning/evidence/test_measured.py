import json

import pyarrow.parquet as pq
import pytest

from simkit.annotate.prices import cost, prices
from simkit.errors import BadInput
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.measured import read
from tests.planning import planted


def test_a_run_is_read_as_it_was_written(pilot):
    found = read(pilot)
    assert found.classes == planted.CLASSES
    assert (found.truth_id, found.test_id) == ("truth of train", "truth of test")
    run = next(r for r in found.runs if r.way.scheme == "rpa" and r.nominal[2] == 40.0)
    assert run.dollars == pytest.approx(cost(run.effort, prices(planted.PRICES)).dollars)
    assert (run.amount, run.images) == (0.132833, planted.POOL)
    assert run.labels == run.effort.count("verify")


def test_equal_efforts_are_one_value(pilot):
    own = [r for r in read(pilot).runs if r.way.scheme == "fpc" and r.nominal[2] == 40.0]
    assert len(own) == 12 and len({id(run.effort) for run in own}) == 1


def test_validation_labels_are_no_training_labels(write_runs):
    plain = read(write_runs("plain")).runs[0]
    held = read(write_runs("held", validation_dollars=1.5)).runs[0]
    assert held.dollars == plain.dollars - 1.5


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"map": 47.0}, "{at}: single-positive with an, draw 0 has a map of 47; a mean AP from 0 "
         "to 1 is expected, so divide percentages by 100"),
        ({"map": float("nan")}, "{at}: single-positive with an, draw 0 has a map of nan; a mean "
         "AP from 0 to 1 is expected, so compare again"),
        ({"dollars": -3.0}, "{at}: single-positive with an, draw 0 has dollars -3.0; a cost from "
         "0 on is expected"),
        ({"images": 0}, "{at}: single-positive with an, draw 0 has images 0; a whole number from "
         "1 on is expected, so compare again"),
        ({"present": None}, "{at}: single-positive with an, draw 0 has present None; a whole "
         "number from 0 on is expected, so compare again"),
        ({"map": None}, "{at} holds no finished runs; give the folder that `simkit compare` "
         "wrote to"),
        ({"effort": "{"}, "{at}: single-positive with an, draw 0: effort is no JSON (Expecting "
         "property name enclosed in double quotes: line 1 column 2 (char 1)); compare again"),
    ],
)  # fmt: skip
def test_what_no_comparison_writes_is_refused(write_runs, values, told):
    at = write_runs(**values)
    with pytest.raises(BadInput) as error:
        read(at)
    assert str(error.value) == told.replace("{at}", str(at))


def test_two_data_sets_in_one_table_are_refused(write_runs):
    at = write_runs()
    table = pq.read_table(at / "table.parquet").to_pylist()
    for row in table[::2]:
        row["test_id"] = "another"
    planted.runs.write(planted.runs.writers(planted.runs.tidy(table, classes=["a"])), at)
    with pytest.raises(BadInput) as error:
        read(at)
    assert str(error.value) == (
        f"the table in {at} has runs of different data (test_id is another and truth of test); "
        "compare each in a folder of its own"
    )


def test_a_folder_without_its_grid_is_refused(write_runs):
    at = write_runs()
    (at / "grid.toml").unlink()
    with pytest.raises(BadInput) as error:
        read(at)
    assert str(error.value) == (
        f"{at} holds no grid.toml; give the folder that `simkit compare` made"
    )
    (at / "grid.toml").write_text("prices = ")
    with pytest.raises(BadInput, match=r"grid\.toml cannot be read .*; compare again into this"):
        read(at)


def test_columns_that_are_missing_are_named(write_runs):
    at = write_runs()
    table = pq.read_table(at / "table.parquet").drop_columns(["labels_id"])
    pq.write_table(table, at / "table.parquet")
    with pytest.raises(BadInput) as error:
        read(at)
    assert str(error.value) == (
        f"the table in {at} has no column 'labels_id'; compare again with this version"
    )


def test_runs_of_a_sweep_are_left_out(write_runs):
    at = write_runs()
    table = pq.read_table(at / "table.parquet").to_pylist()
    tried = [row | {"draw": planted.runs.SWEEP} for row in table[:5]]
    both = planted.runs.tidy(tried + table, classes=planted.CLASSES)
    planted.runs.write(planted.runs.writers(both), at)
    assert len(read(at).runs) == len(table)


def test_an_unfinished_comparison_is_read_too(write_runs):
    at = write_runs()
    grid = (at / "grid.toml").read_text()
    (at / "grid.toml").unlink()
    from simkit.study import kept

    kept.begin(at, grid=grid, keys=[], classes=planted.CLASSES)
    assert json.loads(json.dumps(read(at).grid["budgets"])) == list(planted.BUDGETS)


def test_runs_without_a_score_are_told(write_runs):
    at = write_runs()
    assert read(at).lost == ()
    rows = pq.read_table(at / "table.parquet").to_pylist()
    for row in rows:
        if (row["scheme"], row["budget"]) == ("full-subset", 40.0) and row["method"] != "an":
            row["map"] = None
    table = planted.runs.tidy(rows, classes=planted.CLASSES)
    planted.runs.write(planted.runs.writers(table), at)
    assert read(at).lost == (
        f"8 runs of {at} failed or have no score (full-subset with ll-r, full-subset with csl), "
        "and no curve knows of them; compare again",
    )
    assert Evidence.of(at).left_out == read(at).lost


def test_runs_that_failed_are_told(write_runs):
    at = write_runs()
    table = pq.read_table(at / "table.parquet")
    failed = planted.runs.with_failures(table, ["draw 0: out of memory."], planned=len(table) + 1)
    planted.runs.write(planted.runs.writers(failed), at)
    assert read(at).lost == (
        f"1 run of {at} failed or has no score, and no curve knows of it; the first that failed: "
        "draw 0: out of memory",
    )
