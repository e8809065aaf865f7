"""Labels written like a COCO or LVIS file of the same images."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.formats import for_path, make
from simkit.labels.partial import PartialLabels
from tests.labels.formats.test_coco import GOOD as INSTANCES
from tests.labels.formats.test_lvis import GOOD as LVIS


def _written(kind: str, labels: PartialLabels, values: Any, folder: Path) -> dict[str, Any]:
    (folder / "like.json").write_text(json.dumps(values))
    part = make(f"{kind}(like='{folder / 'like.json'}')")
    part.write(labels, folder / "x.json")
    read: dict[str, Any] = json.loads((folder / "x.json").read_bytes())
    return read


def test_boxes_and_ids_of_present_labels_are_taken_over(tmp_path: Path) -> None:
    # Image 20 shows a cat (annotation 4, no box) and, as people say, a dog; a dog in 30 is kept.
    labels = PartialLabels.of([[1, 1], [1, -1]], [20, 30], ["dog", "cat"])
    values = _written("coco", labels, INSTANCES, tmp_path)
    first, second, third, fourth = INSTANCES["annotations"]
    new = {"id": 5, "image_id": 20, "category_id": 7, "area": 0, "iscrowd": 0, "segmentation": []}
    assert values["annotations"] == [first, second, fourth, new]
    assert third["category_id"] == 2  # the crowd of cats in image 30 is not among the labels
    assert values["categories"] == INSTANCES["categories"] and values["info"] == INSTANCES["info"]
    assert [image["id"] for image in values["images"]] == [30, 20]
    back = make("coco").read(tmp_path / "x.json")
    assert back.classes == ("cat", "dog") and back.images.tolist() == [30, 20]
    assert back.rows([0, 1]).tolist() == [[-1, 1], [1, 1]]


def test_negative_lists_are_those_of_the_labels(tmp_path: Path) -> None:
    codes = [[-1, 0, 1], [1, 0, 0]]
    labels = PartialLabels.of(codes, [9, 4], ["ant", "dog", "cup"])
    values = _written("lvis", labels, LVIS, tmp_path)
    given = LVIS["images"]
    assert values["images"] == [
        given[0] | {"neg_category_ids": [1], "not_exhaustive_category_ids": [3]},
        given[1] | {"neg_category_ids": [], "not_exhaustive_category_ids": []},
    ]
    assert values["categories"] == LVIS["categories"]
    assert values["annotations"][:2] == LVIS["annotations"]
    assert values["annotations"][2]["id"] == 3 and values["annotations"][2]["image_id"] == 4
    back = make("lvis").read(tmp_path / "x.json")
    assert back.rows([0, 1])[:, [0, 2, 1]].tolist() == codes


def test_labels_and_counts_that_only_lvis_has_do_not_come_back_through_coco(tmp_path: Path) -> None:
    labels = PartialLabels.of([[-1, 0, 1], [1, 0, 0]], [9, 4], ["ant", "dog", "cup"])
    values = _written("coco", labels, LVIS, tmp_path)
    own = {"neg_category_ids", "not_exhaustive_category_ids"}
    assert own & set(LVIS["images"][0])
    assert values["images"] == [
        {k: v for k, v in image.items() if k not in own} for image in LVIS["images"]
    ]
    assert for_path(tmp_path / "x.json") == make("coco")
    back = for_path(tmp_path / "x.json").read(tmp_path / "x.json")
    order = [back.classes.index(name) for name in labels.classes]
    assert back.rows([0, 1])[:, order].tolist() == [[-1, -1, 1], [1, -1, -1]]


def test_a_label_that_is_absent_is_not_listed_as_not_exhaustive(tmp_path: Path) -> None:
    labels = PartialLabels.of([[-1]], [9], ["cup"])
    values = _written("lvis", labels, LVIS, tmp_path)
    assert values["images"][0]["not_exhaustive_category_ids"] == []
    assert values["images"][0]["neg_category_ids"] == [3] and values["annotations"] == []


@pytest.mark.parametrize(
    ("images", "classes", "word"), [([20], ["animal"], "animal"), ([21], ["dog"], "21")]
)
def test_a_file_about_something_else_is_refused(
    tmp_path: Path, images: list[int], classes: list[str], word: str
) -> None:
    labels = PartialLabels.of([[1]], images, classes)
    with pytest.raises(BadInput, match=f"{re.escape(str(tmp_path / 'like.json'))}.* {word} "):
        _written("coco", labels, INSTANCES, tmp_path)
    assert not (tmp_path / "x.json").exists()


def test_lists_stand_in_lines_and_everything_is_ascii(tmp_path: Path) -> None:
    make("coco").write(PartialLabels.of([[-1]], [7], ["é"]), tmp_path / "x.json")
    assert (tmp_path / "x.json").read_bytes() == (
        b'{\n"images":[\n{"id":7}\n],\n"annotations":[\n],\n"categories":[\n'
        b'{"id":1,"name":"\\u00e9"}\n]\n}\n'
    )


def test_the_file_that_is_like_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(LVIS))
    read = make("lvis").read(path)
    make(f"lvis(like='{path}')").write(read, path)
    assert make("lvis").read(path).id == read.id
    assert np.count_nonzero(read.codes.data) == 3


@pytest.mark.parametrize("kind", ["coco", "lvis"])
def test_ids_that_are_names_of_files_name_them_for_other_programs(
    kind: str, tmp_path: Path
) -> None:
    labels = PartialLabels.of([[1], [-1], [1]], ["a.jpg", "sub/b.png", "c"], ["dog"])
    make(kind).write(labels, tmp_path / "x.json")
    images = json.loads((tmp_path / "x.json").read_bytes())["images"]
    assert [image.get("file_name") for image in images] == ["a.jpg", "sub/b.png", None]
    back = make(kind).read(tmp_path / "x.json")
    assert back.images.tolist() == labels.images.tolist()
    assert back.rows(range(3)).tolist() == [[1], [-1], [1]]
    make(kind).write(PartialLabels.of([[1]], [7], ["dog"]), tmp_path / "x.json")
    (image,) = json.loads((tmp_path / "x.json").read_bytes())["images"]
    assert image["id"] == 7 and "file_name" not in image
