import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Sizes, Task, make
from tests.learn.methods.steps import loss_and_gradient, started


def test_unknown_labels_are_refused():
    with pytest.raises(BadInput) as error:
        started("full", [[1, 0, -1], [1, 1, -1]])
    assert str(error.value) == (
        "method 'full' needs complete labels, but 1 of 6 entries of the asked images are unknown; "
        "annotate with full-subset, or train 'an' or 'ignore'"
    )


def test_images_that_nobody_asked_about_may_be_unknown():
    labels = PartialLabels.of(np.array([[1, -1], [0, 0]]))
    make("full").start(Task(labels))


def test_sizes_are_not_enough():
    with pytest.raises(BadInput) as error:
        make("full").start(Sizes(images=2, classes=3))
    assert str(error.value) == (
        "method 'full' needs the whole label matrix to start, and only sizes came; "
        "give Task(labels=...) instead of Sizes"
    )


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    for c in range(int(g["cases"])):
        T = 2 * g[f"c{c}_T"] - 1
        method, state = started("full(epsilon=spml)", T)
        loss, gradient = loss_and_gradient(method, state, T, g[f"c{c}_logits"].astype(float))
        np.testing.assert_allclose(loss, g[f"c{c}_bce_official_loss"], rtol=1e-9)
        np.testing.assert_allclose(gradient, g[f"c{c}_bce_official_grad"], rtol=1e-9, atol=1e-12)
