import re
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from simkit.embed.backbones import backbone
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.checks import checked_backbone
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Needs, Task, make
from simkit.learn.methods.assume_negative import AssumeNegative
from simkit.learn.optim import Settings
from simkit.learn.train import train, train_stack
from simkit.learn.validation import Validation
from tests.learn.test_linear_init import Normalising

AN = make("an")


@dataclass(frozen=True)
class Large(AssumeNegative):
    name: ClassVar[str] = "large"

    def state_bytes(self, sizes):
        return 6_000_000_000


@dataclass(frozen=True)
class Views(AssumeNegative):
    name: ClassVar[str] = "views"

    @property
    def needs(self):
        return Needs(views=True)


def refused(*runs, **options) -> str:
    with pytest.raises(BadInput) as error:
        train_stack(list(runs), **options)
    return str(error.value)


def test_runs_must_fit_together(task, pooled):
    codes = task.labels.rows(np.arange(90))
    names = PartialLabels.of(codes, classes=list("abcde"), asked=np.ones(90, bool))
    other = Task(names, task.inputs)
    fewer = Task(PartialLabels.of(codes * (np.arange(90) < 9)[:, None]), task.inputs)
    for lrs in ([0.1, 0.1], [-1]):
        assert "lrs" in refused((task, AN), lrs=lrs)
    for one, what in ((pooled, "inputs"), (other, "classes"), (fewer, "images")):
        assert what in refused((task, AN), (one, AN))


def test_there_must_be_something_to_learn_from(task):
    assert "no inputs" in refused((Task(task.labels), AN))
    nothing = Task(PartialLabels.of(np.zeros((90, 5), int)), task.inputs)
    assert "no image was asked about" in refused((nothing, AN))


def test_methods_must_get_what_they_look_at(pooled):
    assert 'kind "maps"' in refused((pooled, make("an+boostlu")))
    run = Task(pooled.labels, ImageInputs(np.zeros((90, 3, 2, 2), np.uint8))), AN
    assert "give backbone=..." in refused(run)
    assert "one at a time" in refused(run, run, backbone=torch.nn.Identity())


def test_views_that_never_differ_are_warned_about_once(task):
    few = Settings(epochs=1)
    with pytest.warns(UserWarning) as caught:
        runs = [(task, Views()), (task, make("an+scl(warmup=0)")), (task, AN)]
        train_stack(runs, settings=few)
    (message,) = (str(warning.message) for warning in caught)
    assert "'views'" in message and "crop=(0.25, 1)" in message
    with pytest.warns(UserWarning, match="method 'scl' compares crops"):
        train(task, make("an+scl(warmup=0)+boostlu"), settings=few)


@pytest.mark.parametrize(
    ("spec", "settings", "said"),
    [
        ("em-apl", {"epochs": 5}, "em-apl: .* warmup"),
        ("em-apl", {"epochs": 6}, r"em-apl\(epochs=6\)"),
        ("curriculum(every=3)", {"epochs": 3}, "curriculum: .* every"),
        ("an+cl+boostlu", {"epochs": 5}, "cl: .* warmup"),
        ("role", {"epochs": 1, "optimiser": "sgd"}, "role: .* optimiser to 'adam'"),
        ("em-apl(warmup=1, epochs=2)", {"epochs": 2}, None),
        ("curriculum(every=2)", {"epochs": 3}, None),
        ("an+cl(warmup=1)", {"epochs": 2}, None),
        ("role", {"epochs": 1, "optimiser": "adamw"}, None),
    ],
)
def test_settings_under_which_a_method_is_another_are_noted_once(task, spec, settings, said):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train_stack([(task, make(spec))] * 2, settings=Settings(**settings))
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == (said is not None)
    assert said is None or re.search(said, messages[0])


def test_epochs_of_the_head_count_where_it_goes_on(pooled):
    pictures = Task(pooled.labels, ImageInputs(np.zeros((90, 3, 6, 6), np.uint8)))
    for then, noted in (("restart", 1), ("go-on", 0)):
        settings = Settings(epochs=1, head_epochs=2, head_then=then)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train(pictures, make("an+cl(warmup=2)"), settings=settings, backbone=Normalising())
        assert len(caught) == noted


@pytest.mark.parametrize("spec", ["imcl", "latent-noise", "latent-noise+cl"])
def test_features_that_are_ready_are_not_those_of_a_backbone_that_learns(pooled, spec):
    pictures = Task(pooled.labels, ImageInputs(np.zeros((90, 3, 6, 6), np.uint8)))
    for settings in (Settings(head_epochs=1), Settings(head_epochs=1, head_then="go-on")):
        message = refused((pictures, make(spec)), settings=settings, backbone=Normalising())
        assert repr(spec.partition("+")[0]) in message and "FeatureInputs" in message


def test_views_are_not_mirrored_top_to_bottom(pooled):
    pictures = ImageInputs(np.zeros((90, 3, 2, 2), np.uint8), crop=(0.25, 1), vertical=True)
    run = (Task(pooled.labels, pictures), make("an+scl"))
    assert "vertical=False" in refused(run, backbone=Normalising())


def test_states_in_files_and_states_that_are_too_large(task, pooled):
    mapped = make("an+scl(mapped=True)")
    assert "mapped=False" in refused((task, mapped), (task, AN), (task, mapped))
    assert "scl(mapped=True)" in refused((task, make("an+scl(side=10000)")))
    message = refused((pooled, Large()), (pooled, AN), (pooled, Large()))
    assert "12 GB" in message and "train fewer runs at once, or raise state_gb" in message
    train(pooled, Large(), settings=Settings(epochs=1))


@pytest.mark.parametrize(
    ("spec", "bytes_", "said"),
    [
        ("role", 7210, r"7\.21 kB"),  # learned: with gradient and moments, a table of 1800; and 8
        # 5 bytes for each label, 4 of them of the scores of every epoch
        ("curriculum", 2250, r"2\.25 kB.*without a state for each image"),
    ],
)
def test_a_state_counts_with_what_its_training_needs(pooled, spec, bytes_, said):
    message = refused((pooled, make(spec)), settings=Settings(state_gb=0.98e-9 * bytes_))
    assert re.search(said, message, re.DOTALL)
    train(pooled, make(spec), settings=Settings(epochs=1, state_gb=1e-9 * bytes_))


def test_validation_must_fit(task, present, maps):
    truth, other = Truth.of(present), Truth.of(present, classes=list("abcde"))
    flat = FeatureInputs(maps.astype(np.float32).mean((2, 3)))
    assert "validation=" in refused((task, AN), settings=Settings(select="best"))
    for inputs, labels, what in (
        (FeatureInputs(maps[:3]), truth, "labels of 90 images"),
        (flat, truth, "pooled"),
        (task.inputs, other, "classes"),
    ):
        assert what in refused((task, AN), validation=Validation(inputs, labels))


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
    ("made", "said"),
    [
        (Nameless, "width None"),
        (Unprepared, "no prepare"),
        (Pooled, r"shape \(1, 3\); .* leave out its pooling"),
        (Several, "gave a list"),
        (Wide, r"width 7 .* shape \(1, 3"),
    ],
)
def test_what_a_backbone_lacks_is_said(pictured, made, said):
    with pytest.raises(BadInput, match=said):
        train(pictured, AN, backbone=made())
    with pytest.raises(BadInput, match=r"torch\.nn\.Module"):
        train(pictured, AN, backbone="resnet50")


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
    with pytest.raises(BadInput, match=r"an\+scl takes 9\.22 kB"):
        train(pictured, make("an+scl"), backbone=Whole(), settings=Settings(state_gb=1e-6))
