import numpy as np
import pytest
import torch

from simkit.learn.method import stack_states
from simkit.learn.methods import Batch, Outputs, Sizes, Task, make
from simkit.learn.methods.large_loss import pack, unpack
from tests.learn.methods.steps import batch_of, plain, started


def in_epoch(spec, epoch):
    method = make(spec)
    state = method.start(Task(np.zeros((4, 10))) if method.needs.labels else Sizes(4, 10))
    for ended in range(1, epoch):
        method.after_epoch(ended, None, state)
    return method, state


def test_ties_with_the_kth_are_large_too_and_known_labels_never():
    method, state = in_epoch("ll-r(delta=50)", 2)
    chosen = method.selected(batch_of([[0, 0, 0, 1]]), plain([[5.0, 2.0, 2.0, 9.0]]), state)
    assert chosen.tolist() == [[True, True, True, False]]


@pytest.mark.parametrize(("k_of", "k"), [("unknown", 9), ("batch", 10)])
def test_the_rate_is_an_exact_fraction(k_of, k):
    # 5 epochs of 5 % of 36 unknown are exactly 9, of 40 exactly 10; floats give one more
    unknown = torch.ones(4, 10, dtype=torch.bool)
    unknown[0, :4] = False
    method, state = in_epoch(f"ll-r(delta=5, k_of={k_of})", 6)
    assert method.k(unknown, state).item() == k
    method, state = in_epoch("ll-r(delta=5, reproduce=cvpr22)", 6)
    assert method.k(unknown, state).item() == 11


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_state_that_is_cast_to_other_floats_stays_as_it_is(dtype):
    unknown = torch.ones(4, 10, dtype=torch.bool)
    for reproduce in ("cvpr22", "cvpr23"):
        method, state = in_epoch(f"ll-r(delta=5, reproduce={reproduce})", 6)
        assert method.k(unknown, state.to(dtype)).item() == 11
    x = np.log(np.expm1(1.3)) + np.array([[-1e-9, 1e-9]])
    method, state = in_epoch("ll-r-abs(r0=1.4)", 1)
    chosen = method.selected(batch_of([[0, 0]]), plain(x), state.to(dtype))
    assert chosen.tolist() == [[False, True]]


@pytest.mark.parametrize("spec", ["ll-r", "ll-ct(reproduce=paper)", "ll-cp", "ll-r-abs"])
def test_a_batch_without_images_counts_nothing(spec):
    method, state = in_epoch(spec, 2)
    empty = batch_of(np.zeros((0, 10)))
    x = torch.zeros(0, 10, requires_grad=True)
    loss = method.loss(empty, plain(x), state)
    loss.backward()
    assert loss == 0 and x.grad.shape == (0, 10)
    assert method.selected(empty, plain(x), state).shape == (0, 10)
    method.after_batch(empty, plain(x), state)


@pytest.mark.parametrize("k_of", ["batch", "unknown"])
def test_all_unknown_labels_are_large_when_fewer_are_left_than_the_rate_says(k_of):
    Z = np.ones((3, 4, 10), int)
    Z[1, 0, 0] = Z[2] = 0
    like = {"unknown": "paper", "batch": "cvpr22"}[k_of]
    for spec in (f"ll-r(delta=50, k_of={k_of})", f"ll-ct(delta=50, reproduce={like})"):
        method, state = in_epoch(spec, 99)
        chosen = method.selected(batch_of(Z), plain(np.zeros(Z.shape)), state)
        assert torch.equal(chosen, torch.as_tensor(Z == 0))


def test_runs_may_share_the_labels_of_a_batch():
    method, state = in_epoch("ll-r(delta=25)", 2)
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]], [[4.0, 3.0, 2.0, 1.0]]])
    chosen = method.selected(batch_of([[0, 0, 0, 1]]), plain(x), state)
    assert chosen.tolist() == [[[False, False, True, False]], [[True, False, False, False]]]
    assert method.loss(batch_of([[0, 0, 0, 1]]), plain(x), state).shape == (2,)


@pytest.mark.parametrize("reproduce", [None, "cvpr22", "cvpr23", "paper"])
def test_nothing_is_large_in_the_first_epoch(reproduce):
    method, state = in_epoch(f"ll-ct(delta=5, reproduce={reproduce})", 1)
    assert method.k(torch.ones(3, 4, dtype=torch.bool), state).item() == 0


def test_only_what_is_strictly_above_the_threshold_is_large():
    threshold = 1.5  # its logit is log(e^1.5 - 1)
    method, state = in_epoch("ll-r-abs(r0=1.5625, delta=0.0625)", 1)
    logit = np.log(np.expm1(threshold))
    x = [[logit - 1e-9, logit + 1e-9, 400.0, -400.0]]
    chosen = method.selected(batch_of([[0, 0, 0, 0]]), plain(x), state)
    assert chosen.tolist() == [[False, True, True, False]]


def test_a_threshold_that_falls_to_nothing_modifies_everything_and_is_noted():
    method, state = in_epoch("ll-ct-abs(r0=1, delta=0.2)", 5)
    (note,) = method.notes(epochs=5, optimiser="adam")
    assert "from epoch 5 on" in note and not method.notes(epochs=4, optimiser="adam")
    chosen = method.selected(batch_of([[0, 1, 0, -1]]), plain([[-500.0, 3.0, 3.0, 3.0]]), state)
    assert chosen.tolist() == [[True, False, True, False]]
    kept = make("ll-r-abs(r0=1, delta=0.2, min_threshold=0.1)")
    assert not kept.notes(epochs=20, optimiser="adam")


@pytest.mark.parametrize("classes", [1, 7, 8, 9, 80])
def test_bits_come_back(classes):
    flags = torch.rand(2, 5, classes, generator=torch.Generator().manual_seed(classes)) < 0.5
    rows = pack(flags)
    assert rows.dtype == torch.uint8 and rows.shape == (2, 5, -(-classes // 8))
    assert torch.equal(unpack(rows, classes), flags)


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
    together = stack_states([one, started(method, Z)[1]])
    method.after_epoch(1, None, together)
    x = torch.full((2, 2, 9), -1.0)
    x[0, 0, 8] = x[1, 1, 2] = 1.0
    batch = Batch(torch.tensor([1, 1]), torch.zeros(2, 9, dtype=torch.int8))
    method.after_batch(batch, Outputs(x), together)
    assert unpack(together.present, 9).nonzero().tolist() == [[0, 1, 8], [1, 1, 2]]
