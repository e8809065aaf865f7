import numpy as np
import pytest

from simkit.learn.methods import make
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started
from tests.reference import csl as slow


@pytest.mark.parametrize("mode", ["negative", "ignore", "ignore_normalize_classes"])
@pytest.mark.parametrize("reproduce", [None, "csl", "paper"])
def test_reference_vectors(golden, mode, reproduce):
    g = np.load(golden / "csl.npz")
    for c in range(int(g["cases"])):
        Z, x, key = g[f"c{c}_Z"], g[f"c{c}_logits"], f"c{c}_{mode}_official"
        method, state = started(make("p-asl", mode=mode, reproduce=reproduce, **settings(g, c)), Z)
        close = {"rtol": 2e-6, "atol": 1e-7}
        loss, gradient = loss_and_gradient(method, state, Z, x.astype(float))
        np.testing.assert_allclose(loss, g[f"{key}_loss"], **close)
        np.testing.assert_allclose(gradient, g[f"{key}_grad"], **close)
        loss, gradient = loss_and_gradient(method, state, Z, x)
        np.testing.assert_allclose(loss, g[f"{key}_loss_f32"], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(gradient, g[f"{key}_grad_f32"], rtol=1e-4, atol=1e-6)
        chosen = method.selected(batch_of(Z), plain(x), state).numpy()
        np.testing.assert_array_equal(chosen, g[f"{key}_weights"] == 0)


def settings(g, c) -> dict[str, float]:
    """What a case of the reference vectors was made with."""
    names = [f"{word}_{kind}" for word in ("gamma", "alpha") for kind in ("pos", "neg", "unknown")]
    found = {key: float(g[f"c{c}_{key.replace('unknown', 'unann')}"]) for key in names}
    return {**found, "clip": float(g[f"c{c}_clip"])}


@pytest.mark.parametrize("reproduce", [None, "csl", "paper"])
def test_a_clipped_negative_has_no_loss_even_without_focus(reproduce):
    Z, x = np.array([[-1, 0, 1]]), np.array([[-3.0, -3.0, -3.0]])  # p = 0.047 each
    method = make("p-asl", gamma_neg=0, gamma_unknown=0, clip=0.05, reproduce=reproduce)
    loss, gradient = loss_and_gradient(*started(method, Z), Z, x)
    assert loss == pytest.approx(np.log1p(np.exp(3)))
    np.testing.assert_allclose(gradient, [[0, 0, -1 / (1 + np.exp(-3))]])


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
