"""Truth, features and pictures of a study: opened once, checked, and taken apart as needed."""

import re
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import simkit
from simkit.data import open as open_data
from simkit.data.dataset import Pictures
from simkit.embed.backbones import backbone
from simkit.embed.features import extract
from simkit.errors import BadInput
from simkit.labels.formats.npz import write_truth
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn import methods
from simkit.study import sources
from simkit.study.sources import ImageTransform, StudySource, open_source, opened_as
from tests.study.conftest import save_truth

DATA = "scenes:images=20,val=4,test=10"
SCENES = open_data(DATA)
POOLED = StudySource(DATA, ("train", "test"), ("pooled",), "scenes-net")


def files(folder, **arrays):
    """A file of features for each split."""
    for split, values in arrays.items():
        np.savez(folder / f"{split}.npz", features=values)
    return tuple((split, str(folder / f"{split}.npz")) for split in arrays)


def of_files(*features, **more):
    """What these files or folders of features hold, by split."""
    splits = tuple(split for split, _ in features)
    return replace(POOLED, splits=splits, backbone="", features=features, **more)


def test_features_of_both_kinds_belong_to_the_same_pictures():
    opened = open_source(replace(POOLED, kinds=("pooled", "maps")))
    maps, pooled = opened.inputs("test", "maps"), opened.inputs("test", "pooled")
    means = np.asarray(maps.values, float).mean((2, 3))
    assert np.allclose(means, pooled.values[:], rtol=2e-3, atol=1e-3)
    assert pooled.id == opened.ids["features test pooled"]
    names = "truth {0}", "boxes {0}", "features {0} pooled", "features {0} maps"
    every = {name.format(split) for name in names for split in POOLED.splits}
    assert set(opened.ids) == every | {"hierarchy"}


def test_difficult_objects_and_boxes_are_part_of_the_ids():
    opened = open_source(replace(POOLED, splits=("train",)))
    marks, others = np.zeros((2, 20, 52), bool)
    marks[3, 5] = others[4, 7] = True
    boxes = opened.data.boxes["train"]
    changes = [
        {}, {"difficult": {"train": csr_array(marks)}}, {"difficult": {"train": csr_array(others)}},
        {"boxes": {"train": replace(boxes, corners=boxes.corners + 1)}},
    ]  # fmt: skip
    every = [replace(opened, data=replace(opened.data, **one)).ids for one in changes]
    assert len({tuple(sorted(ids.items())) for ids in every}) == 4


def test_a_process_opens_a_source_once_until_its_files_change(tmp_path):
    def source(factor):
        return of_files(*files(tmp_path, train=np.full((20, 3), factor)))

    one = source(1)
    before = open_source(one).ids
    assert opened_as(one, before) is opened_as(one, before)
    after = open_source(source(2)).ids
    assert opened_as(one, after).ids == after != before
    with pytest.raises(BadInput, match="changed since"):
        opened_as(one, before)


def test_features_that_do_not_fit_are_refused(tmp_path):
    for shapes, kind, words in (
        ({"train": (20, 3)}, "pooled", r'test = "FILE.npz"'),
        ({"train": (19, 3), "test": (10, 3)}, "pooled", "19 rows, but train 20"),
        ({"train": (20, 3), "test": (10, 3)}, "maps", r"holds pooled features.* needs maps"),
    ):
        own = files(tmp_path, **{split: np.zeros(shape) for split, shape in shapes.items()})
        with pytest.raises(BadInput, match=words):
            open_source(replace(of_files(*own, kinds=(kind,)), splits=POOLED.splits))
    maps = files(tmp_path, train=np.ones((20, 3, 2, 2)), test=np.ones((10, 3)))
    assert open_source(of_files(*maps)).inputs("train", "pooled").values.shape == (20, 3)


def test_a_split_that_is_missing_is_named_with_a_way_to_it(tmp_path):
    save_truth(tmp_path / "labels.npz", np.eye(6, 3, dtype=bool), "x")
    with pytest.raises(BadInput, match=r"no test split; add test=FILE"):
        open_source(replace(POOLED, data=f"npz:{tmp_path}/labels.npz"))
    with pytest.raises(BadInput, match=r"no images for 'train'.*features"):
        open_source(replace(POOLED, data=f"npz:{tmp_path}/labels.npz", splits=("train",)))


def test_the_backbone_of_scenes_is_not_for_photographs():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_source(POOLED, data=SCENES)
    with pytest.warns(UserWarning, match="for photographs name backbone"):
        open_source(POOLED, data=replace(SCENES, name="pics"))


def test_features_of_an_undivided_training_set_serve_both_parts(tmp_path):
    names = np.arange(10)[::-1] + 100
    stored = csr_array(np.eye(10, 3, dtype=bool))
    about = {"class_names": np.array(["a", "b", "c"]), "image_ids": names, "shape": stored.shape}
    np.savez(tmp_path / "labels.npz", indptr=stored.indptr, indices=stored.indices, **about)
    own = files(tmp_path, train=np.stack([names, names], 1).astype(np.float32))
    source = StudySource(f"npz:{tmp_path}/labels.npz", ("train", "val"), ("pooled",), features=own)
    opened = open_source(source)
    for split, images in (("train", 8), ("val", 2)):
        values = opened.inputs(split, "pooled").values
        assert values.shape == (images, 2)  # the features of every row are the name of its image
        np.testing.assert_array_equal(values[:, 0], opened.truth(split).images)


def test_a_folder_of_features_serves_its_splits_at_any_level(tmp_path):
    for split in ("train", "test"):
        extract(SCENES, split, backbone("scenes-net"), kinds=("pooled",), out=tmp_path / split)
    ids = set()
    for place in (tmp_path, tmp_path / "test", tmp_path / "test" / "pooled"):
        ids.add(open_source(of_files(("test", str(place)))).inputs("test", "pooled").id)
    assert len(ids) == 1
    with pytest.raises(BadInput, match="no finished features"):
        open_source(of_files(("val", str(tmp_path))))


def test_features_of_other_pictures_or_of_two_networks_are_refused(tmp_path):
    other, net = open_data(DATA + ",seed=1"), backbone("scenes-net")
    extract(other, "test", net, kinds=("pooled",), out=tmp_path / "other")
    reverse = {**SCENES.pictures, "test": Turned(SCENES.pictures["test"])}
    turned = replace(SCENES, pictures=reverse)
    extract(turned, "test", net, kinds=("pooled",), out=tmp_path / "turned")

    for name in ("other", "turned"):
        with pytest.raises(BadInput, match=rf"{name} has features of other images than test"):
            open_source(of_files(("test", str(tmp_path / name))))
    # Of values that were computed elsewhere nobody knows the pictures.
    bare = replace(SCENES, pictures={})
    open_source(of_files(("test", str(tmp_path / "other"))), data=bare)
    open_source(of_files(*files(tmp_path, test=np.ones((10, 3)))))
    for split, size in (("train", None), ("test", 96)):
        net = backbone("scenes-net", size=size)
        extract(SCENES, split, net, kinds=("pooled",), out=tmp_path / "two" / split)
    both = tuple((split, str(tmp_path / "two")) for split in ("train", "test"))
    with pytest.raises(BadInput, match=r"64 pixels.*96 pixels.*extract both with the same"):
        open_source(of_files(*both))


@dataclass(frozen=True)
class Turned:
    """Pictures in the opposite order."""

    pictures: Pictures
    id: str = "turned"

    def __len__(self):
        return len(self.pictures)

    def read(self, index):
        return self.pictures.read(len(self.pictures) - 1 - np.asarray(index))


class Torn(Turned):
    """Two pictures that cannot be read."""

    def read(self, index):
        if {2, 7} & set(index):
            raise BadInput("torn")
        return self.pictures.read(index)


def test_pictures_that_could_not_be_read_take_no_part(tmp_path, monkeypatch):
    torn = replace(SCENES, pictures={k: Torn(p, "torn") for k, p in SCENES.pictures.items()})
    for split in POOLED.splits:
        extract(torn, split, backbone("scenes-net"), out=tmp_path / split, unreadable="skip")
    own = tuple((split, str(tmp_path / split)) for split in POOLED.splits)
    with pytest.warns(UserWarning, match=r"2 images of (train|test) could not be read"):
        opened = open_source(of_files(*own), data=torn)
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    cached = replace(POOLED, splits=("test",))
    with pytest.raises(BadInput, match="torn, or skip such images"):
        open_source(cached, data=torn)
    extract(torn, "test", backbone("scenes-net"), kinds=("pooled",), unreadable="skip")
    with pytest.warns(UserWarning, match="2 images of test could not be read"):
        open_source(cached, data=torn)
    assert np.flatnonzero(~opened.known("test").any(1)).tolist() == [2, 7]
    assert opened.known("test")[3].all()
    labels = simkit.simulate(SCENES.truth["train"], "rpa", hierarchy=SCENES.hierarchy, seed=1)
    left = opened.readable(labels, "train")
    assert np.flatnonzero(labels.asked & ~left.asked).tolist() == [2, 7]
    assert left.codes[[2, 7]].nnz == 0 and labels.codes[[2, 7]].nnz > 0
    assert (left.rows(np.arange(8, 20)) == labels.rows(np.arange(8, 20))).all()
    assert left.history == labels.history


def test_a_table_of_scores_serves_the_splits_that_it_names(tmp_path):
    rng, names = np.random.default_rng(0), ("cat", "dog")
    for split, first in ("train", 0), ("test", 40):
        ids = np.array([f"{n:03}.jpg" for n in range(first, first + 40)])
        write_truth(Truth.of(rng.random((40, 2)) < 0.5, ids, names), tmp_path / f"{split}.npz")
    spec, file = f"npz:{tmp_path}/train.npz,test={tmp_path}/test.npz", tmp_path / "scores.csv"
    frame = pd.DataFrame(rng.normal(0, 3, (80, 2)), [f"/a/{n:03}.jpg" for n in range(80)], names)
    source = StudySource(spec, ("train", "test"), (), scores=str(file))
    truth = open_data(spec).truth
    rows = [int(name[:3]) for name in truth["train"].images]
    for several in ("train", "test"), ("train",):
        frame.iloc[: 40 * len(several)].to_csv(file, index_label="image")
        opened = open_source(source)
        assert opened.scored == {*several}
        assert np.array_equal(opened.scores["train"], frame.to_numpy()[rows])
    assert any(key == "scores train" for key in opened.ids)
    frame.iloc[50:].to_csv(file, index_label="image")
    with pytest.raises(BadInput, match="these have no row: 10 "):
        open_source(source)


def test_simulated_labels_of_some_images_are_extended():
    whole = SCENES.truth[SCENES.to_label]
    labels = simkit.simulate(whole, "full-subset")
    some = labels.of_images(labels.images[::2])
    found = sources.labels_of_train(some, SCENES, "half.parquet")
    assert found.asked.sum() == len(some.images) and found.shape == SCENES.truth["train"].shape
    assert (found.codes[found.asked] != some.codes).nnz == 0
    other = simkit.simulate(open_data("scenes:images=300,seed=1").truth["train"], "full-subset")
    with pytest.raises(BadInput, match="another data set"):
        sources.labels_of_train(other.of_images(other.images[:20]), SCENES, "half.parquet")


def test_labels_of_a_plain_table_are_put_over_all_images_and_classes():
    truth = SCENES.truth["train"]
    names = truth.classes[3], truth.classes[1]
    some = PartialLabels.of(np.array([[1, 0], [-1, 1]]), truth.images[[4, 2]], names)
    found = sources.labels_of_train(some, SCENES, "labels.csv")
    codes = found.codes.toarray()
    assert found.classes == truth.classes and found.shape == truth.shape
    assert (codes[4, 3], codes[2, 3], codes[2, 1]) == (1, -1, 1) and np.abs(codes).sum() == 3
    assert np.flatnonzero(found.asked).tolist() == [2, 4]
    other = PartialLabels.of(np.ones((1, 1), np.int8), truth.images[:1], ("dodo",))
    with pytest.raises(BadInput, match=r"labels.csv has class 'dodo'"):
        sources.labels_of_train(other, SCENES, "labels.csv")


def _ids(folder, train, test):
    """A data set of two classes with these ids."""
    for name, ids in (("train", train), ("test", test)):
        truth = Truth.of(np.eye(len(ids), 2, dtype=bool), ids, ["cat", "k\u00e4fer"])
        write_truth(truth, folder / f"{name}.npz")
    return open_data(f"npz:{folder}/train.npz,val={folder}/train.npz,test={folder}/test.npz")


@pytest.mark.parametrize(
    ("ids", "wanted", "noted"),
    [
        (["101", "102"], [102, 101], ""),
        ([101, 102], ["102", "101"], ""),
        (["007", "8"], [8, 7], "image ids .*: 1 \\('7' is '007'\\)"),
        (["s/a\u0308.jpg", "b"], ["b", "s\\\u00e4.jpg"], "image ids .*: 1 "),
    ],
)
def test_ids_of_labels_are_those_of_the_data_set_in_any_spelling(tmp_path, ids, wanted, noted):
    data = _ids(tmp_path, ids, ["z"] if isinstance(ids[0], str) else [9])
    labels = PartialLabels.of([[1, 0], [-1, 1]], wanted, ["ka\u0308fer", "cat"])
    with pytest.warns(UserWarning) as notes:
        same = sources.labels_of_train(labels, data, "x.csv")
    assert same.images.tolist() == ids and same.rows([0, 1]).tolist() == [[1, -1], [0, 1]]
    texts = [str(each.message) for each in notes]
    assert re.search("x.csv: class names that are spelled differently .*: 1 ", texts[-1])
    assert len(texts) == 1 + bool(noted) and re.search(noted, texts[0])


def test_ids_that_fit_no_image_or_several_are_refused_and_those_of_test_counted(tmp_path):
    data = _ids(tmp_path, ["7", "007"], ["z"])
    one = PartialLabels.of([[1]], ["07"], ["cat"])
    with pytest.raises(
        BadInput, match=r"image '07', which is not in the data set \(it has 7, 007\)"
    ):
        sources.labels_of_train(one, data, "x.csv")
    data = _ids(tmp_path, [7, 8], [9])
    two = PartialLabels.of([[1], [1]], ["7", "007"], ["cat"])
    with pytest.raises(BadInput, match="'7' and '007', which are the same image"):
        sources.labels_of_train(two, data, "x.csv")
    tested = PartialLabels.of([[1], [1]], ["7", "9"], ["cat"])
    with pytest.warns(UserWarning, match=r"x.csv: images outside the .*: 1 of 2 \(9\)"):
        assert sources.labels_of_train(tested, data, "x.csv").asked.tolist() == [True, False]


def test_pictures_are_decoded_once_and_shown_as_is_said(monkeypatch):
    seen, source = [], replace(POOLED, kinds=(), sizes=(None, 32))
    open_source(source, progress=lambda *at: seen.append(at))
    assert {at for at in seen if at[0] == at[1]} == {(20, 20), (10, 10)}
    monkeypatch.setattr(type(SCENES.pictures["train"]), "read", None)  # now they lie in files
    opened = open_source(source)
    assert opened.features == {}
    crop = ImageTransform(32, flip=False, vertical=True, crop=(0.5, 1.0))
    whole, cropped = opened.images("test", ImageTransform(32)), opened.images("test", crop)
    assert whole.pictures is cropped.pictures and whole.pictures.shape == (10, 3, 32, 32)
    assert (cropped.flip, cropped.vertical, cropped.crop) == (False, True, (0.5, 1.0))
    assert (whole.batch([3]).numpy()[0] == whole.pictures[np.array([3])][0]).all()
    assert opened.images("test", ImageTransform()).pictures.shape == (10, 3, 64, 64)
    assert opened.ids["pictures train"] == SCENES.pictures["train"].id
    assert opened.ids["backbone 32"] == opened.ids["backbone of its own size"]  # the same weights
    other = open_source(replace(source, backbone="mobilenet_v2", weights="random", sizes=(32,)))
    assert other.ids["backbone 32"] != opened.ids["backbone 32"]
    # Published: 300 million multiply-adds for 224 pixels, of which 1.3 million are the last layer.
    assert other.work[32] == pytest.approx(2 * 299e6 * (32 / 224) ** 2, rel=0.05)


def test_methods_see_crops_where_they_compare_views_and_maps_where_they_need_them():
    views, plain = methods.make("an+scl"), methods.make("an")
    assert ImageTransform().for_method(views) == ImageTransform(crop=(0.25, 1.0))
    own = ImageTransform(crop=(0.5, 1.0))
    assert own.for_method(views) == own and ImageTransform().for_method(plain) == ImageTransform()
    kinds = [sources.kind_of(methods.make(m)) for m in ("an", "ll-r", "an+boostlu")]
    assert kinds == ["pooled", "pooled", "maps"]
