"""Heads of one run and of many: logits, maps, gradients, memory and scores."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.model import Head
from simkit.learn.optim import Settings
from simkit.learn.stack import Heads, Stack, StackInputs, scores_of_all
from simkit.learn.train import train, train_stack

N, L, D = 300, 5, 8
SPECS = ("an", "ll-r+boostlu", "ignore", "an+boostlu", "em-apl(warmup=1)")


def stack_of(runs, lrs):
    return Stack(runs, lrs, StackInputs(Settings(), Chance.seeded(0)))


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


def test_gradients_are_those_of_heads_alone():
    """Two runs on pooled features, one run and two runs on maps: against plain heads."""
    b, classes, width, h, w = 5, 3, 4, 2, 3
    shares = [(2, False), (1, True), (2, True)]
    maps, twin = (random(b, width, h, w).requires_grad_() for _ in range(2))
    heads = Heads(random(classes, width, seed=1), random(classes, seed=2), shares)
    plain = [
        Head(heads.weight[k : k + r].detach().clone(), heads.bias[k : k + r].detach().clone())
        for (r, _), k in zip(shares, (0, 2, 3), strict=True)
    ]
    outs = [
        heads.forward(maps),
        [head(twin, maps=m) for head, (_, m) in zip(plain, shares, strict=True)],
    ]
    for each in outs:
        sum((o.logits**2).sum() + (o.logits[0] ** 3).sum() for o in each).backward()
    torch.testing.assert_close(heads.weight.grad, torch.cat([head.weight.grad for head in plain]))
    torch.testing.assert_close(heads.bias.grad, torch.cat([head.bias.grad for head in plain]))
    torch.testing.assert_close(maps.grad, twin.grad)


def test_equal_methods_at_equal_rates_are_one_part_and_maps_come_last(task, complete):
    runs = [
        (task, make("an+boostlu")),
        (task, make("an")),
        (complete, make("an")),
        (task, make("ignore")),
        (task, make("an")),
    ]
    stack = stack_of(runs, [0.1, 0.1, 0.1, 0.1, 0.2])
    assert [share.runs for share in stack.shares] == [(1, 2), (3,), (4,), (0,)]
    assert [group["lr"] for group in stack.groups()] == [0.1, 0.2]


def test_labels_are_kept_once_where_runs_share_them(task, complete):
    an = make("an")
    shared = stack_of([(task, an), (task, an)], [0.1, 0.1]).shares[0]
    apart = stack_of([(task, an), (complete, an)], [0.1, 0.1]).shares[0]
    assert shared.labels.shape == (1, 90, 5) and apart.labels.shape == (2, 90, 5)
    place = np.array([3, 8])
    for share in (shared, apart):
        labels = share.labels_at(place, torch.from_numpy(place))
        assert labels.shape == (2, 2, 5)
        np.testing.assert_array_equal(labels[0], task.labels.rows(place))


def material(seed: int = 0, n: int = N):
    rng = np.random.default_rng(seed)
    maps = rng.standard_normal((n, D, 3, 2)).astype(np.float32)
    return FeatureInputs(maps), rng.choice([-1, 0, 1], size=(n, L)).astype(np.int8)


def test_stacked_scores_are_those_of_each_alone():
    inputs, labels = material()
    task = Task(labels, inputs)
    how = {"settings": Settings(epochs=2, batch_size=64, standardise=True)}
    trained = train_stack([(task, make(spec)) for spec in SPECS], **how)
    unseen, _ = material(1)
    found = scores_of_all(trained, unseen)
    assert found.shape == (len(SPECS), N, L)
    for one, scores in zip(trained, found, strict=True):
        np.testing.assert_allclose(scores, one.scores(unseen), atol=1e-5)


def test_inputs_of_another_width_are_refused():
    inputs, labels = material()
    trained = [train(Task(labels, inputs), make("an"), settings=Settings(epochs=1))]
    narrow = FeatureInputs(np.zeros((4, D - 1), np.float32))
    with pytest.raises(BadInput, match="features of width 8, but width 7 came"):
        scores_of_all(trained, narrow)
    assert scores_of_all(trained, FeatureInputs(np.zeros((0, D), np.float32))).shape == (1, 0, L)
