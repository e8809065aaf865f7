"""Rows in several files are one array; files appear whole; an index says what they are."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simkit.embed import shards
from simkit.embed.shards import (
    Index,
    Shards,
    ShardWriter,
    Skipped,
    below,
    finish,
    finished,
    kept_for,
)
from simkit.errors import BadInput
from simkit.history import History

VALUES = np.random.default_rng(0).normal(size=(11, 3)).astype(np.float16)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shards:
    """Files of 4, 4 and 3 rows."""
    monkeypatch.setattr(shards, "_ROWS", 4)
    writer = ShardWriter(tmp_path, "x", 11, (3,))
    writer.put(np.arange(11), VALUES, {})
    return Shards(writer.files, writer.counts, (3,))


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        slice(None),
        slice(5, 7),
        slice(2, 10),
        slice(9, None, -2),
        slice(3, 3),
        [10, 0, 5, 5, -2],
        np.array([[1, 9], [4, 4]]),
        np.arange(11) % 3 == 0,
        [],
    ],
    ids=str,
)
def test_rows_are_those_of_one_array(written: Shards, index: object) -> None:
    expected = VALUES[:0] if isinstance(index, list) and not index else VALUES[index]  # type: ignore[index]
    assert written[index].shape == expected.shape
    assert written[index].dtype == np.float16 and (written[index] == expected).all()


def test_it_looks_like_an_array(written: Shards) -> None:
    assert (written.shape, written.ndim, len(written)) == ((11, 3), 2, 11)
    assert written.dtype == np.float16
    assert (np.asarray(written) == VALUES).all()
    assert np.array(written, np.float32).dtype == np.float32
    assert [row.shape for row in written] == [(3,)] * 11
    blocks = list(written.blocks(5))
    assert [start for start, _ in blocks] == [0, 5, 10]
    assert (np.concatenate([rows for _, rows in blocks]) == VALUES).all()


def test_it_cannot_be_written(written: Shards) -> None:
    with pytest.raises(TypeError):
        written[0] = 1  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        written[1:3][0] = 1


@pytest.mark.parametrize("index", [11, -12, [0, 11], np.zeros(4, bool), "x", 1.0])
def test_rows_that_are_not_there_are_refused(written: Shards, index: object) -> None:
    with pytest.raises((IndexError, ValueError)):
        written[index]


def test_a_selection_stays_on_disk_and_can_be_selected_from(written: Shards) -> None:
    part = written.select(np.array([10, 2, 2, 7])).select(np.array([3, 0]))
    assert part.shape == (2, 3) and (np.asarray(part) == VALUES[[7, 10]]).all()
    assert (part[0:1] == VALUES[[7]]).all()


def test_another_process_gets_names_of_files_not_rows(written: Shards) -> None:
    part = written.select(np.array([1, 8]))
    packed = pickle.dumps(part)
    assert len(packed) < 1500 and (pickle.loads(packed)[:] == VALUES[[1, 8]]).all()


def test_what_is_there_is_not_written_again(written: Shards, tmp_path: Path) -> None:
    (tmp_path / "x-00001.npy").write_bytes(b"damaged")
    before = (tmp_path / "x-00000.npy").stat().st_mtime_ns
    writer = ShardWriter(tmp_path, "x", 11, (3,))
    assert np.flatnonzero(writer.todo).tolist() == [4, 5, 6, 7]
    for rows in (np.array([4, 5, 6]), np.array([7])):
        writer.put(rows, VALUES[rows], {})
    assert not writer.todo.any() and (written[:] == VALUES).all()
    assert (tmp_path / "x-00000.npy").stat().st_mtime_ns == before


def test_rows_of_finished_files_are_passed_over(written: Shards, tmp_path: Path) -> None:
    (tmp_path / "x-00002.npy").unlink()
    writer = ShardWriter(tmp_path, "x", 11, (3,))
    for rows in np.array_split(np.arange(11), 4):  # the pass has another reason to do them all
        writer.put(rows, np.where(rows[:, None] < 8, np.float16(99), VALUES[rows]), {})
    assert (written[:] == VALUES).all()


def test_files_have_at_most_64_megabytes() -> None:
    maps = ShardWriter(Path("nowhere"), "x", 1000, (2048, 14, 14))
    assert maps.each == 83 and sum(maps.counts) == 1000 and maps.counts[-1] == 4
    assert ShardWriter(Path("nowhere"), "x", 2000, (2048,)).counts == (1024, 976)
    assert ShardWriter(Path("nowhere"), "x", 2, (1 << 20, 8, 8)).each == 1


def test_faults_of_finished_files_are_known_to_the_next_pass(tmp_path: Path, written) -> None:
    for file in tmp_path.iterdir():
        file.unlink()
    writer = ShardWriter(tmp_path, "x", 11, (3,))
    writer.put(np.arange(9), VALUES[:9], {5: "torn", 8: "lost"})
    again = ShardWriter(tmp_path, "x", 11, (3,))
    assert again.notes() == {5: "torn"}
    again.put(np.arange(8, 11), VALUES[8:], {})
    (tmp_path / "x-00001.npy").unlink()
    mended = ShardWriter(tmp_path, "x", 11, (3,))
    mended.put(np.arange(4, 8), VALUES[4:8], {})
    assert mended.notes() == {}


@pytest.mark.parametrize("damage", ["", "[[1", "[1]", "{}x"])
def test_shards_whose_faults_are_lost_are_written_again(tmp_path: Path, damage: str) -> None:
    writer = ShardWriter(tmp_path, "x", 3, (3,))
    writer.put(np.arange(3), VALUES[:3], {1: "torn"})
    (tmp_path / "x-skipped.json").write_text(damage)
    assert ShardWriter(tmp_path, "x", 3, (3,)).todo.all()


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = ShardWriter(tmp_path, "x", 1000, (100,))
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(BadInput) as error:
            writer.put(np.arange(1000), np.ones((1000, 100), np.float16), {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(error.value) == (
        f"{tmp_path}/x-00000.npy cannot be written (File too large); choose another place"
    )
    assert not list(tmp_path.iterdir())


HISTORY = History("features", {"kind": "pooled"}, parents=("p", "b"))


def written_folder(folder: Path, notes: dict[int, str] | None = None, key: str = "key") -> Index:
    writer = ShardWriter(folder, key, 5, (3,))
    writer.put(np.arange(5), VALUES[:5], notes or {})
    finish(writer, folder, key=key, kind="pooled", images=list("abcde"), history=HISTORY)
    return Index.read(folder)


def test_an_index_is_read_back(tmp_path: Path) -> None:
    index = written_folder(tmp_path, {3: "torn"})
    assert index.skipped == (Skipped(3, "d", "torn"),)
    assert (index.kind, index.shape, index.history) == ("pooled", (5, 3), HISTORY)
    assert (index.values(tmp_path)[:] == VALUES[:5]).all()
    facts = json.loads((tmp_path / "index.json").read_text())
    assert facts["pictures"] == "p" and facts["backbone"] == "b" and facts["dtype"] == "float16"
    assert facts["shards"] == [{"file": "key-00000.npy", "rows": 5}]


def test_the_id_depends_on_what_was_skipped(tmp_path: Path) -> None:
    ids = [
        written_folder(tmp_path / str(i), notes).id
        for i, notes in enumerate([{}, {3: "torn"}, {3: "lost"}, {4: "torn"}])
    ]
    assert ids[0] == "key" and ids[1] == ids[2] and len(set(ids)) == 3


def test_features_without_a_single_picture_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none of 5 pictures can be.*0\.jpg is torn"):
        written_folder(tmp_path, {row: f"{row}.jpg is torn" for row in range(5)})
    assert not (tmp_path / "index.json").exists()


def test_other_features_are_not_hidden(tmp_path: Path) -> None:
    written_folder(tmp_path)
    kept_for(tmp_path, "key")
    kept_for(tmp_path / "nowhere", "other")
    with pytest.raises(BadInput, match=r"holds features of other.*choose another folder or"):
        kept_for(tmp_path, "other")
    (tmp_path / "index.json").write_text("{")
    kept_for(tmp_path, "other")


def test_folders_are_found_at_every_level(tmp_path: Path) -> None:
    for place in ("train/pooled", "train/maps", "val/maps"):
        written_folder(tmp_path / place)
    assert [str(p.relative_to(tmp_path)) for p in below(tmp_path)] == [
        "train/pooled", "train/maps", "val/maps",
    ]  # fmt: skip
    assert below(tmp_path / "val") == below(tmp_path / "val/maps") == [tmp_path / "val/maps"]
    assert below(tmp_path / "nowhere") == []


def test_a_lost_shard_is_named(tmp_path: Path) -> None:
    index = written_folder(tmp_path)
    assert finished(tmp_path, "key") and not finished(tmp_path, "other")
    (tmp_path / "key-00000.npy").unlink()
    assert not finished(tmp_path, "key")
    with pytest.raises(BadInput, match=r"/key-00000\.npy is missing.*run the command that made"):
        index.values(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"form": "simkit features 9"},
        {"dtype": "float32"},
        {"kind": "maps"},
        {"kind": []},
        {"shape": [6, 3]},
        {"shape": [5.0, 3]},
        {"shape": None},
        {"shards": [{"file": "../key-00000.npy", "rows": 5}]},
        {"shards": [{"file": "key-00000.npy", "rows": True}]},
        {"shards": [{"rows": 5}]},
        {"shards": [{"file": "a\x00", "rows": 10}, {"file": "b", "rows": -5}]},
        {"skipped": [{"row": 5, "image": "f", "reason": ""}]},
        {"skipped": 3},
        {"history": {}},
    ],
    ids=str,
)
def test_a_damaged_index_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    written_folder(tmp_path)
    facts = json.loads((tmp_path / "index.json").read_text())
    (tmp_path / "index.json").write_text(json.dumps(facts | change))
    with pytest.raises(BadInput, match=r"/index\.json cannot be read.*extract them again with"):
        Index.read(tmp_path)


def test_a_shard_with_notes_behind_its_rows_is_written_again(tmp_path) -> None:
    """Earlier versions noted there which rows are no features."""
    writer = ShardWriter(tmp_path, "x", 2, (3,))
    writer.put(np.arange(2), np.ones((2, 3), np.float16), {})
    assert not ShardWriter(tmp_path, "x", 2, (3,)).todo.any()
    with writer.files[0].open("ab") as file:
        file.write(b'[[0, "damaged"]]')
    assert ShardWriter(tmp_path, "x", 2, (3,)).todo.all()
