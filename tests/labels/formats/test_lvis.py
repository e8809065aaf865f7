"""LVIS files."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from simkit.labels.formats import for_path
from simkit.labels.formats.lvis import Lvis, read_lvis
from simkit.labels.partial import PartialLabels
from tests.labels.formats.examples import partial_labels, refuses

# Image 9 shows a cup (not all of them annotated) and no dog; image 4 nothing that is known.
GOOD: dict[str, Any] = {
    "info": {"version": "v1.0"},
    "annotations": [
        {"id": 1, "image_id": 9, "category_id": 3, "area": 12.0, "bbox": [1, 2, 3, 4],
         "segmentation": [[1, 2, 3, 4, 5, 6]]},
        {"id": 2, "image_id": 9, "category_id": 3, "area": 2.0, "bbox": [0, 0, 1, 2]},
    ],
    "images": [
        {"id": 9, "coco_url": "http://images.cocodataset.org/val2017/000000000009.jpg",
         "neg_category_ids": [8, 1], "not_exhaustive_category_ids": [3], "width": 9, "height": 7},
        {"id": 4, "coco_url": "http://images.cocodataset.org/train2017/000000000004.jpg",
         "neg_category_ids": [], "not_exhaustive_category_ids": [], "width": 8, "height": 6},
    ],
    "categories": [
        {"id": 8, "name": "dog", "synset": "dog.n.01", "frequency": "f"},
        {"id": 1, "name": "ant", "synset": "ant.n.01", "frequency": "r"},
        {"id": 3, "name": "cup", "synset": "cup.n.01", "frequency": "c"},
    ],
}  # fmt: skip


def _save(path: Path, **changed: Any) -> Path:
    path.write_text(json.dumps(GOOD | changed))
    return path


def test_content_by_hand(tmp_path: Path) -> None:
    found = read_lvis(_save(tmp_path / "x.json"))
    assert found.truth.classes == ("ant", "cup", "dog") and found.truth.images.tolist() == [9, 4]
    assert found.truth.rows([0, 1]).astype(int).tolist() == [[0, 1, 0], [0, 0, 0]]
    assert found.truth.known is not None
    assert found.truth.known.toarray().astype(int).tolist() == [[1, 1, 1], [0, 0, 0]]
    assert found.file_names == ("val2017/000000000009.jpg", "train2017/000000000004.jpg")
    assert found.boxes.images.tolist() == [0, 0] and found.boxes.classes.tolist() == [1, 1]
    assert found.boxes.corners.tolist() == [[1, 2, 4, 6], [0, 0, 1, 2]]
    assert found.boxes.sizes is not None and found.boxes.sizes.tolist() == [[9, 7], [8, 6]]


def test_as_labels_a_class_that_is_not_listed_is_unknown(tmp_path: Path) -> None:
    read = Lvis().read(_save(tmp_path / "x.json"))
    assert read.rows([0, 1]).tolist() == [[-1, 1, -1], [0, 0, 0]]
    assert read.asked.tolist() == [True, False]


def test_files_of_the_first_version_name_their_pictures(tmp_path: Path) -> None:
    images = [{"id": 9, "file_name": "a.jpg", "coco_url": "http://x/b/c.jpg"}, {"id": 4}]
    found = read_lvis(_save(tmp_path / "x.json", images=images))
    assert found.file_names == ("a.jpg", "")
    assert found.truth.known is not None and found.boxes.sizes is None
    assert found.truth.known.nnz == 1  # no negative lists: only what is annotated is known


def test_a_class_that_is_annotated_and_listed_as_absent_is_present(tmp_path: Path) -> None:
    images = [GOOD["images"][0] | {"neg_category_ids": [3, 1]}, GOOD["images"][1]]
    path = _save(tmp_path / "x.json", images=images)
    with pytest.warns(UserWarning, match=f"{re.escape(str(path))}: classes .* absent, .*: 1$"):
        read = Lvis().read(path)
    assert read.rows([0]).tolist() == [[-1, 1, 0]]


@pytest.mark.parametrize(
    "changed",
    [
        {"neg_category_ids": [5]},
        {"neg_category_ids": 8},
        {"neg_category_ids": ["8"]},
        {"coco_url": 3, "file_name": 3},
    ],
)
def test_fields_that_are_odd_are_named(tmp_path: Path, changed: dict[str, Any]) -> None:
    images = [GOOD["images"][0] | changed, GOOD["images"][1]]
    refuses(read_lvis, _save(tmp_path / "x.json", images=images), list(changed)[-1])


@settings(max_examples=60, deadline=None)
@given(partial_labels())
def test_all_labels_come_back_equal(labels: PartialLabels) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        Lvis().write(labels, path)
        assert Lvis().read(path).id == labels.id
        assert for_path(path).name == "lvis"
    assert Lvis().loses(labels) == ()


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    labels = PartialLabels.of([[1, 0], [0, 0], [0, 0]], asked=[True, True, False])
    (lost,) = Lvis().loses(labels)
    assert "1 images without a label were asked about" in lost


def test_what_is_written_has_the_keys_that_the_lvis_package_reads(tmp_path: Path) -> None:
    codes = np.ones((120, 3), np.int8)
    codes[10:, 0], codes[60:, 1] = 0, -1
    Lvis().write(PartialLabels.of(codes, classes=["ant", "cup", "dog"]), tmp_path / "x.json")
    values = json.loads((tmp_path / "x.json").read_bytes())
    assert values["images"][70] == {
        "id": 70, "neg_category_ids": [2], "not_exhaustive_category_ids": [],
    }  # fmt: skip
    assert values["annotations"][1] == {
        "id": 2, "image_id": 0, "category_id": 2, "area": 0, "iscrowd": 0, "segmentation": [],
    }  # fmt: skip
    assert values["categories"][0] == {
        "id": 1, "name": "ant", "synset": "", "synonyms": ["ant"], "def": "", "image_count": 10,
        "instance_count": 10, "frequency": "r",
    }  # fmt: skip
    assert [each["frequency"] for each in values["categories"]] == ["r", "c", "f"]
