import numpy as np
import torch

from simkit.labels.partial import PartialLabels
from simkit.learn.aids.means import RunningMean, mean_probability
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Batch, Outputs, Task, make
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(float)))


def test_the_mean_is_over_asked_images(task):
    codes = task.labels.rows(np.arange(90))
    codes[60:] = 0
    some = Task(PartialLabels.of(codes, asked=np.arange(90) < 60), task.inputs)
    trained = train(some, make("ignore"), settings=Settings(epochs=1))
    wanted = sigmoid(trained.scores(task.inputs)[:60]).mean(0)
    found = mean_probability(trained, some)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_the_size_of_a_batch_does_not_matter():
    features = np.random.default_rng(0).standard_normal((600, 3)).astype(np.float32)
    labels = PartialLabels.of(np.sign(features[:, :2]))
    big = Task(labels, FeatureInputs(features))
    trained = train(big, make("ignore"), settings=Settings(epochs=1))
    wanted = sigmoid(trained.scores(big.inputs)).mean(0)
    np.testing.assert_allclose(mean_probability(trained, big), wanted, rtol=1e-6)


def test_the_running_mean_counts_every_image_of_every_step_once():
    mean, steps = RunningMean(), [[[0.0, 2.0]], [[1.0, -1.0], [3.0, 0.5], [-2.0, 0.0]]]
    for step in steps:
        logits = torch.tensor(step)
        batch = Batch(torch.arange(len(step)), torch.zeros_like(logits, dtype=torch.int8))
        mean(1, batch, Outputs(logits), torch.nn.Module())
    wanted = sigmoid(np.array(steps[0] + steps[1])).mean(0)
    np.testing.assert_allclose(mean.value, wanted, rtol=1e-7)
