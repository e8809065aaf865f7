import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simkit.learn.losses import bce, by_sorting, entropy, focused, kth_largest, reduce
from tests.learn.methods.test_elementwise import cases
from tests.reference import methods as slow
from tests.reference.methods import entropy as slow_entropy
from tests.reference.methods import negative_term, positive_term, slope


def test_exact_terms_over_a_wide_range():
    x = torch.linspace(-90, 90, 37, dtype=torch.float64)
    present = bce(x, torch.ones(37, dtype=torch.bool))
    absent = bce(x, torch.zeros(37, dtype=torch.bool))
    np.testing.assert_allclose(present, [positive_term(v) for v in x.tolist()], atol=1e-13)
    np.testing.assert_allclose(absent, [negative_term(v) for v in x.tolist()], atol=1e-13)


def test_with_epsilon_the_loss_saturates_and_the_gradient_vanishes():
    x = torch.tensor([-30.0], dtype=torch.float64, requires_grad=True)
    loss = bce(x, torch.tensor([True]), "spml")
    loss.sum().backward()
    assert loss.item() == pytest.approx(-math.log(1e-5), abs=1e-6)
    assert abs(x.grad.item()) < 1e-7


def test_with_a_floor_the_loss_ends_without_gradient():
    x = torch.tensor([-30.0, -18.0], dtype=torch.float64, requires_grad=True)
    loss = bce(x, torch.tensor([True, True]), "csl")
    loss.sum().backward()
    assert loss.tolist() == pytest.approx([-math.log(1e-8), positive_term(-18.0)])
    assert x.grad.tolist() == pytest.approx([0, -1])


@pytest.mark.parametrize("epsilon", [None, "spml"])
def test_entropy_is_largest_at_zero(epsilon):
    x = torch.linspace(-30, 30, 13, dtype=torch.float64, requires_grad=True)
    found = entropy(x, epsilon)
    found.sum().backward()
    wanted = [slow_entropy(v, epsilon) for v in x.tolist()]
    np.testing.assert_allclose(found.detach(), wanted, rtol=1e-9, atol=1e-12)
    slopes = [slope(lambda v: slow_entropy(v, epsilon), v) for v in x.tolist()]
    np.testing.assert_allclose(x.grad, slopes, rtol=1e-6, atol=1e-9)
    assert found.argmax() == 6 and x[6] == 0


def test_reductions_by_hand():
    values = torch.tensor([[[1.0, 3.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 8.0]]])  # 2 runs
    counted = torch.tensor([[[True, True], [False, True]], [[False] * 2, [False] * 2]])
    assert reduce(values, "mean_all").tolist() == [1.5, 2.0]
    assert reduce(values, "sum_classes").tolist() == [3.0, 4.0]
    assert reduce(values, "sum").tolist() == [6.0, 8.0]
    assert reduce(values, "mean_observed", counted).tolist() == [2.0, 8.0]


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


GAMMAS = [(0, 0), (1, 4), (0, 4), (2, 2), (0.5, 0.5), (3, 7), (0, 0.3)]


def found(x, Z, **settings):
    x = torch.tensor(x, requires_grad=True)
    values = focused(x, torch.as_tensor(Z == 1), **settings)
    values.sum().backward()
    return values.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("clip", [0.0, 0.05, 0.3])
@pytest.mark.parametrize(("gamma_pos", "gamma_neg"), GAMMAS)
@pytest.mark.parametrize("epsilon", [None, "csl"])
def test_every_entry_by_the_formula(gamma_pos, gamma_neg, clip, epsilon):
    settings = {"gammas": (gamma_pos, gamma_neg), "clip": clip, "epsilon": epsilon}

    def weight(x, z):
        return slow.focus(x, z == 1, gamma_pos if z == 1 else gamma_neg, clip)

    def log(x, z):
        return slow.focused_log(x, z == 1, clip, epsilon)

    def each(function, x, Z):
        return np.vectorize(function)(x, Z)

    for Z, x in cases():
        values, gradient = found(x, Z, detach=True, **settings)
        np.testing.assert_allclose(
            values, each(lambda x, z: weight(x, z) * log(x, z), x, Z), rtol=1e-9, atol=1e-12
        )
        held = each(lambda x, z: weight(x, z) * slow.slope(lambda y: log(y, z), x), x, Z)
        np.testing.assert_allclose(gradient, held, rtol=1e-6, atol=1e-9)
        values, gradient = found(x, Z, detach=False, **settings)
        flowing = each(lambda x, z: slow.slope(lambda y: weight(y, z) * log(y, z), x), x, Z)
        np.testing.assert_allclose(gradient, flowing, rtol=1e-6, atol=1e-9)


def test_a_negative_below_the_clip_counts_for_nothing():
    x = np.array([[-3.0, -2.9, 3.0]])  # probabilities 0.047, 0.052 and 0.953
    values, gradient = found(x, x * 0, gammas=(1, 4), clip=0.05)
    assert (values[0] > 0).tolist() == (gradient[0] > 0).tolist() == [False, True, True]
