import math
import re

import pandas
import pyarrow.csv
import pyarrow.parquet
import pytest
from simkit.study.kept import Kept

from simkit.errors import BadInput
from simkit.study import kept, runs
from tests.study import planted

KEY = "0123456789abcdef"


def one():
    row = planted.row(scheme="fpc", method="an", draw=0, map=0.5, seconds=None, key=KEY)
    return Kept(runs.tidy([row], classes=()), {})


def test_the_table_is_tidy_and_goes_to_parquet_and_csv(tmp_path):
    table = planted.table(draws=2)
    assert table.schema.names == runs.SCHEMA.names
    assert len(table) == 5 * 3 * 2 * 5 + 2
    runs.write(runs.writers(table), tmp_path)
    back = runs.table(tmp_path)
    assert (
        back.equals(table) and runs.leaves(back) == () and runs.class_names(back) == ("cat", "dog")
    )
    flat = pyarrow.csv.read_csv(tmp_path / "table.csv")
    assert flat["map"].to_pylist() == table["map"].to_pylist()
    assert "ap" not in flat.schema.names and back["ap"][0].as_py() == [0.5, None]


def test_the_table_of_an_unfinished_comparison_is_what_is_there_of_its_grid(tmp_path):
    for key in (KEY, "of another grid"):
        kept.save(one(), folder=tmp_path / "bundles", key=key)
    kept.begin(tmp_path, grid="draws = 2", keys=[KEY, "not there yet"], classes=["cat", "dog"],
               leaves=[1])  # fmt: skip
    table = runs.table(tmp_path)
    assert runs.leaves(table) == (1,)
    assert table["scheme"].to_pylist() == ["fpc"] and runs.class_names(table) == ("cat", "dog")
    assert runs.table(tmp_path, columns=["map"]).to_pydict() == {"map": [0.5]}


def test_files_that_belong_together_appear_together(tmp_path):
    (tmp_path / "a").write_text("old")

    def broken(path):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.write({"a": lambda path: path.write_text("new"), "b": broken}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_table_that_is_damaged_is_named(tmp_path):
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    with pytest.raises(BadInput, match=r"table\.parquet cannot be read as the table of a compar"):
        runs.table(tmp_path)


def test_folders_without_runs_are_refused(tmp_path):
    with pytest.raises(BadInput, match="holds no finished runs; give the folder that"):
        runs.table(tmp_path)
    with pytest.raises(BadInput, match="is not a folder; give the folder that"):
        runs.table(tmp_path / "nowhere")


def test_other_libraries_take_the_table_with_its_lists(tmp_path):
    runs.write(runs.writers(planted.table(draws=2)), tmp_path)
    frame = runs.table(tmp_path).to_pandas()
    assert list(frame.columns) == runs.SCHEMA.names and len(frame) == 5 * 3 * 2 * 5 + 2
    assert frame["ap"][0].tolist()[0] == 0.5 and math.isnan(frame["ap"][0].tolist()[1])
    means = frame[~frame["reference"]].groupby(["scheme", "method"])["map"].mean()
    assert len(means) == 25 and means.between(0, 1).all()
    again = pandas.read_parquet(tmp_path / "table.parquet")
    pandas.testing.assert_frame_equal(again, frame)


def test_of_work_that_just_began_it_is_said_how_far_it_is(tmp_path):
    kept.begin(tmp_path, grid="draws = 2", keys=[KEY, "b"], classes=[])
    told = (
        f"{tmp_path} holds a comparison under way of which no runs are finished yet (0 of 2 "
        "bundles are there); the same `simkit compare` goes on with it"
    )
    with pytest.raises(BadInput, match=f"^{re.escape(told)}$"):
        runs.table(tmp_path)
    row = planted.row(scheme="fpc", method="an", draw=runs.SWEEP, map=0.5)
    kept.save(Kept(runs.tidy([row], classes=())), folder=tmp_path / "bundles", key=KEY)
    with pytest.raises(BadInput, match=r"\(1 of 2 bundles are there, those of the sweep that choo"):
        runs.table(tmp_path)


def test_what_failed_is_kept_with_the_table(tmp_path):
    why = {"fpc, draw 0, full": "it broke"}
    kept.save(Kept(one().table, why), folder=tmp_path / "bundles", key=KEY)
    kept.begin(tmp_path, grid="draws = 2", keys=[KEY], classes=["cat", "dog"])
    table = runs.table(tmp_path)
    assert runs.failures(table) == ("fpc, draw 0, full: it broke",) and runs.planned(table) == 0
    assert runs.class_names(table) == ("cat", "dog")
    runs.write(runs.writers(runs.with_failures(table, ["no wörker"], planned=3)), tmp_path)
    back = runs.table(tmp_path, columns=["map"])
    assert (runs.failures(back), runs.planned(back)) == (("no wörker",), 3)


def test_a_column_that_is_none_is_named(tmp_path):
    runs.write(runs.writers(runs.tidy([], classes=())), tmp_path)
    with pytest.raises(BadInput) as caught:
        runs.table(tmp_path, columns=["methd"])
    assert str(caught.value) == (
        "no column of a table of runs is called 'methd'; did you mean 'method'?"
    )
