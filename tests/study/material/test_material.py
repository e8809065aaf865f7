import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from simkit.study.material.material import Source, open_material, opened

import simkit.data
from simkit.errors import BadInput

DATA = "scenes:images=40,val=10,test=20"


def brought(tmp_path, **arrays):
    files = []
    for split, values in arrays.items():
        np.savez(tmp_path / f"{split}.npz", features=values)
        files.append((split, str(tmp_path / f"{split}.npz")))
    return tuple(files)


def test_features_of_both_kinds_belong_to_the_same_pictures():
    material = open_material(Source(DATA, ("train", "test"), ("pooled", "maps"), "scenes-net"))
    maps, pooled = material.inputs("test", "maps"), material.inputs("test", "pooled")
    assert maps.values.shape[0] == pooled.values.shape[0] == 20
    assert np.allclose(
        np.asarray(maps.values, float).mean((2, 3)), pooled.values[:], rtol=2e-3, atol=1e-3
    )
    assert pooled.id == material.ids["features test pooled"]
    assert repr(material) == (
        f"<Material of {material.data!r}; features: train pooled (40, 128), train maps "
        "(40, 128, 8, 8), test pooled (20, 128), test maps (20, 128, 8, 8)>"
    )
    assert set(material.ids) == {
        "hierarchy",
        *(f"{what} {split}" for split in ("train", "test") for what in ("truth", "boxes")),
        *(f"features {split} {kind}" for split in ("train", "test") for kind in ("pooled", "maps")),
    }


def test_difficult_objects_and_boxes_are_part_of_the_ids():
    def ids(**changed):
        one = open_material(Source(DATA, ("train",), ("pooled",), "scenes-net"))
        return replace(one, data=replace(one.data, **changed)).ids

    marks = np.zeros((40, 52), bool)
    marks[3, 5] = True
    other = marks.copy()
    other[4, 7] = True
    data = open_material(Source(DATA, ("train",), ("pooled",), "scenes-net")).data
    boxes = data.boxes["train"]
    larger = replace(boxes, corners=boxes.corners + 1)
    every = [
        ids(), ids(difficult={"train": csr_array(marks)}), ids(boxes={"train": larger}),
        ids(difficult={"train": csr_array(other)}),
    ]  # fmt: skip
    assert len({tuple(sorted(one.items())) for one in every}) == 4


def test_a_process_opens_a_source_once():
    source = Source(DATA, ("train",), ("pooled",), "scenes-net")
    assert opened(source) is opened(source)


def test_features_may_be_brought_along(tmp_path):
    rng = np.random.default_rng(0)
    files = brought(tmp_path, train=rng.normal(size=(40, 3, 2, 2)), test=rng.normal(size=(20, 3)))
    material = open_material(Source(DATA, ("train", "test"), ("pooled",), features=files))
    assert material.inputs("train", "pooled").values.shape == (40, 3)


@pytest.mark.parametrize(
    ("arrays", "kinds", "told"),
    [
        ({"train": (40, 3)}, ("pooled",), 'no file for the test split; add test = "FILE.npz"'),
        (
            {"train": (39, 3), "test": (20, 3)},
            ("pooled",),
            "has features of 39 images, but train has 40",
        ),
        ({"train": (40, 3), "test": (20, 3)}, ("maps",), "holds pooled features .* needs maps"),
    ],
)
def test_features_that_do_not_fit_are_refused(tmp_path, arrays, kinds, told):
    files = brought(tmp_path, **{split: np.zeros(shape) for split, shape in arrays.items()})
    with pytest.raises(BadInput, match=told):
        open_material(Source(DATA, ("train", "test"), kinds, features=files))


def test_a_split_that_is_missing_is_named(tmp_path):
    from scipy.sparse import csr_array

    truth = csr_array(np.eye(6, 3, dtype=bool))
    path = tmp_path / "labels.npz"
    np.savez(path, indptr=truth.indptr, indices=truth.indices, shape=truth.shape,
             class_names=np.array(["a", "b", "c"]), image_ids=np.arange(6))  # fmt: skip
    with pytest.raises(BadInput, match=f"has no test split.*: npz:{path},test=FILE"):
        open_material(Source(f"npz:{path}", ("train", "test"), ("pooled",), "scenes-net"))


def test_a_split_that_is_no_file_of_its_own():
    data = simkit.data.open(DATA)
    part = replace(data, truth={"train": data.truth["train"]}, name="pics")
    for spec, way in {
        "folder:pics": "keep a share for it, as in folder:pics,test=0.2, or give the table a "
        "column split",
        "pics.toml": "say which images are in it; `simkit list data` tells how each kind of data "
        "does",
    }.items():
        with pytest.raises(BadInput) as error:
            open_material(Source(spec, ("test",), ("pooled",), "scenes-net"), data=part)
        assert str(error.value) == f"{spec!r} has no test split, which is needed here; {way}"


def test_the_backbone_of_scenes_is_not_for_photographs():
    data = simkit.data.open(DATA)
    source = Source(DATA, ("test",), ("pooled",), "scenes-net")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_material(source, data=data)
    with pytest.warns(UserWarning) as heard:
        open_material(source, data=replace(data, name="pics"))
    assert str(heard[0].message) == (
        "features of pics come from scenes-net, which knows drawn scenes alone; for photographs "
        "name backbone mobilenet_v2 with a file of weights"
    )


def test_features_of_an_undivided_training_set_serve_both_parts(tmp_path):
    rows = np.arange(10)
    np.savez(
        tmp_path / "labels.npz",
        indptr=np.arange(11),
        indices=rows % 3,
        shape=np.array([10, 3]),
        class_names=np.array(["a", "b", "c"]),
        image_ids=rows[::-1] + 100,
    )
    files = brought(tmp_path, train=np.stack([rows[::-1] + 100, rows], 1).astype(np.float32))
    source = Source(f"npz:{tmp_path / 'labels.npz'}", ("train", "val"), ("pooled",), features=files)
    material = open_material(source)
    for split, images in (("train", 8), ("val", 2)):
        values = material.inputs(split, "pooled").values
        assert values.shape == (images, 2)
        # The first feature of every row is the id of its image.
        np.testing.assert_array_equal(values[:, 0], material.truth(split).images)


def test_pictures_that_could_not_be_read_take_no_part(tmp_path, monkeypatch):
    from dataclasses import dataclass

    import simkit
    from simkit.embed.backbones import backbone
    from simkit.embed.features.features import extract

    @dataclass(frozen=True)
    class Torn:
        pictures: simkit.data.dataset.Pictures
        id: str = "torn"

        def __len__(self):
            return len(self.pictures)

        def read(self, index):
            if {2, 7} & set(index):
                raise BadInput("torn")
            return self.pictures.read(index)

    data = simkit.data.open(DATA)
    torn = replace(data, pictures={split: Torn(p) for split, p in data.pictures.items()})
    for split in ("train", "test"):
        extract(torn, split, backbone("scenes-net"), out=tmp_path / split, unreadable="skip")
    files = tuple((split, str(tmp_path / split)) for split in ("train", "test"))
    with pytest.warns(UserWarning) as heard:
        material = open_material(
            Source(DATA, ("train", "test"), ("pooled", "maps"), features=files), data=torn
        )
    assert [str(w.message) for w in heard] == [
        f"2 pictures of {split} could not be read when its features were made; they take no part "
        "in training or in metrics"
        for split in ("train", "test")
    ]
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    cached = Source(DATA, ("test",), ("pooled",), "scenes-net")
    with pytest.raises(BadInput, match=r"^torn, or skip such pictures$"):
        open_material(cached, data=torn)
    extract(torn, "test", backbone("scenes-net"), kinds=("pooled",), unreadable="skip")
    with pytest.warns(UserWarning, match="2 pictures of test could not be read"):
        open_material(cached, data=torn)
    assert np.flatnonzero(~material.known("test").any(1)).tolist() == [2, 7]
    assert material.known("test")[3].all()
    labels = simkit.simulate(data.truth["train"], "rpa", hierarchy=data.hierarchy, seed=1)
    left = material.readable(labels, "train")
    assert np.flatnonzero(labels.asked & ~left.asked).tolist() == [2, 7]
    assert left.codes[[2, 7]].nnz == 0 and labels.codes[[2, 7]].nnz > 0
    assert (left.rows(np.arange(8, 40)) == labels.rows(np.arange(8, 40))).all()
    assert (left.images == labels.images).all() and left.history == labels.history


def test_features_of_a_whole_set_in_a_folder_serve_its_parts(tmp_path):
    from simkit.embed.features.feature_folder import finish
    from simkit.embed.features.shards import ShardWriter
    from simkit.history import History

    data = simkit.data.open(DATA)
    values = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float16)
    images = np.arange(50)
    train, val = (
        replace(data.truth[split], images=images[part])
        for split, part in (("train", slice(0, 50, 5)), ("val", slice(40)))
    )
    whole = replace(data.truth["train"], images=images)
    writer = ShardWriter(tmp_path, "x", 50, (3,))
    writer.put(np.arange(50), values, {})
    finish(writer, tmp_path, key="x", kind="pooled", images=images.tolist(), history=History("x"))
    parts = replace(data, truth={"train": train, "val": val, "train+val": whole})
    source = Source(DATA, ("train",), ("pooled",), features=(("train", str(tmp_path)),))
    found = open_material(source, data=parts).inputs("train", "pooled")
    assert (found.values[:] == values[::5]).all()


def test_features_that_cannot_be_made_are_not_warned_about(tmp_path, recwarn):
    truth = simkit.data.open("scenes:images=4,val=2,test=2").truth["train"]
    present = truth.present.tocsr()
    np.savez(
        tmp_path / "train.npz",
        indptr=present.indptr,
        indices=present.indices,
        shape=present.shape,
        class_names=np.array(truth.classes),
        image_ids=np.array(truth.images),
    )
    with pytest.raises(BadInput, match=r"has no pictures for 'train'; .*in a table \[features\]"):
        open_material(Source(f"npz:{tmp_path}/train.npz", ("train",), ("pooled",), "scenes-net"))
    assert not recwarn.list
