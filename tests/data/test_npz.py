"""The data source npz."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from simkit import data
from simkit.data.dataset import WHOLE
from simkit.data.splits import published_split
from simkit.errors import BadInput
from simkit.labels.formats.npz import write_truth
from simkit.labels.truth import Truth

DENSE = np.random.default_rng(0).random((40, 3)) < 0.4


def _write(path: Path, dense: np.ndarray = DENSE, classes: str = "abc", start: int = 0) -> Path:
    ids = np.arange(len(dense)) + start
    write_truth(Truth.of(dense, ids, list(classes)), path, Truth.of(~dense).present)
    return path


def test_one_file_is_split_as_published(tmp_path: Path) -> None:
    path = _write(tmp_path / "labels.npz")
    opened = data.open(f"npz:{path}")
    train, val = published_split(40)
    assert list(opened.truth) == ["train", "val", WHOLE] and opened.name == "labels"
    assert opened.truth[WHOLE].images.tolist() == list(range(40))
    assert opened.truth["train"].images.tolist() == train.tolist()
    assert np.array_equal(opened.truth["val"].rows(range(8)), DENSE[val])
    assert np.array_equal(opened.difficult["val"].toarray(), ~DENSE[val])
    assert opened.classes == ("a", "b", "c") and opened.leaves.tolist() == [0, 1, 2]
    assert not opened.pictures and not opened.boxes


def test_there_is_a_test_split_only_where_a_file_is_given(tmp_path: Path) -> None:
    train, test = _write(tmp_path / "a.npz"), _write(tmp_path / "b.npz", DENSE[:9])
    assert "test" not in data.open(f"npz:{train}").truth
    sizes = {
        split: part.shape[0] for split, part in data.open(f"npz:{train},val={test}").truth.items()
    }
    assert sizes == {"train": 40, "val": 9}
    opened = data.open(f"npz:{train},test={test}")
    assert {split: truth.shape[0] for split, truth in opened.truth.items()} == {
        "train": 32, "val": 8, "test": 9, WHOLE: 40,
    }  # fmt: skip
    assert opened.spec == f"npz:train={train},test={test}"
    assert data.open(opened.spec).truth["test"].id == opened.truth["test"].id


def test_classes_are_matched_by_name_and_must_agree(tmp_path: Path) -> None:
    train = _write(tmp_path / "a.npz")
    other = _write(tmp_path / "b.npz", classes="abd")
    with pytest.raises(BadInput, match="of test and train differ: only one of them has 'c'"):
        data.open(f"npz:{train},test={other}")
    moved = data.open(f"npz:{train},test={_write(tmp_path / 'b.npz', classes='bca')}")
    assert moved.classes == moved.truth["test"].classes == ("a", "b", "c")
    assert np.array_equal(moved.truth["test"].rows(range(40)), DENSE[:, [2, 0, 1]])
    assert np.array_equal(moved.difficult["test"].toarray(), ~DENSE[:, [2, 0, 1]])


def test_a_file_of_partial_labels_is_no_truth(tmp_path: Path) -> None:
    from simkit.labels.formats import make
    from simkit.labels.partial import PartialLabels

    path = tmp_path / "x.npz"
    make("npz").write(PartialLabels.of(np.eye(5, dtype=np.int8)), path)
    with pytest.raises(BadInput, match=rf"^{re.escape(str(path))}: .*'data'.* use them as labels"):
        data.open(f"npz:{path}")


@pytest.mark.skipif("SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no data")
def test_real_labels_under_a_shipped_hierarchy() -> None:
    folder = Path(os.environ["SIMKIT_DATA"]) / "labels"
    opened = data.open(f"npz:{folder / 'coco2014_val.npz'},hierarchy=coco-80")
    truth = opened.truth["train"]
    assert truth.shape == (32_110, 126) and opened.leaves.tolist() == list(range(80))
    names = opened.classes
    dense = truth.present.toarray()
    dog, animal = (dense[:, names.index(name)] for name in ("dog", "animal"))
    assert dog.any() and (animal >= dog).all() and animal.sum() > dog.sum()
