import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simkit.learn.losses import by_sorting, focused, kth_largest


@given(st.lists(st.floats(-(2.0**90), 2.0**90, width=32), min_size=1, max_size=40), st.data())
def test_both_ways_give_what_sorting_in_python_gives(numbers, data):
    k = data.draw(st.integers(0, len(numbers)))
    for dtype in (torch.float32, torch.float64):
        values = torch.tensor([-torch.inf, *numbers, -torch.inf], dtype=dtype)
        wanted = sorted(numbers, reverse=True)[k - 1] if k else None
        for way in (kth_largest, by_sorting):
            found = way(values, torch.tensor(k))
            assert found.dtype == dtype and found.shape == ()
            assert found != found if wanted is None else found == wanted


@pytest.mark.parametrize("way", [kth_largest, by_sorting])
def test_runs_have_their_own_k(way):
    values = torch.tensor([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]])
    assert way(values, torch.tensor([1, 3])).tolist() == [3.0, 1.0]
    many = values.expand(4, 2, 3).mT.contiguous().mT
    assert way(many, torch.tensor([[1, 3]] * 4)).tolist() == [[3.0, 1.0]] * 4


@pytest.mark.parametrize("n", [1, 1000, 100_000])
def test_both_ways_agree_on_many_values_and_ties(n):
    values = torch.randn(n, generator=torch.Generator().manual_seed(n)).mul(100).round()
    for k in (0, 1, n // 3, n):
        count = torch.tensor(k)
        torch.testing.assert_close(
            kth_largest(values, count), by_sorting(values, count), equal_nan=True, rtol=0, atol=0
        )


@pytest.mark.parametrize("way", [kth_largest, by_sorting])
def test_only_those_that_are_named_take_part(way):
    values = torch.tensor([5.0, -3.0, 9.0, 1.0]).expand(5, 4)
    among = torch.tensor([True, True, False, True]).expand(5, 4)
    found = way(values, torch.tensor([0, 1, 2, 3, 4]), among)
    assert found.isnan()[0] and found[1:].tolist() == [5.0, 1.0, -3.0, -torch.inf]


def test_values_are_left_alone():
    values = torch.tensor([2.0, 5.0, 1.0])
    assert kth_largest(values, torch.tensor(2)) == 2 and values.tolist() == [2.0, 5.0, 1.0]


def found(x, Z, **settings):
    x = torch.tensor(x, requires_grad=True)
    values = focused(x, torch.as_tensor(Z == 1), **settings)
    values.sum().backward()
    return values.detach().numpy(), x.grad.numpy()


def test_a_negative_below_the_clip_counts_for_nothing():
    x = np.array([[-3.0, -2.9, 3.0]])  # probabilities 0.047, 0.052 and 0.953
    values, gradient = found(x, x * 0, gammas=(1, 4), clip=0.05)
    assert (values[0] > 0).tolist() == (gradient[0] > 0).tolist() == [False, True, True]
