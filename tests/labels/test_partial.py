"""Partial labels as a value."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array

import simkit
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.effort import Effort
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth

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
@pytest.mark.parametrize(
    "given", [PartialLabels.of(CODES), Truth.of(CODES > 0, known=np.ones(CODES.shape))]
)
def test_arrays_are_read_only_also_in_copies(given: Any, way: Any) -> None:
    derived = [] if isinstance(given, PartialLabels) else [*given.by_class, given.counts]
    copied = way(given)
    assert copied.id == given.id
    if isinstance(copied, PartialLabels):
        matrices, arrays = [copied.codes], [copied.asked, copied.images]
    else:
        matrices, arrays = [copied.present, copied.known], [copied.images, *copied.by_class]
    for matrix in matrices:
        arrays += [matrix.data, matrix.indices, matrix.indptr]
    for array in (*arrays, *derived):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_arrays_of_the_caller_stay_writable() -> None:
    codes, ids = csr_array(CODES), np.arange(4)
    labels, truth = PartialLabels.of(codes, ids), Truth.of(abs(codes), ids)
    ids[0], codes.data[0] = 9, 0
    assert labels.images[0] == truth.images[0] == 0 and labels.codes.data.all()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((CODES * 2,), "values"),
        ((csr_array(([1, 1], [2, 2], [0, 2]), shape=(1, 3)),), "two labels"),
        ((coo_array(([1, 0], ([0, 0], [1, 1])), shape=(1, 3)),), "two labels"),
        ((np.array([["a"]]),), "<U1"),
        ((CODES, None, ("a", None, "c")), "class None"),
        ((CODES, None, None, [True]), "asked has shape (1,)"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments: tuple[Any, ...], word: str) -> None:
    with pytest.raises(BadInput, match=re.escape(word)):
        PartialLabels.of(*arguments)


@pytest.mark.parametrize(
    ("truth", "word"),
    [
        (Truth.of(np.eye(4)[:, :3]), "the image ids differ"),
        (Truth.of(np.eye(4), ["a", "b", "c", "d"]), "class 'class-3'"),
        (Truth.of(np.eye(4)[:, :3], None, ["class-1", "class-0", "class-2"]), "order differs"),
    ],
)
def test_labels_know_their_data_set(truth: Truth, word: str) -> None:
    labels = PartialLabels.of(CODES, ["a", "b", "c", "d"])
    labels.check_about(Truth.of(np.eye(4)[:, :3], ["a", "b", "c", "d"]))
    with pytest.raises(BadInput, match=f"another data set.*{word}"):
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


@pytest.mark.parametrize("ids", [[7, 3, 5, 9], ["a", "b,", "ä", ""]])
def test_labels_come_back_from_pandas(ids: list[Any]) -> None:
    labels = PartialLabels.of(CODES, ids, ["z", "b", "a"], np.ones(4, bool))
    frame = labels.to_pandas()
    assert list(frame.columns) == ["image", "class", "state"]
    assert frame.to_numpy().tolist() == [
        [ids[0], "z", 1], [ids[0], "a", -1], [ids[3], "z", -1], [ids[3], "b", 1],
    ]  # fmt: skip
    assert PartialLabels.from_pandas(frame, images=ids).id == labels.id
    shuffled = frame.sample(frac=1, random_state=1).assign(who="x").astype({"class": str})
    assert PartialLabels.from_pandas(shuffled, ["z", "b", "a"], ids).id == labels.id
    alone = PartialLabels.from_pandas(frame.rename(columns={"image": "image_id"}))
    assert alone.images.tolist() == [ids[0], ids[3]] and alone.classes == ("z", "b", "a")


def test_arrow_holds_all_classes_and_no_row_for_what_is_unknown() -> None:
    table = PartialLabels.of(CODES).to_arrow()
    assert table["class"].chunk(0).dictionary.to_pylist() == ["class-0", "class-1", "class-2"]
    assert table.num_rows == 4 and table["state"].to_pylist() == [1, -1, -1, 1]
    empty = PartialLabels.of(CODES * 0, asked=np.ones(4, bool))
    assert PartialLabels.from_pandas(empty.to_pandas(), images=range(4)).id == empty.id


@pytest.mark.parametrize(
    ("changed", "given", "word"),
    [
        ({"state": None}, {}, "'state'"),
        ({"state": [1, 2]}, {}, "state holds 2"),
        ({"state": ["1", "maybe"]}, {}, "state holds 'maybe'"),
        ({"image": [1, 1], "class": ["a", "a"]}, {}, "two labels"),
        ({"image": [1, None]}, {}, "image ids"),
        ({}, {"images": [1]}, "image 2"),
        ({}, {"images": ["1", "2"]}, "image 1"),
        ({}, {"classes": ["a"]}, "class 'b'"),
        ({}, {"images": [1, 2, 2]}, "image id 2 occurs twice"),
    ],
)
def test_tables_that_are_no_labels_are_refused(changed: Any, given: Any, word: str) -> None:
    columns = {"image": [1, 2], "class": ["a", "b"], "state": [1, -1]} | changed
    frame = pd.DataFrame({key: values for key, values in columns.items() if values is not None})
    with pytest.raises(BadInput, match=word):
        PartialLabels.from_pandas(frame, **given)


def test_notebooks_show_a_short_table() -> None:
    effort = Effort({"verify": np.array([0, 3])}, np.zeros(0, np.int64))
    history = History("simulate", {"scheme": "<b>(x=1)"}, 0)
    html = PartialLabels.of(CODES, effort=effort, history=history)._repr_html_()
    html = re.sub(r"\s+<", "<", html)
    for words in ("4, 2 of them asked", "&lt;b&gt;(x=1)", "3 verify", "unknown</th><td>8"):
        assert words in html
    assert "<b>" not in html and len(html) < 1000


def test_labels_are_saved_as_parquet_alone(tmp_path: Path) -> None:
    """Under another ending nobody could open them; the error says how to write that format."""
    labels = PartialLabels.of(np.array([[1, -1], [1, 0]]), ["a", "b"], ["cat", "dog"])
    path = tmp_path / "labels.npz"
    with pytest.raises(BadInput, match=r"for \.npz use simkit\.formats\.for_path\(path, writing"):
        labels.save(path)
    simkit.formats.for_path(path, writing=True).write(labels, path)
    assert simkit.formats.for_path(path).read(path).id == labels.id
    labels.save(tmp_path / "labels.parquet")
    assert PartialLabels.load(tmp_path / "labels.parquet").id == labels.id
