"""Parquet: simkit's own files and foreign tables."""

import base64
import json
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.labels.formats.parquet import COLUMNS, Parquet
from simkit.labels.partial import PartialLabels
from tests.labels.formats.examples import gaps, labels, refuses, same

PARQUET = Parquet()
TEXT = np.char.add("a/ä-", np.arange(60).astype(str))[::-1]
IDS = {
    "counted": None,
    "ranges": np.r_[100:130, 5:35],
    "gaps": gaps(60),
    "large": gaps(60) * 2**53 - 2**61,
    "extreme": np.r_[-(2**63), 2**63 - 1, 3:61],
    "text": TEXT,
    "digits": np.char.zfill(np.arange(60).astype(str), 6),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())
def test_everything_comes_back(tmp_path: Path, ids: Any) -> None:
    given = labels(ids=ids)
    given.save(tmp_path / "x.parquet")
    assert same(PartialLabels.load(tmp_path / "x.parquet"), given)


@pytest.mark.parametrize("keep", [0.0, 1.0])
def test_none_and_all_known_come_back(tmp_path: Path, keep: float) -> None:
    for ids in (None, gaps(60), TEXT):
        for asked in (np.zeros(60, bool), np.ones(60, bool)):
            given = labels(keep=keep, ids=ids, asked=asked)
            PARQUET.write(given, tmp_path / "x.parquet")
            assert same(PARQUET.read(tmp_path / "x.parquet"), given)


def test_several_row_groups_join_without_a_seam(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = labels(keep=0.9, ids=gaps(60))
    PARQUET.write(given, tmp_path / "one.parquet")
    monkeypatch.setattr("simkit.labels.formats.parquet.ROWS", 7)
    PARQUET.write(given, tmp_path / "many.parquet")
    assert pq.read_metadata(tmp_path / "many.parquet").num_row_groups > 20
    assert same(PARQUET.read(tmp_path / "many.parquet"), given)
    one, many = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("one", "many"))
    assert (one.astype(str) == many.astype(str)).all(axis=None)


def test_equal_labels_are_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        PARQUET.write(labels(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_pandas_reads_a_long_table_sorted_by_image(tmp_path: Path) -> None:
    given = labels(ids=gaps(60))
    PARQUET.write(given, tmp_path / "x.parquet")
    table = pd.read_parquet(tmp_path / "x.parquet")
    assert list(table.columns) == COLUMNS
    assert table["state"].dtype == np.int8 and table["class"].dtype == "category"
    rows = np.repeat(np.arange(60), np.diff(given.codes.indptr))
    assert (table["image_id"] == given.images[rows]).all()
    assert (table["class"] == np.array(given.classes)[given.codes.indices]).all()
    assert (table["state"] == given.codes.data).all()


def test_a_label_of_a_large_set_takes_two_bytes(tmp_path: Path) -> None:
    # As in COCO 2014: 40,137 images with gaps in their ids, 80 classes, one label for each image.
    rng = np.random.default_rng(0)
    N, L = 40_137, 80
    ids = np.sort(rng.choice(580_000, N, replace=False))
    columns = np.minimum(rng.geometric(0.06, N) - 1, L - 1)
    single = csr_array((np.ones(N, np.int8), columns, np.arange(N + 1)), shape=(N, L))
    dense = np.where(rng.random((N, L)) < 0.036, 1, -1) * (rng.random((N, L)) < 0.1)
    for codes in (single, csr_array(dense.astype(np.int8))):
        values = PartialLabels.of(codes, ids)
        PARQUET.write(values, tmp_path / "x.parquet")
        assert (tmp_path / "x.parquet").stat().st_size <= 2.1 * values.codes.nnz


# Files of our own that somebody changed.


def _changed(path: Path, rows: Any = None, **changes: Any) -> Path:
    """The file with another table or other values in its metadata."""
    file = pq.ParquetFile(path)
    extra = json.loads(file.metadata.metadata[b"simkit"])
    extra.pop("checksum", None)  # as in version 0.1
    table = file.read() if rows is None else rows(file.read())
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"simkit": json.dumps(extra | changes)})
    return path


def _swapped(table: pa.Table) -> pa.Table:
    return table.set_column(2, "state", pa.array(-table["state"].to_numpy(), pa.int8()))


def _renamed(table: pa.Table) -> pa.Table:
    return table.set_column(0, "image_id", pa.array(table["image_id"].to_numpy() + 1))


@pytest.mark.parametrize("ids", [None, gaps(60)])
@pytest.mark.parametrize(
    "rows",
    [
        _swapped,
        _renamed,
        lambda table: table.slice(20),
        lambda table: pa.concat_tables([table, table]),
        lambda table: table.slice(0, 0),
    ],
)
def test_changed_rows_are_noticed(tmp_path: Path, rows: Any, ids: Any) -> None:
    path = tmp_path / "x.parquet"
    PARQUET.write(labels(ids=ids), path)
    refuses(PARQUET.read, _changed(path, rows), "")


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2}, {"id": "x"}, {"images": 10**12}, {"images": -1}, {"images": "60"},
        {"images": 61}, {"labelled": "AAAA"}, {"asked": "AAAA"}, {"classes": ["a"]},
        {"classes": None}, {"classes": list("aabcdef")}, {"ids": {"ranges": [[0, 10**12]]}},
        {"ids": {"ranges": [[0, 70], [70, 60]]}}, {"ids": {"width": 3, "steps": ""}}, {"ids": {}},
        {"ids": {"text": "eJyLjgUAARUAuQ=="}}, {"history": {}}, {"effort": None},
    ],
)  # fmt: skip
def test_changed_metadata_is_noticed(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "x.parquet"
    PARQUET.write(labels(), path)
    _changed(path)
    assert same(PARQUET.read(path), labels())
    refuses(PARQUET.read, _changed(path, **changes), "")


def test_a_packed_field_cannot_unfold_to_more_than_it_should(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    PARQUET.write(labels(ids=TEXT), path)
    bomb = base64.b64encode(zlib.compress(b'["' + b"a" * 50_000_000 + b'"]', 9)).decode()
    for changes in ({"asked": bomb}, {"ids": {"text": bomb}}):
        refuses(PARQUET.read, _changed(path, **changes), "packed field")


def test_consecutive_ids_take_no_room(tmp_path: Path) -> None:
    for N in (800, 80_000):
        PARQUET.write(labels(N, ids=np.arange(5, N + 5)), tmp_path / f"{N}")
    metadata = [len(pq.read_metadata(tmp_path / name).metadata[b"simkit"]) for name in
                ("800", "80000")]  # fmt: skip
    assert metadata[1] - metadata[0] < 80_000 / 8 * 2.5


def test_a_name_that_is_no_utf8_is_not_written(tmp_path: Path) -> None:
    values = PartialLabels.of(np.eye(2, dtype=np.int8), None, ["a", "\udc80"])
    with pytest.raises(BadInput, match=r"class names.*UTF-8"):
        PARQUET.write(values, tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


# Files of other programs.


def _save(table: Any, path: Path) -> Path:
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(table)
    frame.to_parquet(path)
    return path


def test_a_foreign_table_orders_images_and_classes_by_first_row(tmp_path: Path) -> None:
    rows = {
        "image_id": [9, 4, 9, 4],
        "class": ["dog", "cat", "cat", "bird"],
        "state": [1, 1, -1, -1],
        "who": list("abcd"),
    }
    read = PARQUET.read(_save(rows, tmp_path / "x.parquet"))
    assert read.images.tolist() == [9, 4] and read.classes == ("dog", "cat", "bird")
    assert read.rows([0, 1]).tolist() == [[1, -1, 0], [0, 1, -1]]
    assert read.asked.all() and read.history.command == "given"


def test_a_dictionary_gives_all_classes_in_order(tmp_path: Path) -> None:
    kinds = pd.CategoricalDtype(["bird", "cat", "dog"])
    rows = {"image_id": ["x"], "class": pd.Series(["dog"], dtype=kinds), "state": [1]}
    assert PARQUET.read(_save(rows, tmp_path / "x.parquet")).classes == ("bird", "cat", "dog")


def test_a_table_that_went_through_pandas_is_a_foreign_table(tmp_path: Path) -> None:
    given = labels(ids=gaps(60))
    PARQUET.write(given, tmp_path / "x.parquet")
    read = PARQUET.read(_save(pd.read_parquet(tmp_path / "x.parquet"), tmp_path / "y.parquet"))
    assert read.counts()["present"] == given.counts()["present"]
    assert read.classes == given.classes
    row = {identity: i for i, identity in enumerate(given.images)}
    assert (read.codes != given.codes[[row[i] for i in read.images]]).nnz == 0


GOOD = {"image_id": [1, 2], "class": ["a", "b"], "state": [1, -1]}


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"image_id": [1, 1], "class": ["a", "a"]}, "image 1 and class 'a'"),
        ({"state": [1, 2]}, "state is 2 in row 2"),
        ({"state": ["1", "-1"]}, "state is "),
        ({"image_id": [0.5, 1]}, "image ids are float64"),
        ({"class": ["a", None]}, "class is empty"),
        ({"image_id": ["a", "a\u200b"]}, "name the same file"),
        ({"image_id": [], "class": pd.Series([], dtype=str), "state": pd.Series([], dtype=int)},
         "no rows"),
        ({"image_id": np.array([1, 2**63], np.uint64)}, "image id"),
        ({"image_id": ["a" * 1025, "b"]}, "image id"),
        ({"state": [0, -1]}, "only one of them"),
    ],
)  # fmt: skip
def test_a_foreign_table_that_is_none_is_refused(
    tmp_path: Path, changed: dict[str, Any], word: str
) -> None:
    refuses(PARQUET.read, _save(GOOD | changed, tmp_path / "x.parquet"), word)


@pytest.mark.parametrize(
    ("changed", "rows"),
    [
        ({"state": [1.0, -1.0, -1.0]}, [[1, 0], [0, -1], [-1, 0]]),
        ({"state": [True, False, True]}, [[1, 0], [0, -1], [1, 0]]),
        ({"state": [1, 0, 0]}, [[1, 0], [0, -1], [-1, 0]]),
        ({"image_id": [1.0, 2.0, 3.0]}, [[1, 0], [0, -1], [1, 0]]),
        ({"class": ["k\u00e4fer", "b", "ka\u0308fer\u200b "]}, [[1, 0], [0, -1], [1, 0]]),
    ],
)
def test_numbers_states_and_names_of_other_programs(
    tmp_path: Path, changed: dict[str, Any], rows: list[list[int]]
) -> None:
    good = {"image_id": [1, 2, 3], "class": ["a", "b", "a"], "state": [1, -1, 1]}
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        read = PARQUET.read(_save(good | changed, tmp_path / "x.parquet"))
    assert (
        read.images.tolist() == [1, 2, 3][: len(rows)]
        and read.rows(range(len(rows))).tolist() == rows
    )
    assert len(notes) == ("class" in changed)
    assert all("look alike" in str(each.message) for each in notes)


DELTA = {"use_dictionary": False, "column_encoding": {"class": "DELTA_BYTE_ARRAY"}}


@pytest.mark.parametrize("kind", ["string", "large_string"])
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, DELTA])
def test_text_is_read_from_every_encoding(tmp_path: Path, options: Any, kind: str) -> None:
    texts = np.sort(np.random.default_rng(0).integers(0, 700, 7000)).astype(str).tolist()
    columns = {"image_id": range(7000), "class": pa.array(texts, kind), "state": [1] * 7000}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=3000, **options)
    read = PARQUET.read(tmp_path / "x.parquet")
    assert [read.classes[c] for c in read.codes.indices] == texts
    columns["class"] = pa.array([*texts[1:], None], kind)
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=3000, **options)
    refuses(PARQUET.read, tmp_path / "x.parquet", "class is empty")
