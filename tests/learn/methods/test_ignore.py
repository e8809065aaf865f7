import numpy as np
import pytest
import torch

from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started
from tests.reference import methods as slow

Z = np.array([[1, 0, -1, 0], [0, 0, 0, 0], [1, 1, -1, -1]])
X = np.random.default_rng(0).standard_normal((3, 4)) * 5


def test_equal_to_the_slow_loop_in_every_reduction():
    wanted = slow.ignore(X, Z)
    for how, factor in (("mean_all", 1), ("sum", 12), ("sum_classes", 4), ("mean_observed", 2)):
        method, state = started(f"ignore(reduction={how})", Z)
        assert loss_and_gradient(method, state, Z, X)[0] == pytest.approx(
            factor * wanted, rel=1e-12
        )


def test_unknown_labels_have_no_gradient_and_are_reported():
    method, state = started("ignore", Z)
    assert (loss_and_gradient(method, state, Z, X)[1][Z == 0] == 0).all()
    chosen = method.selected(batch_of(Z), plain(X), state)
    assert torch.equal(chosen, torch.as_tensor(Z == 0))


def test_a_batch_without_known_labels_counts_zero():
    method, state = started("ignore(reduction=mean_observed)", Z)
    loss, gradient = loss_and_gradient(method, state, Z * 0, X)
    assert loss == 0 and (gradient == 0).all()


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    Z, x = g["c2_Z"], g["c2_logits"]
    method, state = started("ignore", Z)
    loss, gradient = loss_and_gradient(method, state, Z, x.astype(float))
    np.testing.assert_allclose(loss, g["c2_iu_paper_loss"], rtol=1e-9)
    np.testing.assert_allclose(gradient, g["c2_iu_paper_grad"], rtol=1e-9, atol=1e-12)
    method, state = started("ignore(epsilon=spml)", Z)
    loss, gradient = loss_and_gradient(method, state, Z, x.astype(float))
    np.testing.assert_allclose(loss, g["c2_iu_official_loss"], rtol=1e-9)
    np.testing.assert_allclose(gradient, g["c2_iu_official_grad"], rtol=1e-9, atol=1e-12)
    loss, gradient = loss_and_gradient(method, state, Z, x)
    np.testing.assert_allclose(loss, g["c2_iu_official_loss_f32"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(gradient, g["c2_iu_official_grad_f32"], rtol=1e-4, atol=1e-4)
    method, state = started("ignore(reduction=mean_observed)", Z)
    loss, _ = loss_and_gradient(method, state, Z, x.astype(float))
    np.testing.assert_allclose(loss, g["c2_iu_mean_over_observed_loss"], rtol=1e-9)
