"""The data source coco."""

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest

from simkit import data
from simkit.data.dataset import WHOLE
from simkit.data.splits import published_split
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from tests.data import layouts

_write = partial(layouts.coco_like, kind="coco")


def test_pictures_are_optional_and_may_lie_in_several_folders(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    train = _write(tmp_path, "train.json", 10)
    val = _write(tmp_path / "other", "val.json", 4, 30)
    assert not data.open(f"coco:{train},val={val}").pictures
    own, other = tmp_path / "pictures", tmp_path / "other" / "pictures"
    opened = data.open(f"coco:{train},val={val},images={own},val_images={other}")
    assert opened.pictures["val"].read([1])[0][0, 0, 0] == 31
    assert data.open(opened.spec).pictures["val"].id == opened.pictures["val"].id


def test_areas_of_the_annotations_come_with_the_boxes(tmp_path: Path) -> None:
    boxed = {"category_id": 1, "bbox": [0, 0, 4, 4]}
    rows = [{"image_id": i, **boxed, "area": i + 0.5} for i in range(5)]
    train = _write(tmp_path, "train.json", 5, annotations=rows)
    opened = data.open(f"coco:{train},drop_empty=yes")
    held = opened.boxes["val"]
    assert held.areas is not None
    assert held.areas.tolist() == [i + 0.5 for i in opened.truth["val"].images]
    assert held.id != replace(held, areas=None).id
    some = _write(tmp_path, "some.json", 5, annotations=[*rows, {"image_id": 0, **boxed}])
    assert data.open(f"coco:{some}").boxes["train"].areas is None  # not of all objects


def test_objects_with_an_outline_alone_have_its_box(tmp_path: Path) -> None:
    """Two polygons, and the columns of a run-length code; other outlines give no box."""
    outlines = [
        [[1, 2, 5, 2, 5, 6, 1, 6], [7, 2, 9, 2, 9, 4, 7, 4]],
        {"size": [4, 3], "counts": [5, 2, 5]},  # the second column without its ends
        {"size": [4, 3], "counts": "05"}, {"size": [4, 3], "counts": [5]}, [[1, 2, 3]], [], None,
    ]  # fmt: skip
    rows = [{"image_id": i, "category_id": 1, "segmentation": s} for i, s in enumerate(outlines)]
    opened = data.open(f"coco:{_write(tmp_path, 'train.json', 10, annotations=rows)}")
    boxes = opened.boxes[WHOLE]
    assert boxes.corners.tolist() == [[1, 2, 9, 6], [1, 1, 2, 3]]
    assert boxes.areas.tolist() == [20, 2]


def test_a_hierarchy_closes_truth_boxes_and_difficult_objects(tmp_path: Path) -> None:
    tree = Hierarchy.of(["animal", "cat", "dog", "car"], [("cat", "animal"), ("dog", "animal")])
    tree.save(tmp_path / "tree.json")
    listed = [
        {"id": 0, "difficult_category_ids": [3]},
        {"id": 1, "difficult_category_ids": [3]},
        {"id": 2},
    ]
    train = _write(tmp_path, "train.json", 3, images=listed)
    opened = data.open(f"coco:{train},val={train},hierarchy={tmp_path / 'tree.json'}")
    assert opened.classes == tree.classes and opened.leaves.tolist() == [1, 2, 3]
    # Image 0 shows a cat and a difficult dog, image 1 a car and a difficult dog.
    assert opened.truth["train"].rows(range(3)).astype(int).tolist() == [
        [1, 1, 0, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
    ]
    assert opened.difficult["train"].toarray().astype(int).tolist() == [
        [0, 0, 1, 0],
        [1, 0, 1, 0],
        [0, 0, 0, 0],
    ]
    assert opened.boxes["train"].classes.tolist() == [1, 3]


def test_missing_pictures_are_named_when_the_set_is_opened(tmp_path: Path) -> None:
    train = _write(tmp_path, "train.json", 10)
    (tmp_path / "pictures" / "4.png").unlink()
    with pytest.raises(BadInput, match=r"4\.png does not exist \(1 of 10 .*drop_missing=yes"):
        data.open(f"coco:{train},images={tmp_path / 'pictures'}")
    whole = data.open(f"coco:{train}").truth[WHOLE]
    left = data.open(f"coco:{train},images={tmp_path / 'pictures'},drop_missing=yes")
    there = np.delete(np.arange(10), 4)
    assert left.truth[WHOLE].id == whole.select(there).id
    assert [Path(name).stem for name in left.pictures[WHOLE].files] == [str(i) for i in there]
    for picture in (tmp_path / "pictures").iterdir():
        picture.unlink()
    with pytest.raises(BadInput, match=r"0\.png does not exist \(10 of 10 images are missing\)"):
        data.open(f"coco:{train},images={tmp_path / 'pictures'},drop_missing=yes")


def test_the_order_of_the_published_matrices(tmp_path: Path) -> None:
    # Ids 90 to 110; those of place 2, 5, ... have no annotation. As text, 100 comes before 90.
    train = _write(tmp_path, "train.json", 21, 90)
    spec = f"coco:{train},images={tmp_path / 'pictures'},drop_empty=yes,order=published"
    opened = data.open(spec)
    whole = opened.truth[WHOLE]
    ids = [i for i in range(90, 111) if (i - 90) % 3 < 2]
    assert whole.images.tolist() == sorted(ids, key=str)
    # The published split is by place in this order.
    _, val = published_split(len(ids))
    assert opened.truth["val"].images.tolist() == whole.images[val].tolist()
    for split, truth in opened.truth.items():
        shades = [each[0, 0, 0] for each in opened.pictures[split].read(range(truth.shape[0]))]
        assert shades == truth.images.tolist()
        shown = set(zip(opened.boxes[split].images, opened.boxes[split].classes, strict=True))
        assert shown == set(zip(*truth.present.nonzero(), strict=True))
    assert data.open(opened.spec).truth[WHOLE].id == whole.id
    with pytest.raises(BadInput) as error:
        data.open(f"coco:{train},order=text")
    assert "order" in str(error.value) and "published" in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("pictures\\{}", "."),
        ("/label-studio/media/upload/4/{}", "."),
        ("/data/upload/4/0a1b2c3d-{}", "."),  # as Label Studio names uploads
        ("https://host.example/data/{}?v=1", "pictures"),
        ("/data/local-files/?d=pictures%2F{}", "."),
        ("s3://bucket/pictures/{}", "."),
        ("..\\..\\upload\\{}", "pictures"),
        ("C:\\Users\\me\\{}", "."),
    ],
)
def test_paths_of_other_machines_are_identified_by_their_ends(
    tmp_path: Path, pattern: str, folder: str
) -> None:
    images = [{"id": i, "file_name": pattern.format(f"{i}.png")} for i in range(5)]
    train = _write(tmp_path, "train.json", 5, images=images)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        opened = data.open(f"coco:{train},images={tmp_path / folder}")
    assert [picture[0, 0, 0] for picture in opened.pictures[WHOLE].read(range(5))] == [*range(5)]
    assert ["spelled differently and were matched: 5 of 5" in str(n.message) for n in notes] == [
        True
    ]


def test_paths_that_fit_several_files_or_none_are_refused_and_the_mend_works(
    tmp_path: Path,
) -> None:
    images = [{"id": 0, "file_name": "/x/0.png"}, {"id": 1, "file_name": "/y/0.png"}]
    train = _write(tmp_path, "train.json", 2, images=images, annotations=[])
    layouts.refused(f"coco:{train},images={tmp_path}", "'/x/0.png' and '/y/0.png' would both be")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "0.png").write_bytes((tmp_path / "pictures" / "0.png").read_bytes())
    layouts.refused(f"coco:{train},images={tmp_path}", "may be other/0.png or pictures/0.png")
    layouts.refused(f"coco:{train},images={tmp_path},drop_missing=yes", "may be other/0.png or")
    layouts.refused(f"coco:{train},images={tmp_path / 'empty'}", "'/x/0.png' is a path outside")
    images[1]["file_name"] = "/y/1.png"
    train = _write(tmp_path, "train.json", 2, images=images)
    assert data.open(f"coco:{train},images={tmp_path / 'pictures'}").pictures["train"].files == (
        "0.png", "1.png",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (None, "image 0 has no file_name; add it, or leave"),
        ("0.PnG", ""),
        ("X0.png", "but x0.png does"),
    ],
)
def test_images_without_a_file_are_refused(tmp_path: Path, name: str | None, words: str) -> None:
    train = _write(tmp_path, "train.json", 1, images=[{"id": 0, "file_name": name}])
    (tmp_path / "pictures" / "x0.png").write_bytes(b"")
    spec = f"coco:{train},val={train},images={tmp_path / 'pictures'}"
    if words:
        layouts.refused(spec, words)
    else:
        assert data.open(spec).pictures["train"].files == ("0.png",)
    assert not data.open(f"coco:{train},val={train}").pictures


def test_images_that_are_left_out_are_counted(tmp_path: Path) -> None:
    train = _write(tmp_path, "train.json", 9)
    for i in (0, 4):
        (tmp_path / "pictures" / f"{i}.png").unlink()
    spec = f"coco:{train},images={tmp_path / 'pictures'},drop_missing=yes,drop_empty=yes"
    with pytest.warns(UserWarning) as notes:
        opened = data.open(spec)
    empty, missing = (str(each.message) for each in notes)
    assert f"{train}: images without an annotation" in empty and ": 3 of 9 (2, 5, 8)" in empty
    assert "left out because their file is missing: 2 of 6 (0.png, 4.png)" in missing
    assert opened.truth[WHOLE].images.tolist() == [1, 3, 6, 7]
    assert opened.pictures[WHOLE].read([1])[0][0, 0, 0] == 3
    layouts.refused(
        f"coco:{_write(tmp_path, 'empty.json', 9, annotations=[])},drop_empty=yes",
        "no image has an annotation",
    )


def test_names_in_another_form_of_unicode_are_the_same_files_and_classes(tmp_path: Path) -> None:
    images = [{"id": i, "file_name": f"{i}.png"} for i in range(3)]
    names = ["cat", "car", "ka\u0308fer"]
    both = []
    for form, order in (("NFC", (0, 1, 2)), ("NFD", (2, 0, 1))):
        categories = [{"id": c + 1, "name": normalize(form, names[c])} for c in order]
        listed = [
            each | {"file_name": normalize(form, f"\u00e4{each['id']}.png")} for each in images
        ]
        changed = {"images": listed, "categories": categories}
        both.append(_write(tmp_path, f"{form}.json", 3, **changed))
    for i in range(3):
        (tmp_path / "pictures" / f"{i}.png").rename(tmp_path / "pictures" / f"a\u0308{i}.png")
    with pytest.warns(UserWarning, match="spelled differently and were matched: 3 of 3"):
        opened = data.open(f"coco:{both[0]},val={both[1]},images={tmp_path / 'pictures'}")
    assert opened.truth["val"].classes == opened.classes == ("cat", "car", "k\u00e4fer")
    assert (opened.truth["val"].present != opened.truth["train"].present).nnz == 0
