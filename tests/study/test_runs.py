import json
import math

import pyarrow.csv
import pyarrow.parquet
import pytest

from simkit.errors import BadInput
from simkit.study import runs
from tests.study import planted

KEY = "0123456789abcdef"


def one():
    row = planted.row(scheme="fpc", method="an", draw=0, map=0.5, seconds=None, key=KEY)
    return runs.Done([row], {"full": "it needs complete labels"})


def test_a_bundle_comes_back_as_it_was_saved(tmp_path):
    runs.save(one(), folder=tmp_path, key=KEY)
    assert runs.load(tmp_path, KEY) == one()
    assert runs.load(tmp_path, "another") is None
    assert [path.name for path in tmp_path.iterdir()] == [f"{KEY}.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace("0.5", "0.6", 1),
        lambda text: text.replace(KEY, "f" * 16),
        lambda text: "[]",
        lambda text: '{"rows": 3}',
        lambda text: text.replace("complete", "all"),
        lambda text: "\ufeff" + text,
    ],
)
def test_a_damaged_file_is_reported_and_counts_for_nothing(tmp_path, damage):
    runs.save(one(), folder=tmp_path, key=KEY)
    path = tmp_path / f"{KEY}.json"
    path.write_text(damage(path.read_text()), encoding="utf-8")
    with pytest.warns(UserWarning) as caught:
        assert runs.load(tmp_path, KEY) is None
    assert str(caught[0].message) == f"{path} is damaged; its runs are repeated"


def test_bytes_that_are_no_text_are_damage(tmp_path):
    (tmp_path / f"{KEY}.json").write_bytes(b"\xff\xfe\x00")
    with pytest.warns(UserWarning, match="is damaged"):
        assert runs.load(tmp_path, KEY) is None


def test_nothing_is_left_of_a_bundle_that_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        runs.save(runs.Done([planted.row(map=math.nan)]), folder=tmp_path, key=KEY)
    assert list(tmp_path.iterdir()) == []


def test_the_table_is_tidy_and_goes_to_parquet_and_csv(tmp_path):
    table = planted.table(draws=2)
    assert table.schema.names == runs.SCHEMA.names
    assert len(table) == 5 * 3 * 2 * 5 + 2
    runs.write(runs.writers(table), tmp_path)
    back = runs.table(tmp_path)
    assert back.equals(table) and runs.class_names(back) == ("cat", "dog")
    flat = pyarrow.csv.read_csv(tmp_path / "table.csv")
    assert flat["map"].to_pylist() == table["map"].to_pylist()
    assert "ap" not in flat.schema.names and back["ap"][0].as_py() == [0.5, None]


def test_the_table_of_an_unfinished_comparison_is_what_is_there_of_its_grid(tmp_path):
    for key in (KEY, "of another grid"):
        runs.save(one(), folder=tmp_path / "bundles", key=key)
    runs.begin(tmp_path, grid="draws = 2", keys=[KEY, "not there yet"], classes=["cat", "dog"])
    table = runs.table(tmp_path)
    assert table["scheme"].to_pylist() == ["fpc"] and runs.class_names(table) == ("cat", "dog")
    assert runs.describe(tmp_path)["unfinished"] == "1 of 2 bundles"


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


def test_a_folder_in_place_of_a_bundle_is_named(tmp_path):
    (tmp_path / f"{KEY}.json").mkdir()
    with pytest.raises(BadInput) as caught:
        runs.load(tmp_path, KEY)
    assert str(caught.value) == (
        f"{tmp_path / KEY}.json is a folder where a file with results belongs; move it away"
    )


def test_folders_without_runs_are_refused(tmp_path):
    with pytest.raises(BadInput, match="holds no finished runs; give the folder that"):
        runs.table(tmp_path)
    with pytest.raises(BadInput, match="is not a folder; give the folder that"):
        runs.table(tmp_path / "nowhere")


def test_describe_counts_and_tells_the_summary(tmp_path):
    runs.write(runs.writers(planted.table()), tmp_path)
    (tmp_path / "summary.md").write_text("what it says", encoding="utf-8")
    facts = runs.describe(tmp_path)
    assert facts["text"] == "380 runs: 5 schemes, 5 methods, 5 draws\nwhat it says"
    assert facts["budgets"] == [50.0, 150.0, 450.0]
    json.dumps(facts)
