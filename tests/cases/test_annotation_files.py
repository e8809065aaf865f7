"""Annotation files of other programs: the labels that they mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.data.leaks import open_checked
from simkit.data.voc import CLASSES
from simkit.errors import BadInput
from tests.cases.reading import Case, check, coded, photos, written


def named(categories: dict[int, str]) -> Any:
    return [{"id": number, "name": name} for number, name in categories.items()]


CATEGORIES = named({1: "car", 2: "carrot"})


def coco(*annotations: dict[str, Any], images: int = 2, categories: Any = CATEGORIES) -> Any:
    """A COCO file with images 1 and 2, called 1.jpg and 2.jpg."""
    rows = [{"id": number, **each} for number, each in enumerate(annotations)]
    files = [{"id": n + 1, "file_name": f"{n + 1}.jpg"} for n in range(images)]
    return {"images": files, "annotations": rows, "categories": categories}


def shown(image: Any, category: Any, **more: Any) -> dict[str, Any]:
    return {"image_id": image, "category_id": category, **more}


def metadata(*rows: Any) -> str:
    """metadata.jsonl with the lists of present and of absent classes of a.jpg, b.jpg ..."""
    keys = ("file_name", "present", "absent")
    files = (f"{'abc'[n]}.jpg" for n in range(len(rows)))
    cells = zip(files, rows, strict=True)
    return "".join(json.dumps(dict(zip(keys, (f, *row), strict=True))) + "\n" for f, row in cells)


CAR_CARROT, CAT_DOG = ["car", "carrot"], ["cat", "dog"]
HUMAN = "ImageID,Source,LabelName,Confidence\nb,verification,/m/01,0\na,verification,/m/01,"
CASES = {
    # COCO
    "coco-name-in-name": ("coco", Case(coco(shown(1, 2)), (CAR_CARROT, {1: "01", 2: "00"}))),
    "coco-supercategory": ("coco", Case(
        coco(shown(1, 1), shown(2, 2), categories=[
            {"id": 1, "name": "pallet", "supercategory": "load"},
            {"id": 2, "name": "load", "supercategory": "load"},
        ]),
        (["pallet", "load"], {1: "10", 2: "01"}),
    )),
    "coco-ids-with-gaps": ("coco", Case(
        coco(shown(1, 11), shown(2, 3), categories=named({11: "truck", 3: "crate"})),
        (["crate", "truck"], {1: "01", 2: "10"}),
    )),
    "coco-crowds": ("coco", Case(
        coco(shown(1, 1, iscrowd=1), shown(2, 2)), (CAR_CARROT, {1: "10", 2: "01"}),
    )),
    "coco-nothing-there": ("coco", Case(coco(shown(2, 1)), (CAR_CARROT, {1: "00", 2: "10"}))),
    "coco-merged": ("coco", Case(
        coco(shown(1, 15), categories=named({1: "Dog", 15: "Dog"})),
        (["Dog"], {1: "1", 2: "0"}), asks="Dog",
        mended=coco(shown(1, 1), categories=named({1: "Dog"})),
    )),
    "coco-look-alikes": ("coco", Case(
        coco(shown(1, 1), shown(2, 2), categories=named({1: "dog", 2: "dog\u200b "})),
        (["dog", "dog\u200b "], {1: "10", 2: "01"}), note="dog",
    )),
    "coco-predictions": ("coco", Case(
        coco(shown(1, 1, score=0.97), shown(2, 1, score=0.02)),
        (CAR_CARROT, {1: "10", 2: "10"}), note="0.97, 0.02",
    )),
    "coco-not-annotated": ("coco", Case(  # as COCO Annotator exports images that nobody opened
        coco(shown(1, 1)) | {"images": [
            {"id": 1, "file_name": "1.jpg", "annotated": False},
            {"id": 2, "file_name": "2.jpg", "annotated": False},
        ]},
        (CAR_CARROT, {1: "10", 2: "00"}), note="read like the others: 1 (2)",
    )),
    "coco-ignored": ("coco", Case(  # VOC's difficult objects, as converters write them
        coco(shown(1, 1, ignore=1), shown(1, 2, ignore=1), shown(1, 2, ignore=0), shown(2, 1)),
        (CAR_CARROT, {1: "?1", 2: "10"}), note="difficult: 2 (image 1, image 1)",
    )),
    "coco-difficult": ("coco", Case(
        coco(shown(1, 1, attributes={"difficult": True, "occluded": False}), shown(2, 2)),
        (CAR_CARROT, {1: "?0", 2: "01"}), note="ignored or difficult: 1",
    )),
    "lvis-ignored": ("lvis", Case(
        {**coco(shown(1, 1, ignore=1)), "images": [{"id": 1, "neg_category_ids": [2]}]},
        (CAR_CARROT, {1: "?0"}), note="ignored or difficult: 1",
    )),
    "coco-of-lvis": ("coco", Case(
        {**coco(shown(1, 1)), "images": [{"id": 1, "not_exhaustive_category_ids": [1]}]},
        (CAR_CARROT, {1: "10"}), note="not_exhaustive_category_ids, as in LVIS: 1",
    )),
    "coco-background": ("coco", Case(
        coco(shown(1, 1), shown(2, 2), categories=named({1: "__background__", 2: "car"})),
        (["__background__", "car"], {1: "10", 2: "01"}), note="(__background__)",
    )),
    "openimages-alike": ("openimages", Case(
        f"{HUMAN}1\na,verification,/M/01,0\n", (["/m/01", "/M/01"], {"b": "0?", "a": "10"}),
        note="look alike",
    )),
    "coco-captions": ("coco", Case(
        coco({"image_id": 1, "caption": "A car."}), (CAR_CARROT, {1: "10", 2: "00"}),
        asks="not of captions", mended=coco(shown(1, 1)),
    )),
    # FiftyOne
    "fiftyone-text": ("fiftyone", Case(
        {"classes": CAT_DOG, "labels": {"a": "cat", "b": ["dog"], "c": None}},
        (CAT_DOG, {"a": "1?", "b": "?1", "c": "??"}),
    )),
    "fiftyone-joined": ("fiftyone", Case(
        {"classes": CAT_DOG, "labels": {"a": "cat, dog", "b": ["dog"]}},
        (CAT_DOG, {"a": "11", "b": "?1"}), asks="cat, dog",
        mended={"classes": CAT_DOG, "labels": {"a": CAT_DOG, "b": ["dog"]}},
    )),
    "fiftyone-case": ("fiftyone", Case(
        {"classes": CAT_DOG, "labels": {"a": ["Cat"]}}, (CAT_DOG, {"a": "1?"}),
        asks="Cat", mended={"classes": CAT_DOG, "labels": {"a": ["cat"]}},
    )),
    "fiftyone-same-stem": ("fiftyone", Case(  # from img.png and img.jpg
        '{"classes": ["cat"], "labels": {"img": ["cat"], "img": []}}', (["cat"], {"img": "1"}),
        asks="img", mended='{"classes": ["cat"], "labels": {"img": ["cat"]}}',
    )),
    # Hugging Face
    "hf-text": ("hf", Case(
        metadata(("cat, dog", []), (["dog"], ["cat"])), (CAT_DOG, {"a.jpg": "11", "b.jpg": "01"}),
        asks="'cat, dog' in row 1", mended=metadata((CAT_DOG, []), (["dog"], ["cat"])),
    )),
    "hf-nothing-there": ("hf", Case(
        metadata((["cat"], ["dog"]), ([], CAT_DOG), (None, None)),
        (CAT_DOG, {"a.jpg": "10", "b.jpg": "00", "c.jpg": "??"}),
    )),
    "hf-spaces": ("hf", Case(
        metadata((["cat "], []), (["cat"], [])), (["cat"], {"a.jpg": "1", "b.jpg": "1"}),
        note="look alike",
    )),
    "hf-label": ("hf", Case(
        '{"file_name": "a.jpg", "label": 0}\n', (["cat"], {"a.jpg": "1"}),
        asks="label", mended=metadata((["cat"], [])),
    )),
    # Open Images
    "openimages-ten": ("openimages", Case(
        f"{HUMAN}10\n", (["/m/01"], {"b": "0", "a": "1"}),
        asks="10", mended=f"{HUMAN}1\n",
    )),
    "openimages-machine": ("openimages", Case(
        f"{HUMAN}0.7\n", (["/m/01"], {"b": "0", "a": "1"}),
        asks=r"0\.7", mended=f"{HUMAN}1.0\n",
    )),
    "openimages-shortened": ("openimages", Case(
        f"{HUMAN}1\n".replace("a,", "1.23457E+15,"), (["/m/01"], {"b": "0", "1.23457E+15": "1"}),
        note="'1.23457E+15', as spreadsheets shorten",
    )),
    # Tables of labels
    "csv-shortened": ("csv", Case(
        "image_id;class;state\n1,23457E+15;cat;1\n", (["cat"], {"1,23457E+15": "1"}),
        note="'1,23457E+15', as spreadsheets shorten",
    )),
    "csl-csv-shortened": ("csl-csv", Case(
        "image,cat\n1.23457E+15,1\nb,0\n", (["cat"], {"1.23457E+15": "1", "b": "0"}),
        note="'1.23457E+15', as spreadsheets shorten",
    )),
    "csv-zeros": ("csv", Case(
        "image_id,class,state\na,cat,1\nb,cat,0\n", (["cat"], {"a": "1", "b": "0"}),
    )),
    "csv-zeros-of-ids": ("csv", Case(
        "image_id,class,state\n007,cat,1\n7,cat,-1\n", (["cat"], {"007": "1", "7": "0"}),
    )),
    "csv-exponents": ("csv", Case(
        "image_id,class,state\n1E+05,cat,1\n100000,cat,-1\n",
        (["cat"], {"1E+05": "1", "100000": "0"}),
    )),
}  # fmt: skip
ENDINGS = {"hf": "metadata.jsonl", "csv": "x.csv", "csl-csv": "x.csv", "openimages": "x.csv"}


@pytest.mark.parametrize("name", CASES)
def test_annotation_files(name: str, tmp_path: Path) -> None:
    kind, case = CASES[name]
    file = tmp_path / ENDINGS.get(kind, "x.json")
    read = simkit.formats.make(kind).read
    check(case, lambda content, _: coded(read(written(file, content))))


def test_a_folder_of_the_project_in_the_path(tmp_path: Path) -> None:
    names = [r"images\1/90fb-a.jpg", r"images\1/90fb-b.jpg"]
    content = coco(shown(1, 1), shown(2, 2))
    for entry, name in zip(content["images"], names, strict=True):
        entry["file_name"] = name
    file = written(tmp_path / "result.json", content)
    photos(tmp_path / "images", ["1/90fb-a.jpg", "1/90fb-b.jpg"])
    data = simkit.data.open(f"coco:{file},images={tmp_path}")
    assert len(data.pictures["train"].read([0])) == 1


def test_the_same_files_in_two_annotation_files(tmp_path: Path) -> None:
    """Frames of two videos have the same names, and one replaced the other."""
    place = photos(tmp_path / "images", ["1.jpg", "2.jpg", "3.jpg"])
    content = coco(shown(1, 1), shown(2, 2), images=3)
    train = written(tmp_path / "train.json", content)
    for entry in (*content["images"], *content["annotations"]):
        entry["id"] += 100
    for entry in content["annotations"]:
        entry["image_id"] += 100
    test = written(tmp_path / "test.json", content)
    with pytest.warns(UserWarning, match="copies of train images .*: 2 of 3 "):
        open_checked(f"coco:{train},test={test},images={place}")


def test_states_that_contradict_each_other(tmp_path: Path) -> None:
    sets = tmp_path / "VOC2007" / "ImageSets" / "Main"
    states = {"a": "1", "b": "-1"}
    for split in ("trainval", "test"):
        for name in CLASSES:
            lines = "".join(f"{split}_{image}  {state}\n" for image, state in states.items())
            written(sets / f"{name}_{split}.txt", lines)
    data = simkit.data.open(f"voc:{tmp_path / 'VOC2007'}")
    assert data.truth["test"].present.toarray().tolist() == [[True] * 20, [False] * 20]
    written(sets / "cat_test.txt", "test_a -1\ntest_a 1\ntest_b -1\n")
    with pytest.raises(BadInput, match="test_a"):
        simkit.data.open(f"voc:{tmp_path / 'VOC2007'}")
