"""Truth: complete reference labels."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from simkit.errors import BadInput
from simkit.labels.truth import Truth, image_ids

DENSE = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]])


def test_counts_rows_and_selection_by_hand() -> None:
    truth = Truth.of(DENSE, ["x", "y", "z"], ["a", "b", "c"])
    assert truth.shape == (3, 3)
    assert truth.counts.tolist() == [1, 1, 2]
    assert truth.rows([2, 0]).tolist() == [[False, True, True], [True, False, True]]
    pointers, images = truth.by_class
    assert pointers.tolist() == [0, 1, 2, 4] and images.tolist() == [0, 2, 0, 2]
    chosen = truth.select([2, 1])
    assert chosen.images.tolist() == ["z", "y"] and chosen.classes == ("a", "b", "c")
    assert chosen.rows([0, 1]).tolist() == [[False, True, True], [False, False, False]]


def test_the_form_of_the_matrix_does_not_matter() -> None:
    rows, columns = DENSE.nonzero()
    order = [3, 1, 0, 2]
    twice = coo_array(
        (np.ones(8), (np.tile(rows[order], 2), np.tile(columns[order], 2))), shape=(3, 3)
    )
    wanted = Truth.of(DENSE).id
    assert Truth.of(DENSE.astype(bool)).id == wanted
    assert Truth.of(csr_array(DENSE.astype(float))).id == wanted
    assert Truth.of(DENSE.astype(np.float16)).id == wanted
    assert Truth.of(twice).id == wanted


def test_the_id_changes_with_content() -> None:
    ids = {
        Truth.of(DENSE).id,
        Truth.of(DENSE, [1, 2, 3]).id,
        Truth.of(DENSE, None, ["a", "b", "c"]).id,
        Truth.of(DENSE, None, None, np.ones((3, 3))).id,
        Truth.of(1 - DENSE).id,
        *(Truth.of(DENSE, None, names).id for names in (["a\nb", "c", "d"], ["a", "b\nc", "d"])),
    }
    assert len(ids) == 7
    assert Truth.of(DENSE, np.array([1, 2, 3], np.uint8)).id == Truth.of(DENSE, [1, 2, 3]).id


def test_names_may_come_in_any_sequence() -> None:
    named = Truth.of(DENSE, None, np.array(["a", "b", "c"]))
    assert all(type(name) is str for name in named.classes)
    assert Truth.of(DENSE, None, (name for name in "abc")).id == named.id  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((DENSE, [1, 2]), "2 image ids"),
        ((DENSE, None, ["a"]), "1 class names"),
        ((DENSE, [7, 5, 7]), "image id 7 occurs twice"),
        ((DENSE, None, list("aba")), "class 'a' occurs twice"),
        ((np.zeros((0, 3)),), "labels of 0 images"),
        ((np.zeros((3, 0)),), "x 0 classes"),
        ((np.zeros(3),), "shape (3,)"),
        ((DENSE, None, None, np.ones((2, 3))), "known is (2, 3)"),
        ((np.array([[1, -1]]),), "a truth holds -1"),
        (([[1, 0.3]],), "a truth holds 0.3"),
        ((csr_array(np.array([[1, 2]])),), "a truth holds 2"),
        ((coo_array(([2, -1], ([0, 0], [1, 1])), shape=(1, 2)),), "a truth holds 2"),
        ((DENSE, None, None, DENSE * 3), "a truth holds 3"),
        ((np.array([["a"]]),), "a truth holds 'a'"),
        (([[1, 0], [1]],), "images x classes"),
        ((DENSE, None, ("a", None, "c")), "class None"),
        ((DENSE, None, ("a", 1, "c")), "class 1"),
        ((DENSE, [0.5, 1, 2]), "image ids are float64"),
        ((DENSE, [b"a", b"b", b"c"]), "image ids are |S1"),
        ((DENSE, np.array([1, 2, 2**63], np.uint64)), "image ids are uint64"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments: tuple[Any, ...], word: str) -> None:
    with pytest.raises(BadInput, match=re.escape(word)):
        Truth.of(*arguments)


def test_ids_are_int64_or_text() -> None:
    assert image_ids(np.array([3], np.uint8)).dtype == np.int64
    assert image_ids(np.array(["a", "bc"], dtype=object)).dtype == np.dtype("U2")


def test_a_truth_is_shown_in_one_line() -> None:
    truth = Truth.of([[1, 0], [1, 1]])
    assert repr(truth) == f"<Truth {truth.id}: 2 images, 2 classes, 3 present>"
    partly = Truth.of([[1, 0], [1, 1]], known=[[1, 0], [1, 1]])
    assert repr(partly).endswith("2 classes, 3 present, 3 known>")
