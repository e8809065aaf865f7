"""Tables of labels from other programs: the classes and labels that they mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.reading import Case, check, of_folder, photos

WIDE, LONG = "file,cat,dog\na.jpg,1,0\nb.jpg,0,1\n", "file,class\na.jpg,cat\nb.jpg,dog\n"
ONE_EACH = (["cat", "dog"], {"a.jpg": "10", "b.jpg": "01"})  # the labels of both
PRESENT_ONLY = (["cat", "dog"], {"a.jpg": "1?", "b.jpg": "?1"})
BOTH_IN_A = (["cat", "dog"], {"a.jpg": "11", "b.jpg": "01"})
NONE_IN_C = (["cat", "dog"], {"a.jpg": "11", "b.jpg": "01", "c.jpg": "00"})
NOTHING_IN_C = (["cat", "dog"], {"a.jpg": "10", "b.jpg": "01", "c.jpg": "00"})
CAT_IN_C = (["cat", "dog"], {"a.jpg": "11", "b.jpg": "01", "c.jpg": "10"})

CASES = {
    # Columns and rows that are no labels
    "row-numbers": Case(",file,cat,dog\n0,a.jpg,1,0\n1,b.jpg,0,1\n", ONE_EACH),
    "unnamed-0": Case("Unnamed: 0,file,cat,dog\n0,a.jpg,1,0\n1,b.jpg,0,1\n", ONE_EACH),
    "unnamed-1": Case("file,Unnamed: 0.1,cat,dog\na.jpg,0,1,0\nb.jpg,1,0,1\n", ONE_EACH),
    **{
        name: Case(f"file,cat,dog,{name}\na.jpg,1,0,{a}\nb.jpg,0,1,{b}\n", ONE_EACH,
                   asks=f"count as classes .*'{name}'.* remove those", mended=WIDE)
        for name, a, b in (("seen", "yes", "no"), ("held", "TRUE", "FALSE"), ("note", "", ""),
                           ("is_train", "1", "0"), ("total", "1", "1"))
    },
    **{
        name: Case(f"{name},file,cat,dog\n{a},a.jpg,1,0\n{b},b.jpg,0,1\n", ONE_EACH,
                   note=f"left out: 1 ('{name}')")
        for name, a, b in (("id", 0, 1), ("index", 7, 8), ("image_id", 12, 3))
    },
    "id-of-rows": Case("id,file,class\n0,a.jpg,cat\n1,b.jpg,dog\n", ONE_EACH, note="'id'"),
    "no-remarks": Case("file,class,remarks\na.jpg,cat,\nb.jpg,dog,\n", ONE_EACH),
    "reference-lost": Case("file,class\na.jpg,#REF!\nb.jpg,dog\n", ONE_EACH, mended=LONG,
                           asks="'#REF!' in row 2; it is an error"),
    "formula": Case("file,class\na.jpg,=A1\nb.jpg,dog\n", ONE_EACH, mended=LONG, asks="formula"),
    "none-of-python": Case(
        "file,class\na.jpg,cat\nb.jpg,dog\nc.jpg,None\n", NOTHING_IN_C,
        asks="may mean that none is present: 1 .None",
        mended="file,class\na.jpg,cat\nb.jpg,dog\nc.jpg,\n",
    ),
    "header-again": Case(
        "file,class\na.jpg,cat\nfile,class\nb.jpg,dog\n", ONE_EACH, note="repeated in row 3",
    ),
    "units-row": Case(
        "file,cat,dog\n,[0/1],[0/1]\na.jpg,1,0\nb.jpg,0,1\n", ONE_EACH, asks="row 2", mended=WIDE,
    ),
    "titles": Case(
        "Export of Imageset zoo\nset[zoo]\nimagename|class\na.jpg|cat\nb.jpg|dog\n", ONE_EACH,
        note="Export of Imageset zoo",
    ),
    "comments": Case(f"# exported by anna, 2024\n{LONG}", ONE_EACH, note="exported by anna"),
    "total": Case(f"{WIDE}Total,1,1\n", ONE_EACH, asks="Total", mended=WIDE),
    "confidence": Case(
        "file_path,class_name,confidence\na.jpg,cat,0.9\nb.jpg,dog,0.8\n", ONE_EACH,
        note="left out: 1 ('confidence')",
    ),
    "state": Case(
        "file,class,present\na.jpg,cat,1\na.jpg,dog,0\nb.jpg,dog,1\n", ONE_EACH,
        asks="keep the rows of present classes, without", mended=LONG,
    ),
    "no-header": Case("a.jpg,cat\nb.jpg,dog\n", ONE_EACH, asks="'a.jpg'", mended=LONG),
    # The states of a label
    "uncertain": Case(
        "Path,Edema,Fracture\na.jpg,1.0,\nb.jpg,-1.0,0.0\nc.jpg,,1.0\n",
        (["Edema", "Fracture"], {"a.jpg": "1?", "b.jpg": "?0", "c.jpg": "?1"}),
    ),
    "wahr": Case("file;cat;dog\na.jpg;WAHR;FALSCH\nb.jpg;FALSCH;WAHR\n", ONE_EACH),
    "vero": Case("file,cat,dog\na.jpg,VERO,FALSO\nb.jpg,FALSO,VERO\n", ONE_EACH),
    "yes-or-blank": Case("file,cat,dog\na.jpg,Yes,\nb.jpg,,Yes\n", PRESENT_ONLY),
    "not-available": Case("file,cat,dog\na.jpg,1,#N/A\nb.jpg,NULL,1\n", PRESENT_ONLY),
    "probabilities": Case(
        "file,cat,dog\na.jpg,0.9,0.1\nb.jpg,0,1\n", ONE_EACH, asks="0.9", mended=WIDE,
    ),
    "two-rows": Case(f"{WIDE}a.jpg,0,1\n", ONE_EACH, asks="a.jpg", mended=WIDE),
    # Names of classes
    "one-column-twice": Case(
        "file,cat,cat\na.jpg,1,0\nb.jpg,0,1\n", ONE_EACH, asks="called 'cat'", mended=WIDE,
    ),
    "second-of-pandas": Case(
        "file,cat,cat.1\na.jpg,1,0\nb.jpg,0,1\n",
        (["cat", "cat.1"], {"a.jpg": "10", "b.jpg": "01"}), note="'cat.1'",
    ),
    "signs": Case(
        "file,C,C++,C#\na.jpg,1,0,0\nb.jpg,0,1,1\n",
        (["C", "C++", "C#"], {"a.jpg": "100", "b.jpg": "011"}),
    ),
    "emoji": Case(
        "file,🐱,🐶\na.jpg,1,0\nb.jpg,0,1\n", (["🐱", "🐶"], {"a.jpg": "10", "b.jpg": "01"}),
    ),
    "whole-floats": Case(
        "file,class\na.jpg,3.0\nb.jpg,4.0\nc.jpg,3\n",
        (["3", "4"], {"a.jpg": "10", "b.jpg": "01", "c.jpg": "10"}), asks="'3.0' and '3'",
        mended="file,class\na.jpg,3\nb.jpg,4\nc.jpg,3\n",
    ),
    "dates": Case(
        "file,class\na.jpg,MARCH1\nb.jpg,2-Sep\n",
        (["MARCH1", "SEPT2"], {"a.jpg": "10", "b.jpg": "01"}), asks="'2-Sep' looks like a date",
        mended="file,class\na.jpg,MARCH1\nb.jpg,SEPT2\n",
    ),
    "line-end": Case('file,class\na.jpg,"cat\n"\nb.jpg,dog\n', ONE_EACH),
    **{
        name: Case(
            f"file,class\na.jpg,{one}\nb.jpg,{other}\n", ([other], {"a.jpg": "1", "b.jpg": "1"}),
            asks=f"'{one}' and '{other}'", mended=f"file,class\na.jpg,{other}\nb.jpg,{other}\n",
        )
        for name, one, other in (
            ("entities", "R&amp;D", "R&D"), ("underscores", "fire_truck", "fire truck"),
            ("garbled", "caf\u00c3\u00a9", "caf\u00e9"), ("curled-quotes", "“cat”", "cat"),
        )
    },
    # Several in one cell
    "numpy": Case(
        "file,class\na.jpg,['cat' 'dog']\nb.jpg,['dog']\nc.jpg,[]\n", NONE_IN_C,
        note="lists of classes",
    ),
    "set": Case(
        "file,class\na.jpg,\"{'cat', 'dog'}\"\nb.jpg,{'dog'}\nc.jpg,set()\n", NONE_IN_C,
        note="lists of classes",
    ),
    "choices": Case(
        'image,class\na.jpg,"{""choices"": [""cat"", ""dog""]}"\nb.jpg,dog\n', BOTH_IN_A,
        note="lists of classes",
    ),
    "apostrophe": Case(
        "file,class\na.jpg,\"['Bob's cat', 'dog']\"\nb.jpg,['dog']\n",
        (["Bob's cat", "dog"], {"a.jpg": "11", "b.jpg": "01"}), asks="row 2.*quotation marks",
        mended='file,class\na.jpg,"[""Bob\'s cat"", ""dog""]"\nb.jpg,"[""dog""]"\n',
    ),
    "nan-in-a-list": Case("file,class\na.jpg,cat\nb.jpg,dog\nc.jpg,[nan]\n", NOTHING_IN_C),
    **{
        f"between-{name}": Case(
            f'file,class\na.jpg,"cat{mark}dog"\nb.jpg,bird\n',
            (["cat", "dog", "bird"], {"a.jpg": "110", "b.jpg": "001"}),
            asks=f"between={name} if", options=f"between={name}",
        )
        for name, mark in (("comma", ", "), ("ampersand", " & "), ("and", " and "), ("、", "、"),
                           ("und", " und "), ("et", " et "), ("dash", " - "), ("·", " · "))
    },
    "comma": Case(
        'file,class\na.jpg,"cat, dog"\nb.jpg,dog\nc.jpg,cat\n', CAT_IN_C,
        asks="between=comma", options="between=comma",
    ),
    "lines": Case(
        'file,class\na.jpg,"cat\ndog"\nb.jpg,dog\nc.jpg,cat\n', CAT_IN_C,
        asks="between=line", options="between=line",
    ),
    "codes": Case(
        "file,class\na.jpg,25000|2720\nb.jpg,2720\n",
        (["25000", "2720"], {"a.jpg": "11", "b.jpg": "01"}),
        asks="between=bar", options="between=bar",
    ),
    "one-hot": Case(
        'file,labels\na.jpg,"[1, 0, 0]"\nb.jpg,"[0, 1, 0]"\n', ONE_EACH, asks="row 2.*a column",
        mended=WIDE,
    ),
    "one-column-each": Case(
        "file,label1,label2\na.jpg,cat,\nb.jpg,dog,\n", ONE_EACH, asks="'label1'", mended=LONG,
    ),
    # Names of files
    "filepath": Case(LONG.replace("file", "filepath"), ONE_EACH),
    "percent-signs": Case("file,class\nmy%20d%C3%A9.jpg,cat\n", (["cat"], {"my dé.jpg": "1"}),
                          asks="my%20d", mended="file,class\nmy dé.jpg,cat\n"),
    "other-ending": Case(LONG.replace(".jpg", ".png"), ONE_EACH, asks="a.png", mended=LONG),
    "zeros-lost": Case("file,class\n7.jpg,cat\n", (["cat"], {"007.jpg": "1"}), asks="7.jpg",
                       mended="file,class\n007.jpg,cat\n"),
    "shortened": Case(
        "image_id,class\n1.23457E+12,cat\n1.23457E+12,dog\n",
        (["cat", "dog"], {"1234567000001.jpg": "10", "1234567000002.jpg": "01"}),
        asks=r"1\.23457E\+12.*as text",
        mended="image_id,class\n1234567000001.jpg,cat\n1234567000002.jpg,dog\n",
    ),
    "absolute": Case(
        LONG.replace("a.jpg", r"C:\data\anna\a.jpg").replace("b.jpg", r"C:\data\anna\b.jpg"),
        ONE_EACH, asks="a.jpg", mended=LONG,
    ),
    "unassigned": Case(
        "file,class,set\na.jpg,cat,TRAINING\nb.jpg,dog,UNASSIGNED\n", ONE_EACH,
        asks="UNASSIGNED.*train", mended="file,class,set\na.jpg,cat,TRAINING\nb.jpg,dog,train\n",
    ),
}  # fmt: skip


def test_json_lines_with_a_class_in_each(tmp_path: Path) -> None:
    text = '{"file": "a.jpg", "label": "cat"}\n{"file": "b.jpg", "label": "dog"}\n'
    folder = photos(tmp_path / "photos", ONE_EACH[1])
    assert of_folder(folder, text, name="labels.jsonl") == ONE_EACH


@pytest.mark.parametrize("name", CASES)
def test_tables(name: str, tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos", CASES[name].right[1])
    check(CASES[name], lambda text, options: of_folder(folder, text, options))
