"""Tables as people and other programs write them: read right, with a note, or refused."""

import json
import warnings

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.files import reading
from simkit.labels import tables
from simkit.labels.cells import damaged_list, listed, meaning_of_minus, offered, state

A, B = '{"file": "a.jpg", "class": "Käfer"}', '{"class": "dog", "file": "b.jpg"}'
PLAIN = "file,class\na.jpg,Käfer\nb.jpg,dog\n"


def read(path):
    """The table as lists, and its notes."""
    with warnings.catch_warnings(record=True) as caught, reading(path, "a table") as file:
        warnings.simplefilter("always")
        table = tables.read_table(file)
    assert [str(each.message) for each in caught] == [f"{path}: {note}" for note in table.notes]
    return {column.name: column.cells() for column in table.columns}, table


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("t.csv", PLAIN.encode(), ""),
        ("t.csv", PLAIN.encode("utf-8-sig"), ""),
        ("t.csv", PLAIN.encode("utf-16"), ""),
        ("t.csv", PLAIN.encode("utf-16-le"), ""),
        ("t.csv", PLAIN.encode("cp1252"), "cp1252"),
        ("t.csv", PLAIN.replace(",", ";").encode(), ""),
        ("t.tsv", PLAIN.replace(",", "\t").encode(), ""),
        ("t.txt", PLAIN.replace(",", " | ").encode(), ""),
        ("t.csv", ("sep=;\n" + PLAIN.replace(",", ";")).encode(), ""),
        ("t.csv", ("\n\n" + PLAIN).encode(), ""),
        ("t.csv", PLAIN.replace("\n", "\r\n").encode(), ""),
        ("t.csv", PLAIN.replace("\n", "\r").encode(), ""),
        ("t.csv", PLAIN.replace("\nb", "\n,\nb").encode(), ""),
        ("t.csv", PLAIN.replace("dog", "dog,,").encode(), ""),
        ("t.csv", PLAIN.replace("class", "class,,").replace("dog", "dog,,")
         .replace("Käfer", "Käfer,,").encode(), ""),
        ("t.csv", PLAIN.replace("Käfer", '"Käfer\n"').encode(), ""),
        ("t.csv", PLAIN.replace("class", '"class\n"').encode(), ""),
        ("t.csv", PLAIN.replace("ä", "a\u0308").encode(), ""),
        ("t.csv", PLAIN.replace("dog", "\u200bdog ").encode(), ""),
        ("t.csv", ("Labels of May\n" + PLAIN).encode(), "header"),
        ("t.csv", (PLAIN + "file,class\n").encode(), "repeated"),
        ("t.csv", b",file,class\n0,a.jpg,K\xc3\xa4fer\n1,b.jpg,dog\n", ""),
        ("t.json", f"[{A}, {B}]".encode(), ""),
        ("t.json", b'{"file": ["a.jpg", "b.jpg"], "class": ["K\\u00e4fer", "dog"]}', ""),
        ("t.jsonl", f"{A}\r\n\r\n{B}".encode(), ""),
    ],
)  # fmt: skip
def test_one_table_in_many_forms(tmp_path, name, content, note):
    path = tmp_path / name
    path.write_bytes(content)
    rows, table = read(path)
    assert rows == {"file": ["a.jpg", "b.jpg"], "class": ["Käfer", "dog"]}
    assert [note in each for each in table.notes] == [True] * bool(note)


def test_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Project", "Zoo"], ["By", "Anna"]):
        book.create_sheet("Cover", 0).append(row)
    book.create_sheet("before", 0).append(["file", "class", "n"])
    book["before"].sheet_state = "hidden"
    book.active = book["Sheet"]
    book["Sheet"].row_dimensions[3].hidden = True
    for row in (["Export"], ["file", "class", "n"], ["a.jpg", "Käfer", 1.0], ["b.jpg", None, True]):
        book.active.append(row)
    book.create_sheet("more").append(["x", "y"])
    book.save(tmp_path / "t.xlsx")
    rows, table = read(tmp_path / "t.xlsx")
    assert rows == {"file": ["a.jpg", "b.jpg"], "class": ["Käfer", ""], "n": ["1", "true"]}
    assert table.row(0) == 3 and len(table.notes) == 3
    assert "'Sheet' is read, not 'before', 'Cover1', 'Cover'" in table.notes[1]
    assert "read, too: 1, such as row 3" in table.notes[0]


def test_formulas_without_results(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["file", "cat", "dog"], ["a.jpg", "=1*1", 1], ["b.jpg", '=IF(C2="x",1,0)', 0]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    rows, table = read(tmp_path / "t.xlsx")
    assert rows["cat"] == ["", ""] and "empty: 2, such as B2" in table.notes[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Käfer,ä\n".encode() * 3 + b"K\xe4fer,b\n", "row 4"),  # damaged UTF-8
        (b"file,class\na.jpg,cat,dog\n", "row 2 has 3 cells"),
        (b"file,class\na.jpg\n", "row 2 has 1 cells"),
        (b"file,class\n", "no rows"),
        (b"PK\3\4whatever", "workbook"),
        (b"file,,class\na.jpg,x,cat\n", "column 2 has no name"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "not text"),
    ],
)
def test_refused_by_place(tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=words):
        read(path)


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        (["1,8", "30"], [1.8, 30]),
        (["1.234,5", "0,5"], [1234.5, 0.5]),
        (["1,234.5", "7"], [1234.5, 7]),
        (["85 %", "1e-3", ""], [0.85, 0.001, np.nan]),
    ],
)
def test_numbers(tmp_path, cells, value):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n" + "".join(f"{cell};a\n" for cell in cells), encoding="utf-8")
    assert read(path)[1].columns[0].numbers() == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "cell", "seconds"),
    [
        ("seconds", "1.8 s", 1.8), ("time", "300ms", 0.3), ("time", "2 min", 120),
        ("time", "00:00:02", 2), ("time", "1:02.5", 62.5), ("time", "0 days 00:01:00", 60),
        ("Duration (ms)", "1800", 1.8), ("lead_time", "2.5", 2.5), ("time (min)", "0.03", 1.8),
        ("duration_hours", "0.001", 3.6), ("time_min", "1.8 s", 1.8), ("admin", "2", 2),
    ],
)  # fmt: skip
def test_seconds(tmp_path, name, cell, seconds):
    path = tmp_path / "t.csv"
    path.write_text(f"{name},y\n{cell},a\n", encoding="utf-8")
    assert read(path)[1].columns[0].seconds() == pytest.approx([seconds])


def test_one_person_in_several_spellings(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "user,y\n" + "".join(f"{name},x\n" for name in ["7.0", "Anna", "anna ", "7", "Bo"])
    )
    with pytest.warns(UserWarning, match="names of people .*: 2 .'Anna' and 'anna'"):
        assert read(path)[1].columns[0].people().cells() == ["7", "Anna", "Anna", "7", "Bo"]


@pytest.mark.parametrize("cell", ["1,234", "2024-05-01 10:00:00", "soon", "inf", "1_0"])
def test_times_that_may_be_anything_are_refused(tmp_path, cell):
    path = tmp_path / "t.csv"
    path.write_text(f'seconds,y\n"{cell}",a\n', encoding="utf-8")
    with pytest.raises(BadInput, match="row 2"):
        read(path)[1].columns[0].seconds()


@pytest.mark.parametrize(
    ("cells", "minus", "meaning"),
    [("1 0", "", None), ("1 -1 0", "", None), ("1 -1", "absent", 0), ("1 -1,0", "unknown", None),
     ("1 -1", "", BadInput), ("1 -1 0", "absent", BadInput), ("1", "maybe", BadInput)],
)  # fmt: skip
def test_minus_one(cells, minus, meaning):
    states = [state(cell) for cell in cells.split()]
    if meaning is BadInput:
        with pytest.raises(BadInput, match="minus="):
            meaning_of_minus(states, minus, "minus=")
    else:
        assert meaning_of_minus(states, minus, "minus=") is meaning


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("['cat', 'dog']", ["cat", "dog"]), (json.dumps(["cat"]), ["cat"]), ("[]", []),
        ('{"choices": ["cat", "dog"]}', ["cat", "dog"]), ("[cat]", None), ("cat", None),
        ('[{"rectanglelabels": ["cat"], "x": 1}, {"rectanglelabels": ["dog"]}]', ["cat", "dog"]),
        ("['cat' 'dog']", ["cat", "dog"]), ("array(['cat'], dtype=object)", ["cat"]),
        ("{'dog', 'cat'}", ["cat", "dog"]), ("set()", []), ("[3, 7]", ["3", "7"]),
    ],
)  # fmt: skip
def test_lists_in_a_cell(text, names):
    assert listed(text) == names


@pytest.mark.parametrize("text", ["['Bob's cat', 'dog']", "['a' ... 'z']", "{'cat': 1}"])
def test_lists_that_cannot_be_read(text):
    assert listed(text) is None and damaged_list(text)
    assert not any(map(damaged_list, ("[unclear]", "(a, b)", "['cat']")))


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["haze primary", "clear primary", "clear haze"], " "),
        (["teddy bear", "bear", "hot dog", "dog", "fire truck"], None),
        (["cat|dog", "dog"], "|"), (["cat,dog", "dog", "cat"], ","),
        (["cat/dog", "dog", "cat"], "/"),
        (["Ford, blue", "Ford, red"], ","), (["cat, dog", "cat"], ","),
        (["cat & dog", "cat"], "&"),
    ],
)  # fmt: skip
def test_separators_are_offered(cells, mark):
    assert (offered(cells) or (None,))[0] == mark
