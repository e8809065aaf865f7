"""Small tasks that all tests of learning share."""

import numpy as np
import pytest
import torch

from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def maps() -> np.ndarray:
    """(90, 6, 3, 3) float16 maps, at least 0 as after a ReLU."""
    values = np.random.default_rng(0).standard_normal((90, 6, 3, 3))
    return np.maximum(values, 0).astype(np.float16)


@pytest.fixture(scope="session")
def present(maps: np.ndarray) -> np.ndarray:
    """(90, 5) bool, to be learned from the maps; every class occurs and is missing somewhere."""
    mix = np.random.default_rng(1).standard_normal((6, 5))
    score = maps.astype(float).mean((2, 3)) @ mix
    return score > np.quantile(score, 0.6, axis=0)


@pytest.fixture(scope="session")
def task(maps: np.ndarray, present: np.ndarray) -> Task:
    """All images asked, about half of the labels known, as RPA leaves them; maps as inputs."""
    known = np.random.default_rng(2).random(present.shape) < 0.5
    codes = np.where(present, 1, -1) * known
    history = History("simulate", {"scheme": "rpa(keep=0.5)"})
    labels = PartialLabels.of(codes, asked=np.ones(90, bool), history=history)
    return Task(labels, FeatureInputs(maps))


@pytest.fixture(scope="session")
def complete(task: Task, present: np.ndarray) -> Task:
    """The same inputs with complete labels."""
    return Task(PartialLabels.of(np.where(present, 1, -1)), task.inputs)


@pytest.fixture(scope="session")
def pooled(task: Task) -> Task:
    """The same labels on pooled features."""
    return Task(task.labels, FeatureInputs(task.inputs.values.astype(np.float32).mean((2, 3))))
