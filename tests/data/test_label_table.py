"""Tables of labels of either shape, against reading them row by row."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simkit.data.label_table import Content, read_content
from simkit.errors import BadInput
from tests.reference.tables import long_labels, wide_labels

FILES = st.sampled_from(["a.jpg", "b/c.jpg", "d e.png", "ü.jpg"])
CLASSES = st.sampled_from(["cat", "dog, big", "Vogel", ""])
ONCE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)


def _write(folder: Path, rows: list[list[str]]) -> Path:
    path = folder / "labels.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return path


def _cells(content: Content) -> list[tuple[str, str, bool]]:
    present = content.present.toarray()
    pairs = [(f, c) for f in content.files for c in content.classes]
    return [(f, c, bool(v)) for (f, c), v in zip(pairs, present.ravel(), strict=True)]


@ONCE
@given(rows=st.lists(st.tuples(FILES, CLASSES), min_size=1, max_size=12))
def test_long_tables(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    path = _write(tmp_path, [["file", "class"], *map(list, [*rows, ("a.jpg", "last")])])
    content, expected = read_content(path), long_labels(path)
    assert content.files == list(expected)
    assert set(content.classes) == set().union(*expected.values())
    assert all(there == (c in expected[f]) for f, c, there in _cells(content))
    assert content.known is None and set(content.splits) == {"train"}


@ONCE
@given(
    files=st.lists(FILES, min_size=1, max_size=4, unique=True),
    cells=st.lists(st.sampled_from(["0", "1", "-1", ""]), min_size=12, max_size=12),
)
def test_wide_tables(tmp_path: Path, files: list[str], cells: list[str]) -> None:
    rows = [[file, *cells[3 * i : 3 * i + 3]] for i, file in enumerate(files)]
    path = _write(tmp_path, [["file", "x", "y", "z"], *rows])
    content, expected = read_content(path, minus="unknown"), wide_labels(path)
    assert content.classes == ["x", "y", "z"] and content.files == files
    assert all(there == (expected[f][c] == "1") for f, c, there in _cells(content))
    unknown = np.array([[cell in ("", "-1") for cell in expected[f].values()] for f in files])
    assert (content.known is None) == (not unknown.any())
    if content.known is not None:
        assert (content.known.toarray() == ~unknown).all()


def _read(tmp_path: Path, text: str) -> Content:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8", newline="")
    return read_content(tmp_path / "t.csv")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_first_row_tells_what_stands_between_cells(tmp_path: Path, mark: str) -> None:
    content = _read(tmp_path, 'file | b|"x|y"\n a.jpg |"1"|\n c||0\n'.replace("|", mark))
    assert content.files == ["a.jpg", "c"] and content.classes == ["b", f"x{mark}y"]
    assert content.present.toarray().tolist() == [[True, False], [False, False]]
    assert content.known is not None
    assert content.known.toarray().tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("file;a, b;c, d\nx.jpg;1;0\ny.jpg;0;1\n", ["a, b", "c, d"]),
        ("file;a, b, c;d\nx.jpg;1;0\n", ["a, b, c", "d"]),
        ("file,a; b,c; d\rx.jpg,1,0\r\ry.jpg,0,1\r", ["a; b", "c; d"]),
        ("file,a,b,,\nx.jpg,1,0,,\n", ["a", "b"]),
    ],
)
def test_the_next_rows_tell_where_the_first_one_does_not(
    tmp_path: Path, text: str, classes: list[str]
) -> None:
    assert _read(tmp_path, text).classes == classes


def test_a_long_first_row(tmp_path: Path) -> None:
    names = [f"a class with number {c}" for c in range(9600)]
    assert _read(tmp_path, f"{','.join(['file', *names])}\nx.jpg{',1' * 9600}\n").classes == names


def test_cells_may_hold_line_ends_and_any_text(tmp_path: Path) -> None:
    assert _read(tmp_path, 'file,class\na.jpg,"x\ny"\nb.jpg,NULL\nc.jpg,٣\n').classes == [
        "x\ny", "NULL", "٣",
    ]  # fmt: skip


@pytest.mark.parametrize(("cells", "noted"), [("1,0,-1", True), ("1,-1,0", False)])
def test_minus_one_in_columns_without_zero_is_named(
    tmp_path: Path, cells: str, noted: bool, recwarn: pytest.WarningsRecorder
) -> None:
    content = _read(tmp_path, f"file,x,y,z\na.jpg,1,1,1\nb.jpg,{cells}\nc.jpg,1,0,1\n")
    assert content.known is not None and content.known.toarray().sum() == 8
    assert ["no 0: 1 ('z')" in str(each.message) for each in recwarn] == [True] * noted


def test_numbers_of_classes_beside_their_names_are_left_out(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="'class_name' names the classes, and 'label' is left out"):
        content = _read(tmp_path, "file,label,class_name\na.jpg,0,cat\nb.jpg,2,dog\na.jpg,2,dog\n")
    assert content.classes == ["cat", "dog"]
    assert content.present.toarray().tolist() == [[True, True], [False, True]]


def test_lists_under_another_name_are_refused_and_the_mend_works(tmp_path: Path) -> None:
    """As Label Studio writes them into CSV, where one choice is no list."""
    text = 'image,animals,id\na.jpg,"{""choices"": [""cat"", ""dog""]}",11\nb.jpg,cat,12\n'
    with pytest.raises(BadInput, match=r"'animals' .* call the column class"):
        _read(tmp_path, text)
    content = _read(tmp_path, text.replace("animals", "class"))
    assert content.present.toarray().tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize(
    ("header", "rows", "files"),
    [
        ("file,image_path,class", "a,t/a.jpg,cat", ["a"]),  # the column with simkit's name
        ("image_id,path,class", "7,a.jpg,cat", ["a.jpg"]),  # the one that names files
    ],
)
def test_one_of_several_columns_of_images_is_read(
    tmp_path: Path, header: str, rows: str, files: list[str]
) -> None:
    table = tmp_path / "labels.csv"
    table.write_text(f"{header}\n{rows}\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="left out: 1"):
        assert read_content(table).files == files
