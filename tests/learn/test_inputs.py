import numpy as np
import pytest
import torch

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


def test_maps_have_four_dimensions():
    assert FeatureInputs(np.zeros((2, 4, 3, 3), np.float32)).kind == "maps"
    with pytest.raises(BadInput) as error:
        FeatureInputs(np.zeros((2, 4, 3), np.float32))
    assert str(error.value) == (
        "features have shape (2, 4, 3) of float32; floats of shape (N, D) or "
        "(N, D, h, w) are expected"
    )


def test_cached_features_cannot_be_mirrored():
    with pytest.raises(BadInput) as error:
        FeatureInputs(np.zeros((2, 4), np.float32)).batch([0], flips=np.array([True]))
    assert str(error.value) == (
        "cached features cannot be mirrored; train from pictures (ImageInputs), or flip off"
    )


class Album:
    id = "album"

    def __init__(self, shapes):
        self.shapes = shapes

    def __len__(self):
        return len(self.shapes)

    def read(self, index):
        return [np.full((*self.shapes[i], 3), i, np.uint8) for i in index]


def test_pictures_are_mirrored_left_to_right_where_asked():
    array = np.random.default_rng(0).integers(0, 256, (4, 3, 2, 5), np.uint8)
    inputs = ImageInputs(array)
    found = inputs.batch([2, 1], flips=np.array([True, False])).numpy()
    np.testing.assert_array_equal(found[0], array[2, :, :, ::-1])
    np.testing.assert_array_equal(found[1], array[1])
    assert inputs.batch([0]).dtype == torch.uint8 and inputs.id == ImageInputs(array.copy()).id


def test_which_pictures_are_mirrored_depends_on_place_and_epoch():
    inputs = ImageInputs(np.zeros((4, 3, 2, 2), np.uint8))
    index = np.arange(1000)
    flips = inputs.flips(index, Chance.seeded(0).of(1))
    assert 430 < flips.sum() < 570
    np.testing.assert_array_equal(inputs.flips(index[500:], Chance.seeded(0).of(1)), flips[500:])
    assert (inputs.flips(index, Chance.seeded(0).of(2)) != flips).any()
    assert (
        ImageInputs(np.zeros((4, 3, 2, 2), np.uint8), flip=False).flips(index, Chance.seeded(0))
        is None
    )


def test_pictures_of_a_data_set():
    inputs = ImageInputs(Album([(2, 5)] * 3))
    batch = inputs.batch([2, 0])
    assert batch.shape == (2, 3, 2, 5) and batch[0].unique().item() == 2 and inputs.id == "album"


def test_pictures_of_several_sizes_are_refused():
    with pytest.raises(BadInput) as error:
        ImageInputs(Album([(2, 5), (3, 5)])).batch([0, 1])
    assert str(error.value) == (
        "pictures come in several sizes ((2, 5, 3), (3, 5, 3)); bring them to one size first"
    )
    with pytest.raises(BadInput) as error:
        ImageInputs(np.zeros((4, 2, 2, 3), np.uint8))
    assert str(error.value) == (
        "pictures have shape (4, 2, 2, 3) of uint8; uint8 of shape (N, 3, H, W) is expected"
    )
