import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.inputs import FeatureInputs, ImageInputs


def test_features_are_read_as_float32(tmp_path):
    values = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float16)
    np.save(tmp_path / "f.npy", values)
    mapped = FeatureInputs(np.load(tmp_path / "f.npy", mmap_mode="r"))
    batch = mapped.batch([3, 0])
    assert batch.dtype == torch.float32 and mapped.kind == "pooled" and mapped.width == 4
    np.testing.assert_array_equal(batch, values[[3, 0]].astype(np.float32))
    assert mapped.id == FeatureInputs(values).id != FeatureInputs(values[:8]).id
    assert FeatureInputs(values, id="mine").id == "mine" and len(mapped) == 9


def test_tensors_are_read_as_arrays_are():
    values = np.random.default_rng(0).random((6, 4), np.float32)
    for given in (torch.tensor(values), torch.tensor(values, requires_grad=True)):
        inputs = FeatureInputs(given)
        assert np.array_equal(inputs.batch([2, 0]), values[[2, 0]])
        assert inputs.id == FeatureInputs(values).id
    half = torch.tensor(values).bfloat16()
    assert torch.equal(FeatureInputs(half).batch([1]), half[[1]].float())
    images = torch.randint(0, 255, (2, 3, 4, 4), dtype=torch.uint8)
    assert torch.equal(ImageInputs(images).batch([1, 0]), images[[1, 0]])
    for given, mend in ((torch.eye(2).to_sparse(), "to_dense"), (csr_array(np.eye(2)), "toarray"),
                        ([[1.0]], "numpy.asarray")):  # fmt: skip
        with pytest.raises(BadInput, match=mend):
            FeatureInputs(given)


def test_maps_have_four_dimensions():
    assert FeatureInputs(np.zeros((2, 4, 3, 3), np.float32)).kind == "maps"
    with pytest.raises(
        BadInput, match=r"features have shape \(2, 4,.*floats of shape \(N, D\) or \(N,"
    ):
        FeatureInputs(np.zeros((2, 4, 3), np.float32))


class Album:
    id = "album"

    def __init__(self, shapes):
        self.shapes = shapes

    def __len__(self):
        return len(self.shapes)

    def read(self, index):
        return [np.full((*self.shapes[i], 3), i, np.uint8) for i in index]


def test_pictures_of_a_data_set():
    inputs = ImageInputs(Album([(2, 5)] * 3))
    batch = inputs.batch([2, 0])
    assert batch.shape == (2, 3, 2, 5) and batch[0].unique().item() == 2 and inputs.id == "album"


def test_pictures_of_several_sizes_are_refused():
    with pytest.raises(BadInput, match=r"images come in several.*bring them to one size first,"):
        ImageInputs(Album([(2, 5), (3, 5)])).batch([0, 1])
    with pytest.raises(BadInput, match=r"images have shape \(4, 2,.*uint8 of shape \(N, 3, H, W\)"):
        ImageInputs(np.zeros((4, 2, 2, 3), np.uint8))


@pytest.mark.parametrize("crop", [(0, 1), (0.5, 0.2), (0.5, 1.1), (0.5,), 0.25, "a"])
def test_crops_that_cannot_be_are_refused(crop):
    with pytest.raises(BadInput, match=r"crop is.*the smallest and the largest"):
        ImageInputs(np.zeros((4, 3, 2, 2), np.uint8), crop=crop)


def test_views_are_drawn_by_place_and_epoch():
    inputs = ImageInputs(np.zeros((4, 3, 2, 2), np.uint8), crop=(0.25, 1), vertical=True)
    rows = np.arange(1000)
    found = inputs.views(rows, Chance.seeded(0), epoch=1)
    some = inputs.views(rows[300:], Chance.seeded(0), epoch=1)
    later = inputs.views(rows, Chance.seeded(0), epoch=2)
    for name in ("boxes", "flips", "vertical"):
        assert torch.equal(getattr(some, name), getattr(found, name)[300:])
        assert not torch.equal(getattr(later, name), getattr(found, name))
    assert 430 < found.vertical.sum() < 570
    assert 200 < (found.vertical & found.flips).sum() < 300  # independent of each other
    plain = ImageInputs(np.zeros((4, 3, 2, 2), np.uint8), flip=False)
    none = plain.views(rows, Chance.seeded(0), epoch=1)
    assert none.boxes is None and none.flips is None and none.vertical is None


def test_what_is_unusual_about_the_pictures_shown_is_told():
    values = np.zeros((4, 3, 2, 2), np.uint8)
    assert ImageInputs(values).augmentation == {}
    unusual = ImageInputs(values, flip=False, vertical=True, crop=(0.25, 1)).augmentation
    assert unusual.keys() == {"flip", "vertical", "crop", "aspect"}
