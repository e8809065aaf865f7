import json
import os

import pyarrow as pa
import pytest
from simkit.study.kept import Kept

from simkit.errors import BadInput
from simkit.study import kept
from simkit.study.runs import SCHEMA, tidy
from tests.study import planted

KEY = "0123456789abcdef"


def one():
    row = planted.row(scheme="fpc", method="an", draw=0, map=0.1, seconds=None, key=KEY)
    return Kept(tidy([row], classes=()), {"full": "it needs complete labels"})


def test_a_bundle_comes_back_as_it_was_saved(tmp_path):
    kept.save(one(), folder=tmp_path, key=KEY)
    back = kept.load(tmp_path, KEY, SCHEMA)
    assert back.table.equals(one().table) and back.failures == one().failures
    assert kept.load(tmp_path, "another", SCHEMA) is None
    assert [path.name for path in tmp_path.iterdir()] == [f"{KEY}.arrows"]
    assert kept.is_there(tmp_path, KEY) and not kept.is_there(tmp_path, "another")


def test_a_bundle_of_nothing_but_failures_is_kept(tmp_path):
    nothing = Kept(tidy([], classes=()), {"full": "it needs complete labels"})
    kept.save(nothing, folder=tmp_path, key=KEY)
    back = kept.load(tmp_path, KEY, SCHEMA)
    assert len(back.table) == 0 and back.failures == nothing.failures


def test_other_programs_read_the_file(tmp_path):
    kept.save(one(), folder=tmp_path, key=KEY)
    with pa.ipc.open_stream(tmp_path / f"{KEY}.arrows") as stream:
        table = stream.read_all()
    assert table["map"].to_pylist() == [0.1] and table["ap"].to_pylist() == [[0.5, None]]
    assert json.loads(table.schema.metadata[b"failures"]) == {"full": "it needs complete labels"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content.replace(b"fpc", b"rpa", 1),
        lambda content: b"\xff\xfe\x00",
    ],
)
def test_a_damaged_file_is_reported_and_counts_for_nothing(tmp_path, damage):
    kept.save(one(), folder=tmp_path, key=KEY)
    path = tmp_path / f"{KEY}.arrows"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(UserWarning) as caught:
        assert kept.load(tmp_path, KEY, SCHEMA) is None
    assert str(caught[0].message) == f"{path} is damaged; its runs are repeated"


@pytest.mark.parametrize("other", ["name", "columns"])
def test_a_file_that_holds_something_else_counts_for_nothing(tmp_path, other):
    there = one()
    if other == "columns":
        there = Kept(there.table.drop_columns(["map"]))
    kept.save(there, folder=tmp_path, key="f" * 16 if other == "name" else KEY)
    next(tmp_path.iterdir()).rename(tmp_path / f"{KEY}.arrows")
    with pytest.warns(UserWarning, match="is damaged; its runs are repeated"):
        assert kept.load(tmp_path, KEY, SCHEMA) is None


def test_a_folder_in_place_of_a_bundle_is_named(tmp_path):
    (tmp_path / f"{KEY}.arrows").mkdir()
    with pytest.raises(BadInput) as caught:
        kept.load(tmp_path, KEY, SCHEMA)
    assert str(caught.value) == (
        f"{tmp_path / KEY}.arrows is a folder where a file with results belongs; move it away"
    )


def test_what_is_under_way_is_noted_until_it_ended(tmp_path):
    assert kept.under_way(tmp_path) == {"grid": "", "keys": [], "classes": [], "leaves": []}
    noted = {"grid": "draws = 2", "keys": [KEY], "classes": ["köter"], "leaves": [0]}
    kept.begin(tmp_path, **noted)
    assert kept.under_way(tmp_path) == noted
    kept.ended(tmp_path)
    kept.ended(tmp_path)  # another process may have been first
    assert kept.under_way(tmp_path)["keys"] == [] and list(tmp_path.iterdir()) == []


def test_half_written_files_go_when_nobody_can_be_writing_them(tmp_path):
    (tmp_path / "bundles").mkdir()
    old, young = (tmp_path / "bundles" / f".{name}.part" for name in ("old", "young"))
    for path in (old, young, tmp_path / ".table.part"):
        path.write_bytes(b"half")
    for path in (old, tmp_path / ".table.part"):
        os.utime(path, (0, 0))
    kept.begin(tmp_path, grid="", keys=[], classes=[])
    assert sorted(path.name for path in tmp_path.rglob("*.part")) == [".young.part"]
