"""npz: truth and partial labels in CSR arrays."""

import os
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.labels.formats.npz import Npz, read_truth, write_truth
from simkit.labels.truth import Truth
from tests.labels.formats.examples import labels, refuses

NPZ = Npz()
TRUTH = Truth.of([[1, 0, 0], [0, 0, 0], [0, 1, 1]], [7, 8, 5], ["a", "b", "c"])
GOOD: dict[str, Any] = {
    "indptr": np.array([0, 1, 1, 3], np.int32),
    "indices": np.array([0, 1, 2], np.int16),
    "shape": np.array([3, 3]),
    "class_names": np.array(["a", "b", "c"]),
    "image_ids": np.array([7, 8, 5], np.int32),
}


def _save(path: Path, **changed: Any) -> Path:
    arrays = GOOD | changed
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def test_labels_without_asked_effort_and_history_are_read(tmp_path: Path) -> None:
    read = NPZ.read(_save(tmp_path / "x.npz", data=np.array([1, -1, 1], np.int8)))
    assert read.rows(range(3)).tolist() == [[1, 0, 0], [0, 0, 0], [0, -1, 1]]
    assert read.asked.tolist() == [True, False, True]


def test_truth_comes_back(tmp_path: Path) -> None:
    assert read_truth(_save(tmp_path / "x.npz"))[0].id == TRUTH.id
    known = Truth.of(TRUTH.present, TRUTH.images, TRUTH.classes, np.eye(3))
    difficult = csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], bool))
    write_truth(known, tmp_path / "y.npz", difficult)
    assert read_truth(tmp_path / "y.npz")[0].id == known.id
    found = read_truth(tmp_path / "y.npz")[1]
    assert found is not None and (found != difficult).nnz == 0
    assert read_truth(tmp_path / "x.npz")[1] is None


def test_arrays_of_any_order_are_read(tmp_path: Path) -> None:
    turned = {"indices": GOOD["indices"].astype(">i8"), "shape": GOOD["shape"].astype(">u2")}
    assert read_truth(_save(tmp_path / "x.npz", **turned))[0].id == TRUTH.id


def test_repeated_class_names_become_distinct(tmp_path: Path) -> None:
    path = _save(tmp_path / "x.npz", class_names=np.array(["a", "b", "a"]))
    message = f"{path} names classes twice; the later ones are called 'a (2)'"
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$"):
        assert read_truth(path)[0].classes == ("a", "b", "a (2)")


def test_a_truth_read_as_labels_knows_all_but_difficult_entries(tmp_path: Path) -> None:
    difficult = csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], bool))
    write_truth(TRUTH, tmp_path / "y.npz", difficult)
    read = NPZ.read(tmp_path / "y.npz")
    assert read.rows(range(3)).tolist() == [[1, 0, -1], [0, -1, -1], [-1, 1, 1]]
    assert read.asked.all()


def test_what_is_not_known_stays_unknown(tmp_path: Path) -> None:
    write_truth(Truth.of(np.eye(2), known=np.array([[1, 1], [0, 1]])), tmp_path / "x.npz")
    assert NPZ.read(tmp_path / "x.npz").rows([0, 1]).tolist() == [[1, -1], [0, 1]]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"indptr": None}, "indptr"),
        ({"image_ids": None}, "image_ids"),
        ({"indptr": np.array([0, 2, 1, 3])}, "indptr"),
        ({"indptr": np.array([0, 1, 3])}, "indptr"),
        ({"indices": np.array([0, 1, 3])}, "indices"),
        ({"indices": np.array([0, 2, 2])}, "indices"),
        ({"shape": np.array([3, 10**12])}, "class names"),
        ({"shape": np.array([10**12, 3])}, "shape"),
        ({"shape": np.array([3, 0]), "indices": np.zeros(0, int), "indptr": np.zeros(4, int),
          "class_names": np.zeros(0, str)}, "0 classes"),
        ({"class_names": np.array(["a", "b"])}, "class names"),
        ({"class_names": np.array(["a", {}, "c"], dtype=object)}, "class_names"),
        ({"image_ids": np.array([7, 8, 7])}, "image id 7"),
        ({"image_ids": np.eye(3)}, "image_ids"),
        ({"known_indptr": np.zeros(3, int), "known_indices": np.zeros(0, int)}, "known_indptr"),
        ({"data": np.array([1, -1, 1])}, "data"),
    ],
)  # fmt: skip
def test_a_truth_that_is_none_is_refused(
    tmp_path: Path, changed: dict[str, Any], word: str
) -> None:
    refuses(read_truth, _save(tmp_path / "x.npz", **changed), word)


@pytest.mark.parametrize(
    "changed",
    [
        {"data": np.array([1, 2, 1])},
        {"data": np.array([1, 0, 1])},
        {"data": np.array([1, 1])},
        {"asked": np.array([1, 1, 1])},
        {"history": np.array(["a", "b"])},
    ],
)
def test_labels_that_are_none_are_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    path = _save(tmp_path / "x.npz", **({"data": np.array([1, -1, 1], np.int8)} | changed))
    refuses(NPZ.read, path, "")


def _repacked(path: Path, **changed: bytes) -> Path:
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (entries | {f"{k}.npy": v for k, v in changed.items()}).items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["data", "known_indptr", "difficult_indptr"])
def test_a_lost_array_does_not_turn_labels_into_another_truth(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.npz"
    if name == "data":
        NPZ.write(labels(), path)
    else:
        write_truth(Truth.of(np.eye(5), known=np.eye(5)), path, csr_array(np.eye(5)[::-1] > 0))
    arrays = dict(np.load(path))
    del arrays[name]
    np.savez(path, **arrays)
    refuses(NPZ.read, path, name)
    refuses(read_truth, path, "")


def test_a_header_may_not_promise_more_than_there_is(tmp_path: Path) -> None:
    path = _save(tmp_path / "x.npz")
    with zipfile.ZipFile(path) as archive:
        content = archive.read("indices.npy")
    huge = content.replace(b"(3,), }        ", b"(3000000000,), }")
    assert len(huge) >= len(content)
    refuses(read_truth, _repacked(path, indices=huge), "indices")


def test_numbers_that_are_no_letters_are_refused(tmp_path: Path) -> None:
    for kind in ("<U2", ">U2"):
        text = np.array(["ab", "c", "d"])
        text.view("u4")[1] = 0x110000
        refuses(read_truth, _save(tmp_path / "x.npz", class_names=text.astype(kind)), "class_names")


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    path = _save(tmp_path / "x.npz")
    content = bytearray(path.read_bytes())
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + place] |= 1
    path.write_bytes(content)
    refuses(read_truth, path, "encrypted")


@pytest.mark.skipif("SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no data")
def test_real_label_matrices_are_read() -> None:
    folder = Path(os.environ["SIMKIT_DATA"]) / "labels"
    coco = read_truth(folder / "coco2014_val.npz")[0]
    assert coco.shape == (40_137, 80) and coco.present.nnz == 116_592
    assert coco.counts[0] == 21_634 and coco.classes[:2] == ("person", "bicycle")
    difficult = read_truth(folder / "voc2007_test.npz")[1]
    assert difficult is not None and difficult.nnz == 619
    assert NPZ.read(folder / "voc2007_test.npz").counts() == {
        "present": 7013,
        "absent": 4952 * 20 - 7013 - 619,
        "unknown": 619,
    }
