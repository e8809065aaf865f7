import numpy as np
import pytest
import torch

from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Batch, Outputs
from simkit.learn.methods.pieces.remembered import pack, packed, unpack
from simkit.learn.methods.state import stack
from tests.learn.methods.steps import started


@pytest.mark.parametrize("classes", [1, 7, 8, 9, 80])
def test_bits_come_back(classes):
    flags = torch.rand(2, 5, classes, generator=torch.Generator().manual_seed(classes)) < 0.5
    rows = pack(flags)
    assert rows.dtype == torch.uint8 and rows.shape == (2, 5, -(-classes // 8))
    assert torch.equal(unpack(rows, classes), flags)


@pytest.mark.parametrize("classes", [1, 8, 21])
def test_labels_are_packed_as_flags_are(classes):
    Z = np.random.default_rng(0).integers(-1, 2, (6, classes))
    assert torch.equal(packed(PartialLabels.of(Z)), pack(torch.as_tensor(Z == 1)))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_what_any_copy_of_an_image_says_stays(dtype):
    Z = np.zeros((4, 5), int)
    method, state = started("ll-cp-abs(r0=1, delta=0.05)", Z)
    x = torch.full((4, 5), -9.0)
    x[0, 1] = x[2, 3] = x[1, 0] = 9.0  # rows 2, 0, 2, 2: the last copy corrects nothing
    index = torch.tensor([2, 0, 2, 2], dtype=dtype)
    batch = Batch(index, torch.zeros(4, 5, dtype=torch.int8))
    method.after_batch(batch, Outputs(x), state)
    assert unpack(state.present, 5).nonzero().tolist() == [[0, 0], [2, 1], [2, 3]]


def test_copies_are_joined_in_each_run_of_a_stack():
    Z = np.zeros((3, 9), int)
    method, one = started("ll-cp(delta=1)", Z)
    together = stack([one, started(method, Z)[1]])
    method.after_epoch(1, None, together)
    x = torch.full((2, 2, 9), -1.0)
    x[0, 0, 8] = x[1, 1, 2] = 1.0
    batch = Batch(torch.tensor([1, 1]), torch.zeros(2, 9, dtype=torch.int8))
    method.after_batch(batch, Outputs(x), together)
    assert unpack(together.present, 9).nonzero().tolist() == [[0, 1, 8], [1, 1, 2]]
