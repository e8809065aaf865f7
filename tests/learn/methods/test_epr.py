import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.methods import Sizes, make
from simkit.learn.methods.epr import expected_positives
from tests.learn.methods.elementwise import agrees, cases
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import methods as slow


@pytest.mark.parametrize("log", [None, "spml"])
def test_equal_to_the_slow_loop(log):
    method = make("epr", expected=1.5, epsilon=log)
    for Z, x in cases():
        b, L = Z.shape
        loss, gradient = loss_and_gradient(*started(method, Z), Z, x)
        p = 1 / (1 + np.exp(-x))
        off = p.sum() / b - 1.5

        def term(x, z):
            return slow.cross_entropy(x, float(z == 1), log) if z else 0.0

        known = slow.total(x, Z, term, "mean_all")
        assert loss == pytest.approx(known + (off / L) ** 2, rel=1e-9)
        own = np.vectorize(lambda x, z: slow.slope(lambda y: term(y, z), x))(x, Z) / Z.size
        wanted = own + 2 * off / L**2 * p * (1 - p) / b
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-9)


def test_the_batch_counts_as_one():
    # 4 and 0 expected positives: the average is right, neither image is
    Z, x = np.zeros((2, 4), int), np.array([[40.0] * 4, [-40.0] * 4])
    method, state = started("epr(expected=2)", Z)
    assert loss_and_gradient(method, state, Z, x)[0] == pytest.approx(0)
    assert loss_and_gradient(method, state, Z[:1], x[:1])[0] == pytest.approx((2 / 4) ** 2)


def test_expected_must_be_positive():
    with pytest.raises(BadInput) as error:
        make("epr(expected=0)")
    assert str(error.value) == "epr: expected is 0.0; a number of positives above 0 is expected"


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    for case in ("c0", "c1", "c3"):
        expected = float(g[f"{case}_expected_num_pos"])
        agrees("epr", g, case, "epr_paper", expected=expected)
        agrees("epr(reproduce=paper)", g, case, "epr_paper", expected=expected)
        agrees("epr(reproduce=spml)", g, case, "epr_official", expected=expected)
        x = torch.as_tensor(g[f"{case}_logits"]).double()
        regular = expected_positives(x, torch.tensor(expected, dtype=torch.float64))
        np.testing.assert_allclose(regular, g[f"{case}_epr_official_reg"], rtol=1e-9)


def test_more_positives_than_classes_are_refused():
    make("epr(expected=2)").start(Sizes(images=4, classes=2))
    with pytest.raises(BadInput) as error:
        make("epr(expected=2.9)").start(Sizes(images=4, classes=2))
    assert str(error.value) == (
        "epr: expected is 2.9 positives in an image, and there are 2 classes; give at most as many"
    )
