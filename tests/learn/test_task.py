from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.task import Sizes, Task


@dataclass(frozen=True)
class Hint:
    value: int


@dataclass(frozen=True)
class Other:
    value: int


def test_a_task_takes_arrays_and_tensors():
    Z = np.array([[1, 0], [0, 0], [-1, 1]])
    for given in (Z, torch.tensor(Z)):
        task = Task(given)
        assert task.sizes == Sizes(3, 2) and task.rows.tolist() == [0, 1, 2]
    assert Task(PartialLabels.of(Z)).rows.tolist() == [0, 2]


def test_inputs_must_have_a_row_for_each_image():
    with pytest.raises(BadInput, match="give one input for each image of the"):
        Task(np.eye(3, dtype=int), inputs=FeatureInputs(np.zeros((2, 4))))


def test_a_loader_of_torch_is_no_inputs():
    with pytest.raises(BadInput, match=r"give FeatureInputs\(features\), or"):
        Task(np.eye(3, dtype=int), inputs=DataLoader(torch.zeros(3, 4)))


def test_a_new_aid_replaces_one_of_its_kind():
    task = Task(np.eye(2, dtype=int), aids=(Hint(1), Other(2))).with_aids(Hint(3))
    assert task.aids == (Other(2), Hint(3)) and task.aid(Hint) == Hint(3)


def test_sizes_tell_of_the_features_what_the_inputs_know():
    Z = np.eye(3, 2, dtype=int)
    pooled = Task(Z, FeatureInputs(np.ones((3, 7), np.float32)))
    assert pooled.sizes == Sizes(3, 2, width=7)
    maps = Task(Z, FeatureInputs(np.ones((3, 7, 4, 5), np.float32)))
    assert maps.sizes == Sizes(3, 2, width=7, map_side=5)
    pictures = Task(Z, ImageInputs(np.zeros((3, 3, 8, 8), np.uint8)))
    assert pictures.sizes == Sizes(3, 2)
