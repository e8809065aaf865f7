"""Ids, names and cells as files spell them."""

import csv
import io
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.errors import BadInput
from simkit.labels.formats.base import cell, distinct, file_names, ids_of, text_ids
from simkit.labels.formats.npz import read_truth

PATH = Path("x.npz")


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=2))
def test_the_csv_module_reads_cells_back(texts: list[str]) -> None:
    line = ",".join(map(cell, texts)) + "\n"
    assert list(csv.reader(io.StringIO(line, newline=""))) == [texts]


def test_text_ids_may_not_fill_the_memory() -> None:
    assert text_ids(["a", "bc"]).tolist() == ["a", "bc"] and text_ids([]).dtype.kind == "U"
    for ids in (["a", "b" * 1025], ["a"] * 40_000 + ["b" * 1000]):
        with pytest.raises(BadInput, match=r"image id 'bbbb.*shorten it"):
            text_ids(ids)


def test_file_names_come_from_a_pattern_and_go_back() -> None:
    assert file_names(np.array([7, 123]), "a/{:04d}.jpg") == ["a/0007.jpg", "a/0123.jpg"]
    assert file_names(np.array(["x", "{"]), "{}.png") == ["x.png", "{.png"]
    assert ids_of(["-3", "0", "12"]).tolist() == [-3, 0, 12]
    for names in (["3", "03"], ["+3"], ["1.0"], ["٣"], [str(2**63)], [""]):
        assert ids_of(names).tolist() == names


@pytest.mark.parametrize(
    "pattern",
    ["same.jpg", "{:04d}", "{0}{1}", "{x}", "{", "{.real}", "{:{}}", "{:2000}",
     "x" * 1100 + "{}"],
)  # fmt: skip
def test_patterns_that_name_no_files_are_refused(pattern: str) -> None:
    with pytest.raises(BadInput, match=r"write \{\} in place of the id"):
        file_names(np.array(["a", "b"]), pattern)


def test_repeated_class_names_are_numbered() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert distinct(["b", "a"], PATH) == ("b", "a")
    with pytest.warns(UserWarning, match=r"'a \(2\)', 'a \(4\)', 'b \(2\)'$"):
        names = distinct(["a", "a", "b", "a (3)", "a", "b"], PATH)
    assert names == ("a", "a (2)", "b", "a (3)", "a (4)", "b (2)")


@pytest.mark.skipif("SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no data")
def test_imagenet_opens() -> None:
    path = Path(os.environ["SIMKIT_DATA"]) / "labels" / "imagenet_real.npz"
    with pytest.warns(UserWarning, match=r"'crane \(2\)'"):
        truth, _ = read_truth(path)
    assert truth.shape == (50_000, 1000)
