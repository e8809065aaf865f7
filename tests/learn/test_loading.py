"""Data loading: features in memory, images on the device or read ahead of it."""

from functools import partial

import numpy as np
import pytest
import torch

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn import loading
from simkit.learn.inputs import FeatureInputs, ImageInputs, shown
from simkit.learn.loading import FeatureLoader, ImageLoader, Resident, Streamed, moments, store_for
from simkit.learn.methods import Task, make
from simkit.learn.train import Settings, train

CPU = torch.device("cpu")
PLACE = np.array([4, 0, 7])
IMAGES = np.random.default_rng(0).integers(0, 256, (9, 3, 8, 8), np.uint8)
PICTURES = np.random.default_rng(0).integers(0, 256, (40, 3, 4, 6)).astype(np.uint8)
BATCHES = [np.array([3, 1]), np.array([0, 7]), np.array([5, 6]), np.array([2])]


def test_pooled_features_lie_ready(maps):
    rows = np.arange(10, 40)
    loader = FeatureLoader(FeatureInputs(maps), rows, maps=False, standardise=False)
    features, views = loader.batch(PLACE, epoch=1)
    wanted = maps[rows[PLACE]].astype(np.float32).mean((2, 3))
    np.testing.assert_allclose(features, wanted, rtol=1e-6)
    assert views.boxes is None and views.flips is None


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_maps_are_standardised_as_pooled_features_are(maps, monkeypatch, limit):
    monkeypatch.setattr(loading, "_RESIDENT_BYTES", limit)
    rows, inputs = np.arange(10, 40), FeatureInputs(maps)
    (pooled, _), (found, _) = (
        FeatureLoader(inputs, rows, maps=kind, standardise=True).batch(PLACE, epoch=1)
        for kind in (False, True)
    )
    assert found.shape == (3, 6, 3, 3)
    torch.testing.assert_close(found.mean((2, 3)), pooled, atol=1e-5, rtol=1e-5)


def test_standardised_over_the_asked_images_alone(maps):
    rows = np.arange(0, 90, 2)
    loader = FeatureLoader(FeatureInputs(maps), rows, maps=False, standardise=True)
    everything, _ = loader.batch(np.arange(len(rows)), epoch=1)
    torch.testing.assert_close(everything.mean(0), torch.zeros(6), atol=1e-5, rtol=0)
    torch.testing.assert_close(everything.std(0, correction=0), torch.ones(6), atol=1e-4, rtol=0)


def test_a_feature_that_does_not_vary_keeps_its_scale():
    mean, deviation = moments(torch.tensor([[1.0, 2.0], [1.0, 4.0]]))
    assert mean.tolist() == [1.0, 3.0] and deviation.tolist() == [1.0, 1.0]
    with pytest.raises(BadInput, match="nan or infinity"):
        moments(torch.tensor([[1.0], [float("nan")]]))


def image_loader(inputs, device=CPU):
    return ImageLoader(inputs, np.arange(9), 3, chance=Chance.seeded(0), device=device)


def test_images_are_shown_alike_whatever_the_batch():
    inputs = ImageInputs(IMAGES, crop=(0.25, 1), vertical=True)
    loader = image_loader(inputs)
    images, views = loader.batch(PLACE, epoch=2)
    for k, place in enumerate(PLACE):
        alone, view = loader.batch(np.array([place]), epoch=2)
        assert torch.equal(view.boxes[0], views.boxes[k])
        assert torch.equal(view.flips[0], views.flips[k])
        assert torch.equal(alone[0], images[k])
    assert torch.equal(images, shown(torch.from_numpy(IMAGES[PLACE]), views))
    assert not torch.equal(loader.batch(PLACE, epoch=3)[1].boxes, views.boxes)


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
    monkeypatch.setattr(loading, "store_for", kept)
    other = train(Task(labels, inputs), make("an"), **given)
    assert other.id == found.id and other.losses == found.losses


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to load to")
def test_the_same_images_on_a_gpu_without_waiting_for_it():
    inputs = ImageInputs(IMAGES, crop=(0.25, 1), vertical=True)
    here, views = image_loader(inputs).batch(PLACE, epoch=1)
    loader = image_loader(inputs, torch.device("cuda"))
    loader.batch(PLACE[:1], epoch=1)  # sends the views of the epoch
    torch.cuda.set_sync_debug_mode("error")
    try:
        there, seen = loader.batch(PLACE, epoch=1)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(seen.boxes.cpu(), views.boxes) and torch.equal(seen.flips.cpu(), views.flips)
    torch.testing.assert_close(there.cpu().float(), here.float(), atol=1.001, rtol=0)


def read(place):
    return torch.from_numpy(PICTURES[place])


@pytest.mark.parametrize("depth", [0, 1, 3, 9])
def test_batches_come_in_order_however_far_ahead_they_are_read(depth):
    store = Streamed(read, CPU, ahead=depth)
    for _ in range(2):
        store.expect(BATCHES)
        for place in BATCHES:
            np.testing.assert_array_equal(store.take(place), PICTURES[place])


def test_a_batch_that_was_not_expected_is_read_all_the_same():
    store = Streamed(read, CPU, ahead=2)
    store.expect(BATCHES)
    for place in (BATCHES[0], np.array([9, 9]), BATCHES[1]):
        np.testing.assert_array_equal(store.take(place), PICTURES[place])


def test_a_picture_that_cannot_be_read_stops_who_asks_for_it():
    def failing(place):
        if 7 in place:
            raise BadInput("x.jpg cannot be read as a picture; replace it")
        return read(place)

    store = Streamed(failing, CPU, ahead=3)
    store.expect(BATCHES)
    store.take(BATCHES[0])
    with pytest.raises(BadInput, match=r"x\.jpg"):
        store.take(BATCHES[1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to keep pictures on")
@pytest.mark.parametrize("share", [0.6, 0.0])
def test_pictures_reach_a_gpu(monkeypatch, share):
    monkeypatch.setattr(loading, "SHARE", share)
    device = torch.device("cuda")
    store = store_for(ImageInputs(PICTURES), np.arange(40), device)
    store.expect(BATCHES)
    for place in BATCHES:
        found = store.take(place, torch.from_numpy(place).to(device))
        assert found.device.type == "cuda"
        np.testing.assert_array_equal(found.cpu(), PICTURES[place])
