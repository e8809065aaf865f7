import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.methods import Sizes, make
from tests.learn.methods.elementwise import agrees
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import methods as slow


def test_one_image_by_hand():
    # at logit 0 every term is log 2; weights 1, 1 and 1/2, mean over 3
    method, state = started("wan", [[1, -1, 0]])
    loss, gradient = loss_and_gradient(method, state, [[1, -1, 0]], [[0.0, 0.0, 0.0]])
    assert loss == pytest.approx(2.5 / 3 * np.log(2))
    np.testing.assert_allclose(gradient, [[-1 / 6, 1 / 6, 1 / 12]])


@pytest.mark.parametrize("log", [None, "spml"])
def test_known_negatives_weigh_fully_or_like_assumed_ones(log):
    Z = np.array([[1, -1, 0, 0], [0, 0, -1, 1]])
    x = np.random.default_rng(0).standard_normal(Z.shape) * 10

    def term(x, z):
        small = z == 0 or (z == -1 and weak)
        return (1 / 3 if small else 1) * slow.cross_entropy(x, float(z == 1), log)

    for weak in (False, True):
        method, state = started(make("wan", weight_known_negatives=weak, epsilon=log), Z)
        loss, _ = loss_and_gradient(method, state, Z, x)
        assert loss == pytest.approx(slow.total(x, Z, term, "mean_all"), rel=1e-9)


def test_two_classes_make_it_an():
    Z, x = np.array([[1, 0], [0, -1]]), np.array([[0.3, 2.0], [-4.0, 30.0]])
    found = [loss_and_gradient(*started(spec, Z), Z, x) for spec in ("wan", "an")]
    np.testing.assert_allclose(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1])


def test_reproduce_sets_what_the_code_had():
    found = make("wan(reproduce=spml)")
    assert (found.weight_known_negatives, found.epsilon) == (True, "spml")


def test_one_class_is_too_few():
    with pytest.raises(BadInput, match="give at least 2, or train 'an'"):
        make("wan").start(Sizes(images=4, classes=1))


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    for case in ("c0", "c1", "c3"):
        agrees("wan", g, case, "wan_paper")
        agrees("wan(reproduce=paper)", g, case, "wan_paper")
        agrees("wan(reproduce=spml)", g, case, "wan_official")
    agrees("wan", g, "c2", "wan_partial_paper")
    agrees("wan(reproduce=paper)", g, "c2", "wan_partial_paper")
