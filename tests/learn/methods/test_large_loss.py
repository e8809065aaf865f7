import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simkit.learn.methods import large_loss
from simkit.learn.methods.large_loss import end_epoch, growing_k, kth_largest, large, start_rate


def in_epoch(epoch: int, delta: float) -> torch.nn.Module:
    state = torch.nn.Module()
    start_rate(state)
    for ended in range(1, epoch):
        end_epoch(state, ended, delta)
    return state


@given(st.lists(st.floats(0, 2.0**90, width=32), min_size=1, max_size=40), st.data())
def test_both_ways_of_finding_the_kth_largest_agree(numbers, data):
    k = data.draw(st.integers(0, len(numbers)))
    for dtype in (torch.float32, torch.float64):
        values = torch.tensor([-1.0, *numbers, -1.0], dtype=dtype)
        wanted = sorted(values.tolist(), reverse=True)[k - 1] if k else None
        for many in (0, 1 << 15):
            before, large_loss._MANY = large_loss._MANY, many
            found = kth_largest(values, torch.tensor(k)).item()
            large_loss._MANY = before
            assert found != found if wanted is None else found == wanted


def test_runs_have_their_own_k():
    values = torch.tensor([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]])
    assert kth_largest(values, torch.tensor([1, 3])).tolist() == [3.0, 1.0]


def test_ties_with_the_kth_are_large_too_and_known_labels_never():
    losses = torch.tensor([[5.0, 2.0, 2.0, 9.0]])
    unknown = torch.tensor([[True, True, True, False]])
    assert large(losses, unknown, torch.tensor(2)).tolist() == [[True, True, True, False]]
    assert not large(losses, unknown, torch.tensor(0)).any()


@pytest.mark.parametrize(("k_of", "k"), [("unknown", 9), ("batch", 10)])
def test_the_rate_is_an_exact_fraction(k_of, k):
    # 5 epochs of 5 % of 36 unknown are exactly 9, of 40 exactly 10; floats give one more
    unknown = torch.ones(4, 10, dtype=torch.bool)
    unknown[0, :4] = False
    state = in_epoch(6, 5.0)
    assert growing_k(state, unknown, 5.0, k_of, None).item() == k
    assert growing_k(state, unknown, 5.0, k_of, "cvpr22").item() == 11


def test_k_never_exceeds_the_unknown_labels():
    unknown = torch.zeros(2, 3, 4, dtype=torch.bool)
    unknown[1, 0, 0] = True
    assert growing_k(in_epoch(99, 50.0), unknown, 50.0, "batch", None).tolist() == [0, 1]


def test_nothing_is_large_in_the_first_epoch():
    unknown = torch.ones(3, 4, dtype=torch.bool)
    for reproduce in (None, "cvpr22", "cvpr23", "paper"):
        assert growing_k(in_epoch(1, 5.0), unknown, 5.0, "batch", reproduce).item() == 0
