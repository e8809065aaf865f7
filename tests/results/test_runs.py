"""The table of runs and its files, and finished jobs on disk."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import simkit
from simkit.errors import BadInput
from simkit.results import job_store, method_facts, result_tables, runs, summary
from simkit.results.job_store import Result
from tests.results import planted

STEM = "0123456789abcdef-c0dec0de"


def one(failures=(), **values):
    row = planted.row(scheme="fpc", method="an", draw=0, map=0.5, seconds=None, key=STEM) | values
    return Result(runs.to_table([row]), dict(failures))


def test_every_column_says_what_it_means():
    assert runs.SCHEMA.names == list(runs.COLUMNS)
    assert all(column.meaning and column.type for column in runs.COLUMNS.values())
    assert {"precision", "recall", "tuned_edge", "validation_dollars"} < set(runs.COLUMNS)


def test_runs_are_pandas_tables_with_the_references_apart(tmp_path):
    found = runs.Runs(planted.table(draws=2))
    assert len(found.table) == 5 * 3 * 2 * 5 and len(found.reference) == 2
    assert set(found.reference["method"]) == {"full"} and not found.table["reference"].any()
    assert len(found.every) == 152 and "150 runs" in repr(found)
    means = found.table.groupby(["scheme", "method"])["map"].mean()
    assert len(means) == 25 and means.between(0, 1).all()
    for name in ("table", "reference", "every"):
        frame = getattr(found, name)
        assert list(frame.columns) == runs.SCHEMA.names and frame["budget_hours"].isna().all()
        assert result_tables.class_names(frame) == ("cat", "dog")
    assert found.table["ap"][0].tolist()[0] == 0.5 and pd.isna(found.table["ap"][0][1])


def test_the_files_open_again_and_in_other_programs(tmp_path):
    about = {"classes": ("cat", "dog"), "leaves": [1], "failures": ["no wörker"], "planned": 153}
    table = runs.to_table(planted.rows(draws=2), about)
    runs.write(runs.writers(table), tmp_path)
    back = simkit.open_runs(tmp_path)
    pd.testing.assert_frame_equal(back.table, runs.Runs(table).table)
    pd.testing.assert_frame_equal(back.reference, runs.Runs(table).reference)
    assert back.text().splitlines()[0].startswith("untuned: ")
    assert {*summary.verdicts(table), *summary.sentences(table)} <= {*back.text().splitlines()}
    assert (back.failures, back.planned) == (("no wörker",), 153)
    assert result_tables.leaves(back.table) == (1,)
    for name, count in (("table", 150), ("reference", 2)):
        assert len(pd.read_parquet(tmp_path / f"{name}.parquet")) == count
        flat = pyarrow.csv.read_csv(tmp_path / f"{name}.csv")
        assert len(flat) == count and not set(runs.LISTS) & set(flat.schema.names)
    assert runs.read(tmp_path, columns=["map"]).schema.names == ["map"]
    path = tmp_path / "table.parquet"
    whole = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(whole.drop_columns(["tuned_error"]), path)  # as version 0.1 had it
    pd.testing.assert_frame_equal(simkit.open_runs(tmp_path).table, back.table, check_like=True)
    pyarrow.parquet.write_table(whole.drop_columns(["tuned_map"]), path)
    with pytest.raises(BadInput, match="no column 'tuned_map'"):
        simkit.open_runs(tmp_path)
    pyarrow.parquet.write_table(whole, path)
    pd.read_parquet(path).assign(mine=1).to_parquet(path)  # pandas writes other types of strings
    assert len(simkit.open_runs(tmp_path).table) == 150


def test_files_that_belong_together_appear_together(tmp_path):
    (tmp_path / "a").write_text("old")

    def broken(path):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.write({"a": lambda path: path.write_text("new"), "b": broken}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_of_an_unfinished_comparison_its_own_finished_runs_are_read(tmp_path):
    why = {"fpc, draw 0, full": "it broke"}
    job_store.save(one(why), tmp_path / "bundles", STEM)
    job_store.save(one(), tmp_path / "bundles", "of another grid")
    about = {"classes": ["cat", "dog"], "leaves": [1]}
    job_store.begin(tmp_path, grid="draws = 2", keys=[STEM, "not there yet"], about=about)
    found = simkit.open_runs(tmp_path)
    assert found.table["scheme"].tolist() == ["fpc"] and result_tables.leaves(found.table) == (1,)
    assert found.failures == ("fpc, draw 0, full: it broke",) and found.planned == 0
    assert runs.read(tmp_path, columns=["map"]).to_pydict() == {"map": [0.5]}


def test_folders_without_runs_are_refused_with_how_far_the_work_is(tmp_path):
    for place, what in ((tmp_path, "holds no runs"), (tmp_path / "nowhere", "not a folder")):
        with pytest.raises(BadInput, match=what):
            runs.read(place)
    none = {"classes": [], "leaves": [], "trainings": 2}
    job_store.begin(tmp_path, grid="draws = 2", keys=[STEM, "b"], about=none)
    with pytest.raises(BadInput, match="0 of 2 trainings"):
        runs.read(tmp_path)
    job_store.save(one(draw=runs.SWEEP), tmp_path / "bundles", STEM)
    with pytest.raises(BadInput, match=r"1 of 2 trainings.* sweep"):
        runs.read(tmp_path)
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    with pytest.raises(BadInput, match=r"table\.parquet cannot be read"):
        runs.read(tmp_path)


def test_a_job_comes_back_as_it_was_saved_and_other_programs_read_it(tmp_path):
    why = {"full": "it needs complete labels"}
    for result in (one(why), Result(runs.to_table([]), why)):
        job_store.save(result, tmp_path, STEM)
        back = job_store.load(tmp_path, STEM, runs.SCHEMA)
        assert back.table.equals(result.table) and back.failures == why
    assert job_store.load(tmp_path, "another", runs.SCHEMA) is None
    assert [path.name for path in tmp_path.iterdir()] == [f"{STEM}.arrows"]
    assert job_store.finished(tmp_path, STEM) and not job_store.finished(tmp_path, "another")
    job_store.save(one(why), tmp_path, STEM)
    with pa.ipc.open_stream(tmp_path / f"{STEM}.arrows") as stream:
        table = stream.read_all()
    assert table["ap"].to_pylist() == [[0.5, None]]
    assert json.loads(table.schema.metadata[b"failures"]) == why


def test_a_file_that_is_damaged_or_of_something_else_is_said_and_counts_for_nothing(tmp_path):
    path, other = tmp_path / f"{STEM}.arrows", tmp_path / "other.arrows"
    job_store.save(one(), tmp_path, STEM)
    job_store.save(one(), tmp_path, "other")
    whole = path.read_bytes()
    damaged = [whole[: len(whole) // 2], b"", whole[:-1], whole + b"\0", b"\xff\xfe\x00",
               whole.replace(b"fpc", b"rpa", 1), other.read_bytes()]  # fmt: skip
    job_store.save(Result(one().table.drop_columns(["map"])), tmp_path, STEM)
    for content in [path.read_bytes(), *damaged]:
        path.write_bytes(content)
        with pytest.warns(UserWarning, match=rf"{STEM}.arrows is damaged; .* repeated"):
            assert job_store.load(tmp_path, STEM, runs.SCHEMA) is None


def test_what_is_under_way_is_noted_until_it_ended(tmp_path):
    assert job_store.under_way(tmp_path)["keys"] == ()
    noted = {"grid": "draws = 2", "keys": (STEM,)}
    about = {"classes": ("köter",), "leaves": (0,), "methods": method_facts.written(["an"])}
    job_store.begin(tmp_path, **noted, about=about)
    assert job_store.under_way(tmp_path) == noted | about
    (tmp_path / job_store.PLAN).write_text('{"keys": 3')
    with pytest.raises(BadInput, match=r"plan\.json cannot be read .*; compare again"):
        job_store.under_way(tmp_path)
    for _ in range(2):  # another process may be first
        job_store.ended(tmp_path)
    assert list(tmp_path.iterdir()) == []
