"""Rows stay on disk, count once they are written, and an index says what they are."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simkit.embed.feature_files import (
    MISSING,
    FeatureWriter,
    Index,
    MappedRows,
    Skipped,
    below,
    stored,
)
from simkit.errors import BadInput
from simkit.history import History

VALUES = np.random.default_rng(0).normal(size=(11, 3)).astype(np.float16)
HISTORY = History("features", {"kind": "pooled"}, parents=("p", "b"))


@pytest.fixture
def written(tmp_path: Path) -> MappedRows:
    np.save(tmp_path / "x.npy", VALUES)
    return MappedRows((tmp_path / "x.npy",))


@pytest.mark.parametrize(
    "index",
    [0, -1, slice(None), slice(2, 10), slice(9, None, -2), [10, 0, 5, 5, -2],
     np.array([[1, 9], [4, 4]]), np.arange(11) % 3 == 0],
    ids=str,
)  # fmt: skip
def test_rows_are_those_of_one_array(written: MappedRows, index: Any) -> None:
    assert np.array_equal(written[index], VALUES[index])
    turned = written.select(np.arange(11)[::-1])
    assert np.array_equal(turned[index], VALUES[::-1][index])


def test_it_looks_like_an_array(written: MappedRows) -> None:
    assert (written.shape, written.ndim, len(written), written.nbytes) == ((11, 3), 2, 11, 66)
    assert written.dtype == np.float16 and (np.asarray(written) == VALUES).all()
    assert np.array(written, np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        written[1:3][0] = 1
    with pytest.raises(IndexError):
        written[[0, 11]]


def test_a_selection_stays_on_disk_and_another_process_gets_its_name(written: MappedRows) -> None:
    part = written.select(np.array([10, 2, 2, 7])).select(np.array([3, 0]))
    assert part.shape == (2, 3) and (np.asarray(part) == VALUES[[7, 10]]).all()
    large = written.select(np.array([1, 8]))
    assert (pickle.loads(pickle.dumps(large))[:] == VALUES[[1, 8]]).all()
    assert len(pickle.dumps(written)) < 500


def test_rows_of_several_files_are_those_of_one_array(tmp_path: Path) -> None:
    for name, rows in (("a", VALUES[:4]), ("b", VALUES[4:])):
        np.save(tmp_path / f"{name}.npy", rows)
    files = tmp_path / "a.npy", tmp_path / "b.npy"
    order = np.array([10, 0, 3, 4, 4])
    both, some = MappedRows(files), MappedRows(files, order)
    assert np.array_equal(both, VALUES) and both.shape == (11, 3)
    for index in (slice(1, 4), [4, -5], 2, order > 3):
        assert np.array_equal(some[index], VALUES[order][index])
    assert np.array_equal(pickle.loads(pickle.dumps(some.select(np.array([1]))))[:], VALUES[:1])
    lacking = MappedRows(files, np.array([2, MISSING]))
    assert np.array_equal(lacking[:1], VALUES[2:3])
    with pytest.raises(IndexError, match="not computed"):
        lacking[:]


def begun(folder: Path, key: str = "key", rows: int = 5) -> FeatureWriter:
    return FeatureWriter(folder, Index(key, "pooled", (rows, 3), HISTORY))


def written_folder(folder: Path, notes: dict[int, str] | None = None, key: str = "key") -> Index:
    writer = begun(folder, key)
    skipped = [Skipped(row, "abcde"[row], why) for row, why in (notes or {}).items()]
    writer.put(writer.blocks[0], VALUES[:5], skipped)
    writer.finish()
    return Index.read(folder)


def test_blocks_that_are_on_disk_are_not_written_again(tmp_path: Path) -> None:
    first, values = begun(tmp_path, rows=40), np.repeat(VALUES[:1], 40, 0)
    head, tail = first.blocks
    first.put(tail, values[32:], [Skipped(33, "b", "torn")])
    assert first.finish() is None
    again = begun(tmp_path, rows=40)
    assert again.skipped() == {32: [Skipped(33, "b", "torn")]}
    again.put(tail, values[32:] * 9, [Skipped(34, "c", "torn")])
    again.put(head, values[:32], [Skipped(3, "a", "torn")])
    for writer in (again, first):  # a slower process with the same features
        index = writer.finish()
        assert index is not None and [each.row for each in index.skipped] == [3, 33]
        assert np.array_equal(index.values(tmp_path), values)
    first.put(head, values[:32] * 9)
    assert np.array_equal(Index.read(tmp_path).values(tmp_path), values)


@pytest.mark.parametrize("rows", [1, 5, 33, 5000, 1_000_000])
def test_blocks_cover_all_rows_once(tmp_path: Path, rows: int) -> None:
    blocks = FeatureWriter(tmp_path, Index("key", "pooled", (rows, 1), HISTORY)).blocks
    assert [row for block in blocks for row in block] == list(range(rows))
    assert max(map(len, blocks)) <= 256 and (len(blocks) > 16 or rows <= 512)


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(BadInput, match=r"cannot be written \(File too large\); choose another"):
            begun(tmp_path, rows=100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (tmp_path / "index.json").exists()


def test_an_index_is_read_back(tmp_path: Path) -> None:
    index = written_folder(tmp_path, {3: "torn"})
    assert index.skipped == (Skipped(3, "d", "torn"),)
    assert (index.kind, index.shape, index.history) == ("pooled", (5, 3), HISTORY)
    assert (index.values(tmp_path)[:] == VALUES[:5]).all()


def test_the_id_depends_on_what_was_skipped(tmp_path: Path) -> None:
    ids = [
        written_folder(tmp_path / str(i), notes).id
        for i, notes in enumerate([{}, {3: "torn"}, {3: "lost"}, {4: "torn"}])
    ]
    assert ids[0] == "key" and ids[1] == ids[2] and len(set(ids)) == 3


def test_other_features_are_not_hidden(tmp_path: Path) -> None:
    written_folder(tmp_path)
    assert stored(tmp_path / "nowhere", "other") is None
    with pytest.raises(BadInput, match=r"holds features of other.*choose another folder or"):
        stored(tmp_path, "other")
    (tmp_path / "index.json").write_text("{")
    assert stored(tmp_path, "other") is None


def test_folders_are_found_at_every_level(tmp_path: Path) -> None:
    for place in ("train/pooled", "train/maps", "val/maps"):
        written_folder(tmp_path / place)
    assert [str(p.relative_to(tmp_path)) for p in below(tmp_path)] == [
        "train/pooled", "train/maps", "val/maps",
    ]  # fmt: skip
    assert below(tmp_path / "val") == below(tmp_path / "val/maps") == [tmp_path / "val/maps"]
    assert below(tmp_path / "nowhere") == []


@pytest.mark.parametrize("content", [None, b"", VALUES[:4].tobytes()])
def test_a_damaged_file_is_named_and_begun_anew(tmp_path: Path, content: bytes | None) -> None:
    index = written_folder(tmp_path)
    (tmp_path / "features.npy").unlink()
    if content is not None:
        (tmp_path / "features.npy").write_bytes(content)
    with pytest.raises(BadInput, match=r"/features\.npy is missing or damaged.*run the command"):
        index.values(tmp_path)
    assert stored(tmp_path, "key") is None
    with pytest.warns(UserWarning, match="computed again"):
        assert np.array_equal(written_folder(tmp_path).values(tmp_path), VALUES[:5])


@pytest.mark.parametrize(
    "change",
    [
        {"form": "simkit features 1"},
        {"kind": "maps"},
        {"done": 4},
        {"skipped": [{"row": 5, "image": "f", "reason": ""}]},
    ],
    ids=str,
)
def test_a_damaged_or_unfinished_index_is_refused_and_replaced_with_a_note(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    written_folder(tmp_path)
    facts = json.loads((tmp_path / "index.json").read_text())
    (tmp_path / "index.json").write_text(json.dumps(facts | change))
    with pytest.raises(BadInput, match=r"/index\.json cannot be read.*extract them again with"):
        Index.read(tmp_path)
    with pytest.warns(UserWarning, match=f"{tmp_path}.* by an earlier version.* computed again"):
        begun(tmp_path)
