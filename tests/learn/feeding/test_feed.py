from functools import partial

import numpy as np
import pytest
import torch

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.feeding import feed as feeds
from simkit.learn.feeding.ahead import Resident, Streamed
from simkit.learn.feeding.feed import FeatureFeed, PictureFeed, moments
from simkit.learn.feeding.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Task, make
from simkit.learn.train import Settings, train

PLACE = np.array([4, 0, 7])


def test_pooled_features_lie_ready(maps):
    rows = np.arange(10, 40)
    found = FeatureFeed(FeatureInputs(maps), rows, maps=False, standardise=False).batch(
        PLACE, epoch=1
    )
    wanted = maps[rows[PLACE]].astype(np.float32).mean((2, 3))
    np.testing.assert_allclose(found.pooled, wanted, rtol=1e-6)
    assert found.points is None and found.flips is None


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_points_are_the_maps_place_by_place(maps, monkeypatch, limit):
    monkeypatch.setattr(feeds, "_RESIDENT_BYTES", limit)
    rows = np.arange(10, 40)
    found = FeatureFeed(FeatureInputs(maps), rows, maps=True, standardise=True)
    fed = found.batch(PLACE, epoch=1)
    assert fed.shape == (3, 3) and fed.points.shape == (3, 9, 6)
    torch.testing.assert_close(fed.points.mean(1), fed.pooled, atol=1e-5, rtol=1e-5)


def test_standardised_over_the_asked_images_alone(maps):
    rows = np.arange(0, 90, 2)
    feed = FeatureFeed(FeatureInputs(maps), rows, maps=False, standardise=True)
    everything = feed.batch(np.arange(len(rows)), epoch=1).pooled
    torch.testing.assert_close(everything.mean(0), torch.zeros(6), atol=1e-5, rtol=0)
    torch.testing.assert_close(everything.std(0, correction=0), torch.ones(6), atol=1e-4, rtol=0)


def test_a_feature_that_does_not_vary_keeps_its_scale():
    mean, deviation = moments(torch.tensor([[1.0, 2.0], [1.0, 4.0]]))
    assert mean.tolist() == [1.0, 3.0] and deviation.tolist() == [1.0, 1.0]


def test_nan_is_refused():
    with pytest.raises(BadInput) as error:
        moments(torch.tensor([[1.0], [float("nan")]]))
    assert str(error.value) == (
        "the features hold nan or infinity; compute them again or clean them first"
    )


class Doubling(torch.nn.Module):
    width = 3

    def prepare(self, pictures):
        return pictures.float()

    def forward(self, x):
        return 2 * x


def test_pictures_pass_through_the_backbone():
    pictures = np.random.default_rng(0).integers(0, 256, (9, 3, 2, 4), np.uint8)
    feed = PictureFeed(
        ImageInputs(pictures), np.arange(9), Doubling(), maps=True, chance=Chance.seeded(0)
    )
    fed = feed.batch(PLACE, epoch=1)
    torch.testing.assert_close(fed.pooled, 2 * torch.tensor(pictures[PLACE]).float().mean((2, 3)))
    assert fed.points.shape == (3, 8, 3) and fed.shape == (2, 4) and fed.flips.shape == (3,)


def test_boxes_come_with_the_pictures_whatever_the_batch():
    pictures = np.random.default_rng(0).integers(0, 256, (9, 3, 8, 8), np.uint8)
    inputs = ImageInputs(pictures, crop=(0.25, 1))
    feed = PictureFeed(inputs, np.arange(9), Doubling(), maps=False, chance=Chance.seeded(0))
    fed = feed.batch(PLACE, epoch=2)
    assert fed.boxes.shape == (3, 4)
    for k, place in enumerate(PLACE):
        alone = feed.batch(np.array([place]), epoch=2)
        assert torch.equal(alone.boxes[0], fed.boxes[k])
        assert torch.equal(alone.flips[0], fed.flips[k])
        torch.testing.assert_close(alone.pooled[0], fed.pooled[k])
    shown = inputs.batch(PLACE, flips=fed.flips.numpy(), boxes=fed.boxes.numpy())
    torch.testing.assert_close(fed.pooled, 2 * shown.float().mean((2, 3)))
    assert not torch.equal(feed.batch(PLACE, epoch=3).boxes, fed.boxes)


def test_pictures_mirrored_top_to_bottom_are_told():
    pictures = np.random.default_rng(0).integers(0, 256, (9, 3, 8, 8), np.uint8)
    inputs = ImageInputs(pictures, flip=False, vertical=True)
    feed = PictureFeed(inputs, np.arange(9), Doubling(), maps=True, chance=Chance.seeded(0))
    everything = np.arange(9)
    fed = feed.batch(everything, epoch=1)
    assert fed.flips is None and fed.boxes is None and 0 < fed.vertical.sum() < 9
    for k in range(9):
        wanted = pictures[k, :, ::-1] if fed.vertical[k] else pictures[k]
        np.testing.assert_array_equal(fed.points[k].mT.reshape(3, 8, 8), 2.0 * wanted)


def test_a_backbone_in_bf16_leaves_maps_in_fp32():
    class Conv(torch.nn.Module):
        width = 5

        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Conv2d(3, 5, 1)
            self.kinds = []

        def prepare(self, pictures):
            assert pictures.dtype == torch.uint8
            return pictures.float() / 255

        def forward(self, x):
            found = self.layer(x)
            self.kinds.append(found.dtype)
            return found

    pictures = np.random.default_rng(0).integers(0, 256, (9, 3, 4, 4), np.uint8)
    torch.manual_seed(0)
    backbone = Conv()
    given = {"maps": True, "chance": Chance.seeded(0)}
    coarse, fine = (
        PictureFeed(
            ImageInputs(pictures, crop=(0.5, 1)), np.arange(9), backbone, autocast=on, **given
        ).batch(PLACE, epoch=1)
        for on in (True, False)
    )
    assert backbone.kinds == [torch.bfloat16, torch.float32]
    for fed in (coarse, fine):
        assert fed.pooled.dtype == fed.points.dtype == torch.float32
    torch.testing.assert_close(coarse.pooled, fine.pooled, atol=0.02, rtol=0.02)
    assert torch.equal(coarse.boxes, fine.boxes)


def test_expected_batches_are_those_that_come():
    pictures = np.random.default_rng(0).integers(0, 256, (9, 3, 2, 4), np.uint8)
    feed = PictureFeed(
        ImageInputs(pictures), np.arange(9), Doubling(), maps=False, chance=Chance.seeded(0)
    )
    without = feed.batch(PLACE, epoch=1).pooled
    feed.expect([PLACE, PLACE[:1]])
    assert torch.equal(feed.batch(PLACE, epoch=1).pooled, without)


@pytest.mark.parametrize("store", [Resident, partial(Streamed, ahead=2)])
def test_training_is_the_same_wherever_pictures_lie(monkeypatch, store):
    def kept(inputs, rows, device):
        def read(place):
            return inputs.batch(rows[place])

        given = (len(rows), device) if store is Resident else (device,)
        return store(read, *given)

    class Layer(torch.nn.Module):
        width = 3

        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(3, 1, 1))

        def prepare(self, pictures):
            return pictures.float() / 255

        def forward(self, x):
            return self.scale * x

    rng = np.random.default_rng(0)
    inputs = ImageInputs(rng.integers(0, 256, (30, 3, 8, 8), np.uint8), crop=(0.25, 1))
    labels = rng.integers(-1, 2, (30, 4))
    labels[5] = 0
    given = {"settings": Settings(epochs=3, batch_size=7, accumulate=2), "backbone": Layer()}
    found = train(Task(labels, inputs), make("an"), **given)
    monkeypatch.setattr(feeds, "store_for", kept)
    other = train(Task(labels, inputs), make("an"), **given)
    assert other.id == found.id and other.losses == found.losses


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to feed")
def test_the_same_pictures_on_a_gpu_without_waiting_for_it():
    pictures = np.random.default_rng(0).integers(0, 256, (9, 3, 8, 8), np.uint8)
    inputs, device = ImageInputs(pictures, crop=(0.25, 1), vertical=True), torch.device("cuda")
    given = {"maps": True, "chance": Chance.seeded(0)}
    here = PictureFeed(inputs, np.arange(9), Doubling(), **given).batch(PLACE, epoch=1)
    feed = PictureFeed(inputs, np.arange(9), Doubling(), device=device, **given)
    feed.batch(PLACE[:1], epoch=1)  # sends the views of the epoch
    torch.cuda.set_sync_debug_mode("error")
    try:
        there = feed.batch(PLACE, epoch=1)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(there.boxes.cpu(), here.boxes)
    assert torch.equal(there.flips.cpu(), here.flips)
    torch.testing.assert_close(there.points.cpu(), here.points, atol=2.001, rtol=0)
