"""Data loading: features in memory, images on the device or read ahead of it."""

import numpy as np
import pytest
import torch

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn import inputs as loading
from simkit.learn import stack
from simkit.learn.inputs import (
    FeatureInputs,
    FeatureLoader,
    ImageInputs,
    ImageLoader,
    moments,
    shown,
    streamed,
)
from simkit.learn.methods import Task, make
from simkit.learn.train import Settings, train, train_stack

CPU = torch.device("cpu")
PLACE = np.array([4, 0, 7])
IMAGES = np.random.default_rng(0).integers(0, 256, (9, 3, 8, 8), np.uint8)
PICTURES = np.random.default_rng(0).integers(0, 256, (40, 3, 4, 6)).astype(np.uint8)
BATCHES = [np.array([3, 1]), np.array([0, 7]), np.array([5, 6]), np.array([2])]


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_maps_are_standardised_as_pooled_features_are(maps, monkeypatch, limit):
    monkeypatch.setattr(loading, "_RESIDENT_BYTES", limit)
    rows, inputs = np.arange(10, 40), FeatureInputs(maps)
    (pooled, _), (found, _) = (
        next(FeatureLoader(inputs, rows, maps=kind, standardise=True).batches([PLACE], 1))
        for kind in (False, True)
    )
    assert found.shape == (3, 6, 3, 3)
    torch.testing.assert_close(found.mean((2, 3)), pooled, atol=1e-5, rtol=1e-5)


def test_what_is_read_batch_by_batch_trains_alike(pooled, present, monkeypatch):
    other = Task(PartialLabels.of(np.where(present, 1, 0), asked=np.ones(90, bool)), pooled.inputs)
    runs = [(pooled, make("an")), (other, make("an")), (pooled, make("ll-r"))]
    settings = Settings(epochs=3, batch_size=20, standardise=True)
    held = train_stack(runs, settings=settings)
    monkeypatch.setattr(loading, "_POOLED_BYTES", 0)
    monkeypatch.setattr(stack, "_LABEL_BYTES", 0)
    read = train_stack(runs, settings=settings)
    assert [each.id for each in read] == [each.id for each in held]
    assert [each.losses for each in read] == [each.losses for each in held]


def test_standardised_over_the_asked_images_alone(maps):
    rows = np.arange(0, 90, 2)
    loader = FeatureLoader(FeatureInputs(maps), rows, maps=False, standardise=True)
    ((everything, _),) = loader.batches([np.arange(len(rows))], 1)
    torch.testing.assert_close(everything.mean(0), torch.zeros(6), atol=1e-5, rtol=0)
    torch.testing.assert_close(everything.std(0, correction=0), torch.ones(6), atol=1e-4, rtol=0)


def test_a_feature_that_does_not_vary_keeps_its_scale():
    mean, deviation = moments(torch.tensor([[1.0, 2.0], [1.0, 4.0]]).__getitem__, 2)
    assert mean.tolist() == [1.0, 3.0] and deviation.tolist() == [1.0, 1.0]
    with pytest.raises(BadInput, match="nan or infinity"):
        moments(torch.tensor([[1.0], [float("nan")]]).__getitem__, 2)


def image_loader(inputs, device=CPU):
    return ImageLoader(inputs, np.arange(9), 3, chance=Chance.seeded(0), device=device)


def test_images_are_shown_alike_whatever_the_batch():
    inputs = ImageInputs(IMAGES, crop=(0.25, 1), vertical=True)
    loader = image_loader(inputs)
    ((images, views),) = loader.batches([PLACE], 2)
    for k, (alone, view) in enumerate(loader.batches(PLACE[:, None], 2)):
        assert torch.equal(view.boxes[0], views.boxes[k])
        assert torch.equal(view.flips[0], views.flips[k])
        assert torch.equal(alone[0], images[k])
    assert torch.equal(images, shown(torch.from_numpy(IMAGES[PLACE]), views))
    ((_, later),) = loader.batches([PLACE], 3)
    assert not torch.equal(later.boxes, views.boxes)


@pytest.mark.parametrize("resident", [True, False])
def test_training_is_the_same_wherever_images_lie(monkeypatch, resident):
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
    monkeypatch.setattr(loading, "room_for", lambda size, device: resident)
    other = train(Task(labels, inputs), make("an"), **given)
    assert other.id == found.id and other.losses == found.losses


@pytest.mark.parametrize("kind", ["maps", "pooled"])
def test_features_are_the_same_wherever_they_lie(monkeypatch, kind):
    """As stored, beside training from the second epoch on, or read batch by batch."""
    values = np.random.default_rng(0).standard_normal((30, 5, 2, 2)).astype(np.float16)
    inputs, rows = FeatureInputs(values), np.arange(1, 28)
    asked, fits = [], {"room": False}

    def loader():
        return FeatureLoader(inputs, rows, maps=kind == "maps", standardise=True)

    def room_for(size, device):
        asked.append(size)
        return fits["room"]

    held = [values for values, _ in loader().batches([PLACE, PLACE], 1)]
    monkeypatch.setattr(loading, "_RESIDENT_BYTES", 0)
    monkeypatch.setattr(loading, "_POOLED_BYTES", 0)
    monkeypatch.setattr(loading, "room_for", room_for)
    for room in (False, True):
        fits["room"], other = room, loader()
        for epoch in (1, 2, 3):
            read = [values for values, _ in other.batches([PLACE, PLACE], epoch)]
            assert all(map(torch.equal, read, held))
            stored = other._stored._values
            assert (stored is not None) == (room and epoch > 1)
            assert stored is None or kind == "pooled" or stored.dtype == torch.float16
    assert {*asked} == {27 * 5 * (4 * 2 if kind == "maps" else 4)}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to load to")
def test_the_same_images_on_a_gpu_without_waiting_for_it():
    inputs = ImageInputs(IMAGES, crop=(0.25, 1), vertical=True)
    ((here, views),) = image_loader(inputs).batches([PLACE], 1)
    loaded = image_loader(inputs, torch.device("cuda")).batches([PLACE[:1], PLACE], 1)
    next(loaded)  # sends the views of the epoch
    torch.cuda.set_sync_debug_mode("error")
    try:
        there, seen = next(loaded)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(seen.boxes.cpu(), views.boxes) and torch.equal(seen.flips.cpu(), views.flips)
    torch.testing.assert_close(there.cpu().float(), here.float(), atol=1.001, rtol=0)


def read(place):
    return torch.from_numpy(PICTURES[place])


def test_an_image_that_cannot_be_read_stops_who_asks_for_it():
    def failing(place):
        if 7 in place:
            raise BadInput("x.jpg cannot be read as a picture; replace it")
        return read(place)

    images = streamed(failing, BATCHES, CPU)
    next(images)
    with pytest.raises(BadInput, match=r"x\.jpg"):
        next(images)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to keep images on")
@pytest.mark.parametrize("room", [True, False])
def test_images_reach_a_gpu(monkeypatch, room):
    monkeypatch.setattr(loading, "room_for", lambda size, device: room)
    plain = ImageInputs(PICTURES, flip=False)
    loader = ImageLoader(
        plain, np.arange(40), 3, chance=Chance.seeded(0), device=torch.device("cuda")
    )
    for epoch in (1, 2):
        for place, (images, _) in zip(BATCHES, loader.batches(BATCHES, epoch), strict=True):
            assert images.device.type == "cuda"
            np.testing.assert_array_equal(images.cpu(), PICTURES[place])
