"""The arrays of the single-positive repositories."""

from pathlib import Path

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.formats import for_path
from simkit.labels.formats.npy_triple import NpyTriple
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from tests.labels.formats.examples import refuses

CODES = np.array([[1, -1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]], np.int8)
LABELS = PartialLabels.of(CODES, [7, 8, 5, 6], ["a", "b", "c"], [True, True, True, False])
TRUTH = Truth.of(np.eye(4, 3), [5, 6, 7, 8], ["a", "b", "c"])
OBSERVED = "formatted_train_labels_obs.npy"


def test_the_files_by_hand(tmp_path: Path) -> None:
    NpyTriple().write(LABELS, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "formatted_train_images.npy",
        "formatted_train_labels_obs.npy",
    ]
    observed = np.load(tmp_path / OBSERVED)
    assert observed.dtype == np.float64
    assert observed.tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    images = np.load(tmp_path / "formatted_train_images.npy")
    assert images.dtype.kind == "U" and images.tolist() == ["7", "8", "5"]


def test_a_truth_becomes_the_third_array_in_the_same_order(tmp_path: Path) -> None:
    NpyTriple().write_with_truth(LABELS, tmp_path / "formatted_val_labels_obs.npy", TRUTH)
    truth = np.load(tmp_path / "formatted_val_labels.npy")
    assert truth.dtype == np.float64
    assert truth.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]  # images 7, 8, 5 of the truth
    (tmp_path / "formatted_val_labels_obs.npy").unlink()
    path = tmp_path / "formatted_val_uniform_labels_obs.npy"
    NpyTriple().write_with_truth(LABELS, path, TRUTH)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "formatted_val_images.npy",
        "formatted_val_labels.npy",
        "formatted_val_uniform_labels_obs.npy",
    ]
    assert for_path(path).read(path).images.tolist() == [7, 8, 5]


def test_negatives_and_file_names_are_settings(tmp_path: Path) -> None:
    part = NpyTriple(negatives=True, file="train2014/COCO_train2014_{:012d}.jpg")
    part.write(LABELS, tmp_path)
    assert np.load(tmp_path / OBSERVED)[0].tolist() == [1, -1, 0]
    back = part.read(tmp_path)
    assert back.images[0] == "train2014/COCO_train2014_000000000007.jpg"
    assert back.classes == ("class-0", "class-1", "class-2")
    said = " ".join(part.loses(LABELS))
    assert "1 images about which no question was asked" in said and "names of 3 classes" in said
    assert "ids of 3 images" in said and "absent" not in said


@pytest.mark.parametrize("kind", ["int8", "int64", "float32", "float64"])
def test_arrays_of_any_kind_of_number_are_read(tmp_path: Path, kind: str) -> None:
    np.save(tmp_path / OBSERVED, CODES.astype(kind))
    np.save(tmp_path / "formatted_train_images.npy", np.array(["b/1.jpg", "a", "c", "d"]))
    read = NpyTriple().read(tmp_path)
    assert read.rows(range(4)).tolist() == CODES.tolist() and read.asked.all()
    assert read.images.tolist() == ["b/1.jpg", "a", "c", "d"]


@pytest.mark.parametrize(
    ("observed", "images", "word"),
    [
        (np.array([[2.0]]), ["a"], "values"),
        (np.array([[np.nan]]), ["a"], "values"),
        (np.array([["x"]]), ["a"], "numbers"),
        (np.array([[None]], object), ["a"], "Python objects"),
        (np.array([1.0]), ["a"], "2 dimensions"),
        (np.eye(2), ["a"], "1 image ids"),
        (np.eye(2), ["a", "a"], "twice"),
        (np.eye(2), [0.5, 1.5], "float64"),
        (np.eye(2), [["a", "b"]], "1 dimensions"),
    ],
)
def test_other_arrays_are_refused(
    tmp_path: Path, observed: np.ndarray, images: list[object], word: str
) -> None:
    np.save(tmp_path / OBSERVED, observed, allow_pickle=True)
    np.save(tmp_path / "formatted_train_images.npy", np.array(images))
    refuses(NpyTriple().read, tmp_path, word)


def test_missing_files_are_named(tmp_path: Path) -> None:
    refuses(NpyTriple().read, tmp_path, OBSERVED)
    np.save(tmp_path / OBSERVED, np.eye(2))
    refuses(NpyTriple().read, tmp_path, "formatted_train_images.npy")
    refuses(NpyTriple().read, tmp_path / "x.npy", OBSERVED)


def test_nothing_is_written_by_halves(tmp_path: Path) -> None:
    other = Truth.of(np.eye(4, 3), [1, 2, 3, 4], ["a", "b", "c"])
    with pytest.raises(BadInput, match=r"truth .* other images"):
        NpyTriple().write_with_truth(LABELS, tmp_path, other)
    with pytest.raises(BadInput, match="no image was asked about"):
        NpyTriple().write(PartialLabels.of(np.zeros((2, 2), np.int8)), tmp_path)
    (tmp_path / "formatted_train_images.npy").mkdir()
    with pytest.raises(BadInput, match=r"formatted_train_images\.npy is a folder"):
        NpyTriple().write(LABELS, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["formatted_train_images.npy"]


def test_a_truth_of_other_labels_is_not_left_beside_new_ones(tmp_path: Path) -> None:
    NpyTriple().write_with_truth(LABELS, tmp_path, TRUTH)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    other = PartialLabels.of(CODES[:2], [5, 6], ["x", "y", "z"])
    with pytest.raises(BadInput, match=r"formatted_train_labels\.npy is a truth of other labels"):
        NpyTriple().write(other, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    NpyTriple().write(other, tmp_path / "formatted_val_labels_obs.npy")  # of another phase
    NpyTriple().write_with_truth(LABELS, tmp_path, TRUTH)
