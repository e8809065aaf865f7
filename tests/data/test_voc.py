"""The data source voc."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from simkit import data
from simkit.data.dataset import WHOLE
from simkit.data.splits import published_split
from simkit.data.voc import CLASSES, read_boxes, read_objects
from simkit.errors import BadInput
from simkit.labels.formats.npz import read_truth
from simkit.labels.truth import Truth
from tests.data import layouts
from tests.mutations import COUNT, survives

RNG = np.random.default_rng(0)
NAMES = {
    "train": [f"2008_{i:06d}" for i in range(10)],
    "val": [f"2009_{i:06d}" for i in range(6)],
    "test": [f"2010_{i:06d}" for i in range(4)],
}
NAMES["trainval"] = sorted(NAMES["train"] + NAMES["val"])
STATES = {name: RNG.choice([-1, -1, 0, 1], (len(NAMES[name]), 20)) for name in NAMES}
STATES["trainval"] = np.concatenate([STATES["train"], STATES["val"]])


def _tree(folder: Path, *names: str, root: str = "VOCdevkit/VOC2012/") -> Path:
    files = layouts.voc({name: STATES[name] for name in names}, NAMES, root=root)
    return layouts.write(folder, files) / root


def _sizes(opened: data.Dataset) -> dict[str, int]:
    return {split: truth.shape[0] for split, truth in opened.truth.items()}


def test_papers_divide_train_and_test_on_val(tmp_path: Path) -> None:
    opened = data.open(f"voc:{_tree(tmp_path, 'train', 'val', 'trainval')}")
    assert _sizes(opened) == {"train": 8, "val": 2, "test": 6, WHOLE: 10}
    train, val = published_split(10)
    assert opened.name == "voc2012" and opened.classes == CLASSES
    assert opened.truth["val"].images.tolist() == [NAMES["train"][i] for i in val]
    assert (opened.truth["train"].rows(range(8)) == (STATES["train"][train] == 1)).all()
    assert (opened.difficult["test"].toarray() == (STATES["val"] == 0)).all()
    assert not opened.pictures and not opened.boxes
    assert data.open(opened.spec).truth["train"].id == opened.truth["train"].id


def test_where_test_labels_are_there_trainval_is_divided(tmp_path: Path) -> None:
    opened = data.open(f"voc:{_tree(tmp_path, 'trainval', 'test')}")
    assert _sizes(opened) == {"train": 13, "val": 3, "test": 4, WHOLE: 16}
    assert (opened.truth["test"].rows(range(4)) == (STATES["test"] == 1)).all()


def test_splits_of_ones_own_choice(tmp_path: Path) -> None:
    place = _tree(tmp_path, "train", "val", "trainval")
    assert _sizes(data.open(f"voc:{place},splits=own")) == {"train": 10, "val": 6}
    assert _sizes(data.open(f"voc:{place},splits=trainval")) == {"train": 13, "val": 3, WHOLE: 16}


@pytest.mark.parametrize("states", [[0, 0], [-1, 0], [-1, -1]])
@pytest.mark.parametrize("difficult", ["ignore", "present", "absent"])
def test_test_lists_without_labels_make_no_test_split(
    tmp_path: Path, difficult: str, states: list[int]
) -> None:
    place = _tree(tmp_path, "train", "val")
    layouts.write(place, layouts.voc({"test": np.tile(states, (4, 10))}, NAMES))
    spec = f"voc:{place},difficult={difficult}"
    assert _sizes(data.open(f"{spec},splits=own")) == {"train": 10, "val": 6}
    assert _sizes(data.open(spec)) == {"train": 8, "val": 2, "test": 6, WHOLE: 10}


@pytest.mark.parametrize(
    ("option", "present", "left_out"), [("ignore", 0, 1), ("present", 1, 0), ("absent", 0, 0)]
)
def test_classes_in_difficult_objects_only(
    tmp_path: Path, option: str, present: int, left_out: int
) -> None:
    place = _tree(tmp_path, "train", "val")
    opened = data.open(f"voc:{place},splits=own,difficult={option}")
    unsure = STATES["train"] == 0
    assert (opened.truth["train"].rows(range(10))[unsure] == present).all()
    assert (opened.truth["train"].rows(range(10))[~unsure] == (STATES["train"] == 1)[~unsure]).all()
    if left_out:
        assert (opened.difficult["train"].toarray() == unsure).all()
    else:
        assert not opened.difficult


def test_pictures_and_boxes_where_their_folders_are(tmp_path: Path) -> None:
    place = _tree(tmp_path, "train", "val")
    codes = np.full((10, 20), -1)
    codes[:, 1], codes[:, 14] = 1, 0  # a bicycle and a difficult person everywhere
    layouts.write(place, layouts.voc({"train": codes, "val": codes[:6]}, NAMES))
    objects = [
        ("bicycle", 0, (1, 1, 20, 10)), ("person", 1, (2, 3, 4, 5.5)), ("bicycle", 1, (3, 3, 4, 4)),
        ("car", 0, (1, 1, 2, 2)),
    ]  # fmt: skip
    for i, name in enumerate([*NAMES["train"], *NAMES["val"]]):
        layouts.write(place, {f"JPEGImages/{name}.jpg": layouts.jpeg(10 * i)})
        layouts.write(place, {f"Annotations/{name}.xml": layouts.voc_xml(objects)})
    opened = data.open(f"voc:{place},splits=own")
    assert opened.pictures["val"].read([2])[0].shape == (10, 20, 3)
    assert abs(int(opened.pictures["val"].read([2])[0][0, 0, 0]) - 120) < 3
    boxes = opened.boxes["train"]
    assert boxes.images.tolist() == list(range(10)) and set(boxes.classes) == {1}
    # Pixels 1 to 20 from the left, counted from 1, are 0 to 20 half open.
    assert (boxes.corners == [0, 0, 20, 10]).all()
    assert (boxes.sizes == [20, 10]).all() and boxes.sizes.shape == (10, 2)
    boxes = data.open(f"voc:{place},splits=own,difficult=present").boxes["val"]
    assert boxes.classes.tolist() == [1, 14, 1] * 6
    assert boxes.corners[1].tolist() == [1, 2, 4, 5.5]
    (place / "JPEGImages" / "2009_000003.jpg").write_bytes(b"no picture")
    with pytest.raises(BadInput, match=r"2009_000003\.jpg cannot be read as an image"):
        data.open(f"voc:{place},splits=own").pictures["val"].read([3])


def test_the_year_is_found(tmp_path: Path) -> None:
    place = _tree(tmp_path, "train", "val")
    for root in (place, tmp_path, tmp_path / "VOCdevkit"):
        assert data.open(f"voc:{root}").name == "voc2012"
    _tree(tmp_path, "trainval", "test", root="VOCdevkit/VOC2007/")
    opened = data.open(f"voc:{tmp_path},year=2007")
    assert opened.name == "voc2007" and opened.truth["test"].shape == (4, 20)


def test_a_wrong_folder_or_year_is_named(tmp_path: Path) -> None:
    layouts.refused("voc", "needs root", "voc:VOCdevkit/VOC2012")
    layouts.refused(f"voc:{tmp_path}/x", f"{tmp_path}/x does not exist")
    layouts.refused(f"voc:{tmp_path}", f"{tmp_path} holds no ImageSets")
    place = _tree(tmp_path, "train", "val")
    layouts.refused(f"voc:{place / 'ImageSets/Main/cat_val.txt'}",
             f"{place / 'ImageSets/Main/cat_val.txt'} is a file")  # fmt: skip
    layouts.refused(f"voc:{place},year=2007", f"{place} is not VOC2007")
    layouts.refused(f"voc:{tmp_path},year=2007", f"{tmp_path} holds VOC2012 and no VOC2007")
    _tree(tmp_path, "trainval", "test", root="VOCdevkit/VOC2007/")
    layouts.refused(f"voc:{tmp_path}", f"{tmp_path} holds VOC2007, VOC2012")
    layouts.refused(f"voc:{place},difficult=maybe", "voc: difficult is 'maybe'")


def test_broken_lists_are_named(tmp_path: Path) -> None:
    place = _tree(tmp_path, "train", "val")
    path = place / "ImageSets" / "Main" / "cow_train.txt"
    good = path.read_text()
    path.unlink()
    layouts.refused(f"voc:{place}", f"{path} does not exist")
    for text, problem in {
        good.replace("2008_000003", "2008_000099"):
            "image '2008_000003' is not in both cow_train.txt and aeroplane_train.txt; download",
        good + "../../x 1\n":
            "a line is '../../x 1'; the name of an image and -1, 0 or 1 are expected",
        good + "2008_000099 2\n":
            "a line is '2008_000099 2'; the name of an image and -1, 0 or 1 are expected",
        good + "2008_000003 1\n": "'2008_000003' occurs twice; keep one line",
        "\n": "it is empty",
    }.items():  # fmt: skip
        path.write_text(text)
        layouts.refused(f"voc:{place}", f"{path}: {problem}")


def test_lists_are_read_in_any_order_and_number(tmp_path: Path) -> None:
    place = _tree(tmp_path, "train", "val")
    good = data.open(f"voc:{place}").truth[WHOLE].id
    path = place / "ImageSets" / "Main" / "cow_train.txt"
    lines = path.read_text().split("\n")[:-1]
    path.write_text("\r\n".join(f"{line}.0" for line in reversed(lines)), encoding="utf-8-sig")
    assert data.open(f"voc:{place}").truth[WHOLE].id == good
    path.write_text("\n".join(lines[:-1]))
    layouts.refused(f"voc:{place}", "is not in both cow_train.txt and aeroplane_train.txt")


def test_zeros_for_absent_are_asked_about(tmp_path: Path) -> None:
    place = _tree(tmp_path, "train", "val")
    main = place / "ImageSets" / "Main"
    for kind, refused in ((["cow"], False), (CLASSES, True)):
        for name in kind:
            path = main / f"{name}_train.txt"
            lines = path.read_text().replace("-1\n", " 0\n").split("\n")
            path.write_text("\n".join([lines[0][:-2] + " 1", lines[1][:-2] + " 0", *lines[2:]]))
        if refused:
            layouts.refused(f"voc:{place}", "no line of the lists of train is -1; write -1 for")
        else:
            with pytest.warns(UserWarning, match=r"classes of train with 0 but no -1: \d+ \(cow"):
                data.open(f"voc:{place}")


def test_other_classes_are_refused_and_objects_of_them_counted(tmp_path: Path) -> None:
    truth = Truth.of([[True]], ["a"], ["dog"])
    objects = [("dog", 0, (1, 1, 5, 5)), ("Dog\u200b", 0, (2, 2, 5, 5)), ("zebra", 0, (1, 1, 2, 2))]
    text = layouts.voc_xml(objects).decode()
    (tmp_path / "a.xml").write_text(text, encoding="utf-16")
    (tmp_path / "a.xml").write_bytes((tmp_path / "a.xml").read_bytes())
    with pytest.warns(UserWarning, match=r"of other classes.*: 1 \('zebra' in a.xml\)"):
        assert len(read_boxes(tmp_path, truth, difficult=False).images) == 2
    (tmp_path / "ImageSets" / "Main").mkdir(parents=True)
    (tmp_path / "ImageSets" / "Main" / "train.txt").write_text("a\n")
    layouts.refused(f"voc:{tmp_path}", "voc reads only the 20 classes of PASCAL VOC; write")


def test_a_missing_picture_or_annotation_is_named(tmp_path: Path) -> None:
    place = _tree(tmp_path, "train", "val")
    (place / "Annotations").mkdir()
    layouts.refused(f"voc:{place}", f"{place}/Annotations/2008_000000.xml does not exist")
    (place / "Annotations").rmdir()
    (place / "JPEGImages").mkdir()
    layouts.refused(f"voc:{place}", f"{place}/JPEGImages/2008_000000.jpg does not exist")


def test_damaged_trees(tmp_path: Path) -> None:
    files = layouts.voc({n: STATES[n] for n in ("train", "val")}, NAMES)
    thing = [("cat", 0, (1, 1, 20, 10)), ("dog", 1, (2, 3, 4, 5.5))]
    for name in (*NAMES["train"], *NAMES["val"]):
        files[f"Annotations/{name}.xml"] = layouts.voc_xml(thing)
    survives(lambda folder: data.open(f"voc:{folder}"), files, tmp_path=tmp_path, count=COUNT // 7)


def _real(name: str) -> tuple[np.ndarray, list[str], np.ndarray]:
    """States, ids and class names of a real label matrix."""
    path = Path(os.environ.get("SIMKIT_DATA", "/nowhere")) / "labels" / f"{name}.npz"
    if not path.is_file():
        pytest.skip("needs the label matrices of SIMKIT_DATA")
    truth, difficult = read_truth(path)
    assert truth.classes == CLASSES
    states = np.where(truth.present.toarray(), 1, -1)
    if difficult is not None:
        states[difficult.toarray()] = 0
    return states, truth.images.tolist(), truth.present.toarray()


def test_real_labels_come_back_from_a_tree_of_voc(tmp_path: Path) -> None:
    states, ids, present = _real("voc2012_trainval")
    layouts.write(tmp_path, layouts.voc({"trainval": states}, {"trainval": ids}))
    opened = data.open(f"voc:{tmp_path},splits=trainval")
    whole = opened.truth[WHOLE]
    assert whole.images.tolist() == ids and (whole.present.toarray() == present).all()
    assert (opened.difficult[WHOLE].toarray() == (states == 0)).all()
    assert whole.counts[0] == 670 and whole.counts[14] == 4087 and whole.counts[19] == 575


OBJECTS = [("cat", 0, (1, 1, 20, 10)), ("dog", 1, (2, 3, 4.25, 5.5))]
GOOD = layouts.voc_xml(OBJECTS)


def test_objects_half_open_and_without_their_parts(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"\xef\xbb\xbf<?xml version='1.0' encoding='latin-1'?>" + GOOD)
    size, objects = read_objects(tmp_path / "a.xml")
    assert size == (20, 10)
    assert objects == [
        ("cat", False, (0, 0, 20, 10)),
        ("dog", True, (1, 2, 4.25, 5.5)),
    ]


def test_only_boxes_of_present_classes(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(GOOD)
    (tmp_path / "b.xml").write_bytes(GOOD)
    truth = Truth.of([[1, 0], [1, 1]], np.array(["a", "b"]), ["dog", "cat"])
    boxes = read_boxes(tmp_path, truth, difficult=False)
    assert (boxes.images.tolist(), boxes.classes.tolist()) == ([1], [1])
    boxes = read_boxes(tmp_path, truth, difficult=True)
    assert (boxes.images.tolist(), boxes.classes.tolist()) == ([0, 1, 1], [0, 1, 0])
    assert boxes.sizes.tolist() == [[20, 10], [20, 10]]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"<annotation/>", "width is"),
        (GOOD.replace(b"<width>20", b"<width>x"), "width is 'x'"),
        (GOOD.replace(b"<width>20", b"<width>0"), "width is '0'"),
        (GOOD.replace(b"<xmin>2<", b"<xmin>9<"), "bndbox goes from 9, 3 to 4.25, 5.5"),
        (GOOD.replace(b"<xmin>2<", b"<xmin>-9<"), "xmin is '-9'"),
        (GOOD.replace(b"<xmin>2<", b"<xmin>nan<"), "xmin is 'nan'"),
        (GOOD.replace(b"<difficult>1", b"<difficult>2"), "difficult '2'"),
        (GOOD.replace(b"bndbox", b"box"), "xmin is"),
        (b"<annotation>", "cannot be read"),
    ],
    ids=range(9),
)
def test_annotations_that_cannot_be(tmp_path: Path, content: bytes, named: str) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=f"^{re.escape(str(path))}.*{named}"):
        read_objects(path)


def test_damaged_annotations(tmp_path: Path) -> None:
    survives(
        lambda folder: read_objects(folder / "a.xml"),
        {"a.xml": GOOD},
        tmp_path=tmp_path,
        count=COUNT // 2,
    )
