"""Arrays and frames from other libraries: the labels and scores that they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from simkit import PartialLabels, Truth
from simkit.errors import BadInput
from simkit.metrics import average_precision
from tests.cases.reading import Case, check, coded


def _codes(matrix: Any, **names: Any) -> Any:
    return coded(PartialLabels.of(matrix, **names))


def _frame(states: Any, images: Any = ("a", "b")) -> Any:
    columns = {"image": images, "class": ["cat"] * len(images), "state": states}
    return coded(PartialLabels.from_pandas(pd.DataFrame(columns)))


def _zeros() -> csr_array:
    """A matrix with a stored zero, as item assignment leaves it."""
    return csr_array((np.array([1, 0, -1]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))


NAMES = ["class-0", "class-1"]
ROWS = (["cat"], {"a": "1", "b": "?"})
LABELS: dict[str, tuple[Callable[[Any], Any], Case]] = {
    "none-is-unknown": (_codes, Case(
        np.array([[1, None], [-1, 1]], object), (NAMES, {0: "1?", 1: "01"}),
        asks="object", mended=np.array([[1, 0], [-1, 1]]),
    )),
    "true-and-false": (_codes, Case(
        np.array([[True, False], [False, True]]), (NAMES, {0: "10", 1: "01"}),
        asks="bool", mended=np.array([[1, -1], [-1, 1]]),
    )),
    "stored-zeros": (_codes, Case(_zeros(), (NAMES, {0: "1?", 1: "?0"}))),
    "unsigned-minus": (_codes, Case(
        np.array([[1, 255]], np.uint8), (NAMES, {0: "10"}), asks="255",
        mended=np.array([[1, -1]], np.int8),
    )),
    "a-text-for-names": (lambda classes: _codes([[1, 0, -1]], classes=classes), Case(
        "cat", (["cat", "dog", "cow"], {0: "1?0"}), asks="cat", mended=["cat", "dog", "cow"],
    )),
    "float-ids": (lambda images: _codes([[1], [0]], images=images), Case(
        [7.0, 8.0], (["class-0"], {7: "1", 8: "?"}),
    )),
    "nullable": (_frame, Case(pd.array([1, None], "Int64"), ROWS, note="unknown: 1 of 2")),
    "categories": (_frame, Case(pd.Categorical([1, -1]), (["cat"], {"a": "1", "b": "0"}))),
    "text-states": (_frame, Case(["1", "-1"], (["cat"], {"a": "1", "b": "0"}))),
    "zeros-and-ones": (_frame, Case([1, 0], (["cat"], {"a": "1", "b": "0"}))),
    "zeros-and-minus": (_frame, Case(
        [0, -1], (["cat"], {"a": "0", "b": "?"}), asks="only one of them can be absent",
        mended=[0, None],
    )),
}  # fmt: skip


@pytest.mark.parametrize("name", LABELS)
def test_labels(name: str) -> None:
    read, case = LABELS[name]
    check(case, lambda value, _: read(value))


@pytest.mark.parametrize("names", [{"classes": "cat"}, {"images": "cat"}])
def test_a_text_is_no_list(names: dict[str, str]) -> None:
    with pytest.raises(BadInput, match="'cat'; a list"):
        Truth.of([[1, 0, 1], [0, 1, 1], [1, 1, 0]], **names)


FRAME = pd.DataFrame({"cat": [1, 0], "dog": [0, 1]}, index=["a", "b"])


@pytest.mark.parametrize(
    "frame",
    [
        FRAME.astype({"cat": bool}), FRAME.astype("Int64"), FRAME.astype("boolean"),
        FRAME.astype("category"), FRAME.astype(object), FRAME.astype({"cat": "float"}),
        FRAME.rename_axis("file").reset_index().set_index("file"),
    ],
)  # fmt: skip
def test_frames_of_all_types(frame: pd.DataFrame) -> None:
    assert Truth.of(frame).id == Truth.of(FRAME).id
    with pytest.raises(BadInput, match=r"'file' holds 'a'.*set_index\('file'\)"):
        Truth.of(frame.rename_axis("file").reset_index())


@pytest.mark.parametrize(
    ("column", "cells", "words"),
    [("held", [True, False], r"may be something else: 1 \('held' has 'true'\)"),
     ("seen", ["yes", "no"], r"may be something else: 1 \('seen' has 'yes'\)"),
     ("id", [0, 1], r"frame\.drop\(columns='id'\)"),
     ("Unnamed: 0", [0, 1], r"frame\.set_index\('Unnamed: 0'\)")],
)  # fmt: skip
def test_columns_that_are_no_classes(column: str, cells: list[Any], words: str) -> None:
    frame = FRAME.assign(**{column: cells})
    refused = column in ("id", "Unnamed: 0")
    with pytest.raises(BadInput, match=words) if refused else pytest.warns(match=words):
        Truth.of(frame)
    assert Truth.of(frame.drop(columns=column)).id == Truth.of(FRAME).id


PRESENT = pd.DataFrame({"cat": [1, 0, 1], "dog": [0, 1, 0]}, index=["a", "b", "c"])
SCORES = pd.DataFrame({"cat": [0.9, 0.2, 0.7], "dog": [0.1, 0.8, 0.3]}, index=["a", "b", "c"])
TRUTH = Truth.of(PRESENT.to_numpy(bool), images=[*PRESENT.index], classes=[*PRESENT.columns])


@pytest.mark.parametrize("present", [PRESENT, TRUTH], ids=["frame", "truth"])
@pytest.mark.parametrize(
    "scores", [SCORES, SCORES[["dog", "cat"]], SCORES.loc[["c", "a", "b"]]],
    ids=["same", "columns", "rows"],
)  # fmt: skip
def test_scores_in_another_order(scores: pd.DataFrame, present: Any) -> None:
    assert average_precision(scores, present).tolist() == [1.0, 1.0]


def test_a_class_without_present_or_without_absent_images() -> None:
    present = np.array([[0, 1, 1], [0, 1, 0]])
    ap = average_precision(np.array([[0.1, 0.2, 0.9], [0.3, 0.4, 0.5]]), present)
    assert np.isnan(ap).tolist() == [True, True, False] and ap[2] == 1
