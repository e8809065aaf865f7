import numpy as np
import pytest
import torch

from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Task, make
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started
from tests.reference import estimators as slow


def labels(rng, shape):
    Z = rng.integers(-1, 2, shape) * (rng.random(shape) < 0.4)
    Z[0], Z[:, 1] = 0, 0  # an image and a class of which nothing is known
    Z[1, 0], Z[2, 0] = 1, -1
    return Z


@pytest.mark.parametrize("strategy", ["threshold", "proportion", "positives"])
@pytest.mark.parametrize("share", [0.0, 0.35, 1.0])
@pytest.mark.parametrize("asked", [None, np.ones(14, bool)])
def test_equal_to_the_slow_loop(strategy, share, asked):
    rng = np.random.default_rng(3)
    Z = labels(rng, (14, 9))
    method = make(f"curriculum(strategy={strategy}, share={share}, every=3)")
    task = Task(PartialLabels.of(Z, asked=asked))
    state = method.start(task)
    taught = {}
    for epoch in range(1, 11):
        scores = rng.choice([-30.0, -2.0, -1.9, 0.0, 1.0, 2.0, 30.0], Z.shape)
        method.after_epoch(epoch, torch.as_tensor(scores), state)
        if epoch % 3 == 0:
            taught = slow.easy(scores, Z, task.labels.asked, strategy, 2, share)
        x = rng.standard_normal(Z.shape) * 10
        chosen = method.selected(batch_of(Z), plain(x), state).numpy()
        assert set(zip(*map(list, np.nonzero(chosen)), strict=True)) == set(taught)
        filled = Z.copy()
        for place, code in taught.items():
            filled[place] = code
        loss, gradient = loss_and_gradient(method, state, Z, x)
        assert loss == pytest.approx(slow.partial_bce(x, filled), rel=1e-12)
        assert (gradient[filled == 0] == 0).all()


def test_a_logit_of_zero_is_present_where_theta_is_zero():
    method, state = started("curriculum(theta=0, every=1)", np.array([[1, -1, 0, 0, 0]]))
    method.after_epoch(1, torch.tensor([[0.0, 0.0, 0.0, -0.1, 0.1]]), state)
    assert state.pseudo[0, 2:].tolist() == [1, -1, 1]


def test_weighting_is_that_of_partial_bce():
    rng = np.random.default_rng(0)
    Z, x = labels(rng, (8, 5)), rng.standard_normal((8, 5))
    settings = {"alpha": 1.0, "beta": 0.0, "gamma": -1.0}
    method, state = started(make("curriculum", **settings), Z)
    loss, _ = loss_and_gradient(method, state, Z, x)
    assert loss == pytest.approx(slow.partial_bce(x, Z, **settings), rel=1e-12)
