"""The pointing game on boxes as data sets hand them out."""

import numpy as np
import pytest
import torch

import simkit.data
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.pointing_game import middle, pointed
from simkit.learn.train import train

SIDE, CELLS = 64, 16


@pytest.fixture(scope="module")
def shown():
    """Scenes, and maps in which channel c is high where an object of class c is."""
    data = simkit.data.open("scenes:images=60,val=1,test=40")
    maps = {}
    for split in ("train", "test"):
        boxes, N = data.boxes[split], len(data.truth[split].images)
        values = np.zeros((N, len(data.classes), CELLS, CELLS), np.float32)
        for n, c, box in zip(boxes.images, boxes.classes, boxes.corners, strict=True):
            x0, y0, x1, y1 = (box * CELLS / SIDE).astype(int)
            values[n, c, y0 : y1 + 1, x0 : x1 + 1] += 0.5
            values[n, c, (y0 + y1) // 2, (x0 + x1) // 2] += 1
        maps[split] = FeatureInputs(values)
    return data, maps


def test_a_model_that_sees_the_objects_points_at_them(shown):
    data, maps = shown
    codes = np.where(data.truth["train"].rows(range(60)), 1, -1).astype(np.int8)
    settings = Settings(epochs=30, lr=0.05)
    done = train(Task(codes, maps["train"]), make("full"), settings=settings)
    boxes = data.boxes["test"]
    # The head is made to look at each class's own channel; what it learned points less well.
    learned = pointed(done, maps["test"], boxes)
    with torch.no_grad():
        done.model.head.weight.copy_(torch.eye(len(data.classes)))
    assert 0 < learned < pointed(done, maps["test"], boxes, batch=7) == 1
    turned = FeatureInputs(maps["test"].values[:, :, ::-1, ::-1].copy())
    assert pointed(done, turned, boxes) < 0.7


def test_maps_come_in_batches_and_their_means_are_the_logits(task):
    done = train(task, make("an"), settings=Settings(epochs=1))
    found = list(done.maps(task.inputs, batch=40))
    assert [m.shape for m in found] == [(40, 5, 3, 3), (40, 5, 3, 3), (10, 5, 3, 3)]
    means = np.concatenate(found).mean((2, 3))
    np.testing.assert_allclose(means, done.scores(task.inputs), atol=1e-5)
    pooled = FeatureInputs(task.inputs.values.astype(np.float32).mean((2, 3)))
    with pytest.raises(BadInput, match="bring maps, as simkit features --kind maps"):
        next(done.maps(pooled))


def test_what_is_cut_off_has_no_turn(task):
    done = train(task, make("an"), settings=Settings(epochs=1))
    sizes = np.full((90, 2), 30)
    # Two classes in the first image; the box of one lies outside the middle 10 x 10 pixels.
    corners = np.array([[10, 10, 20, 20], [0, 0, 9, 9], [0, 0, 30, 30]], np.float32)
    boxes = Boxes(np.array([0, 0, 1]), np.array([0, 1, 2]), corners, sizes)
    regions = np.tile([10.0, 10, 20, 20], (90, 1))
    assert pointed(done, task.inputs, boxes, regions=regions) == 1
    nothing = Boxes(np.zeros(0, int), np.zeros(0, int), np.zeros((0, 4), np.float32), sizes)
    assert np.isnan(pointed(done, task.inputs, nothing))


def test_features_show_the_middle():
    found = middle(np.array([[64, 64], [512, 256]]), 64)
    np.testing.assert_allclose(found[0], [0, 0, 64, 64])
    side = 256 * 64 / 73
    np.testing.assert_allclose(found[1], [256 - side / 2, 128 - side / 2, 256 + side / 2,
                                          128 + side / 2])  # fmt: skip


def test_boxes_of_other_images_are_explained(task):
    done = train(task, make("an"), settings=Settings(epochs=1))
    place = np.zeros(0, int), np.zeros(0, int), np.zeros((0, 4), np.float32)
    for sizes in (None, np.ones((2, 2), int)):
        with pytest.raises(BadInput, match=r"the boxes know the sizes of.*bring the boxes and the"):
            pointed(done, task.inputs, Boxes(*place, sizes))


def test_maps_of_two_models_can_be_read_in_turn(task):
    first, second = (train(task, make(m), settings=Settings(epochs=1)) for m in ("an", "ignore"))
    turns = [done.maps(task.inputs, batch=40) for done in (first, second)]
    for turn in (*turns, *turns):
        next(turn)
        assert torch.is_grad_enabled()
    turns[0].close()
    list(turns[1])
    assert torch.is_grad_enabled() and not first.model.training
