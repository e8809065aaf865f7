"""Tables of scores, weights and classes, and amounts of money: the numbers and names they mean."""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from simkit.annotate.label_preference import spelled
from simkit.annotate.schemes import MISSING
from simkit.annotate.similarities import read_scores
from simkit.data.lists import class_names
from simkit.errors import BadInput
from simkit.quantities import dollars
from tests.cases.reading import Case, check, written

RIGHT = [[1.5, -2.5], [-0.25, 4.0]]  # cat and dog in a.jpg and b.jpg
TABLE = "image,cat,dog\na.jpg,1.5,-2.5\nb.jpg,-0.25,4\n"
PAIRS = "image,class,score\na.jpg,cat,1.5\na.jpg,dog,-2.5\nb.jpg,cat,-0.25\nb.jpg,dog,4\n"
SCORES = {
    "another-order": Case("image,dog,cat\nb.jpg,4,-0.25\na.jpg,-2.5,1.5\n", RIGHT),
    "exponents": Case("image,cat,dog\na.jpg,15e-1,-2.5E+00\nb.jpg,-.25,4e0\n", RIGHT),
    "decimal-commas": Case(
        "image;cat;dog\na.jpg;1,5;-25E-1\nb.jpg;-0,25;4,0\n", RIGHT, note="decimal commas",
    ),
    "row-numbers": Case(",image,cat,dog\n0,a.jpg,1.5,-2.5\n1,b.jpg,-0.25,4\n", RIGHT),
    "header-again": Case(TABLE.replace("b.jpg", "image,cat,dog\nb.jpg"), RIGHT, note="row 3"),
    "comments": Case("# model 3\n" + TABLE, RIGHT, note="model 3"),
    "image-twice": Case(f"{TABLE}a.jpg,3,3\n", RIGHT, asks="a.jpg", mended=TABLE),
    "per-cent": Case("image,cat,dog\na.jpg,150%,-250%\nb.jpg,-25%,400 %\n", RIGHT),
    "infinite": Case(TABLE.replace("4", "inf"), RIGHT, asks="inf", mended=TABLE),
    "one-per-row": Case(
        "file_name,label,confidence\nb.jpg,dog,4\nb.jpg,cat,-.25\na.jpg,cat,1.5\na.jpg,dog,-2.5\n",
        RIGHT,
    ),
    "boxes": Case(f"{PAIRS}a.jpg,cat,1\n", RIGHT, note="second box: 1; the highest"),
    "other-images": Case(f"{PAIRS}c.jpg,cat,1\n", RIGHT, note="not in train: 1 (c.jpg)"),
    "other-classes": Case(f"{PAIRS}a.jpg,owl,1\n", RIGHT, note="left out: 1 (owl)"),
    "no-class": Case(
        PAIRS.replace("cat", "kat").replace("dog", "dock"), RIGHT, asks="kat", mended=PAIRS,
    ),
    "no-image": Case(PAIRS.replace("jpg", "png"), RIGHT, asks="ids such as 'a.jpg'", mended=PAIRS),
    "pair-without-row": Case(
        PAIRS.replace("a.jpg,dog,-2.5\n", ""), [[1.5, MISSING], RIGHT[1]],
        note="1 of 4 scores; images with empty scores: 1 (a.jpg)",
    ),
    "class-without-row": Case(
        "image,class,score\na.jpg,cat,1.5\nb.jpg,cat,-.25\n",
        [[1.5, MISSING], [-0.25, MISSING]], note="without any row: 1 ('dog')",
    ),
    "class-without-column": Case(
        "image,cat\na.jpg,1.5\nb.jpg,-.25\n",
        [[1.5, MISSING], [-0.25, MISSING]], note="classes without a column, which have no scores: "
        "1 (dog)",
    ),
    "case": Case(
        TABLE.replace("cat", "Cat"), RIGHT, note="and were matched: 1 of 2 ('cat' is 'Cat')",
    ),
    "two-cases": Case(
        "image,cat,dog,Cat\na.jpg,1.5,-2.5,7\nb.jpg,-0.25,4,7\n", RIGHT,
        note="not classes of the data: 1 (Cat)",
    ),
    "probabilities": Case(
        "image,cat,dog\na.jpg,0.8,0.2\nb.jpg,0.5,1\n",
        [[1.386, -1.386], [0, 27.631]], note="0.2 to 1 are read as probabilities",
    ),
    "logarithms": Case(
        "image,cat,dog\na.jpg,-0.2231435513,-1.6094379124\nb.jpg,-0.6931471806,-0.6931471806\n",
        [[1.386, -1.386], [0, 0]], asks=r"probabilities, exp\(x\)",
        mended="image,cat,dog\na.jpg,0.8,0.2\nb.jpg,0.5,0.5\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCORES)
def test_scores(name: str, tmp_path: Path) -> None:
    def read(text: str, _: str) -> Any:
        file, images = written(tmp_path / "scores.csv", text), np.array(["a.jpg", "b.jpg"])
        return read_scores(file, "train", images, ["cat", "dog"]).round(3).tolist()

    check(SCORES[name], read)


@pytest.mark.parametrize("name", ["scores.npy", "scores.npz", "scores.pkl"])
def test_scores_without_names_become_a_table_as_told(name: str, tmp_path: Path) -> None:
    file, images, classes = tmp_path / name, ["a.jpg", "b.jpg"], ["cat", "dog"]
    scores = np.array(RIGHT)
    write = {".npy": np.save, ".npz": np.savez}.get(file.suffix, lambda f, _: f.write_bytes(b"x"))
    write(file, scores)
    with pytest.raises(BadInput, match="with the names of images") as refused:
        read_scores(file, "train", np.array(images), classes)
    mend = re.search(r"pandas\.DataFrame.*", str(refused.value))
    assert mend is not None
    here = {"pandas": pd, "scores": scores, "images": images, "classes": classes}
    with contextlib.chdir(tmp_path):
        exec(mend[0], here)
        assert read_scores("scores.csv", "train", np.array(images), classes).tolist() == RIGHT


@pytest.mark.parametrize("text", [TABLE, PAIRS], ids=["wide", "long"])
def test_classes_with_other_names_are_listed_and_mapped_by_a_file(
    text: str, tmp_path: Path
) -> None:
    images, classes = np.array(["a.jpg", "b.jpg"]), ["kitten", "dog"]
    (tmp_path / "scores.csv").write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            read_scores(tmp_path / "scores.csv", "train", images, ["ct", "dog"])
        except BadInput as error:  # of the wide form
            warnings.warn(str(error), stacklevel=1)
    said = " ".join(str(one.message) for one in caught)
    assert "'ct' (perhaps 'cat')" in said
    assert "[names] and CLASS = 'cat', where CLASS is its name in the data" in said
    assert ("'ct' = [] if it has no scores" in said) == (text == TABLE)
    file = tmp_path / "names.toml"
    file.write_text("table = 'scores.csv'\n[names]\nct = []\n")
    with pytest.warns(UserWarning, match="2 of 4 scores"):
        scores = read_scores(file, "train", images, ["ct", "dog"])
    assert scores.tolist() == [[MISSING, -2.5], [MISSING, 4]]
    file.write_text("table = 'scores.csv'\n[names]\nkitten = 'cat'\n")
    assert read_scores(file, "train", images, classes).tolist() == RIGHT
    file.write_text("table = 'scores.csv'\n[names]\nkitten = 'cap'\n")
    with pytest.raises(BadInput, match="'cap'; did you mean 'cat'"):
        read_scores(file, "train", images, classes)
    file.write_text("table = 'scores.csv'\n")
    with pytest.raises(BadInput, match=r"names.toml: .*\[names\] and people = "):
        read_scores(file, "train", images, classes)


def test_several_names_of_a_long_table_are_one_class(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(PAIRS)
    file = tmp_path / "names.toml"
    file.write_text("table = 'scores.csv'\n[names]\npet = ['cat', 'dog']\n")
    with pytest.warns(UserWarning, match="second box: 2; the highest counts"):
        scores = read_scores(file, "train", np.array(["a.jpg", "b.jpg"]), ["pet"])
    assert scores.tolist() == [[1.5], [4.0]]


WEIGHTS = {
    "thousands": Case('class,weight\ncat,"2,590"\ndog,"1,010.5"\n', {"cat": 2590, "dog": 1010.5}),
    "european": Case(
        "class;weight\ncat;2.155,25\ndog;19,47\n", {"cat": 2155.25, "dog": 19.47},
        note="decimal commas",
    ),
    "mixed": Case(
        "class;weight\ncat;2.155\ndog;19,47\n", {"cat": 2155, "dog": 19.47}, asks="19,47",
        mended="class;weight\ncat;2155\ndog;19.47\n",
    ),
    "per-cent": Case("class,weight\ncat,85%\ndog,15 %\n", {"cat": 0.85, "dog": 0.15}),
    "exponents": Case("class,weight\ncat,1e-3\ndog,2.5E+0\n", {"cat": 0.001, "dog": 2.5}),
    "header-again": Case(
        "class,weight\ncat,3\nclass,weight\ndog,1\n", {"cat": 3, "dog": 1}, note="row 3",
    ),
    "other-names": Case("label,Weight \ncat,3\ndog,1\n", {"cat": 3, "dog": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights(name: str, tmp_path: Path) -> None:
    file = tmp_path / "weights.csv"
    check(WEIGHTS[name], lambda text, _: json.loads(spelled(str(written(file, text)))))


CATS = ("cat", "dog")
LISTS = {
    "windows": Case("cat \r\ndog\r\n", CATS),
    "numbered": Case("0 cat\n1 dog\n", CATS, note="'0 cat'"),
    "labelme": Case("background\ncat\ndog\n", ("background", *CATS), note="(background)"),
    "comments": Case("# classes of 2024\ncat\ndog\n", CATS, note="# classes of 2024"),
    "quoted": Case('"cat"\n"dog"\n', CATS),
    "commas": Case("cat,\ndog,\n", CATS, note="'cat,'"),
    "python": Case("['cat',\n 'dog']\n", CATS),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_classes(name: str, tmp_path: Path) -> None:
    check(LISTS[name], lambda text, _: class_names(written(tmp_path / "names.txt", text)))


@pytest.mark.parametrize("text", ["1.299", "1.299,99", "1'299.50", "1 299,50", "1,5", "500 EUR"])
def test_amounts_of_other_countries(text: str) -> None:
    case = Case(text, 1299.5, asks="write ", mended="1,299.50")
    check(case, lambda typed, _: dollars(typed, "--budget"))
