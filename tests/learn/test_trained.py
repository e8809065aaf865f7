import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import make
from simkit.learn.optim import Settings
from simkit.learn.train import train

ONE = Settings(epochs=1)


def test_scores_are_float32_and_do_not_depend_on_the_batch(task):
    found = train(task, make("an+boostlu"), settings=ONE)
    scores = found.scores(task.inputs)
    assert scores.dtype == np.float32 and scores.shape == (90, 5)
    np.testing.assert_allclose(found.scores(task.inputs, batch=7), scores, atol=1e-6, rtol=0)


def test_boosting_at_inference_alone_changes_scores_and_not_the_model(task):
    plain = train(task, make("an"), settings=ONE)
    boosted = train(task, make("an+boostlu(train=False)"), settings=ONE)
    np.testing.assert_allclose(
        plain.model.head.weight.detach(), boosted.model.head.weight.detach(), atol=1e-6
    )
    assert np.abs(plain.scores(task.inputs) - boosted.scores(task.inputs)).max() > 1e-3


def test_inputs_of_another_kind_are_refused(task, pooled):
    found = train(pooled, make("an"), settings=ONE)
    with pytest.raises(BadInput, match=r"the model was trained on.*bring the same kind"):
        found.scores(ImageInputs(np.zeros((2, 3, 4, 4), np.uint8)))
    with pytest.raises(BadInput, match=r"the model was trained on.*use the same backbone"):
        found.scores(FeatureInputs(np.zeros((2, 9), np.float32)))
    boosted = train(task, make("an+boostlu"), settings=ONE)
    with pytest.raises(BadInput, match="reads class maps"):
        boosted.scores(pooled.inputs)
