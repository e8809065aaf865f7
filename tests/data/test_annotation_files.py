"""What COCO, COCO panoptic and LVIS have in common as data sets."""

import json
import os
from pathlib import Path

import pytest

from simkit import data
from simkit.data.coco import AnnotationFiles, CocoPanoptic
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from tests.data import layouts

KINDS = ("coco", "coco-panoptic", "lvis")


@pytest.mark.parametrize("kind", KINDS)
def test_truth_boxes_sizes_and_pictures_go_together(tmp_path: Path, kind: str) -> None:
    assert issubclass(data.get(kind), AnnotationFiles)
    train = layouts.coco_like(tmp_path, "train.json", 20, kind=kind)
    test = layouts.coco_like(tmp_path, "test.json", 6, 50, kind=kind)
    opened = data.open(f"{kind}:{train},test={test},images={tmp_path / 'pictures'}")
    assert {split: truth.shape[0] for split, truth in opened.truth.items()} == {
        "train": 16, "val": 4, "test": 6, "train+val": 20,
    }  # fmt: skip
    for split, truth in opened.truth.items():
        pictures = opened.pictures[split].read(range(truth.shape[0]))
        assert [picture[0, 0, 0] for picture in pictures] == truth.images.tolist()
        boxes = opened.boxes[split]
        start = 50 if split == "test" else 0
        assert boxes.corners[:, 0].tolist() == (truth.images[boxes.images] - start).tolist()
        assert truth.present.toarray()[boxes.images, boxes.classes].all()
        assert boxes.sizes is not None and boxes.sizes.tolist() == [[8, 6]] * truth.shape[0]
    assert data.open(opened.spec).truth["val"].id == opened.truth["val"].id


@pytest.mark.parametrize("kind", KINDS)
def test_empty_images_may_be_dropped(tmp_path: Path, kind: str) -> None:
    train = layouts.coco_like(tmp_path, "train.json", 9, kind=kind)
    opened = data.open(f"{kind}:{train},val={train},drop_empty=yes")
    assert opened.truth["train"].images.tolist() == [0, 1, 3, 4, 6, 7]
    assert data.open(opened.spec).truth["train"].id == opened.truth["train"].id


@pytest.mark.parametrize("kind", KINDS)
def test_a_hierarchy_adds_its_classes(tmp_path: Path, kind: str) -> None:
    tree = Hierarchy.of(["animal", "cat", "dog", "car"], [("cat", "animal"), ("dog", "animal")])
    tree.save(tmp_path / "tree.json")
    train = layouts.coco_like(tmp_path, "train.json", 3, kind=kind)
    opened = data.open(f"{kind}:{train},val={train},hierarchy={tmp_path / 'tree.json'}")
    assert opened.truth["train"].rows([0, 1]).astype(int).tolist() == [[1, 1, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_needed(kind: str) -> None:
    with pytest.raises(BadInput, match=f"'{kind}' needs train; .*{kind}:"):
        data.open(kind)


@pytest.mark.skipif("SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no data")
def test_the_133_classes_go_with_the_shipped_hierarchy(tmp_path: Path) -> None:
    meta = Path(os.environ["SIMKIT_DATA"]) / "meta/coco_panoptic_categories.json"
    categories = json.loads(meta.read_text())
    values = {
        "images": [{"id": 1}, {"id": 2}],
        "annotations": [{"image_id": 1, "segments_info": [{"category_id": categories[0]["id"]}]}],
        "categories": categories,
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps(values))
    plain = CocoPanoptic(str(path), val=str(path)).open()
    assert len(plain.classes) == 133 and plain.truth["train"].known is None
    closed = data.open(f"coco-panoptic:{path},val={path},hierarchy=coco-panoptic-133")
    assert set(closed.classes) > set(plain.classes)
    assert closed.truth["train"].counts.sum() > 1  # a person and what is above it
