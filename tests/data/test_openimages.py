"""The data source openimages."""

import json
import os
from pathlib import Path

import pytest
from PIL import Image

from simkit import data
from simkit.data.openimages import OpenImages
from simkit.errors import BadInput

TRAIN = """ImageID,Source,LabelName,Confidence
00000a,verification,/m/1,1
00000a,verification,/m/2,0
00000b,verification,/m/2,1
"""
TEST = """ImageID,Source,LabelName,Confidence
00000c,verification,/m/3,1
00000c,verification,/m/1,0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Label files of two splits, names, and a picture for each image."""
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "test.csv").write_text(TEST)
    (tmp_path / "names.csv").write_text("/m/3,Cat\n/m/2,Dog\n/m/4,Ant\n/m/1,Cup\n")
    for shade, name in enumerate("abc"):
        Image.new("RGB", (4, 4), (40 * shade,) * 3).save(tmp_path / f"00000{name}.jpg")
    return tmp_path


def test_without_names_the_classes_of_all_splits_are_joined(folder: Path) -> None:
    opened = data.open(f"openimages:{folder}/train.csv,test={folder}/test.csv,images={folder}")
    assert opened.classes == ("/m/1", "/m/2", "/m/3")
    train, test = opened.truth["train"], opened.truth["test"]
    assert train.images.tolist() == ["00000a", "00000b"] and test.images.tolist() == ["00000c"]
    assert train.known is not None and test.known is not None
    assert train.rows([0, 1]).astype(int).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert train.known.toarray().astype(int).tolist() == [[1, 1, 0], [0, 1, 0]]
    assert test.rows([0]).astype(int).tolist() == [[0, 0, 1]]
    assert test.known.toarray().astype(int).tolist() == [[1, 0, 1]]
    assert opened.pictures["test"].read([0])[0][0, 0].tolist() == [80, 80, 80]
    assert data.open(opened.spec).truth["test"].id == test.id


def test_names_give_the_classes(folder: Path) -> None:
    spec = f"openimages:{folder}/train.csv,names={folder}/names.csv"
    truth = data.open(spec).truth["train"]
    assert truth.classes == ("Cat", "Dog", "Ant", "Cup")
    assert truth.rows([0, 1]).astype(int).tolist() == [[0, 0, 0, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize(
    ("unknown", "kept"),
    [("keep", {"train", "test"}), ("absent", set()), ("absent-in-train", {"test"})],
)
def test_what_is_not_known_may_count_as_absent(folder: Path, unknown: str, kept: set[str]) -> None:
    spec = f"openimages:{folder}/train.csv,test={folder}/test.csv,unknown={unknown}"
    opened = data.open(spec)
    assert {split for split, truth in opened.truth.items() if truth.known is not None} == kept


def test_images_without_a_picture_may_be_dropped(folder: Path) -> None:
    (folder / "00000a.jpg").unlink()
    spec = f"openimages:{folder}/train.csv,test={folder}/test.csv,images={folder}"
    with pytest.raises(BadInput, match=r"00000a\.jpg does not exist \(1 of 2 .*drop_missing=yes"):
        data.open(spec)
    opened = data.open(f"{spec},drop_missing=yes")
    assert opened.truth["train"].images.tolist() == ["00000b"]
    assert opened.pictures["train"].read([0])[0][0, 0].tolist() == [40, 40, 40]
    (folder / "00000c.jpg").unlink()
    with pytest.raises(BadInput, match=r"00000c.jpg does not exist \(1 of 1 images"):
        data.open(f"{spec},drop_missing=yes")


def test_settings_may_stand_in_a_file(folder: Path) -> None:
    lines = 'source = "openimages"\ntrain = "train.csv"\nnames = "names.csv"\nunknown = "absent"\n'
    (folder / "data.toml").write_text(lines)
    assert data.open(str(folder / "data.toml")).truth["train"].known is None


@pytest.mark.skipif("SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no data")
def test_the_classes_of_the_shipped_hierarchy_are_found_by_name(folder: Path) -> None:
    meta = Path(os.environ["SIMKIT_DATA"]) / "meta"
    shown = json.loads((meta / "openimages_v6_class_descriptions.json").read_text())
    mids = ["/m/01g317", "/m/0bt9lr", "/m/01yrx"]  # Person, Dog, Cat
    (folder / "names.csv").write_text("".join(f"{mid},{shown[mid]}\n" for mid in mids))
    rows = TRAIN.replace("/m/1", mids[0]).replace("/m/2", mids[1])
    (folder / "train.csv").write_text(rows)
    opened = OpenImages(
        f"{folder}/train.csv", names=f"{folder}/names.csv", hierarchy="openimages-600"
    ).open()
    truth = opened.truth["train"]
    person, dog, animal = (opened.classes.index(name) for name in ("Person", "Dog", "Animal"))
    assert truth.rows([0])[0, [person, dog, animal]].tolist() == [True, False, False]
    assert truth.rows([1])[0, [person, dog, animal]].tolist() == [False, True, True]
    assert truth.known is not None
    assert truth.known.toarray()[:, [person, dog, animal]].tolist() == [
        [True, True, False],  # no dog; whether there is another animal was not asked
        [False, True, True],
    ]
