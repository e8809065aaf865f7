import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Sizes, Task, make
from tests.learn.methods.elementwise import agrees
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import methods as slow


def test_unknown_labels_are_refused():
    with pytest.raises(BadInput, match="annotate with full-subset, or train 'an' or"):
        started("full", [[1, 0, -1], [1, 1, -1]])


def test_images_that_nobody_asked_about_may_be_unknown():
    labels = PartialLabels.of(np.array([[1, -1], [0, 0]]))
    make("full").start(Task(labels))


def test_sizes_are_not_enough():
    with pytest.raises(BadInput, match=r"give Task\(labels=\.\.\.\) instead of Sizes"):
        make("full").start(Sizes(images=2, classes=3))


@pytest.mark.parametrize("log", [None, "spml"])
def test_equal_to_the_slow_loop(log):
    rng = np.random.default_rng(0)
    Z, x = rng.integers(0, 2, (5, 7)) * 2 - 1, rng.standard_normal((5, 7)) * 12
    loss, _ = loss_and_gradient(*started(make("full", epsilon=log), Z), Z, x)
    wanted = slow.total(x, Z, lambda x, z: slow.cross_entropy(x, float(z == 1), log), "mean_all")
    assert loss == pytest.approx(wanted, rel=1e-9)


def test_an_unknown_label_that_comes_along_counts_for_nothing():
    method, state = started("full", np.ones((1, 3), int))
    _, gradient = loss_and_gradient(method, state, [[1, 0, -1]], np.zeros((1, 3)))
    np.testing.assert_allclose(gradient, [[-1 / 6, 0, 1 / 6]])


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    for c in range(int(g["cases"])):
        agrees("full(reproduce=spml)", g, f"c{c}", "bce_official", codes=2 * g[f"c{c}_T"] - 1)


def test_reproduce_sets_what_was_published():
    assert make("full(reproduce=spml)").epsilon == "spml"
    assert make("full(reproduce=paper)").epsilon is None
