import numpy as np
import pytest
import torch

from simkit.learn.methods import Outputs, make
from simkit.learn.methods.wrappers import distances
from tests.learn.methods.steps import batch_of, started
from tests.reference import consistency as slow
from tests.reference.methods import assume_negative

Z = np.array([[1, 0, 0], [0, -1, 1], [0, 1, 0]])
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def plain(x) -> Outputs:
    return Outputs(torch.as_tensor(x))


@pytest.mark.parametrize("distance", ["l1", "l2", "jsd"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_term_joins_after_the_warm_up_and_scores_are_kept_all_along(distance, reduction):
    rng = np.random.default_rng(0)
    settings = {"distance": distance, "reduction": reduction, "warmup": 2, "weight": 0.3}
    method, state = started(make("an+cl", **settings), Z)
    twin = slow.Expecting(Z.tolist(), expected=1.0)
    for epoch in (1, 2, 3, 4):
        x = 3 * rng.standard_normal(Z.shape)
        apart = [
            slow.distance(a, s, distance)
            for row, scores in zip(x, twin.scores, strict=True)
            for a, s in zip(row, scores, strict=True)
        ]
        term = np.sum(apart) / (9 if reduction == "mean" else 3)
        wanted = assume_negative(x, Z) + (0.3 * term if epoch > 2 else 0)
        np.testing.assert_allclose(method.loss(batch_of(Z), plain(x), state), wanted, **CLOSE)
        method.after_batch(batch_of(Z), plain(x), state)
        for i in range(3):
            twin.see(i, x[i])
        method.after_epoch(epoch, None, state)


@pytest.mark.parametrize("inner", ["an", "en(expected=2.9, expected_counts=literal)"])
def test_reference_epochs(golden, inner):
    g = np.load(golden / "en_scl_reference.npz")
    codes, logits = g["Z"], g["logits"].astype(np.float64)
    around, state = started(make(f"{inner}+cl", warmup=0, mu=float(g["mu"])), codes)
    for e in range(len(logits)):
        for i in range(len(codes)):
            x = torch.tensor(logits[e, i : i + 1], requires_grad=True)
            term = around.extra(batch_of(codes[i : i + 1], [i]), Outputs(x), state)
            term.backward()
            wanted = g["cl_mean_over_L_loss_per_image"][e, i]
            np.testing.assert_allclose(term.item(), wanted, **CLOSE)
            np.testing.assert_allclose(x.grad[0], g["cl_grad_per_image"][e, i], **CLOSE)
        around.after_batch(batch_of(codes), plain(logits[e]), state)
        around.after_epoch(e + 1, None, state)


@pytest.mark.parametrize("kind", ["l1", "l2", "jsd"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_distances_and_their_gradients(kind, dtype):
    logits = torch.tensor([-100.0, -30, -1, 0, 0.3, 2, 30, 100], dtype=dtype)
    before = torch.tensor([0.0, 0.2, 0.7, 1.0], dtype=dtype)
    x = logits[:, None].expand(8, 4).contiguous().requires_grad_()
    found = distances(x, before.expand(8, 4), kind)
    wanted = [[slow.distance(a, b, kind) for b in before.tolist()] for a in logits.tolist()]
    close = {"rtol": 1e-9, "atol": 1e-12} if dtype == torch.float64 else {"atol": 2e-7}
    np.testing.assert_allclose(found.detach(), wanted, **close)
    found.sum().backward()
    h = 1e-5
    for i, a in enumerate(logits.tolist()):
        for j, b in enumerate(before.tolist()):
            up, down = (slow.distance(a + d, b, kind) for d in (h, -h))
            np.testing.assert_allclose(x.grad[i, j], (up - down) / (2 * h), atol=1e-5)
