import numpy as np
import pytest
import torch

from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Task, make
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started
from tests.reference import estimators as slow

CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def settled(state):
    """The pseudo-labels of a state as the slow twin has them."""
    return [[None if s < 0 else s for s in row] for row in state.soft.tolist()]


@pytest.mark.parametrize("c", [0, 1])
@pytest.mark.parametrize("logs", ["paper", "official"])
def test_reference_losses_and_gradients(golden, c, logs):
    g = np.load(golden / "em_apl.npz")
    x, Z, given = (g[f"c{c}_{key}"] for key in ("logits", "Z", "pseudo_soft"))
    method = make(
        "em-apl",
        alpha=float(g[f"c{c}_alpha"]),
        beta=float(g[f"c{c}_beta"]),
        reproduce="em" if logs == "official" else None,
    )
    _, state = started(method, Z)
    for key, soft in (("em", None), ("em_apl", np.where(given > 0, given, -1))):
        if soft is not None:
            state.soft = torch.as_tensor(soft)
        loss, gradient = loss_and_gradient(method, state, Z, x.astype(float))
        np.testing.assert_allclose(loss, g[f"c{c}_{key}_{logs}_loss"], **CLOSE)
        np.testing.assert_allclose(gradient, g[f"c{c}_{key}_{logs}_grad"], **CLOSE)
        if logs == "official":
            loss, gradient = loss_and_gradient(method, state, Z, x)
            near = {"rtol": 1e-4, "atol": 1e-4 if np.abs(x).max() >= 15 else 1e-6}
            np.testing.assert_allclose(
                loss, g[f"c{c}_{key}_official_loss_f32"], rtol=1e-4, atol=1e-6
            )
            np.testing.assert_allclose(gradient, g[f"c{c}_{key}_official_grad_f32"], **near)


@pytest.mark.parametrize("case", ["apl0", "apl1"])
def test_reference_rounds(golden, case):
    g = np.load(golden / "em_apl.npz")
    x, Z, first = g[f"{case}_logits"], g[f"{case}_Z"], int(g[f"{case}_warmup_epoch"])
    method = make(
        "em-apl",
        warmup=first,
        share=float(g[f"{case}_neg_proportion"]),
        epochs=int(g[f"{case}_num_epochs"]),
    )
    _, state = started(method, Z)
    np.testing.assert_array_equal(state.quota, g[f"{case}_per_class_quota"])
    scores = torch.tensor(x)
    for epoch in range(1, first):
        method.after_epoch(epoch, scores, state)
    assert (state.soft < 0).all()
    for epoch, wanted in enumerate(g[f"{case}_official_labels_after_round"], start=first):
        method.after_epoch(epoch, scores, state)
        soft = state.soft.numpy()
        np.testing.assert_array_equal(soft >= 0, wanted < 0)
        np.testing.assert_array_equal(wanted[soft < 0], np.maximum(Z, 0)[soft < 0])
        np.testing.assert_allclose(soft[soft >= 0], -wanted[wanted < 0], rtol=2e-7)
        chosen = method.selected(batch_of(Z), plain(x), state).numpy()
        np.testing.assert_array_equal(chosen, wanted < 0)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("asked", [None, np.ones(23, bool)])
def test_equal_to_the_slow_loop(share, asked):
    rng = np.random.default_rng(0)
    Z = rng.integers(-1, 2, (23, 6)) * (rng.random((23, 6)) < 0.5)
    Z[:, 3], Z[:, 2] = 1, 0  # a class that is known, one without labels
    Z[4] = 0  # an image of which nothing is known, whether asked about or not
    method = make("em-apl", share=share, warmup=2, epochs=6, alpha=0.3, beta=0.7)
    labels = PartialLabels.of(Z, asked=asked)
    state = method.start(Task(labels))
    soft = [[None] * 6 for _ in range(23)]
    for epoch in range(1, 11):
        scores = rng.choice([-30.0, -2.0, -2.0, 0.0, 1.5, 30.0], (23, 6))  # many ties
        method.after_epoch(epoch, torch.as_tensor(scores), state)
        if 2 <= epoch <= 6:
            slow.settle(scores, Z, labels.asked, soft, share, 4)
        for n, (row, twin) in enumerate(zip(settled(state), soft, strict=True)):
            for s, t in zip(row, twin, strict=True):
                assert (s is None) == (t is None), (epoch, n)
                assert s is None or s == pytest.approx(t, rel=1e-6)
        x = rng.standard_normal((23, 6)) * 10
        loss, _ = loss_and_gradient(method, state, Z, x)
        assert loss == pytest.approx(slow.em_apl(x, Z, settled(state), 0.3, 0.7), rel=1e-6)
