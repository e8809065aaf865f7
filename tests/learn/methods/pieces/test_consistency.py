import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.methods import make
from simkit.learn.methods.pieces.consistency import distances
from tests.reference import consistency as slow


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


def test_the_same_answer_is_no_distance_away():
    logits = torch.linspace(-5, 5, 11)
    for kind in ("l1", "l2", "jsd"):
        found = distances(logits, torch.sigmoid(logits), kind)
        torch.testing.assert_close(found, torch.zeros(11), atol=1e-6, rtol=0)


def test_settings_that_cannot_be():
    for spec, message in (
        ("an+cl(weight=-1)", "cl: weight is -1.0; a number from 0 on is expected"),
        ("an+scl(warmup=-1)", "scl: warmup is -1; epochs from 0 on are expected"),
        ("an+scl(mu=1.5)", "scl: mu is 1.5; a number from 0 to below 1 is expected"),
        ("an+scl(side=0)", "scl: side is 0; a number of cells from 1 on is expected"),
        ("an+cl(distance=l3)", "cl: distance is 'l3'; it must be one of l1, l2, jsd"),
    ):
        with pytest.raises(BadInput) as error:
            make(spec)
        assert str(error.value) == message
