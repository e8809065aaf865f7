import numpy as np
import pytest
import torch

from simkit.learn.methods import Outputs, make
from tests.learn.methods.steps import batch_of, loss_and_gradient, started

Z = np.array([[1, 0, 0], [0, -1, 1], [0, 0, 0]])
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def test_the_first_epoch_assumes_negative():
    logits = np.random.default_rng(0).standard_normal(Z.shape)
    found = loss_and_gradient(*started("en(expected=2)", Z), Z, logits)
    wanted = loss_and_gradient(*started("an", Z), Z, logits)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


def test_what_is_expected_leaves_the_loss_and_stays_in_the_denominator():
    codes = np.array([[1, 0], [0, 0], [0, 1]])
    method, state = started("en(expected=2)", codes)  # two images for each class
    method.after_batch(batch_of(codes), Outputs(torch.tensor([[0.0, 9], [9, 0], [-9, 0]])), state)
    method.after_epoch(1, None, state)
    _, gradient = loss_and_gradient(method, state, codes, np.zeros((3, 2)))
    # class 0: images 0 (score .9) and 1 (.2);  class 1: images 2 (.9) and 0 (.2)
    np.testing.assert_allclose(gradient * 12, [[-1, 0], [0, 1], [1, -1]])


@pytest.mark.parametrize("kind", ["en", "ep"])
def test_reference_epochs(golden, kind):
    g = np.load(golden / "en_scl_reference.npz")
    codes, logits = g["Z"], g["logits"].astype(np.float64)
    E, N = logits.shape[:2]
    settings = {"expected": float(g["K"]), "mu": float(g["mu"])}
    method, state = started(make(kind, expected_counts="literal", **settings), codes)
    np.testing.assert_array_equal(state.counts, g["p_i"])
    normalised = started(make(kind, **settings), codes)[1]
    np.testing.assert_array_equal(normalised.counts, g["p_i"])  # one positive in every image
    an, an_state = started("an", codes)
    for e in range(E):
        x = torch.tensor(logits[e])
        chosen = method.selected(batch_of(codes), Outputs(x), state).numpy() | (codes == 1)
        np.testing.assert_array_equal(chosen, g["zhat_used_in_epoch"][e])
        for i in range(N):
            single = torch.tensor(logits[e, i : i + 1], requires_grad=True)
            batch = batch_of(codes[i : i + 1], [i])
            loss = method.loss(batch, Outputs(single), state)
            loss.backward()
            np.testing.assert_allclose(loss.item(), g[f"{kind}_loss_per_image"][e, i], **CLOSE)
            np.testing.assert_allclose(single.grad[0], g[f"{kind}_grad_per_image"][e, i], **CLOSE)
            plain = an.loss(batch, Outputs(single), an_state)
            np.testing.assert_allclose(plain.item(), g["an_loss_per_image"][e, i], **CLOSE)
        method.after_batch(batch_of(codes), Outputs(x), state)
        np.testing.assert_allclose(state.scores, g["s_after_epoch"][e], **CLOSE)
        method.after_epoch(e + 1, None, state)
