"""CSV."""

import csv
from pathlib import Path

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.formats.csv import Csv
from simkit.labels.partial import PartialLabels
from tests.labels.formats.examples import refuses

CSV = Csv()


def _read(folder: Path, text: str | bytes) -> PartialLabels:
    path = folder / "x.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return CSV.read(path)


def test_the_file_by_hand(tmp_path: Path) -> None:
    codes = np.array([[1, -1], [0, 0], [0, 1]], np.int8)
    CSV.write(PartialLabels.of(codes, [7, 8, 5], ["dog", "a, b"]), tmp_path / "x.csv")
    text = 'image_id,class,state\n7,dog,1\n7,"a, b",-1\n5,"a, b",1\n'
    assert (tmp_path / "x.csv").read_text() == text
    read = CSV.read(tmp_path / "x.csv")
    assert read.images.tolist() == [7, 5] and read.classes == ("dog", "a, b")
    assert read.rows([0, 1]).tolist() == [[1, -1], [0, 1]]


def test_odd_names_come_back(tmp_path: Path) -> None:
    names = ['"', "a\nb", "", "a\rb", "c", "NULL", "é", "=1+1", "x" * 70_000]
    ids = ["a", "a\r.", "007", "", "NaN", "b\r\nc", "true", "2024-01-01", "1e3"]
    given = PartialLabels.of(np.eye(9, dtype=np.int8), ids, names)
    CSV.write(given, tmp_path / "x.csv")
    assert CSV.read(tmp_path / "x.csv").id == given.id
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as stream:
        assert [row[0] for row in csv.reader(stream)][1:] == ids


def test_cells_that_spreadsheets_would_compute_may_be_marked_as_text(tmp_path: Path) -> None:
    images, classes = ["=1+1", "'=1", "a,@b", "-2"], ("@cat", "+dog")
    labels = PartialLabels.of([[1, -1], [1, 0], [0, 1], [-1, 1]], images, classes)
    marked, plain = Csv(as_text=True), tmp_path / "plain.csv"
    marked.write(labels, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == [
        "'=1+1,'@cat,1", "'=1+1,'+dog,-1", "''=1,'@cat,1", "\"a,@b\",'+dog,1", "'-2,'@cat,-1",
        "'-2,'+dog,1",
    ]  # fmt: skip
    found = marked.read(tmp_path / "a.csv")
    assert found.images.tolist() == images and sorted(found.classes) == sorted(classes)
    Csv().write(labels, plain)
    assert "=1+1,@cat,1" in plain.read_text()


def test_columns_may_stand_in_any_order_beside_others(tmp_path: Path) -> None:
    read = _read(tmp_path, "state,who,class,image_id\r\n+1,x,a,3\r\n -1 ,y,b,3\r\n")
    assert read.images.tolist() == [3] and read.rows([0]).tolist() == [[1, -1]]
    assert _read(tmp_path, b"\xef\xbb\xbfimage_id,class,state\n1,a,1\n").classes == ("a",)


def test_ids_are_numbers_where_all_of_them_are(tmp_path: Path) -> None:
    head = "image_id,class,state\n"
    assert _read(tmp_path, head + "-3,a,1\n0,a,1\n").images.tolist() == [-3, 0]
    assert _read(tmp_path, head + "3,a,1\n03,a,1\n").images.tolist() == ["3", "03"]
    assert _read(tmp_path, head + f"3,a,1\n{10**20},a,1\n").images.tolist() == ["3", str(10**20)]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no header"),
        ("1,a,1\n2,a,1\n", "image_id"),
        ("image_id,class,state\n", "no row"),
        ("image_id,class,state\n1,a,2\n", "'state' holds '2' in row 2"),
        ("image_id,class,state\n1,a,1\n1,a,-1\n", "image 1 and class 'a'"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, text: str | bytes, word: str) -> None:
    refuses(lambda path: _read(path.parent, text), tmp_path / "x.csv", word)


def test_a_name_that_is_no_utf8_is_not_written(tmp_path: Path) -> None:
    values = PartialLabels.of(np.eye(2, dtype=np.int8), None, ["a", "\udc80"])
    with pytest.raises(BadInput, match=r"udc80.*UTF-8"):
        CSV.write(values, tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_zero_is_absent(tmp_path: Path) -> None:
    read = _read(tmp_path, "Image;label;state\n1;a;1\n2;a;0\n")
    assert read.rows([0, 1]).tolist() == [[1], [-1]]
    with pytest.warns(UserWarning, match="state is unknown: 1 of 3"):
        read = _read(tmp_path, "image,class,state\n1,a,0\n2,a,1\n3,a,\n")
    assert read.images.tolist() == [1, 2, 3] and read.rows([0, 1, 2]).tolist() == [[-1], [1], [0]]
    with pytest.raises(BadInput, match="leave out the rows whose state is unknown"):
        _read(tmp_path, "image,class,state\n1,a,0\n2,a,1\n3,a,-1\n")  # may be our own codes


def test_a_name_with_outer_spaces_is_lost(tmp_path: Path) -> None:
    labels = PartialLabels.of([[1, -1]], ["x"], [" a", "b"])
    assert "spelling of 1 names" in " ".join(CSV.loses(labels))
