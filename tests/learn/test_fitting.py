import numpy as np
import pytest
from torch import nn

from simkit.embed.backbones import backbone
from simkit.errors import BadInput
from simkit.learn.checks import checked_backbone
from simkit.learn.inputs import ImageInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.train import train

WANTED = (
    "a backbone has a whole number `width` (D), a method `prepare` from (b, 3, H, W) uint8 "
    "pictures to what it takes, and gives maps (b, D, h, w) of floats"
)


class Whole(nn.Module):
    width = 3

    def prepare(self, pictures):
        return pictures.float()

    def forward(self, x):
        return x[..., ::2]


class Nameless(Whole):
    width = None


class Unprepared(Whole):
    prepare = None


class Pooled(Whole):
    def forward(self, x):
        return x.mean((-2, -1))


class Several(Whole):
    def forward(self, x):
        return [x]


class Wide(Whole):
    width = 7


@pytest.fixture
def pictured() -> Task:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 256, (12, 3, 8, 6)).astype(np.uint8)
    return Task(rng.integers(-1, 2, (12, 3)), ImageInputs(values))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (Nameless, f"Nameless has no `width`, and {WANTED}; add what is missing"),
        (Unprepared, f"Unprepared has no `prepare`, and {WANTED}; add what is missing"),
        (Pooled, f"Pooled gave (1, 3) for pictures (1, 3, 8, 6), and {WANTED}; leave out its "
                 "pooling and its last layer"),
        (Several, f"Several gave a list for pictures (1, 3, 8, 6), and {WANTED}; leave out its "
                  "pooling and its last layer"),
        (Wide, "Wide says width 7 and gave maps of 3 channels; set its width to what it gives"),
    ],
)  # fmt: skip
def test_what_a_backbone_lacks_is_said(pictured, made, message):
    with pytest.raises(BadInput) as error:
        train(pictured, make("an"), backbone=made())
    assert str(error.value) == message


def test_a_name_is_no_backbone(pictured):
    with pytest.raises(BadInput) as error:
        train(pictured, make("an"), backbone="resnet50")
    assert str(error.value) == (
        "backbone is 'resnet50'; a torch.nn.Module is expected, such as one of "
        "simkit.embed.backbones.backbone(name, weights)"
    )


def test_looking_changes_nothing():
    net = nn.BatchNorm2d(3).train()
    net.width, net.prepare = 3, lambda pictures: pictures.float()
    task = Task(np.eye(2, dtype=int), ImageInputs(np.ones((2, 3, 4, 5), np.uint8)))
    copy, ((sized, _),) = checked_backbone(net, [(task, make("an"))])
    assert sized.map_side == 5 and copy is not net and copy.weight is not net.weight
    for each in (net, copy):
        assert each.training and not each.running_mean.any() and not each.num_batches_tracked


@pytest.mark.parametrize(("pixels", "cells"), [(64, 8), (96, 12)])
def test_the_side_of_class_maps_is_that_of_the_backbone_at_this_size(pixels, cells):
    task = Task(np.eye(2, dtype=int), ImageInputs(np.zeros((2, 3, pixels, pixels), np.uint8)))
    _, ((known, _),) = checked_backbone(backbone("scenes-net"), [(task, make("an+scl"))])
    assert known.sizes.map_side == cells and task.sizes.map_side is None
    assert checked_backbone(None, [(task, make("an"))]) == (None, [(task, make("an"))])


def test_heat_maps_are_twice_the_class_maps(pictured):
    """Pictures of 8 by 6 pixels have class maps of 8 by 3 cells."""
    task = Task(pictured.labels, ImageInputs(pictured.inputs.pictures, crop=(0.25, 1)))
    seen = []
    train(task, make("an+scl(warmup=0)"), backbone=Whole(), settings=Settings(epochs=1),
          watch=[lambda e, b, o, state: seen.append(state.heat.shape)])  # fmt: skip
    assert seen == [(12, 3, 16, 16)]


def test_the_limit_of_states_knows_them(pictured):
    with pytest.raises(BadInput) as error:
        train(pictured, make("an+scl"), backbone=Whole(), settings=Settings(state_gb=1e-6))
    assert str(error.value) == (
        "the state of an+scl takes 9.22 kB in training and the limit is 1 kB; raise "
        "state_gb, or keep the heat maps in a file with scl(mapped=True)"
    )
