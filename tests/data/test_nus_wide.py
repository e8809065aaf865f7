"""The data source nus-wide."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from simkit import data
from simkit.data.dataset import WHOLE
from tests.data import layouts
from tests.mutations import COUNT, survives

CONCEPTS = ("airport", "clouds", "zebra")
PRESENT = {"Train": np.random.default_rng(0).random((10, 3)) < 0.3, "Test": np.eye(4, 3) > 0}
PRESENT["Train"][3] = False
FILES = layouts.nus_wide(PRESENT, CONCEPTS)
EMPTY = int((~PRESENT["Train"].any(1)).sum())


def _paths(split: str) -> list[str]:
    count = len(PRESENT[split])
    return [f"{CONCEPTS[i % 3]}/{split}_{i}.jpg" for i in range(count)]


def test_labels_and_names(tmp_path: Path) -> None:
    opened = data.open(f"nus-wide:{layouts.write(tmp_path, FILES)}")
    assert opened.classes == CONCEPTS and not opened.pictures
    assert list(opened.truth) == ["train", "val", "test", WHOLE]
    whole = opened.truth[WHOLE]
    assert whole.images.tolist() == _paths("Train")
    assert (whole.present.toarray() == PRESENT["Train"]).all()
    assert (opened.truth["test"].present.toarray() == PRESENT["Test"]).all()
    assert whole.known is None


def test_labels_of_all_images_serve_where_those_of_the_splits_are_missing(tmp_path: Path) -> None:
    layouts.write(tmp_path, FILES)
    ids = {split: truth.id for split, truth in data.open(f"nus-wide:{tmp_path}").truth.items()}
    shutil.rmtree(tmp_path / "Groundtruth" / "TrainTestLabels")
    opened = data.open(f"nus-wide:{tmp_path}")
    assert {split: truth.id for split, truth in opened.truth.items()} == ids


def test_without_lists_images_are_numbered(tmp_path: Path) -> None:
    layouts.write(tmp_path, FILES)
    shutil.rmtree(tmp_path / "ImageList")
    opened = data.open(f"nus-wide:{tmp_path},unlabelled=drop")
    kept = np.flatnonzero(PRESENT["Train"].any(1))
    assert opened.truth[WHOLE].images.tolist() == kept.tolist()
    shutil.rmtree(tmp_path / "Groundtruth" / "TrainTestLabels")
    layouts.refused(
        f"nus-wide:{tmp_path}",
        f"{tmp_path} holds neither Groundtruth/TrainTestLabels nor ImageList",
    )


def test_unlabelled_images_are_kept_as_absent_or_dropped(tmp_path: Path) -> None:
    layouts.write(tmp_path, FILES)
    kept = data.open(f"nus-wide:{tmp_path}").truth
    dropped = data.open(f"nus-wide:{tmp_path},unlabelled=drop").truth
    assert EMPTY >= 1 and kept[WHOLE].shape[0] - dropped[WHOLE].shape[0] == EMPTY
    assert kept["test"].shape[0] - dropped["test"].shape[0] == 1
    assert np.diff(dropped[WHOLE].present.indptr).min() == 1


def test_pictures_whose_links_are_dead_may_be_dropped(tmp_path: Path) -> None:
    layouts.write(tmp_path, FILES)
    everything = [*_paths("Train"), *_paths("Test")]
    layouts.write(tmp_path / "Flickr", {p: layouts.jpeg(i) for i, p in enumerate(everything)})
    opened = data.open(f"nus-wide:{tmp_path}")
    assert abs(int(opened.pictures["test"].read([2])[0][0, 0, 0]) - 12) < 3
    (tmp_path / "Flickr" / "clouds" / "Train_4.jpg").unlink()
    layouts.refused(f"nus-wide:{tmp_path}", f"{tmp_path}/Flickr/clouds/Train_4.jpg does not exist")
    opened = data.open(f"nus-wide:{tmp_path},drop_missing=yes")
    assert opened.truth[WHOLE].shape[0] == 9 == len(opened.pictures[WHOLE])
    known = opened.pictures[WHOLE].id
    (tmp_path / "Flickr").rename(tmp_path / "other")
    layouts.refused(
        f"nus-wide:{tmp_path},drop_missing=yes",
        f"{tmp_path} has no image folder or no ImageList",
    )
    again = data.open(f"nus-wide:{tmp_path},drop_missing=yes,images={tmp_path}/other")
    assert again.pictures[WHOLE].id == known
    assert data.open(again.spec).truth["train"].id == again.truth["train"].id


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    layouts.refused("nus-wide", "needs root")
    layouts.refused(
        f"nus-wide:{tmp_path}", f"{tmp_path}/ConceptsList/Concepts81.txt does not exist"
    )
    layouts.write(tmp_path, FILES)
    labels = tmp_path / "Groundtruth" / "TrainTestLabels" / "Labels_clouds_Train.txt"
    labels.write_text("1\n0\n")
    layouts.refused(
        f"nus-wide:{tmp_path}",
        f"{labels}: it holds labels of 2 images, but 10 are expected as in the other lists",
    )
    labels.unlink()
    layouts.refused(f"nus-wide:{tmp_path}", f"{labels} does not exist")
    shutil.rmtree(labels.parent)
    listed = tmp_path / "ImageList" / "Imagelist.txt"
    listed.write_text(listed.read_text().replace("zebra\\Test_2.jpg", "x"))
    layouts.refused(
        f"nus-wide:{tmp_path}", f"{listed} lacks 'zebra/Test_2.jpg', an image of TestImagelist.txt"
    )


@pytest.mark.parametrize("without", ["AllLabels", "TrainTestLabels"])
def test_damaged_files(tmp_path: Path, without: str) -> None:
    files = {name: content for name, content in FILES.items() if without not in name}
    survives(
        lambda folder: data.open(f"nus-wide:{folder}"), files, tmp_path=tmp_path, count=COUNT // 8
    )
