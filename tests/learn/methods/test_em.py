import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.methods import make
from tests.learn.methods.elementwise import agrees, agrees_with_the_slow_loop
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import methods as slow


@pytest.mark.parametrize("log", [None, "spml"])
def test_equal_to_the_slow_loop(log):
    def term(x, z):
        return slow.cross_entropy(x, float(z == 1), log) if z else -0.2 * slow.entropy(x, log)

    agrees_with_the_slow_loop(f"em(alpha=0.2, epsilon={log})", term)


def test_unknown_logits_are_drawn_to_zero():
    Z, x = np.zeros((1, 3), int), np.array([[-2.0, 0.0, 3.0]])
    _, gradient = loss_and_gradient(*started("em", Z), Z, x)
    p = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(gradient, 0.1 * x * p * (1 - p) / 3, atol=1e-16)


def test_alpha_is_not_negative():
    with pytest.raises(BadInput, match="a number of at least 0 is expected"):
        make("em(alpha=-1)")


def test_reference_vectors(golden):
    g = np.load(golden / "em_apl.npz")
    for case in ("c0", "c1"):
        alpha = float(g[f"{case}_alpha"])
        agrees("em", g, case, "em_paper", alpha=alpha)
        agrees("em(reproduce=paper)", g, case, "em_paper", alpha=alpha)
        agrees("em(reproduce=em)", g, case, "em_official", alpha=alpha)
