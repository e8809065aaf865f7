import numpy as np
import pytest
import torch

from simkit.learn.methods import Batch, Outputs, make
from simkit.learn.model import Head
from tests.learn.methods.steps import batch_of, started
from tests.reference import methods as slow

MAPS = np.random.default_rng(0).standard_normal((2, 3, 2, 2))
Z = np.array([[1, 0, 0], [0, -1, 1]])


def outputs(maps) -> Outputs:
    maps = torch.as_tensor(maps)
    return Outputs(maps.mean((-2, -1)), maps)


def test_every_attribution_is_boosted_before_the_mean():
    method, state = started("an+boostlu(alpha=4, beta=0.2)", Z)
    wanted = [[np.mean([slow.boosted(v, 4, 0.2) for v in m.flat]) for m in row] for row in MAPS]
    np.testing.assert_allclose(method.predict(outputs(MAPS), state), wanted, rtol=1e-12)


def test_the_inner_method_selects_on_boosted_logits():
    Z = np.zeros((1, 3), int)
    maps = np.array([[[[0.3]], [[0.2]], [[-1.0]]]]) * np.ones((1, 3, 2, 2))
    maps[0, 1] = [[4.0, -4.0], [4.0, -3.2]]  # plain mean 0.2, boosted the largest of all
    for spec, first in (("ll-r(delta=33)", 0), ("ll-r(delta=33)+boostlu(zero_positive=boost)", 1)):
        method, state = started(spec, Z)
        method.after_epoch(1, None, state)
        chosen = method.selected(batch_of(Z), outputs(maps), state)[0]
        assert chosen.nonzero()[0].item() == first


def test_classes_without_positives_stay_plain_in_training_alone():
    method, state = started("an+boostlu", Z)
    plain, seen = outputs(MAPS), method.changed(outputs(MAPS), state, training=True)
    assert torch.equal(seen.logits[:, 1], plain.logits[:, 1])  # class 1 has only a negative
    assert not torch.equal(seen.logits[:, 0], plain.logits[:, 0])
    seen = method.changed(outputs(MAPS), state, training=False).maps
    assert not torch.equal(seen[:, 1], torch.as_tensor(MAPS)[:, 1])


def test_training_and_inference_are_switched_apart():
    batch, out = batch_of(Z), outputs(MAPS)
    plain, plain_state = started("an", Z)
    for train, eval in ((True, False), (False, True), (False, False)):
        method, state = started(f"an+boostlu(train={train}, eval={eval})", Z)
        same = torch.equal(method.loss(batch, out, state), plain.loss(batch, out, plain_state))
        assert same == (not train)
        assert torch.equal(method.predict(out, state), out.logits) == (not eval)
        assert method.needs.maps == (train or eval)


def head_of(g, c) -> Head:
    return Head(torch.tensor(g[f"c{c}_weight"]).double(), torch.tensor(g[f"c{c}_bias"]).double())


@pytest.mark.parametrize("c", [0, 1])
def test_reference_logits(golden, c):
    g = np.load(golden / "boostlu.npz")
    alpha, Z = float(g[f"c{c}_alpha"]), g[f"c{c}_Z"]
    features = torch.tensor(g[f"c{c}_features"]).double()
    out = head_of(g, c)(features, maps=True)
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(out.maps.detach(), g[f"c{c}_cam"], **close)
    np.testing.assert_allclose(out.logits.detach(), g[f"c{c}_plain_official_logits"], **close)
    without_bias = Head(head_of(g, c).weight, torch.zeros(Z.shape[1]).double())
    maps = without_bias(features, maps=True).maps.detach()
    np.testing.assert_allclose(maps, g[f"c{c}_cvpr22_cam_no_bias"], **close)
    pooled = head_of(g, c)(features).logits.detach()
    np.testing.assert_allclose(pooled, g[f"c{c}_plain_official_logits"], **close)
    np.testing.assert_allclose(pooled, g[f"c{c}_cvpr22_logits"], **close)
    method, state = started(make("an+boostlu", alpha=alpha), Z)
    seen = method.changed(out, state, training=False)
    np.testing.assert_allclose(seen.maps.detach(), g[f"c{c}_cam_boosted"], **close)
    np.testing.assert_allclose(seen.logits.detach(), g[f"c{c}_boost_official_logits"], **close)
    in_training = method.changed(out, state, training=True).logits.detach()
    np.testing.assert_array_equal(state.has_positive.numpy(), ~g[f"c{c}_zero_positive_classes"])
    np.testing.assert_allclose(
        in_training, g[f"c{c}_paper_train_logits_zero_positive_classes_unboosted"], **close
    )
    method, state = started(make("an+boostlu", alpha=alpha, beta=0.3), Z)
    shifted = method.predict(out, state).detach()
    np.testing.assert_allclose(shifted, g[f"c{c}_paper_beta0p3_logits"], **close)


@pytest.mark.parametrize("c", [0, 1])
@pytest.mark.parametrize("epoch", [1, 3, 10])
@pytest.mark.parametrize("use", ["boost", "plain"])
@pytest.mark.parametrize(("inner", "delta"), [("ll-r", 2.5), ("ll-ct", 1)])
def test_reference_gradients_through_the_head(golden, c, epoch, use, inner, delta):
    g = np.load(golden / "boostlu.npz")
    name = {"ll-r": "LLR", "ll-ct": "LLCt"}[inner]
    Z, key = g[f"c{c}_Z"], f"c{c}_{use}_{name}_delta{delta}_ep{epoch}_official"
    alpha = float(g[f"c{c}_alpha"]) if use == "boost" else 1.0
    spec = f"{inner}(delta={delta}, reproduce=cvpr23)+boostlu(reproduce=cvpr23)"
    method, state = started(make(spec, alpha=alpha), Z)
    for ended in range(1, epoch):
        method.after_epoch(ended, None, state)
    head = head_of(g, c)
    features = torch.tensor(g[f"c{c}_features"]).double().requires_grad_()
    batch = Batch(torch.arange(len(Z)), torch.tensor(Z))
    loss = method.loss(batch, head(features, maps=True), state)
    loss.backward()
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(loss.detach(), g[f"{key}_loss"], **close)
    np.testing.assert_allclose(head.weight.grad, g[f"{key}_grad_weight"], **close)
    np.testing.assert_allclose(head.bias.grad, g[f"{key}_grad_bias"], **close)
    # these were kept as float32
    np.testing.assert_allclose(features.grad, g[f"{key}_grad_features"], rtol=1e-6, atol=1e-9)
