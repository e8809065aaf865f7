import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.methods import make
from tests.learn.methods.elementwise import agrees_with_the_slow_loop
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import methods as slow


@pytest.mark.parametrize("temperature", [-1.0, -2.0, -50.0])
def test_unknown_labels_are_negatives_at_a_lower_temperature(temperature):
    def term(x, z):
        return slow.positive_term(z * x if z else x / temperature)

    agrees_with_the_slow_loop(f"ls-constant(temperature={temperature})", term, how="sum_classes")


def test_the_temperature_is_negative():
    with pytest.raises(BadInput, match="a number of at most -1e-06 is expected"):
        make("ls-constant(temperature=0)")
    with pytest.raises(BadInput, match="a number of at most -1e-06 is expected"):
        make("ls-constant(temperature=-1e-300)")


def test_reference_vector(golden):
    g = np.load(golden / "soft_exposure_reference.npz")
    method = make("ls-constant", temperature=float(g["LS_constant_temperature"]))
    Z, x = g["Z"], g["logits"].astype(float)
    loss, _ = loss_and_gradient(*started(method, Z), Z, x)
    np.testing.assert_allclose(loss, g["LS_loss_sumL_meanB"], rtol=1e-9)


def test_present_labels_may_weigh_more():
    def term(x, z):
        return (5 if z == 1 else 1) * slow.positive_term(z * x if z else x / -2)

    agrees_with_the_slow_loop("ls-constant(pos_weight=5)", term, how="sum_classes")
    with pytest.raises(BadInput, match="a number above 0 is expected"):
        make("ls-constant(pos_weight=0)")
