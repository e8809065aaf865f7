import math

import numpy as np
import pytest
import torch

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.methods import Outputs, Sizes, make
from simkit.learn.model import Head, Model, initial
from tests.learn.methods.steps import batch_of
from tests.reference import estimators as slow

Z = np.array([[1, 0, -1], [0, 0, 0], [1, 1, 0], [-1, 0, 1]])
FEATURES = torch.tensor(np.random.default_rng(0).standard_normal((4, 2)))


def with_reports(spec, seed=0):
    method = make(spec)
    state = method.start(Sizes(4, 3, width=2))
    rng = np.random.default_rng(seed)
    state.weight = torch.nn.Parameter(torch.tensor(rng.standard_normal((2, 3, 2)) * 3))
    state.bias = torch.nn.Parameter(torch.tensor(rng.standard_normal((2, 3))))
    return method, state


@pytest.mark.parametrize("unknown", ["absent", "ignore"])
@pytest.mark.parametrize("scale", [2, 30])
def test_equal_to_the_slow_loop(unknown, scale):
    method, state = with_reports(f"latent-noise(unknown={unknown})")
    x = np.random.default_rng(1).standard_normal((4, 3)) * scale
    seen, unseen = (
        FEATURES @ w.T + b for w, b in zip(state.weight.detach(), state.bias.detach(), strict=True)
    )
    total = 0.0
    for place in np.ndindex(4, 3):
        told = slow.report(x[place], seen[place].item(), unseen[place].item())
        if unknown == "absent" or Z[place]:
            total -= math.log(told) if Z[place] == 1 else math.log1p(-told)
    loss = method.loss(batch_of(Z), Outputs(torch.tensor(x), None, FEATURES), state)
    assert loss.item() == pytest.approx(total / 12, rel=1e-9)


def test_learns_which_class_goes_unreported():
    """Half of what is visible is never reported: the visible stays visible, the report learns."""
    torch.manual_seed(0)
    method = make("latent-noise")
    state = method.start(Sizes(400, 1, width=1))
    x = torch.where(torch.arange(400) % 4 < 2, 6.0, -6.0)[:, None]
    labels = (torch.arange(400) % 4 == 0).int()[:, None]
    out = Outputs(x, None, torch.ones(400, 1))
    made = torch.optim.Adam(state.parameters(), lr=0.1)
    for _ in range(200):
        made.zero_grad()
        method.loss(batch_of(labels), out, state).backward()
        made.step()
    told = torch.sigmoid(state.weight[..., 0] + state.bias)
    assert told[0].item() == pytest.approx(0.5, abs=0.02) and told[1].item() < 0.03


def test_predicts_what_is_visible_and_reports_what_it_ignores():
    method, state = with_reports("latent-noise(unknown=ignore)")
    out = Outputs(torch.randn(4, 3), None, FEATURES)
    assert method.predict(out, state) is out.logits
    assert torch.equal(method.selected(batch_of(Z), out, state), torch.tensor(Z == 0))
    method, state = with_reports("latent-noise")
    assert not method.selected(batch_of(Z), out, state).any()


def test_reports_are_learned_more_slowly():
    method, state = with_reports("latent-noise(ratio=0.2)")
    model = Model(Head(*initial(Chance.seeded(0), 3, 2)))
    head, own = method.groups(model, state, 0.5)
    assert (head["lr"], own["lr"]) == (0.5, 0.1)
    assert own["params"] == [state.weight, state.bias]


def test_what_cannot_work_is_refused():
    with pytest.raises(BadInput, match="'latent-noise' reads pooled features"):
        make("latent-noise").start(Sizes(4, 3))
