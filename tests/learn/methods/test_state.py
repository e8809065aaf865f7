import torch
from torch import nn

from simkit.learn.methods.state import size_in_bytes, stack, unstack, view


def state(value: float) -> nn.Module:
    outer, inner = nn.Module(), nn.Module()
    outer.register_buffer("count", torch.tensor(int(value)))
    inner.theta = nn.Parameter(torch.full((2, 3), value))
    outer.inner = inner
    return outer


def test_stacking_adds_a_run_axis_and_unstacking_takes_it_away():
    singles = [state(1.0), state(2.0)]
    together = stack(singles)
    assert together.count.tolist() == [1, 2] and together.inner.theta.shape == (2, 2, 3)
    assert isinstance(together.inner.theta, nn.Parameter)
    again = unstack(together, 1)
    assert again.count.item() == 2 and torch.equal(again.inner.theta, singles[1].inner.theta)


def test_a_view_shares_memory_and_a_copy_does_not():
    together = stack([state(1.0), state(2.0)])
    seen, copied = view(together, 0), unstack(together, 0)
    together.count[0] = 7
    with torch.no_grad():
        together.inner.theta[0] = 9
    assert seen.count.item() == 7 and seen.inner.theta[0, 0].item() == 9
    assert copied.count.item() == 1 and copied.inner.theta[0, 0].item() == 1
    assert together.inner.theta.shape == (2, 2, 3)


def test_size_counts_buffers_and_parameters():
    assert size_in_bytes(state(1.0)) == 8 + 6 * 4
