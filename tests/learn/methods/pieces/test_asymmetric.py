import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.methods import make
from simkit.learn.methods.pieces.asymmetric import focus
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import csl as slow


def drawn(seed, shape, scale=3.0):
    """Labels of all three kinds, a row with nothing known, a class with no label; logits."""
    rng = np.random.default_rng(seed)
    Z = rng.integers(-1, 2, shape)
    Z[0], Z[:, -1] = 0, 0
    return Z, rng.standard_normal(shape) * scale


SETTINGS = [
    {},
    {"gamma_pos": 1, "gamma_neg": 2, "gamma_unknown": 7},
    {"gamma_pos": 0.5, "gamma_neg": 1.5, "gamma_unknown": 3},
    {"gamma_pos": 0, "gamma_neg": 0, "gamma_unknown": 0, "alpha_pos": 0.3, "alpha_unknown": 0.7},
    {"clip": 0.05, "alpha_pos": 2, "alpha_neg": 0.1, "alpha_unknown": 0.5},
    {"gamma_neg": 17, "gamma_unknown": 20},
    {"clip": 0.4, "gamma_neg": 0, "gamma_unknown": 0},  # without a focus q may pass 1
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("reproduce", [None, "csl"])
def test_equal_to_the_slow_loop(settings, reproduce):
    method = make("p-asl", reproduce=reproduce, **settings)
    gammas = method.gamma_pos, method.gamma_neg, method.gamma_unknown
    alphas = method.alpha_pos, method.alpha_neg, method.alpha_unknown
    for seed, shape, scale in ((0, (5, 7), 3), (1, (3, 11), 10), (2, (1, 2), 1)):
        Z, x = drawn(seed, shape, scale)
        if seed == 1:
            x[1, ::2], x[2, ::2] = 30, -30
        clamp = 1e-8 if reproduce else 0
        wanted, slopes = slow.partial_asymmetric(x, Z, gammas, alphas, method.clip, clamp=clamp)
        loss, gradient = loss_and_gradient(method, started(method, Z)[1], Z, x)
        assert loss == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-13)


def test_reductions_differ_by_the_number_of_entries():
    Z, x = drawn(3, (4, 6))
    found = {}
    for how in ("sum", "sum_classes", "mean_all"):
        method, state = started(f"p-asl(reduction={how})", Z)
        found[how] = loss_and_gradient(method, state, Z, x)[0]
    assert found["sum"] == pytest.approx(4 * found["sum_classes"], rel=1e-12)
    assert found["sum"] == pytest.approx(24 * found["mean_all"], rel=1e-12)


def test_far_out_the_clamp_of_the_published_code_kills_the_gradient():
    Z, x = np.array([[1, -1, 0]]), np.array([[-19.0, 19.0, 19.0]])
    method, state = started("p-asl", Z)
    assert (np.abs(loss_and_gradient(method, state, Z, x)[1]) > 0.99).all()
    method, state = started("p-asl(reproduce=csl)", Z)
    loss, gradient = loss_and_gradient(method, state, Z, x)
    assert (gradient == 0).all() and loss == pytest.approx(3 * -np.log(1e-8), rel=1e-6)


def test_negatives_below_the_clip_are_dropped():
    Z, x = np.array([[-1, 0, -1]]), np.array([[-3.0, -3.5, -2.0]])  # p = .047, .029, .119
    method, state = started("p-asl(clip=0.05)", Z)
    gradient = loss_and_gradient(method, state, Z, x)[1][0]
    assert gradient[0] == gradient[1] == 0 and gradient[2] > 0


@pytest.mark.parametrize("clip", [0.0, 0.05])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_stay_finite_however_sure_the_model_is(clip, dtype):
    Z = np.array([[1, -1, 0, 1, -1, 0]])
    x = np.array([[100, 100, 100, -100, -100, -100]], dtype)
    method, state = started(make("p-asl", clip=clip), Z)
    loss, gradient = loss_and_gradient(method, state, Z, x)
    assert np.isfinite(loss) and np.isfinite(gradient).all()


@pytest.mark.parametrize("gamma", [0, 1, 2, 3, 7, 16, 17, 2.5])
def test_powers_by_multiplication_are_powers(gamma):
    base = torch.linspace(0, 1, 9, dtype=torch.float64)
    kind = torch.arange(9) % 2
    wanted = 0.5 * base**gamma * kind
    torch.testing.assert_close(
        focus(base, kind.to(torch.int8), 0.5, gamma), wanted, rtol=1e-12, atol=0
    )


def test_impossible_settings():
    for spec, message in {
        "p-asl(gamma_unknown=-1)": (
            "p-asl: gamma_unknown is -1.0; a number from 0 to 100 is expected"
        ),
        "csl(alpha_pos=-1)": "csl: alpha_pos is -1.0; a number from 0 to 1,000,000 is expected",
        "p-asl(alpha_neg=2e6)": (
            "p-asl: alpha_neg is 2000000.0; a number from 0 to 1,000,000 is expected"
        ),
        "csl(gamma_neg=101)": "csl: gamma_neg is 101.0; a number from 0 to 100 is expected",
        "p-asl(clip=1)": "p-asl: clip is 1.0; a number from 0 to below 1 is expected",
    }.items():
        with pytest.raises(BadInput) as error:
            make(spec)
        assert str(error.value) == message
