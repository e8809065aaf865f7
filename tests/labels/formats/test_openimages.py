"""OpenImages' human-verified image-level labels."""

import re
from pathlib import Path

import pytest

from simkit.errors import BadInput
from simkit.labels.formats import for_path, make
from simkit.labels.formats.openimages import OpenImages, read_names
from simkit.labels.partial import PartialLabels
from tests.labels.formats.examples import refuses

ROWS = """ImageID,Source,LabelName,Confidence
000002b66c9c498e,verification,/m/014j1m,0
000002b66c9c498e,verification,/m/014sv8,1
000002b66c9c498e,crowdsource-verification,/m/01599,0
0000071d71a0a6f6,verification,/m/01599,1
000002b66c9c498e,crowdsource-verification,/m/014sv8,1.0
"""
NAMES = """LabelName,DisplayName
/m/01599,Beer
/m/0cnyhnx,Bull
/m/014j1m,Apple
/m/014sv8,Human eye
"""


def _save(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_rows_by_hand(tmp_path: Path) -> None:
    read = OpenImages().read(_save(tmp_path / "x.csv", ROWS))
    assert read.images.tolist() == ["000002b66c9c498e", "0000071d71a0a6f6"]
    assert read.classes == ("/m/014j1m", "/m/014sv8", "/m/01599")
    assert read.rows([0, 1]).tolist() == [[-1, 1, -1], [0, 0, 1]]
    assert read.asked.all() and for_path(tmp_path / "x.csv") == OpenImages()


def test_names_give_all_classes_in_their_order(tmp_path: Path) -> None:
    names = _save(tmp_path / "names.csv", NAMES)
    part = make(f"openimages(names='{names}')")
    read = part.read(_save(tmp_path / "x.csv", ROWS))
    assert read.classes == ("Beer", "Bull", "Apple", "Human eye")
    assert read.rows([0, 1]).tolist() == [[-1, 0, -1, 1], [1, 0, 0, 0]]
    part.write(read, tmp_path / "y.csv")
    assert part.read(tmp_path / "y.csv").id == read.id
    assert (tmp_path / "y.csv").read_text().splitlines()[:3] == [
        "ImageID,Source,LabelName,Confidence",
        "000002b66c9c498e,verification,/m/01599,0",
        "000002b66c9c498e,verification,/m/014j1m,0",
    ]


def test_rows_about_the_same_pair_are_votes(tmp_path: Path) -> None:
    votes = ["a,v,x,1", "a,v,y,0", "a,v,x,0", "a,w,y,1", "a,w,x,1", "b,v,x,0"]
    path = _save(tmp_path / "x.csv", "\n".join([ROWS.splitlines()[0], *votes]))
    with pytest.warns(UserWarning, match=f"{re.escape(str(path))}: 1 pairs .* unknown"):
        read = OpenImages().read(path)
    assert read.rows([0, 1]).tolist() == [[1, 0], [-1, 0]]


def test_labels_of_other_classes_are_left_out(tmp_path: Path) -> None:
    names = _save(tmp_path / "names.csv", "/m/014j1m,Apple\n/m/014sv8,Human eye\n")
    path = _save(tmp_path / "x.csv", ROWS)
    with pytest.warns(UserWarning, match=f"{re.escape(str(path))}: 2 of 5 labels .* left out"):
        read = OpenImages(str(names)).read(path)
    assert read.classes == ("Apple", "Human eye")
    assert read.rows([0, 1]).tolist() == [[-1, 1], [0, 0]]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a,v,x,0.7", "Confidence"),
        ("a,v,x,", "Confidence"),
        ("a,v,,1", "LabelName"),
        (",v,x,1", "ImageID"),
        ("", "no row"),
    ],
)
def test_rows_that_are_none_are_refused(tmp_path: Path, text: str, word: str) -> None:
    path = _save(tmp_path / "x.csv", f"{ROWS.splitlines()[0]}\n{text}\n")
    refuses(OpenImages().read, path, word)


@pytest.mark.parametrize("text", [NAMES, NAMES.partition("\n")[2], "\ufeff" + NAMES])
def test_class_descriptions_with_and_without_header(tmp_path: Path, text: str) -> None:
    names = read_names(_save(tmp_path / "x.csv", text))
    assert list(names.items()) == [
        ("/m/01599", "Beer"), ("/m/0cnyhnx", "Bull"), ("/m/014j1m", "Apple"),
        ("/m/014sv8", "Human eye"),
    ]  # fmt: skip


def test_a_display_name_that_repeats_has_its_mid_behind_it(tmp_path: Path) -> None:
    text = '/m/1,Crane\n/m/2,"Crane"\n/m/3,"a, b"\n/m/4\n/m/5,\n'
    assert list(read_names(_save(tmp_path / "x.csv", text)).values()) == [
        "Crane (/m/1)", "Crane (/m/2)", "a, b", "/m/4", "/m/5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "word"),
    [("", "no class"), ("/m/1,a\n/m/1,b\n", "'/m/1'"), ("/m/1,a,b\n", "'a', 'b'")],
)
def test_class_descriptions_that_are_none_are_refused(tmp_path: Path, text: str, word: str) -> None:
    refuses(read_names, _save(tmp_path / "x.csv", text), word)


def test_a_class_without_a_mid_is_not_written(tmp_path: Path) -> None:
    names = _save(tmp_path / "names.csv", NAMES)
    labels = PartialLabels.of([[1, -1]], classes=["Beer", "wine"])
    with pytest.raises(BadInput, match=f"'wine' is not in {re.escape(str(names))}"):
        OpenImages(str(names)).write(labels, tmp_path / "x.csv")
