"""Rows in several files are one array, and files appear whole."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from simkit.embed.features import shards as place
from simkit.embed.features.shards import Shards, ShardWriter, holding
from simkit.errors import BadInput

VALUES = np.random.default_rng(0).normal(size=(11, 3)).astype(np.float16)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shards:
    """Files of 4, 4 and 3 rows."""
    monkeypatch.setattr(place, "_ROWS", 4)
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
    assert (written.shape, written.ndim, len(written), written.nbytes) == ((11, 3), 2, 11, 66)
    assert written.dtype == np.float16
    assert (np.asarray(written) == VALUES).all()
    assert np.array(written, np.float32).dtype == np.float32
    assert [row.shape for row in written] == [(3,)] * 11
    blocks = list(written.blocks(5))
    assert [start for start, _ in blocks] == [0, 5, 10]
    assert (np.concatenate([rows for _, rows in blocks]) == VALUES).all()
    with pytest.raises(ValueError, match="no array without a copy"):
        np.asarray(written, copy=False)


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


def test_few_files_are_open_at_a_time(written: Shards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_OPEN", 1)
    narrow = Shards(*written.__reduce__()[1])
    assert (narrow[::-1] == VALUES[::-1]).all()
    assert narrow._map.cache_info().currsize == 1


def test_what_is_there_is_not_written_again(written: Shards, tmp_path: Path) -> None:
    (tmp_path / "x-00001.npy").write_bytes(b"damaged")
    before = (tmp_path / "x-00000.npy").stat().st_mtime_ns
    writer = ShardWriter(tmp_path, "x", 11, (3,))
    assert np.flatnonzero(writer.todo).tolist() == [4, 5, 6, 7]
    for rows in (np.array([4, 5, 6]), np.array([7])):
        writer.put(rows, VALUES[rows], {})
    assert not writer.todo.any() and (written[:] == VALUES).all()
    assert (tmp_path / "x-00000.npy").stat().st_mtime_ns == before
    assert holding(writer.files, writer.counts, (3,)) is None


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


def test_notes_stay_with_their_files(written: Shards, tmp_path: Path) -> None:
    for file in tmp_path.glob("*.npy"):
        file.unlink()
    writer = ShardWriter(tmp_path, "x", 11, (3,))
    writer.put(np.arange(9), VALUES[:9], {5: "torn", 8: "lost"})
    assert ShardWriter(tmp_path, "x", 11, (3,)).notes() == {5: "torn"}
    again = ShardWriter(tmp_path, "x", 11, (3,))
    again.put(np.arange(8, 11), VALUES[8:], {})
    assert again.notes() == {5: "torn"}
    (tmp_path / "x-00001.npy").unlink()
    mended = ShardWriter(tmp_path, "x", 11, (3,))
    mended.put(np.arange(4, 8), VALUES[4:8], {})
    assert mended.notes() == {}


def test_files_are_as_numpy_writes_them(written: Shards, tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", VALUES[:4])
    assert (tmp_path / "x-00000.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"[[1"])
def test_a_file_with_damaged_notes_is_written_again(tmp_path: Path, damage: bytes) -> None:
    writer = ShardWriter(tmp_path, "x", 3, (3,))
    writer.put(np.arange(3), VALUES[:3], {1: "torn"})
    (file,) = writer.files
    assert (np.load(file) == VALUES[:3]).all()
    assert ShardWriter(tmp_path, "x", 3, (3,)).notes() == {1: "torn"}
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    content = file.read_bytes()
    file.write_bytes(content[: -len(damage) or -1] + damage)
    assert ShardWriter(tmp_path, "x", 3, (3,)).todo.all()
    assert holding(writer.files, writer.counts, (3,)) == file


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
