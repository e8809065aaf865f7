"""Scores of many heads at once are those of each alone."""

import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.heads.scoring import of_trained
from simkit.learn.methods import Task, make
from simkit.learn.train import Settings, Validation, train, train_stack

N, L, D = 300, 5, 8
SPECS = ("an", "ll-r+boostlu", "ignore", "an+boostlu", "em-apl(warmup=1)")


def material(seed: int = 0, n: int = N):
    rng = np.random.default_rng(seed)
    maps = rng.standard_normal((n, D, 3, 2)).astype(np.float32)
    return FeatureInputs(maps), rng.choice([-1, 0, 1], size=(n, L)).astype(np.int8)


def test_stacked_scores_are_those_of_each_alone():
    inputs, labels = material()
    task = Task(labels, inputs)
    how = {"settings": Settings(epochs=2, batch_size=64, standardise=True)}
    trained = train_stack([(task, make(spec)) for spec in SPECS], **how)
    unseen, _ = material(1)
    found = of_trained(trained, unseen)
    assert found.shape == (len(SPECS), N, L)
    for one, scores in zip(trained, found, strict=True):
        np.testing.assert_allclose(scores, one.scores(unseen), atol=1e-5)


def test_heads_on_other_scales_are_scored_one_by_one():
    inputs, labels = material()
    other = FeatureInputs(inputs.values * 3 + 1)
    how = {"settings": Settings(epochs=1, standardise=True)}
    trained = [train(Task(labels, x), make("an"), **how) for x in (inputs, other)]
    assert not torch.equal(trained[0].model.scale, trained[1].model.scale)
    for one, scores in zip(trained, of_trained(trained, inputs), strict=True):
        np.testing.assert_array_equal(scores, one.scores(inputs))


def test_validation_in_a_stack_says_what_it_says_alone():
    from simkit.labels.truth import Truth

    inputs, labels = material()
    held, answers = material(2)
    truth = Truth.of(answers == 1)
    how = {"settings": Settings(epochs=3), "validation": Validation(held, truth)}
    task = Task(labels, inputs)
    together = train_stack([(task, make(spec)) for spec in SPECS], **how)
    for spec, one in zip(SPECS, together, strict=True):
        alone = train(task, make(spec), **how)
        np.testing.assert_allclose(one.validation, alone.validation, atol=1e-4)


def test_inputs_of_another_width_are_refused():
    inputs, labels = material()
    trained = [train(Task(labels, inputs), make("an"), settings=Settings(epochs=1))]
    narrow = FeatureInputs(np.zeros((4, D - 1), np.float32))
    with pytest.raises(BadInput, match="features of width 8, but width 7 came"):
        of_trained(trained, narrow)
    assert of_trained(trained, FeatureInputs(np.zeros((0, D), np.float32))).shape == (1, 0, L)
