import math

import pytest
import torch
import torch.nn.functional as F

from simkit.chance import Chance
from simkit.learn.heads.heads import Head, HeadStack, Model, initial


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_maps_are_a_convolution_and_logits_their_means():
    weight, bias, x = random(4, 6), random(4, seed=1), random(3, 6, 2, 5, seed=2)
    out = Head(weight, bias)(x, maps=True)
    wanted = F.conv2d(x, weight[..., None, None], bias)
    torch.testing.assert_close(out.maps, wanted)
    torch.testing.assert_close(out.logits, wanted.mean((-2, -1)))
    torch.testing.assert_close(Head(weight, bias)(x).logits, out.logits)
    assert out.features.shape == (3, 6) and Head(weight, bias)(x).maps is None


def test_heads_of_several_runs_at_once():
    weight, bias, x = random(2, 4, 6), random(2, 4, seed=1), random(3, 6, 2, 5, seed=2)
    for maps in (False, True):
        both = Head(weight, bias)(x, maps=maps)
        for r in range(2):
            alone = Head(weight[r], bias[r])(x, maps=maps)
            torch.testing.assert_close(both.logits[r], alone.logits)
            if maps:
                torch.testing.assert_close(both.maps[r], alone.maps)


def test_all_runs_of_a_draw_start_at_the_same_place():
    first, zero = initial(Chance.seeded(1), 4, 25)
    assert torch.equal(first, initial(Chance.seeded(1), 4, 25)[0])
    assert not torch.equal(first, initial(Chance.seeded(2), 4, 25)[0])
    assert first.abs().max() <= 1 / math.sqrt(25) and not zero.any()


def test_a_model_standardises_features_first():
    head = Head(random(4, 6), random(4, seed=1))
    shift, scale = random(6, seed=3), random(6, seed=4).abs() + 1
    model = Model(head, shift=shift, scale=scale)
    x = random(3, 6, 2, 2, seed=5)
    by_hand = (x - shift[:, None, None]) / scale[:, None, None]
    torch.testing.assert_close(model(x).logits, head(by_hand).logits)
    pooled = x.mean((2, 3))
    torch.testing.assert_close(model(pooled).logits, head((pooled - shift) / scale).logits)


@pytest.mark.parametrize("frozen", [True, False])
def test_gradients_are_those_of_autograd(frozen):
    # two runs on pooled features, one run and two runs on maps: against plain heads
    b, L, D, h, w = 5, 3, 4, 2, 3
    shares = [(2, False), (1, True), (2, True)]
    maps = random(b, D, h, w).requires_grad_(not frozen)
    stack = HeadStack(random(L, D, seed=1), random(L, seed=2), shares)
    pooled, points = maps.mean((-2, -1)), maps.flatten(2).mT
    stack.forward(pooled, points, (h, w))
    loss = sum(
        (share.out.logits**2).sum() + (share.out.logits[0] ** 3).sum() for share in stack.shares
    )
    loss.backward()
    below = stack.backward(pooled, points)
    if frozen:
        assert below == (None, None)
    else:
        torch.autograd.backward([pooled, points], list(below))

    twin = random(b, D, h, w).requires_grad_()
    plain = [
        Head(s.head.weight.detach().clone(), s.head.bias.detach().clone()) for s in stack.shares
    ]
    outs = [head(twin, maps=m) for head, (_, m) in zip(plain, shares, strict=True)]
    sum((o.logits**2).sum() + (o.logits[0] ** 3).sum() for o in outs).backward()
    for share, head in zip(stack.shares, plain, strict=True):
        torch.testing.assert_close(share.head.weight.grad, head.weight.grad)
        torch.testing.assert_close(share.head.bias.grad, head.bias.grad)
    if not frozen:
        torch.testing.assert_close(maps.grad, twin.grad)


def test_heads_share_the_memory_of_the_stack():
    stack = HeadStack(random(3, 4), random(3), [(1, False), (2, False)])
    with torch.no_grad():
        stack.shares[1].head.weight.fill_(7)
    assert (stack.weight[1:] == 7).all() and not (stack.weight[0] == 7).any()
