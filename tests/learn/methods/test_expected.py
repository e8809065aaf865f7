"""Expected negatives and positives (EN, EP)."""

import warnings

import numpy as np
import pytest
import torch

from simkit.learn.methods import Outputs, make
from simkit.learn.methods.expected import expected_counts, highest
from tests.learn.methods.steps import batch_of, started
from tests.reference import consistency as slow

Z = np.array([[1, 0, 0], [0, -1, 1], [0, 0, 0]])
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


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


def labels(seed: int, shape=(23, 5)) -> np.ndarray:
    """Partial labels: a class without labels, images of which nothing is known."""
    rng = np.random.default_rng(seed)
    Z = rng.choice([-1, 0, 0, 0, 1, 1], shape)
    Z[:, 1] = 0
    Z[::7] = 0
    return Z


def test_counts_by_hand():
    assert expected_counts(np.array([3, 1, 0]), 10, 2.0, "normalised").tolist() == [10, 5, 0]
    assert expected_counts(np.array([3, 1, 0]), 10, 2.0, "literal").tolist() == [6, 2, 0]
    # 14.5 and 43.5 are rounded to the even neighbour
    assert expected_counts(np.array([5, 15]), 99, 2.9, "literal").tolist() == [14, 44]
    assert expected_counts(np.zeros(2, int), 10, 2.0, "normalised").tolist() == [0, 0]
    single = np.array([6, 3, 1])
    for expected in (1.5, 2.9):
        both = [expected_counts(single, 10, expected, how) for how in ("normalised", "literal")]
        np.testing.assert_array_equal(*both)


def test_the_first_of_equal_scores_are_chosen():
    scores = torch.tensor([[0.5, 0.2], [0.9, 0.2], [0.5, 0.2], [0.5, 0.7]])
    found = highest(scores, torch.tensor([3, 2])).T
    assert found.tolist() == [[True, True, True, False], [True, False, False, True]]
    more = highest(scores.expand(2, 4, 2), torch.tensor([[0, 4], [3, 2]]))
    assert more[0].T.tolist() == [[False] * 4, [True] * 4] and torch.equal(more[1].T, found)


@pytest.mark.parametrize("ranking", ["all", "unknown"])
@pytest.mark.parametrize("how", ["normalised", "literal"])
@pytest.mark.parametrize("expected", [0.7, 2.9, 50])
@pytest.mark.parametrize("kind", ["en", "ep"])
def test_ten_epochs_equal_the_slow_form(kind, expected, how, ranking):
    Z = labels(3)
    rng = np.random.default_rng(4)
    method, state = started(
        make(kind, expected=expected, expected_counts=how, ranking=ranking, mu=0.6), Z
    )
    twin = slow.Expecting(Z.tolist(), expected=expected, mu=0.6, how=how, ranking=ranking)
    asked = np.flatnonzero(Z.any(1))
    for epoch in range(1, 11):
        logits = rng.choice([1, 30], Z.shape) * rng.standard_normal(Z.shape)
        for rows in (asked[:6], asked[6:]):
            batch, out = batch_of(Z[rows], rows), Outputs(torch.tensor(logits[rows]))
            wanted = np.mean([twin.loss(i, logits[i], kind) for i in rows])
            np.testing.assert_allclose(method.loss(batch, out, state), wanted, rtol=1e-9)
            hidden = [[twin.hidden(i, c) for c in range(5)] for i in rows]
            np.testing.assert_array_equal(method.selected(batch, out, state), hidden)
            method.after_batch(batch, out, state)
            for i in rows:
                twin.see(i, logits[i])
        method.after_epoch(epoch, None, state)
        twin.end_epoch()
        np.testing.assert_allclose(state.scores, twin.scores, rtol=1e-9)


def test_counts_that_say_nothing_of_frequency_are_warned_about():
    Z = np.kron(np.eye(4, dtype=int), np.ones((3, 1), int))
    with pytest.warns(UserWarning, match="most classes have 3 here"):
        started("en(expected=2)", Z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        started("en(expected=2)", labels(0))
        started("en(expected=2, expected_counts=literal)", Z)
