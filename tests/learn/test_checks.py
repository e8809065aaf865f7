import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Needs, Task, make, spell
from simkit.learn.methods.an import AssumeNegative
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


def test_runs_must_fit_together(task, pooled, complete):
    assert refused() == "there is nothing to train; give at least one (task, method)"
    assert refused((task, AN), lrs=[0.1, 0.1]) == (
        "2 learning rates came for 1 runs; give one for each"
    )
    assert refused((task, AN), lrs=[-1]) == "a learning rate is -1.0; a number above 0 is expected"
    assert refused((task, AN), (pooled, AN)) == (
        "the runs of a stack have different inputs; train them in separate stacks"
    )
    codes = task.labels.rows(np.arange(90))
    other = Task(
        PartialLabels.of(codes, classes=list("abcde"), asked=np.ones(90, bool)), task.inputs
    )
    assert refused((task, AN), (other, AN)) == (
        "the runs of a stack have different classes; train them in separate stacks"
    )
    fewer = Task(PartialLabels.of(codes * (np.arange(90) < 9)[:, None]), task.inputs)
    assert refused((task, AN), (fewer, AN)) == (
        "the runs of a stack ask about different images; train them in separate stacks"
    )


def test_there_must_be_something_to_learn_from(task):
    assert refused((Task(task.labels), AN)) == (
        "the task has no inputs to train on; give Task(labels, FeatureInputs(...)) or "
        "Task(labels, ImageInputs(...))"
    )
    nothing = Task(PartialLabels.of(np.zeros((90, 5), int)), task.inputs)
    assert refused((nothing, AN)) == (
        "no image was asked about, so there is nothing to learn from; simulate more"
    )


def test_methods_must_get_what_they_look_at(pooled):
    assert refused((pooled, make("an+boostlu"))) == (
        "method 'boostlu' looks at class maps, but the features are pooled; compute features of "
        'kind "maps"'
    )
    pictures = ImageInputs(np.zeros((90, 3, 2, 2), np.uint8))
    assert refused((Task(pooled.labels, pictures), AN)) == (
        "pictures (ImageInputs) are trained with a backbone and features without one; give "
        "backbone=... for pictures, or FeatureInputs"
    )
    run = (Task(pooled.labels, pictures), AN)
    assert refused(run, run, backbone=torch.nn.Identity()) == (
        "2 runs cannot share a backbone that learns; train them one at a time"
    )


def test_views_that_never_differ_are_warned_about_once(task):
    few = Settings(epochs=1)
    with pytest.warns(UserWarning) as caught:
        runs = [(task, Views()), (task, make("an+scl(warmup=0)")), (task, AN)]
        train_stack(runs, settings=few)
    assert [str(w.message) for w in caught] == [
        "method 'views' compares crops of a picture, and these inputs show every picture whole, "
        "so each is compared with itself; train it on ImageInputs(..., crop=(0.25, 1)) with a "
        "backbone"
    ]
    with pytest.warns(UserWarning, match="method 'scl' compares crops"):
        train(task, make("an+scl(warmup=0)+boostlu"), settings=few)


@pytest.mark.parametrize(
    ("spec", "settings", "said"),
    [
        (
            "em-apl",
            {"epochs": 5},
            "em-apl: labels are settled from the end of epoch 5 on (its warmup), and training ends "
            "with epoch 5, so that this is EM; train longer, or give em-apl its own warmup and "
            "epochs",
        ),
        (
            "em-apl",
            {"epochs": 6},
            "em-apl: pseudo-labels are spread over 10 epochs (its epochs), and training ends with "
            "epoch 6; give em-apl(epochs=6)",
        ),
        (
            "curriculum(every=3)",
            {"epochs": 3},
            "curriculum: the model labels at the end of every 3 epochs, and training ends with "
            "epoch 3, so that this is partial BCE; train longer, or set every lower",
        ),
        (
            "an+cl+boostlu",
            {"epochs": 5},
            "cl: the first 5 epochs go without its term (its warmup), and training ends with epoch "
            "5, so that it adds nothing; train longer, or set warmup lower",
        ),
        (
            "role",
            {"epochs": 1, "optimiser": "sgd"},
            "role: its estimates move by Adam's steps, which do not shrink with their gradients, "
            "and the optimiser is 'sgd', under which they hardly move; set optimiser to 'adam'",
        ),
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
    assert [str(w.message) for w in caught] == ([said] if said else [])


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
        assert message == (
            f"method {spec.partition('+')[0]!r} reads features that are ready, and a backbone that "
            "learns changes them; train it on cached features (FeatureInputs)"
        )


def test_views_are_not_mirrored_top_to_bottom(pooled):
    pictures = ImageInputs(np.zeros((90, 3, 2, 2), np.uint8), crop=(0.25, 1), vertical=True)
    run = (Task(pooled.labels, pictures), make("an+scl"))
    assert refused(run, backbone=Normalising()) == (
        f"{spell(make('an+scl'))} compares views of a picture and is not told which were mirrored "
        "top to bottom; train it on ImageInputs(..., vertical=False)"
    )


def test_a_state_in_a_file_is_for_one_run(task):
    mapped = make("an+scl(mapped=True)")
    assert refused((task, mapped), (task, AN), (task, mapped)) == (
        f"{spell(mapped)} keeps its state in a file, and runs that are trained together need "
        "theirs in one memory; train them one at a time, or with mapped=False"
    )


def test_large_heat_maps_may_go_to_a_file(task):
    assert refused((task, make("an+scl(side=10000)"))) == (
        "the state of an+scl(side=10000) takes 45 GB in training and the limit is 8 GB; raise "
        "state_gb, or keep the heat maps in a file with scl(mapped=True)"
    )


def test_states_that_are_too_large_are_refused_before_they_are_made(pooled):
    assert refused((pooled, Large()), (pooled, AN), (pooled, Large())) == (
        "the states of all 3 runs take 12 GB in training (large alone 6 GB) and the limit is 8 GB; "
        "train fewer runs at once, or raise state_gb"
    )
    train(pooled, Large(), settings=Settings(epochs=1))


def test_what_is_learned_counts_with_its_gradient_and_moments(pooled):
    # 90 images, 5 classes, 4 bytes: a table of 1800; and 8 bytes
    assert refused((pooled, make("role")), settings=Settings(state_gb=7.1e-6)) == (
        "the state of role takes 7.21 kB in training and the limit is 7.1 kB; raise state_gb"
    )
    train(pooled, make("role"), settings=Settings(epochs=1, state_gb=7.21e-6))


def test_validation_must_fit(task, present, maps):
    assert refused((task, AN), settings=Settings(select="best")) == (
        "select is 'best', but there are no validation labels to choose by; give "
        "validation=Validation(inputs, labels), or select='last'"
    )
    truth = Truth.of(present)
    assert refused((task, AN), validation=Validation(FeatureInputs(maps[:3]), truth)) == (
        "validation has 3 inputs and labels of 90 images; give one row for each"
    )
    flat = FeatureInputs(maps.astype(np.float32).mean((2, 3)))
    assert refused((task, AN), validation=Validation(flat, truth)) == (
        "validation inputs are pooled and those of the task maps; bring the same kind"
    )
    other = Truth.of(present, classes=list("abcde"))
    assert refused((task, AN), validation=Validation(task.inputs, other)) == (
        "the validation labels have other classes than the task; use the same data set"
    )
