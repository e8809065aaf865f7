"""Truth: complete reference labels."""

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from simkit.errors import BadInput
from simkit.labels.truth import Truth, image_ids

NEEDED = "at least one of each is needed"
ONLY = (
    "a truth holds 0 (absent) and 1 (present), and {} came; translate it, "
    "and give entries that are not known in `known`"
)
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
    assert Truth.of(twice).id == wanted


def test_the_id_changes_with_content() -> None:
    ids = {
        Truth.of(DENSE).id,
        Truth.of(DENSE, [1, 2, 3]).id,
        Truth.of(DENSE, None, ["a", "b", "c"]).id,
        Truth.of(DENSE, None, None, np.ones((3, 3))).id,
        Truth.of(1 - DENSE).id,
    }
    assert len(ids) == 5
    assert Truth.of(DENSE, np.array([1, 2, 3], np.uint8)).id == Truth.of(DENSE, [1, 2, 3]).id


def test_arrays_are_read_only_and_the_callers_are_not() -> None:
    given, ids = csr_array(DENSE.astype(bool)), np.arange(3)
    truth = Truth.of(given, ids)
    for array in (truth.present.data, truth.present.indices, truth.images):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    ids[0] = 9
    given.data[0] = False
    assert truth.images[0] == 0 and truth.present.data.all()


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_everything_is_read_only_also_in_copies(way: Any) -> None:
    given = Truth.of(DENSE, known=np.ones((3, 3)))
    truth = (given.by_class, way(given))[1]
    assert truth.id == given.id
    derived = (truth.counts, *truth.by_class)
    for array in (
        truth.present.data,
        truth.present.indptr,
        truth.known.data,
        truth.images,
        *derived,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_names_with_line_breaks_are_not_confused() -> None:
    ids = {Truth.of(DENSE, None, names).id for names in (["a\nb", "c", "d"], ["a", "b\nc", "d"])}
    assert len(ids) == 2
    named = Truth.of(DENSE, None, np.array(["a", "b", "c"]))
    assert all(type(name) is str for name in named.classes)
    assert Truth.of(DENSE, None, (name for name in "abc")).id == named.id  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((DENSE, [1, 2]), "2 image ids came for 3 rows of labels; give one id for each row"),
        ((DENSE, None, ["a"]), "1 class names came for 3 columns; give one name for each column"),
        ((DENSE, [7, 5, 7]), "image id 7 occurs twice; give every image its own id"),
        ((DENSE, None, list("aba")), "class 'a' occurs twice; give every class its own name"),
        ((np.zeros((0, 3)),), "the labels have 0 images and 3 classes; " + NEEDED),
        ((np.zeros((3, 0)),), "the labels have 3 images and 0 classes; " + NEEDED),
        ((np.zeros(3),), "labels have shape (3,); images x classes are expected"),
        ((DENSE, None, None, np.ones((2, 3))),
         "known has shape (2, 3), present (3, 3); they must agree"),
        ((np.array([[1, -1]]),), ONLY.format(-1)),
        ((np.array([[1, np.nan]]),), ONLY.format(np.nan)),
        (([[1, 0.3]],), ONLY.format(0.3)),
        ((csr_array(np.array([[1, 2]])),), ONLY.format(2)),
        ((coo_array(([2, -1], ([0, 0], [1, 1])), shape=(1, 2)),), ONLY.format(2)),
        ((DENSE, None, None, DENSE * 3), ONLY.format(3)),
        ((np.array([["a"]]),), "labels are <U1; numbers, images x classes, are expected"),
        (([[1, 0], [1]],), "labels have rows of different lengths; give every image one"),
        ((DENSE, None, ("a", None, "c")), "class None is no text; give every class a name"),
        ((DENSE, None, ("a", 1, "c")), "class 1 is no text; give every class a name"),
        ((DENSE, [0.5, 1, 2]), "image ids are float64; whole numbers or text are expected"),
        ((DENSE, [b"a", b"b", b"c"]), "image ids are |S1; whole numbers or text are expected"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_a_sentence(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        Truth.of(*arguments)


def test_ids_are_int64_or_text() -> None:
    assert image_ids(np.array([3], np.uint8)).dtype == np.int64
    assert image_ids(np.array(["a", "bc"], dtype=object)).dtype == np.dtype("U2")
    with pytest.raises(
        BadInput, match=r"^an image id is above 2\*\*63 - 1; give such ids as text$"
    ):
        image_ids(np.array([2**63], np.uint64))


def test_a_truth_is_shown_in_one_line() -> None:
    truth = Truth.of([[1, 0], [1, 1]])
    assert repr(truth) == f"<Truth {truth.id}: 2 images, 2 classes, 3 present>"
    partly = Truth.of([[1, 0], [1, 1]], known=[[1, 0], [1, 1]])
    assert repr(partly).endswith("2 classes, 3 present, 3 known>")
