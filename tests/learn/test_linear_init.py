"""The head first, alone, then everything."""

import numpy as np
import pytest
import torch
from torch import nn

from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Task, make
from simkit.learn.methods.expected import estimated
from simkit.learn.optim import Settings
from simkit.learn.train import train
from simkit.learn.validation import Validation

HEAD = Settings(epochs=2, batch_size=16, lr=1e-12, head_epochs=3, head_lr=0.02)


class Normalising(nn.Module):
    """A small backbone with batch normalisation, whose statistics must not move while frozen."""

    width = 6
    name = "normalising"

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.layer = nn.Conv2d(3, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6)
        with torch.no_grad():
            self.layer.weight.copy_(0.3 * torch.randn(6, 3, 3, 3, generator=generator))
            self.layer.bias.zero_()

    def prepare(self, pictures):
        return pictures.float() / 128 - 1

    def forward(self, x):
        return torch.relu(self.norm(self.layer(x)))


@pytest.fixture
def task() -> Task:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 256, (40, 3, 6, 6)).astype(np.uint8)
    codes = rng.integers(0, 2, (40, 4)) * 2 - 1
    asked = np.arange(40) % 4 > 0
    return Task(PartialLabels.of(codes * asked[:, None], asked=asked), ImageInputs(values))


def features_of(task: Task) -> Task:
    net = Normalising().eval()
    with torch.no_grad():
        maps = net(net.prepare(task.inputs.batch(np.arange(40))))
    return Task(task.labels, FeatureInputs(maps.mean((2, 3)).numpy()))


def test_the_head_alone_is_the_head_on_features(task):
    """A second training whose rate is next to nothing leaves what the first one found."""
    found = train(task, make("an"), settings=HEAD, backbone=Normalising())
    alone = train(
        features_of(task), make("an"), settings=Settings(epochs=3, batch_size=16, lr=0.02)
    )
    torch.testing.assert_close(found.model.head.weight, alone.model.head.weight)
    np.testing.assert_allclose(found.head_losses, alone.losses, rtol=1e-5)
    assert len(found.losses) == 2 and found.epoch == 2


def test_a_frozen_backbone_neither_learns_nor_counts(task):
    net = Normalising()
    before = {k: v.clone() for k, v in net.state_dict().items()}
    settings = Settings(epochs=1, lr=1e-12, head_epochs=2, head_augment=True)
    found = train(task, make("an"), settings=settings, backbone=net)
    assert found.model.backbone.norm.num_batches_tracked == 1  # of the second training alone
    assert all(torch.equal(v, before[k]) for k, v in net.state_dict().items())


def test_augmented_pictures_make_another_head_than_features(task):
    settings = {kind: Settings(epochs=1, lr=1e-12, head_epochs=2, head_augment=kind)
                for kind in (False, True)}  # fmt: skip
    one, other = (
        train(task, make("an"), settings=settings[kind], backbone=Normalising())
        for kind in (False, True)
    )
    assert one.head_losses != other.head_losses
    assert one.head_losses[0] == pytest.approx(other.head_losses[0], rel=0.1)


def test_the_best_head_goes_on(task):
    absent = task.labels.rows(np.arange(20)) < 0  # the longer it learns, the worse
    held = Validation(ImageInputs(task.inputs.pictures[:20]), Truth.of(absent))
    settings = Settings(epochs=1, lr=1e-12, head_epochs=6, head_lr=0.5, select="best")
    found = train(task, make("an"), settings=settings, backbone=Normalising(), validation=held)
    best = 1 + int(np.argmax(found.head_validation))
    assert len(found.head_validation) == 6 and best < 6
    again = train(task, make("an"), backbone=Normalising(),
                  settings=Settings(epochs=1, lr=1e-12, head_epochs=best, head_lr=0.5))  # fmt: skip
    torch.testing.assert_close(found.model.head.weight, again.model.head.weight)


def test_restart_counts_epochs_anew_and_go_on_goes_on(task):
    for then, wanted in (("restart", False), ("go-on", True)):
        settings = Settings(epochs=2, head_epochs=3, head_then=then)
        found = train(task, make("an+cl(warmup=4)"), settings=settings, backbone=Normalising())
        assert found.state.active.item() == wanted


def test_estimates_of_role_are_handed_over(task):
    still = Settings(epochs=1, lr=1e-12, head_epochs=5, head_lr=0.05)
    found = train(task, make("role"), settings=still, backbone=Normalising())
    start = make("role").start(task)
    moved = (estimated(found.state) - estimated(start)).abs()
    assert moved[task.rows].mean() > 0.05


def test_a_method_that_looks_at_maps_sees_them_in_both(task):
    found = train(task, make("an+boostlu"), settings=HEAD, backbone=Normalising())
    assert len(found.head_losses) == 3 and len(found.losses) == 2


def test_progress_counts_both(task):
    seen = []
    train(task, make("an"), settings=HEAD, backbone=Normalising(),
          progress=lambda done, of: seen.append((done, of)))  # fmt: skip
    assert seen == [(k, 5) for k in range(1, 6)]
