"""mmpretrain's multi-label JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from simkit.labels.formats import for_path
from simkit.labels.formats.mmpretrain import Mmpretrain
from simkit.labels.partial import PartialLabels
from tests.labels.formats.examples import refuses

PART = Mmpretrain()
GOOD: dict[str, Any] = {
    "metainfo": {"classes": ["a", "b", "c"]},
    "data_list": [
        {"img_path": "x.jpg", "gt_label": [2, 0.0]},
        {"img_path": "y.jpg", "gt_label": [], "more": 1},
    ],
}


def _read(folder: Path, values: Any) -> PartialLabels:
    path = folder / "x.json"
    path.write_text(json.dumps(values))
    assert for_path(path) == PART or not values
    return PART.read(path)


def test_a_foreign_file_is_complete(tmp_path: Path) -> None:
    read = _read(tmp_path, GOOD)
    assert read.images.tolist() == ["x.jpg", "y.jpg"] and read.classes == ("a", "b", "c")
    assert read.rows([0, 1]).tolist() == [[1, -1, 1], [-1, -1, -1]] and read.asked.all()


def test_complete_labels_are_written_in_full(tmp_path: Path) -> None:
    complete = PartialLabels.of([[1, -1], [1, 1]], [3, 4], ["a", "b"])
    PART.write(complete, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == {
        "metainfo": {"classes": ["a", "b"]},
        "data_list": [
            {"img_path": "3", "gt_label": [0]},
            {"img_path": "4", "gt_label": [0, 1]},
        ],
    }
    assert PART.read(tmp_path / "x.json").id == complete.id and PART.loses(complete) == ()


def test_partial_labels_say_that_the_rest_is_unknown(tmp_path: Path) -> None:
    partial = PartialLabels.of([[1, -1], [0, 0], [0, 0]], [3, 4, 5], None, [True, True, False])
    part = Mmpretrain(file="{}.jpg")
    part.write(partial, tmp_path / "x.json")
    values = json.loads((tmp_path / "x.json").read_text())
    assert values["metainfo"]["unlisted_classes"] == "unknown"
    assert values["data_list"] == [
        {"img_path": "3.jpg", "gt_label": [0]},
        {"img_path": "4.jpg", "gt_label": []},
    ]
    back = part.read(tmp_path / "x.json")
    assert back.rows([0, 1]).tolist() == [[1, 0], [0, 0]] and back.asked.all()
    said = " ".join(part.loses(partial))
    assert "2 labels of asked images are unknown" in said and "1 absent labels" in said
    assert "1 images about which no question was asked" in said and "ids of 2 images" in said


def _listed(*entries: Any) -> dict[str, Any]:
    return GOOD | {"data_list": list(entries)}


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([], "JSON list"),
        ({}, "metainfo"),
        (GOOD | {"metainfo": 1}, "metainfo"),
        (GOOD | {"metainfo": {"classes": [1]}}, "classes"),
        (GOOD | {"data_list": {}}, "data_list"),
        (_listed({"gt_label": []}), "img_path"),
        (_listed({"img_path": "x", "gt_label": 1}), "gt_label"),
        (_listed({"img_path": "x", "gt_label": [3]}), "gt_label"),
        (_listed({"img_path": "x", "gt_label": [1, -1]}), "gt_label"),
        (_listed({"img_path": "x", "gt_label": [1, 2**40]}), "gt_label"),
        (
            _listed({"img_path": "x", "gt_label": [0, 1, 0]}),
            "one for each class; write the indices",
        ),
        (_listed(*({"img_path": x, "gt_label": []} for x in ("x", "./x"))), "name the same file"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, values: Any, word: str) -> None:
    (tmp_path / "x.json").write_text(json.dumps(values))
    refuses(PART.read, tmp_path / "x.json", word)
