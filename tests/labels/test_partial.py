"""Partial labels as a value."""

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth

TWICE = "the labels name a class twice in one image; keep one of them"
CODES = np.array([[1, 0, -1], [0, 0, 0], [0, 0, 0], [-1, 1, 0]], np.int8)


def test_counts_and_rows_by_hand() -> None:
    labels = PartialLabels.of(CODES)
    assert labels.counts() == {"present": 2, "absent": 2, "unknown": 8}
    assert labels.per_class(1).tolist() == [1, 1, 0]
    assert labels.per_class(-1).tolist() == [1, 0, 1]
    assert labels.rows([3, 0]).tolist() == [[-1, 1, 0], [1, 0, -1]]
    assert labels.rows([3]).dtype == np.int8


def test_labels_that_contradict_the_truth() -> None:
    truth = Truth.of(np.array([[0, 1, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]]))
    assert PartialLabels.of(CODES).wrong(truth) == {"present": 1, "absent": 2}
    with pytest.raises(BadInput, match="are labels of another data set"):
        PartialLabels.of(CODES[:2]).wrong(truth)


def test_images_with_labels_were_asked_about() -> None:
    assert PartialLabels.of(CODES).asked.tolist() == [True, False, False, True]
    asked = [False, True, False, False]
    assert PartialLabels.of(CODES, asked=asked).asked.tolist() == [True, True, False, True]


def test_the_id_depends_on_labels_asked_images_ids_and_classes() -> None:
    base = PartialLabels.of(CODES)
    others = [
        PartialLabels.of(-CODES),
        PartialLabels.of(CODES, asked=np.ones(4, bool)),
        PartialLabels.of(CODES, [1, 2, 3, 4]),
        PartialLabels.of(CODES, None, ["a", "b", "c"]),
        PartialLabels.of(CODES, None, ["a\nb", "c", "d"]),
        PartialLabels.of(CODES, None, ["a", "b\nc", "d"]),
    ]
    assert len({base.id, *(other.id for other in others)}) == 7
    assert PartialLabels.of(csr_array(CODES.astype(float))).id == base.id


def test_stored_zeros_are_unknown() -> None:
    stored = coo_array((np.array([0, 1]), ([0, 1], [0, 1])), shape=(2, 2))
    labels = PartialLabels.of(stored)
    assert labels.codes.nnz == 1 and labels.asked.tolist() == [False, True]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_arrays_are_read_only_also_in_copies(way: Any) -> None:
    labels = way(PartialLabels.of(CODES))
    assert labels.id == PartialLabels.of(CODES).id
    codes = labels.codes
    for array in (codes.data, codes.indices, codes.indptr, labels.asked, labels.images):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((CODES * 2,), "labels hold other values than +1, -1 and 0; translate them first"),
        ((CODES * 0.5,), "labels hold other values than +1, -1 and 0; translate them first"),
        ((csr_array(([1, 1], [2, 2], [0, 2]), shape=(1, 3)),), TWICE),
        ((csr_array(([1, -1], [2, 2], [0, 2]), shape=(1, 3)),), TWICE),
        ((coo_array(([1, 0], ([0, 0], [1, 1])), shape=(1, 3)),), TWICE),
        ((np.array([["a"]]),), "labels are <U1; numbers, images x classes, are expected"),
        ((CODES, None, ("a", None, "c")), "class None is no text; give every class a name"),
        ((CODES[0],), "labels have shape (3,); images x classes are expected"),
        ((CODES, None, None, [True]), "asked has shape (1,); (4,) is expected"),
        ((CODES, [1, 1, 2, 3]), "image id 1 occurs twice; give every image its own id"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        PartialLabels.of(*arguments)


def test_labels_know_their_data_set() -> None:
    labels = PartialLabels.of(CODES, ["a", "b", "c", "d"])
    labels.check_about(Truth.of(np.eye(4)[:, :3], ["a", "b", "c", "d"]))
    start = "these labels (4 images x 3 classes) are labels of another data set than the one given"
    end = "name the data set they were made from"
    cases = [
        (
            Truth.of(np.eye(4)[:, :3]),
            f"{start} (4 images x 3 classes): the image ids differ; {end}",
        ),
        (
            Truth.of(np.eye(4), ["a", "b", "c", "d"]),
            f"{start} (4 images x 4 classes): class 'class-3' is in one of them only; {end}",
        ),
        (
            Truth.of(np.eye(4)[:, :3], None, ["class-1", "class-0", "class-2"]),
            f"{start} (4 images x 3 classes): the order differs; {end}",
        ),
    ]
    for truth, message in cases:
        with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
            labels.check_about(truth)


def test_labels_know_the_truth_they_were_simulated_from() -> None:
    truth, other = Truth.of(np.eye(3)), Truth.of(1 - np.eye(3))
    history = History("simulate", {}, 0, (truth.id,))
    labels = PartialLabels.of(np.eye(3, dtype=np.int8), history=history)
    labels.check_about(truth)
    with pytest.raises(BadInput, match="the truth behind them differs"):
        labels.check_about(other)


def test_labels_of_fewer_images_in_another_order() -> None:
    labels = PartialLabels.of(CODES, ["a", "b", "c", "d"])
    fewer = labels.of_images(np.array(["d", "a"]))
    np.testing.assert_array_equal(fewer.rows([0, 1]), labels.rows([3, 0]))
    assert fewer.images.tolist() == ["d", "a"]
    assert fewer.asked.tolist() == labels.asked[[3, 0]].tolist()
    assert not fewer.codes.data.flags.writeable


def test_labels_are_shown_in_one_line() -> None:
    labels = PartialLabels.of([[1, -1, 0], [0, 0, 0]])
    assert repr(labels) == (
        f"<PartialLabels {labels.id}: 2 images, 1 of them asked, 3 classes, 1 present, 1 absent>"
    )
