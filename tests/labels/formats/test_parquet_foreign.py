"""Parquet files of other programs."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.labels.formats.parquet import Parquet
from tests.labels.formats.examples import gaps, labels

PARQUET = Parquet()


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
NOT_CODES = "write +1 for present, -1 for absent and no row for unknown"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"image_id": [1, 1], "class": ["a", "a"]},
         "image 1 and class 'a' occur together twice; keep one row"),
        ({"image_id": [1, 1], "class": ["a", "a"], "state": [1, 1]},
         "image 1 and class 'a' occur together twice; keep one row"),
        ({"state": [1, 0]}, f"state is 0 in row 2; {NOT_CODES}"),
        ({"state": [7, 1]}, f"state is 7 in row 1; {NOT_CODES}"),
        ({"state": [1.0, -1.0]}, "state is double; whole numbers, +1 or -1, are expected"),
        ({"image_id": [0.5, 1]}, "image_id is double; whole numbers or text are expected"),
        ({"class": [1, 2]}, "class is int64; text is expected"),
        ({"class": ["a", None]}, "class is empty in a row; fill it or leave the row out"),
        ({"image_id": ["a", None]}, "image_id is empty in a row; fill it or leave the row out"),
        ({"image_id": [], "class": pd.Series([], dtype=str), "state": pd.Series([], dtype=int)},
         "image_id is double; whole numbers or text are expected"),
        ({"image_id": np.array([1, 2**63], np.uint64)},
         "an image id is above 2**63 - 1; give such ids as text"),
        ({"image_id": ["a" * 1025, "b"]},
         "image id 'aaaaaaaaaaaaaaaaaaaa'... has 1025 letters; 1024 are allowed"),
    ],
)  # fmt: skip
def test_a_foreign_table_that_is_none_is_refused(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    path = _save(GOOD | changed, tmp_path / "x.parquet")
    with pytest.raises(BadInput, match=f"^{re.escape(f'{path}: {message}')}$"):
        PARQUET.read(path)


def test_columns_are_missed_by_name(tmp_path: Path) -> None:
    path = _save({"image": [1], "class": ["a"]}, tmp_path / "x.parquet")
    message = f"{path}: a column 'image_id' is missing; a table with image, class came"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        PARQUET.read(path)
