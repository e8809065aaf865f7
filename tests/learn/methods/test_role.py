import math

import numpy as np
import pytest
import torch

from simkit.chance import Chance
from simkit.learn.method import stack_states
from simkit.learn.methods import Batch, Outputs, Task, make
from simkit.learn.methods.expected import estimated
from simkit.learn.model import Head, Model, initial
from simkit.learn.optim import Optimiser, Settings
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import estimators as slow

CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def with_theta(spec, Z, theta):
    """A method and a state whose table is this one, in float64."""
    method = make(spec) if isinstance(spec, str) else spec
    state = method.start(Task(np.asarray(Z)))
    state.theta = torch.nn.Parameter(torch.tensor(np.asarray(theta, float)))
    return method, state


@pytest.mark.parametrize("shape", [(1, 3), (7, 4), (5, 30)])
def test_equal_to_the_slow_loop(shape):
    rng = np.random.default_rng(shape[1])
    Z = rng.integers(-1, 2, shape)
    Z[0], Z[:, 0] = 0, 0
    for scale in (2, 30):
        x, theta = (scale * rng.choice([-1, 1, 0.1], shape) for _ in range(2))
        method, state = with_theta("role(expected=1.5)", Z, theta)
        loss, _ = loss_and_gradient(method, state, Z, x)
        assert loss == pytest.approx(slow.role(x, theta, Z, 1.5), rel=1e-12)


def test_the_table_starts_as_published(golden):
    g = np.load(golden / "role_estimator.npz")
    Z, (unsure, sure, denied) = g["Z_for_init"], g["init_constants"]
    _, state = started("role(expected=2)", Z)
    theta = state.theta.detach().numpy()
    np.testing.assert_allclose(theta[Z == 1], sure, rtol=1e-7)
    np.testing.assert_allclose(theta[Z == -1], denied, rtol=1e-7)
    assert (np.abs(theta[Z == 0]) <= np.float32(unsure)).all()
    known = Z != 0
    np.testing.assert_allclose(theta[known], g["init_logits"][known], rtol=1e-7)


def test_unknown_labels_start_uniformly_around_undecided():
    Z = np.zeros((500, 40), int)
    Z[:, 0] = 1
    theta = make("role(expected=2)").start(Task(Z), Chance.seeded(1)).theta.detach()[
        :, 1:
    ] / math.log(1.5)
    n = theta.numel()
    assert abs(theta.mean()) < 4 / math.sqrt(3 * n)  # variance of a uniform on +-1: 1/3
    assert abs(theta.square().mean() - 1 / 3) < 4 * math.sqrt(4 / 45 / n)
    other = make("role(expected=2)").start(Task(Z), Chance.seeded(2)).theta
    assert not torch.equal(other[:, 1:], theta * math.log(1.5))


def test_a_table_does_not_depend_on_how_many_images_follow():
    Z = np.random.default_rng(0).integers(-1, 2, (9, 5))
    whole = make("role(expected=2)").start(Task(Z), Chance.seeded(1)).theta
    assert torch.equal(
        make("role(expected=2)").start(Task(Z[:4]), Chance.seeded(1)).theta, whole[:4]
    )


def test_reference_trajectory(golden):
    g = np.load(golden / "role_estimator.npz")
    Z = np.maximum(g["Z_for_init"], 0)
    lr = float(g["lr_estimator"])
    method = make("role", expected=float(g["expected_num_pos"]), reproduce="spml")
    _, state = started(method, Z)
    state.theta.data = torch.tensor(g["init_logits"], dtype=torch.float32)
    model = Model(Head(*initial(Chance.seeded(0), Z.shape[1], 2)))
    # The rate of the classifier is a tenth; weight decay must not reach the table.
    settings = Settings(lr=lr / 10, weight_decay=0.1)
    made = Optimiser(method.groups(model, state, settings.lr), settings)
    for s, index in enumerate(g["batch_idx"]):
        batch = Batch(torch.as_tensor(index), torch.as_tensor(Z[index]))
        loss = method.loss(batch, Outputs(torch.tensor(g["batch_logits"][s])), state)
        state.zero_grad()
        loss.backward()
        made.step()
        np.testing.assert_allclose(loss.item(), g["loss"][s], atol=1e-5)
        np.testing.assert_allclose(
            state.theta.detach(), g["theta_after_step"][s], rtol=0, atol=1e-5
        )
    second = method.continued_from(state, None)
    np.testing.assert_allclose(second.theta.detach(), g["handover_logits"], rtol=0, atol=1e-4)


def test_a_second_phase_starts_from_the_estimates_of_the_first():
    runs = [
        make("role(expected=2)").start(Task(np.eye(3, dtype=int)), Chance.seeded(s)) for s in (1, 2)
    ]
    together = stack_states(runs)
    together.theta.data[0, 0, 0] = 40.0  # certain: a probability of 1
    fresh = make("role(expected=2)").continued_from(together, None)
    assert list(dict(fresh.named_parameters())) == ["theta"] and fresh.theta.shape == (2, 3, 3)
    assert fresh.theta[0, 0, 0].item() == pytest.approx(math.log((1 - 1e-5) / 1e-5))
    torch.testing.assert_close(fresh.theta[1], runs[1].theta)
    torch.testing.assert_close(estimated(fresh)[1], torch.sigmoid(runs[1].theta.detach()))
    fresh.theta.data.zero_()
    assert together.theta.abs().max() == 40


@pytest.mark.parametrize("c", [0, 1, 3])
def test_reference_losses_and_gradients(golden, c):
    g = np.load(golden / "an_family.npz")
    x, Z, theta = (g[f"c{c}_{key}"] for key in ("logits", "Z", "role_theta"))
    expected = float(g[f"c{c}_expected_num_pos"])
    spml = make("role", expected=expected, reproduce="spml")
    method, state = with_theta(spml, Z, theta)
    loss, gradient = loss_and_gradient(method, state, Z, x.astype(float))
    np.testing.assert_allclose(loss, g[f"c{c}_role_official_loss"], **CLOSE)
    np.testing.assert_allclose(gradient, g[f"c{c}_role_official_grad"], **CLOSE)
    np.testing.assert_allclose(state.theta.grad, g[f"c{c}_role_official_grad_theta"], **CLOSE)
    state.theta = torch.nn.Parameter(torch.tensor(theta))
    loss, gradient = loss_and_gradient(method, state, Z, x)
    near = {"rtol": 1e-4, "atol": 1e-4 if np.abs(x).max() >= 15 else 1e-6}
    np.testing.assert_allclose(loss, g[f"c{c}_role_official_loss_f32"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(gradient, g[f"c{c}_role_official_grad_f32"], **near)
    np.testing.assert_allclose(state.theta.grad, g[f"c{c}_role_official_grad_theta_f32"], **near)
