"""The embedded data set."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from simkit import data
from simkit.data.scenes import Scenes
from simkit.errors import BadInput
from simkit.labels.hierarchy import shipped

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dataset() -> data.Dataset:
    return Scenes(images=2500).open()


def test_default_sizes_and_classes() -> None:
    opened = data.open("scenes")
    sizes = {split: truth.shape for split, truth in opened.truth.items()}
    assert sizes == {"train": (3000, 52), "val": (500, 52), "test": (2000, 52)}
    assert len(opened.leaves) == 41
    assert opened.spec == "scenes:images=3000,seed=0,val=500,test=2000"
    assert {split: len(p) for split, p in opened.pictures.items()} == {
        split: shape[0] for split, shape in sizes.items()
    }


def test_its_text_opens_it_again() -> None:
    one = data.open("scenes:images=40,seed=5,val=3,test=7")
    again = data.open(one.spec)
    assert {s: t.id for s, t in one.truth.items()} == {s: t.id for s, t in again.truth.items()}
    assert one.pictures["val"].id == again.pictures["val"].id


def test_a_larger_set_begins_with_the_smaller_one(dataset: data.Dataset) -> None:
    small = data.open("scenes:100")
    assert np.array_equal(
        small.truth["train"].rows(range(100)), dataset.truth["train"].rows(range(100))
    )
    own, other = (d.pictures["train"].read([7, 99]) for d in (small, dataset))
    assert np.array_equal(own, other)
    assert small.truth["test"].id == dataset.truth["test"].id


def test_chunks_of_labels_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = data.open("scenes:images=50,val=1,test=1")
    monkeypatch.setattr("simkit.data.scenes._CHUNK", 7)
    pieces = data.open("scenes:images=50,val=1,test=1")
    assert pieces.truth["train"].id == whole.truth["train"].id
    for name in ("images", "classes", "corners"):
        one, other = getattr(pieces.boxes["train"], name), getattr(whole.boxes["train"], name)
        assert np.array_equal(one, other)


@pytest.mark.parametrize("images", [0, -1, 2_000_001, 99999999999999, 9999999999999999999999])
def test_too_few_and_too_many_pictures_are_refused(images: int) -> None:
    with pytest.raises(BadInput, match=f"^scenes: images is {images}; a number from 1 to 2,000,0"):
        data.open(f"scenes:images={images}")


def test_splits_and_seeds_differ(dataset: data.Dataset) -> None:
    pixels = {split: p.read([0])[0].tobytes() for split, p in dataset.pictures.items()}
    assert len(set(pixels.values())) == 3
    other = Scenes(images=1, seed=1).open().pictures["train"]
    assert other.read([0])[0].tobytes() != pixels["train"]
    assert other.id != dataset.pictures["train"].id


def test_truth_is_closed_under_the_hierarchy(dataset: data.Dataset) -> None:
    assert dataset.hierarchy is not None
    present = dataset.truth["train"].rows(range(2500))
    for child, parents in enumerate(dataset.hierarchy.parents):
        for parent in parents:
            assert not (present[:, child] & ~present[:, parent]).any()
    below = dataset.hierarchy.above.T
    for c in set(range(52)) - set(dataset.leaves.tolist()):
        leaves = [d for d in dataset.leaves if below[c, d]]
        assert np.array_equal(present[:, c], present[:, leaves].any(1))


def test_no_class_is_everywhere_and_no_two_classes_are_one(dataset: data.Dataset) -> None:
    present = dataset.truth["train"].rows(range(2500))
    assert present.mean(0).max() < 0.97
    assert len(np.unique(present, axis=1).T) == 52


def test_boxes_agree_with_labels(dataset: data.Dataset) -> None:
    boxes, truth = dataset.boxes["train"], dataset.truth["train"].rows(range(2500))
    assert truth[boxes.images, boxes.classes].all()
    assert boxes.corners.shape == (len(boxes.images), 4) and boxes.corners.dtype == np.float32
    assert (boxes.corners[:, 2:] - boxes.corners[:, :2]).min() == 14
    assert (np.diff(boxes.images) >= 0).all() and set(boxes.images) == set(range(2500))


def test_nothing_is_drawn_when_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("drawn")

    monkeypatch.setattr("simkit.data.scenes.draw", refuse)
    assert len(Scenes(images=50_000).open().pictures["train"]) == 50_000


def test_the_hierarchy_is_what_wordnet_says() -> None:
    pytest.importorskip("nltk")
    place = ROOT / "scripts" / "scenes_hierarchy.py"
    spec = importlib.util.spec_from_file_location("scenes_hierarchy", place)
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    try:
        built = script.build()
    except LookupError:
        pytest.skip("WordNet is not installed here")
    assert built.to_json() == shipped("scenes").to_json()
