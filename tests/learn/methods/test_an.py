import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.methods import make
from tests.learn.methods.elementwise import agrees, agrees_with_the_slow_loop
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import methods as slow


def test_one_image_by_hand():
    # at logit 0 every term is log 2, whatever the target; the gradients are -1/2 and +1/2 over 3
    method, state = started("an", [[1, -1, 0]])
    loss, gradient = loss_and_gradient(method, state, [[1, -1, 0]], [[0.0, 0.0, 0.0]])
    assert loss == pytest.approx(np.log(2))
    np.testing.assert_allclose(gradient, [[-1 / 6, 1 / 6, 1 / 6]])


@pytest.mark.parametrize("how", ["mean_all", "sum", "sum_classes"])
@pytest.mark.parametrize("log", [None, "spml", "csl"])
def test_equal_to_the_slow_loop(how, log):
    def term(x, z):
        return (1.1 if z == 1 else 1) * slow.cross_entropy(x, float(z == 1), log)

    agrees_with_the_slow_loop(f"an(pos_weight=1.1, reduction={how}, epsilon={log})", term, how=how)


def test_reproduce_sets_what_the_code_had():
    found = make("an(reproduce=spml)")
    assert (found.pos_weight, found.reduction, found.epsilon) == (1, "mean_all", "spml")


def test_pos_weight_must_be_positive():
    with pytest.raises(BadInput, match="a number above 0 is expected"):
        make("an(pos_weight=0)")


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    for case in ("c0", "c1", "c3"):
        agrees("an", g, case, "an_paper")
        agrees("an(reproduce=paper)", g, case, "an_paper")
        agrees("an(reproduce=spml)", g, case, "an_official")
    agrees("an", g, "c2", "an_partial_paper")
    agrees("an(reproduce=paper)", g, "c2", "an_partial_paper")
    agrees("an(pos_weight=5, reduction=sum_classes)", g, "c2", "fe_pos5_sumL_meanB")
