"""COCO instances files."""

import contextlib
import io
import json
import os
import re
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from simkit.errors import BadInput
from simkit.labels.formats import for_path, make
from simkit.labels.formats.coco import Coco, read_instances
from simkit.labels.partial import PartialLabels
from tests.data import layouts
from tests.labels.formats.examples import complete_labels, refuses

# Three images: 30 has two dogs and a crowd of cats, 10 nothing (a cat is difficult), 20 a cat.
GOOD: dict[str, Any] = {
    "info": {"version": "1"},
    "images": [
        {"id": 30, "file_name": "c.jpg", "width": 9, "height": 9},
        {"id": 10, "file_name": "a.jpg", "difficult_category_ids": [2]},
        {"id": 20, "file_name": "b.jpg", "difficult_category_ids": [2, 7]},
    ],
    "annotations": [
        {"id": 1, "image_id": 30, "category_id": 7, "bbox": [1, 2, 3, 4.5], "bbox_is": "all"},
        {"id": 2, "image_id": 30, "category_id": 7, "bbox": [0, 0, 9, 9], "bbox_is": "whole image"},
        {"id": 3, "image_id": 30, "category_id": 2, "bbox": [5, 5, 1, 1], "iscrowd": 1,
         "segmentation": {"counts": [1, 2], "size": [9, 9]}},
        {"id": 4, "image_id": 20, "category_id": 2},
    ],
    "categories": [{"id": 7, "name": "dog"}, {"id": 2, "name": "cat", "supercategory": "animal"}],
}  # fmt: skip


def _save(path: Path, **changed: Any) -> Path:
    path.write_text(json.dumps(GOOD | changed))
    return path


def test_content_by_hand(tmp_path: Path) -> None:
    found = read_instances(_save(tmp_path / "x.json"))
    assert found.truth.classes == ("cat", "dog")
    assert found.truth.images.tolist() == [30, 10, 20]
    assert found.truth.rows(range(3)).astype(int).tolist() == [[1, 1], [0, 0], [1, 0]]
    assert found.file_names == ("c.jpg", "a.jpg", "b.jpg")
    assert found.boxes.images.tolist() == [0, 0] and found.boxes.classes.tolist() == [1, 0]
    assert found.boxes.corners.tolist() == [[1, 2, 4, 6.5], [5, 5, 6, 6]]
    assert found.difficult is not None
    assert found.difficult.toarray().astype(int).tolist() == [[0, 0], [1, 0], [0, 1]]


def test_as_labels_everything_is_known_but_difficult_entries(tmp_path: Path) -> None:
    read = Coco().read(_save(tmp_path / "x.json"))
    assert read.rows(range(3)).tolist() == [[1, 1], [0, -1], [1, 0]]


def test_text_ids_and_other_encodings_are_read(tmp_path: Path) -> None:
    values = GOOD | {
        "images": [{"id": "ä"}, {"id": "b"}],
        "annotations": [{"image_id": "b", "category_id": 2}],
    }
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "x.json").write_text(json.dumps(values, ensure_ascii=False), encoding=encoding)
        found = read_instances(tmp_path / "x.json")
        assert found.truth.images.tolist() == ["ä", "b"] and found.difficult is None
        assert found.file_names == ("", "") and len(found.boxes.corners) == 0


def test_what_is_written_reads_back_with_unknown_as_absent(tmp_path: Path) -> None:
    given = PartialLabels.of(np.array([[1, -1, 0], [0, 0, 0]], np.int8), [7, 3], ["b", "a", "c"])
    Coco().write(given, tmp_path / "x.json")
    read = Coco().read(tmp_path / "x.json")
    assert read.rows([0, 1]).tolist() == [[1, -1, -1], [-1, -1, -1]]
    assert read.images.tolist() == [7, 3] and read.classes == ("b", "a", "c")
    (lost,) = Coco().loses(given)
    assert "4 unknown labels" in lost
    assert Coco().loses(read) == ()


@settings(max_examples=50, deadline=None)
@given(complete_labels())
def test_complete_labels_come_back_equal(labels: PartialLabels) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        Coco().write(labels, path)
        assert Coco().read(path).id == labels.id
    assert Coco().loses(labels) == ()


def test_pycocotools_reads_what_is_written(tmp_path: Path) -> None:
    from pycocotools.coco import COCO

    Coco().write(PartialLabels.of([[1, -1], [0, 1]], [7, 3], ["dog", "cat"]), tmp_path / "x.json")
    with contextlib.redirect_stdout(io.StringIO()):
        oracle = COCO(str(tmp_path / "x.json"))
    assert {c: each["name"] for c, each in oracle.cats.items()} == {1: "dog", 2: "cat"}
    shown = {i: [each["category_id"] for each in oracle.imgToAnns[i]] for i in oracle.getImgIds()}
    assert shown == {7: [1], 3: [2]}
    assert oracle.getAnnIds(imgIds=[7], catIds=[1], iscrowd=False) == [1]


@pytest.mark.parametrize(
    ("form", "ids", "files"),
    [
        ("coco", ["b.jpg", "sub/é.png"], ["b.jpg", "sub/é.png"]),
        ("coco(file='{}.jpg')", ["b", "007"], ["b.jpg", "007.jpg"]),
        ("coco(file='{:03d}.jpg')", [7, 12], ["007.jpg", "012.jpg"]),
    ],
)
def test_torchvision_opens_what_is_written(
    tmp_path: Path, form: str, ids: list[Any], files: list[str]
) -> None:
    from torchvision.datasets import CocoDetection

    sides = {name: 8 + n for n, name in enumerate(files)}
    layouts.write(
        tmp_path / "photos", {name: layouts.jpeg(9, (side, side)) for name, side in sides.items()}
    )
    given = PartialLabels.of([[1, -1], [1, 1]], ids, ["dog", "cat"])
    make(form).write(given, tmp_path / "x.json")
    with contextlib.redirect_stdout(io.StringIO()):
        opened = CocoDetection(str(tmp_path / "photos"), str(tmp_path / "x.json"))
    shown = [({each["category_id"] for each in objects}, image.size) for image, objects in opened]
    assert shown == [({1}, (8, 8)), ({1, 2}, (9, 9))]
    assert Coco().read(tmp_path / "x.json").id == given.id  # text stays text
    assert make("coco(by_file=true)").read(tmp_path / "x.json").images.tolist() == files
    Coco(like=str(tmp_path / "x.json")).write(given, tmp_path / "y.json")
    assert Coco().read(tmp_path / "y.json").id == given.id


@pytest.mark.parametrize("ids", [[7, 12], ["7", "12"]])
def test_images_without_a_file_name_are_noted(tmp_path: Path, ids: list[Any]) -> None:
    given = PartialLabels.of([[1], [-1]], ids)
    with pytest.warns(UserWarning, match="without a file name, .*: 2 of 2") as notes:
        Coco().write(given, tmp_path / "x.json")
    (mend,) = re.findall('--to "(.*)"', str(notes[0].message))
    make(mend).write(given, tmp_path / "y.json")
    named = make("coco(by_file=true)").read(tmp_path / "y.json").images.tolist()
    assert [name.lstrip("0") for name in named] == ["7.jpg", "12.jpg"]
    refuses(make("coco(by_file=true)").read, tmp_path / "x.json", "no file_name")
    with pytest.raises(BadInput, match="leave file out"):
        Coco(like=str(tmp_path / "x.json"), file="{}.jpg").write(given, tmp_path / "y.json")


def _cats(images: list[Any], categories: list[Any], pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Images and categories with these ids, and annotations of these pairs of ids."""
    return {
        "images": [{"id": each} for each in images],
        "categories": [
            {"id": each, "name": name}
            for each, name in zip(categories, ["cat", "dog"], strict=True)
        ],
        "annotations": [{"image_id": i, "category_id": c, "bbox": None} for i, c in pairs],
    }


@pytest.mark.parametrize(
    ("values", "ids", "noted"),
    [
        (_cats([1.0, 2.0], [1.0, 7], [(1, 7.0)]), [1, 2], ""),
        (_cats(["1", "2"], ["1", "10"], [("1", "10")]), ["1", "2"], ""),
        (_cats(["a-b", "c"], ["x", "y"], [("a-b", "y")]), ["a-b", "c"], ""),
        (_cats([0, 1], [0, 7], [("0", 7)]), [0, 1], "image ids .*: 1 .*'0' for 0"),
        (_cats(["007", "8"], [0, 7], [(7, 7)]), ["007", "8"], "image ids .*: 1 .*7 for '007'"),
        (
            _cats([0, 1], [0, 7], [(0, "7"), (0, "7.0")]),
            [0, 1],
            "category ids .*: 2 .*'7' for 7, '7.0'",
        ),
        (_cats([2**62, 5], [2, 10], [(2**62, 10)]), [2**62, 5], ""),
    ],
)
def test_ids_are_numbers_or_text_and_annotations_may_spell_them_otherwise(
    tmp_path: Path, values: dict[str, Any], ids: list[Any], noted: str
) -> None:
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        content = read_instances(_save(tmp_path / "x.json", **values))
    assert content.truth.images.tolist() == ids and content.truth.classes == ("cat", "dog")
    assert content.truth.present.toarray().tolist() == [[False, True], [False, False]]
    assert [re.search(noted, str(each.message)) is not None for each in notes] == [True] * bool(
        noted
    )
    like = Coco(like=str(tmp_path / "x.json"))
    labels = Coco().read(tmp_path / "x.json")
    like.write(labels, tmp_path / "y.json")
    assert json.loads((tmp_path / "y.json").read_bytes())["annotations"] == values["annotations"]
    assert Coco().read(tmp_path / "y.json").id == labels.id


def test_entries_of_one_file_are_one_image_with_the_labels_of_all(tmp_path: Path) -> None:
    files = {5: "s/a.jpg", 6: "b.jpg", 7: "s\\a.jpg"}
    values = _cats([*files], [1, 2], [(5, 1), (7, 2)])
    images = [{"id": i, "file_name": name} for i, name in files.items()]
    path = _save(tmp_path / "x.json", **values | {"images": images})
    with pytest.warns(UserWarning, match=r"x\.json: entries .*: 1 .* ids 5 and 7\)"):
        read = Coco().read(path)
    assert read.images.tolist() == [5, 6] and read.rows([0, 1]).tolist() == [[1, 1], [-1, -1]]


def test_a_parent_without_annotation_is_no_class(tmp_path: Path) -> None:
    categories = [
        {"id": 0, "name": "pets", "supercategory": "none"},
        {"id": 1, "name": "cat", "supercategory": "pets"},
        {"id": 2, "name": "none", "supercategory": "none"},
        {"id": 3, "name": "person", "supercategory": "person"},
    ]
    values = _cats([1, 2], [0, 1], [(1, 1)]) | {"categories": categories}
    path = _save(tmp_path / "x.json", **values)
    with pytest.warns(UserWarning, match=r"x\.json: supercategories .*: 1 \('pets'\)"):
        read = Coco().read(path)
    assert read.classes == ("cat", "none", "person")
    assert read.rows([0, 1]).tolist() == [[1, -1, -1], [-1, -1, -1]]
    values = _cats([1, 2], [0, 1], [(1, 0), (1, 1)]) | {"categories": categories}
    assert "pets" in Coco().read(_save(tmp_path / "y.json", **values)).classes


def test_classes_that_look_alike_and_files_without_annotation_are_noted(tmp_path: Path) -> None:
    values = _cats([1], [1, 2], []) | {
        "categories": [{"id": 1, "name": "k\u00e4fer"}, {"id": 2, "name": "ka\u0308fer\u200b"}]
    }
    with pytest.warns(UserWarning) as notes:
        Coco().read(_save(tmp_path / "x.json", **values))
    alike, empty = (str(each.message) for each in notes)
    assert "look alike and count as different: 1 ('k\\xe4fer' and 'ka\\u0308" in alike
    assert "no annotations, so all classes count as absent in its images: 1 (1)" in empty


def _annotation(**changed: Any) -> list[dict[str, Any]]:
    return [GOOD["annotations"][0] | changed]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"images": None}, "'images'"),
        ({"annotations": {}}, "'annotations'"),
        ({"categories": [3]}, "'categories'"),
        ({"images": [], "annotations": []}, "0 images"),
        ({"categories": GOOD["categories"][:1], "annotations": []}, "difficult_category_ids"),
        ({"images": GOOD["images"] + [{"id": 30}]}, "image id 30"),
        (
            {"images": [{"id": 1}, {"id": 2}, {"id": "a"}]},
            "id 'a' in 'images' is text and the others",
        ),
        ({"images": [{"id": 1}, {"id": "a"}, {"id": "b"}]}, "id 1 in 'images' is a number and"),
        ({"images": [{"id": None}]}, "the id is null or missing in entry 0 of 'images'"),
        ({"images": [{"id": 1.5}]}, "the id is 1.5 in entry 0 of 'images'"),
        ({"images": [{"id": 2**63}]}, f"id {2**63} in 'images' needs more than 64 bits"),
        ({"images": [{"id": 1, "file_name": 3}], "annotations": []}, "file_name"),
        ({"categories": [{"id": 7, "name": "dog"}, {"id": 7, "name": "cat"}]}, "category id 7"),
        ({"categories": [{"id": 7, "name": "dog"}, {"id": 2, "name": "dog"}]}, "class 'dog'"),
        (
            {"annotations": _annotation(category_id=99)},
            "category_id is 99 in 'annotations'; no cat",
        ),
        ({"categories": [{"id": "7", "name": "a"}, {"id": "07", "name": "b"}]}, "category_id is 7"),
        ({"annotations": _annotation(category_id=True)}, "category_id is True"),
        (
            {"annotations": [{"image_id": 30, "segments_info": []}]},
            "open the file as coco-panoptic",
        ),
        ({"annotations": _annotation(bbox=[1, float("nan"), 3, 3])}, "bbox"),
        ({"annotations": _annotation(bbox=[1, 2, -3, 4])}, "bbox"),
    ],
)
def test_an_instances_file_that_is_none_is_refused(
    tmp_path: Path, changed: dict[str, Any], word: str
) -> None:
    refuses(read_instances, _save(tmp_path / "x.json", **changed), word)


def test_annotations_without_ids_or_with_the_same_one_all_count(tmp_path: Path) -> None:
    annotations = [{"image_id": 30, "category_id": 2, "bbox": [0, 0, 1, 1]}] * 2
    annotations += [{"id": 1, "image_id": 10, "category_id": c} for c in (2, 7)]
    instances = read_instances(_save(tmp_path / "x.json", annotations=annotations))
    assert instances.truth.rows(range(3)).astype(int).tolist() == [[1, 0], [1, 1], [0, 0]]
    assert len(instances.boxes.corners) == 2


def test_where_every_class_is_the_parent_of_another_all_are_kept(tmp_path: Path) -> None:
    categories = [
        {"id": 1, "name": "cat", "supercategory": "dog"},
        {"id": 2, "name": "dog", "supercategory": "cat"},
    ]
    values = _cats([1], [1, 2], []) | {"categories": categories}
    with pytest.warns(UserWarning, match="no annotations"):
        assert Coco().read(_save(tmp_path / "x.json", **values)).classes == ("cat", "dog")


def test_files_of_lvis_and_of_coco_are_told_apart(tmp_path: Path) -> None:
    values = _cats([1, 2], [1, 2], [(1, 1)])
    path = _save(tmp_path / "x.json", **values)
    with pytest.warns(UserWarning, match="no neg_category_ids.* 2 .*open the file as coco"):
        assert make("lvis").read(path).rows([0, 1]).tolist() == [[1, 0], [0, 0]]
    images = [{"id": 1, "neg_category_ids": [2.0]}, {"id": 2, "neg_category_ids": None}]
    path = _save(tmp_path / "x.json", **values | {"images": images})
    assert for_path(path) == make("lvis")
    assert make("lvis").read(path).rows([0, 1]).tolist() == [[1, -1], [0, 0]]
    with pytest.warns(UserWarning, match="with neg_category_ids.* 1 .*open the file as lvis"):
        assert Coco().read(path).rows([0, 1]).tolist() == [[1, -1], [-1, -1]]


def test_broken_text_is_named(tmp_path: Path) -> None:
    path = _save(tmp_path / "x.json")
    for content, word in (
        (path.read_bytes()[:100], "COCO instances"),
        (b"[" * 1_000_000, "nested too deeply"),
        (b'{"images": "\xff"}', "UTF-8"),
        (b"[1]", "JSON list"),
    ):
        path.write_bytes(content)
        refuses(read_instances, path, word)


@pytest.mark.skipif("SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no data")
@pytest.mark.parametrize("pack", ["coco-mini", "voc12-animals"])
def test_real_files_agree_with_pycocotools(pack: str) -> None:
    from pycocotools.coco import COCO

    path = Path(os.environ["SIMKIT_DATA"]) / "images" / pack / "instances_test.json"
    with contextlib.redirect_stdout(io.StringIO()):
        oracle = COCO(str(path))
    found = read_instances(path)
    categories = sorted(oracle.getCatIds())
    assert found.truth.classes == tuple(oracle.cats[c]["name"] for c in categories)
    assert found.truth.images.tolist() == [image["id"] for image in oracle.dataset["images"]]
    for row, image in enumerate(found.truth.images):
        theirs = {categories.index(each["category_id"]) for each in oracle.imgToAnns[image]}
        assert theirs == set(np.flatnonzero(found.truth.rows([row])[0]))
        assert found.file_names[row] == oracle.imgs[image]["file_name"]
    objects = [each for each in oracle.dataset["annotations"] if each["bbox_is"] == "object"]
    sides = np.array([each["bbox"] for each in objects])
    assert np.allclose(
        found.boxes.corners[:, 2:] - found.boxes.corners[:, :2], sides[:, 2:], atol=1e-3
    )
