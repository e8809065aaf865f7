"""COCO panoptic files."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.formats import for_path
from simkit.labels.formats.coco import CocoPanoptic, read_panoptic
from simkit.labels.formats.coco_json import Instances
from simkit.labels.partial import PartialLabels
from tests.labels.formats.examples import refuses

# Image 8 shows two people, a crowd of cars and sky; image 5 has no annotation.
GOOD: dict[str, Any] = {
    "images": [
        {"id": 5, "file_name": "5.jpg", "width": 7, "height": 9},
        {"id": 8, "file_name": "8.jpg", "width": 6, "height": 4},
    ],
    "annotations": [
        {"image_id": 8, "file_name": "8.png", "segments_info": [
            {"id": 1, "category_id": 1, "iscrowd": 0, "bbox": [0, 0, 2, 2], "area": 4},
            {"id": 2, "category_id": 1, "iscrowd": 0, "bbox": [2, 0, 2, 1], "area": 2},
            {"id": 3, "category_id": 3, "iscrowd": 1, "bbox": [0, 2, 3, 1], "area": 3},
            {"id": 4, "category_id": 187, "iscrowd": 0, "bbox": [0, 0, 6, 4], "area": 9},
        ]},
    ],
    "categories": [
        {"id": 187, "name": "sky-other-merged", "isthing": 0, "supercategory": "sky"},
        {"id": 1, "name": "person", "isthing": 1, "supercategory": "person"},
        {"id": 3, "name": "car", "isthing": 1, "supercategory": "vehicle"},
    ],
}  # fmt: skip


def _save(path: Path, **changed: Any) -> Path:
    path.write_text(json.dumps(GOOD | changed))
    return path


def test_content_by_hand(tmp_path: Path) -> None:
    found = read_panoptic(_save(tmp_path / "x.json"))
    assert isinstance(found, Instances) and found.difficult is None
    assert found.truth.classes == ("person", "car", "sky-other-merged")
    assert found.truth.images.tolist() == [5, 8] and found.truth.known is None
    assert found.truth.rows([0, 1]).astype(int).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert found.file_names == ("5.jpg", "8.jpg")  # the pictures, not the masks
    assert found.boxes.images.tolist() == [1, 1, 1, 1]
    assert found.boxes.classes.tolist() == [0, 0, 1, 2]
    assert found.boxes.corners.tolist() == [[0, 0, 2, 2], [2, 0, 4, 1], [0, 2, 3, 3], [0, 0, 6, 4]]
    assert found.boxes.sizes is not None and found.boxes.sizes.tolist() == [[7, 9], [6, 4]]


def test_as_labels_everything_is_known(tmp_path: Path) -> None:
    path = _save(tmp_path / "x.json")
    assert for_path(path) == CocoPanoptic()
    assert CocoPanoptic().read(path).rows([0, 1]).tolist() == [[-1, -1, -1], [1, 1, 1]]


def test_it_is_not_written(tmp_path: Path) -> None:
    labels = PartialLabels.of(np.eye(2, dtype=np.int8))
    with pytest.raises(BadInput, match=f"{re.escape(str(tmp_path / 'x.json'))}.*masks.*lvis"):
        CocoPanoptic().write(labels, tmp_path / "x.json")
    assert CocoPanoptic().loses(labels) == () and not (tmp_path / "x.json").exists()


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"image_id": 8}, "segments_info"),
        ({"image_id": 8, "segments_info": [3]}, "segments_info"),
        ({"image_id": 8, "segments_info": [{"category_id": 2}]}, "category_id is 2"),
        ({"image_id": 6, "segments_info": [{"category_id": 1}]}, "image_id is 6"),
    ],
)
def test_a_panoptic_file_that_is_none_is_refused(tmp_path: Path, row: Any, word: str) -> None:
    refuses(read_panoptic, _save(tmp_path / "x.json", annotations=[row]), word)
