"""The wide table with -1 for unknown."""

from pathlib import Path

import numpy as np
import pytest

from simkit.labels.formats import for_path
from simkit.labels.formats.csl_csv import CslCsv
from simkit.labels.partial import PartialLabels
from tests.labels.formats.examples import gaps, labels, refuses

CODES = np.array([[1, -1], [0, 0], [0, 1]], np.int8)
LABELS = PartialLabels.of(CODES, [7, 8, 5], ["dog", "a, b"], [True, True, True])


def _read(folder: Path, text: str | bytes) -> PartialLabels:
    path = folder / "x.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return CslCsv().read(path)


def test_the_file_by_hand(tmp_path: Path) -> None:
    CslCsv().write(LABELS, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == 'image,dog,"a, b"\n7,1,0\n8,-1,-1\n5,-1,1\n'
    targets = np.loadtxt(tmp_path / "x.csv", delimiter=",", skiprows=1)[:, 1:]
    assert targets.tolist() == [[1, 0], [-1, -1], [-1, 1]]
    assert for_path(tmp_path / "x.csv") == CslCsv()
    assert CslCsv().read(tmp_path / "x.csv").id == LABELS.id


def test_only_asked_images_are_written(tmp_path: Path) -> None:
    given = PartialLabels.of(CODES, None, ["a", "b"])
    CslCsv(file="{:03d}.jpg").write(given, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "image,a,b\n000.jpg,1,0\n002.jpg,-1,1\n"
    said = " ".join(CslCsv(file="{}.jpg").loses(given))
    assert "1 images about which no question was asked" in said and "ids of 2 images" in said
    assert CslCsv().loses(LABELS) == ()
    said = " ".join(CslCsv().loses(labels(asked=np.ones(60, bool))))
    assert "the questions asked" in said and "the history" in said


def test_blocks_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = labels(ids=gaps(60), asked=np.ones(60, bool))
    monkeypatch.setattr("simkit.labels.formats.csl_csv._ROWS", 7)
    CslCsv().write(given, tmp_path / "x.csv")
    assert CslCsv().read(tmp_path / "x.csv").id == given.id


def test_tables_of_other_programs_are_read(tmp_path: Path) -> None:
    assert _read(tmp_path, "image,a\r\n1,1.0\r\n2,-1.0\r\n").rows([0, 1]).tolist() == [[1], [0]]
    assert _read(tmp_path, b'\xef\xbb\xbfimage,"a\nb"\nx,0\n').classes == ("a\nb",)


def test_a_quoted_header_is_known(tmp_path: Path) -> None:
    for text in ('"image","a"\n"1","1"\n', '\ufeff"image",a\n1,1\n', "image,a\n1,1\n"):
        assert _read(tmp_path, text).rows([0]).tolist() == [[1]]
        assert for_path(tmp_path / "x.csv") == CslCsv()
    (tmp_path / "x.csv").write_text('"image,class",a\n1,1\n')
    assert for_path(tmp_path / "x.csv").name == "csv"


def test_empty_lines_and_zeros_with_a_sign_are_no_obstacle(tmp_path: Path) -> None:
    read = _read(tmp_path, "image,a,b\n\n1,-0.0, 1\n\n")
    assert read.images.tolist() == [1] and read.rows([0]).tolist() == [[-1, 1]]


def test_repeated_class_names_become_distinct(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"the later ones are called 'a \(2\)', 'image \(2\)'$"):
        read = _read(tmp_path, "image,a,a,image,image\n1,0,1,-1,1\n")
    assert read.classes == ("a", "a (2)", "image", "image (2)")
    assert read.rows([0]).tolist() == [[-1, 1, 0, 1]]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "header"),
        ("image\n1\n", "no class columns"),
        ("image_id,class,state\n1,a,1\n", "'class' holds 'a' in row 2"),
        ("image,a\n", "no rows"),
        ("image,a\n1,1.0000001\n", "row 2"),
        ("image,a\n1,1\n2,1,1\n", "row 3"),
        ("image,a\n1,2\n", "row 2"),
        ("image,a\n1,0\n1,1\n", "image id 1 occurs twice"),
        (b"image,a\n\xc3\xa4\xff\xc3\xa4\xc3\xa4,0\n", "UTF-8"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, text: str | bytes, word: str) -> None:
    refuses(lambda path: _read(path.parent, text), tmp_path / "x.csv", word)


def test_minus_one_without_zero_is_unknown_unless_stated(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="no cell is 0"):
        read = _read(tmp_path, "image;a;b\n1;-1;1\n")
    assert read.rows([0]).tolist() == [[0, 1]]
    stated = CslCsv(minus="absent").read(tmp_path / "x.csv")
    assert stated.rows([0]).tolist() == [[-1, 1]]
