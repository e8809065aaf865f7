import numpy as np
import pytest
import torch

from simkit.learn.methods.pieces.focusing import focused
from tests.learn.methods.elementwise import cases
from tests.reference import methods as slow

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
    settings = {"gamma_pos": gamma_pos, "gamma_neg": gamma_neg, "clip": clip, "epsilon": epsilon}

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


@pytest.mark.parametrize("detach", [True, False])
@pytest.mark.parametrize(("gamma_pos", "gamma_neg"), GAMMAS)
def test_far_out_everything_is_finite_in_float32(gamma_pos, gamma_neg, detach):
    x = torch.tensor([-1e4, -100, -88, 88, 100, 1e4]).repeat(2, 1).requires_grad_()
    present = torch.tensor([[True], [False]]).expand(2, 6)
    for clip in (0.0, 1e-12, 0.05):
        focused(
            x, present, gamma_pos=gamma_pos, gamma_neg=gamma_neg, clip=clip, detach=detach
        ).sum().backward()
        assert torch.isfinite(x.grad).all()


def test_a_negative_below_the_clip_counts_for_nothing():
    x = np.array([[-3.0, -2.9, 3.0]])  # probabilities 0.047, 0.052 and 0.953
    values, gradient = found(x, x * 0, gamma_pos=1, gamma_neg=4, clip=0.05)
    assert (values[0] > 0).tolist() == (gradient[0] > 0).tolist() == [False, True, True]
